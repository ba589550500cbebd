"""Compiled loops over bytes and entries."""
