"""Floor 4: benchmarks, whole-testbed runs, and the reports made of them."""
