"""Closed forms by subject: the oracles of the engines, and the answers called `modelled`."""
