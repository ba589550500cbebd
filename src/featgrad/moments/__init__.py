"""Engines: exact value and gradient of the moments over rows, for each kind of matrix."""
