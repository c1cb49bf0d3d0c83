"""Floor 1: SM2, SM3, SM4, AES modes and signatures. Knows no evidence."""
