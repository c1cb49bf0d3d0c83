"""Trust anchors: keys pinned by fingerprint, in three classes."""
