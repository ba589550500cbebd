"""Filters, targets, links and the normalisation of moments."""
