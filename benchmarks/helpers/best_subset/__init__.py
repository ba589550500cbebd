"""The simulations of Hastie, Tibshirani & Tibshirani (2020): data, protocol, summary, picture."""
