"""One pipeline as a streaming query."""
