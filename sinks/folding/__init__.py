"""Folds the mutations of a micro-batch by row key, and estimates their sizes; without a store."""
