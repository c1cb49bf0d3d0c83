"""Floor 0: errors and exit codes, units, results and envelopes, seeds, files. Knows no domain."""
