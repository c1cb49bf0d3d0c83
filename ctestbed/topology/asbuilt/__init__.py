"""What was cabled against what was meant: by name, by structure, or by what is usual in it."""
