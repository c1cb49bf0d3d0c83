"""Floor 3: traffic patterns and transfers on a fabric. Knows no confidential computing."""
