"""Floor 5: the command line. Parses, calls, renders; knows no rule of the domain."""
