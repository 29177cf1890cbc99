"""Decorators, one file each; the file's name is the YAML name."""
