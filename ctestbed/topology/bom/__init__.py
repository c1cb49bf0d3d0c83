"""Bills of materials: what a testbed is bought as, what that draws, and what it costs."""
