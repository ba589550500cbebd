"""Engines: exact moments and their gradient, for each kind of matrix."""
