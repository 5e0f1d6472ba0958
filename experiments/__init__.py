"""How it is run: corpora, packing, runs, grids and the command line."""
