"""Searches for a mask: how to descend, knowing nothing of where the rows come from."""
