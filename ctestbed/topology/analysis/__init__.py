"""Structure of fabrics: distances, path diversity, bisection, single points of failure."""
