"""Events that cannot pass: stored as they came from the source, with the error, and replayed on request."""
