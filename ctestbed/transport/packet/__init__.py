"""The packet engine: frames, queues, pauses and retransmissions, in integer picoseconds."""
