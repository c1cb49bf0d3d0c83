"""An emulated CSV vendor and one chip of it: HRK, HSK, CEK, PEK and their certificates.

Real and emulated chains have one structure and differ in the root alone. Keys are fresh, or
derive from a seed; every certificate's identity says EMULATED, or EMULATED SEEDED.
"""
