"""What is kept of rows that come in chunks and are not seen again."""
