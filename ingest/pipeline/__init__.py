"""Runs events through a pipeline: the decorator chain, one task, and the loop over the attempts at a micro-batch."""
