"""Floor 3: trust. Roots, chains, freshness, appraisal. Knows no byte layouts."""
