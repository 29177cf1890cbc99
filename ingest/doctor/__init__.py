"""`ingest doctor`: checks of everything that a pipeline file names, and of the memory settings of a region server."""
