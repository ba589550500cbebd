"""The figures of the paper, remade."""
