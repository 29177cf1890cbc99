"""
The only door to pyspark and pyarrow: sessions, sources as frames, and the one place that
acknowledges a micro-batch.
"""
