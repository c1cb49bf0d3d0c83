"""What a picture of a network shows, as counts: scenes of blocks, and bundles of cables."""
