"""The only package that imports pyspark: the session, sources as DataFrames, streaming queries."""
