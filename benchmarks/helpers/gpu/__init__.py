"""On one GPU: kernels beside the paper's Lemma, whole fits beside the same machine's cores."""
