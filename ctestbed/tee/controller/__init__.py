"""One memory controller made of parts that can be exchanged: see `controller.py`."""
