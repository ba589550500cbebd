"""Plots by the Display convention of scikit-learn; matplotlib is imported on drawing."""
