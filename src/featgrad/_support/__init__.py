"""What every package builds on: types, array libraries, threads, compiled loops, atomic files."""
