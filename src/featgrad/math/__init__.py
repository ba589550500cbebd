"""The mathematics: filters, targets, links and the normalisation of the moments."""
