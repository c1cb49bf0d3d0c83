"""Floor 2: memory controllers, platforms, confidential VMs and their state. Knows no policy."""
