"""Data larger than memory: generators of its shape, and how fast it is read."""
