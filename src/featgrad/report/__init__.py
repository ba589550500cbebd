"""What was chosen and why, for people to read."""

from featgrad.report.table import summarise

__all__ = ["summarise"]
