"""Data larger than memory: generators of its shape and other ways to read it."""
