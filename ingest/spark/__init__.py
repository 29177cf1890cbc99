"""The only package that imports pyspark and pyarrow: the session, sources as DataFrames, streaming queries."""
