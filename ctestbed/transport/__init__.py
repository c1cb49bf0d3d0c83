"""Floor 2: engines and closed forms for moving bytes. Sees only integer arrays."""
