"""What features explain: estimates with intervals, held-out rows, and signs that they mislead."""
