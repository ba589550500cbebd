"""Quality of the chosen features: selectors x data sets x sizes."""
