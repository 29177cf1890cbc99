"""`attr2hbase doctor`: checks of all that a pipeline file names, and of the memory settings of a region server."""
