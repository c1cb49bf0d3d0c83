"""Scenes of networks as SVG: nothing here knows a testbed, only blocks and bundles."""
