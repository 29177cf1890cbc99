"""
Properties files of Flume 1 ("next generation"): agents, sources, channels and sinks here are Flume's.

`properties` reads the file; `agents` follows each HBase sink back to its sources and has `kafka`, `interceptors` and
`serializers` translate what it meets.
"""
