"""ctestbed: emulate RDMA fabrics and confidential-computing silicon on one machine, honestly."""

__version__ = "0.1.0"
