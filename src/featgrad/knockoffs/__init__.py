"""Choice of features at a given false discovery rate, by comparison with knockoffs."""
