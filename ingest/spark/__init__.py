"""The only door to pyspark and pyarrow: sessions, sources as frames, the one place that acknowledges a micro-batch."""
