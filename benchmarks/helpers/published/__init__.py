"""Two published tables of feature selection, by their own protocols."""
