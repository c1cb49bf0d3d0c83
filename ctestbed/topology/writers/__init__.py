"""Writers of other tools' file formats: one module each, over a `Cabling`."""
