"""Background jobs on Spark that read no source: each is a function from ranges of a table to results."""
