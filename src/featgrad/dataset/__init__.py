"""Where rows come from: matrices of every kind, made ready for an engine."""
