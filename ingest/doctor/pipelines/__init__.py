"""Checks of everything that a pipeline file names, and of this machine: `ingest doctor FILE`."""
