"""The families of fabric: from a file's numbers to a plan of planes, one module each."""
