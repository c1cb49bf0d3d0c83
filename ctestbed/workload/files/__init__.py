"""Files of flows: htsim's connection matrices, HPCC's flow lists, CSV."""
