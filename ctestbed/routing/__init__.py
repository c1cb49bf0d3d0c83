"""Floor 2: paths over a topology. Knows no traffic."""
