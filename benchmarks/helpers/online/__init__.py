"""Streams, peers that choose on them, and their judge."""
