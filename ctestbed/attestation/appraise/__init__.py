"""Does authentic evidence say what a policy wants? Knows nothing of signatures and chains."""
