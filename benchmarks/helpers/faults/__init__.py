"""What `benchmarks.faults` tries beyond damage: files, names, sizes and values as nobody wishes."""
