"""Attacks on confidential VMs, each an experiment on the emulated machine."""
