"""Floor 1: bytes to frozen records and back, one module per wire format. Knows no keys."""
