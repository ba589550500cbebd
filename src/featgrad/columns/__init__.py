"""What is done to columns before the search sees them."""
