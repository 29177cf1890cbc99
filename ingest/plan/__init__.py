"""A plan: a checked configuration as data, sent to the workers, from which live components are created."""
