"""Benchmarks of featgrad against other feature selectors; not part of the installed package."""
