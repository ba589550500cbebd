"""Where rows come from: matrices of every kind, made ready for a search."""
