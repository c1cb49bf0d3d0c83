"""Floor 1: the fabric as arrays; builders and validation. Knows no routes and no traffic."""
