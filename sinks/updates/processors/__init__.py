"""The built-in processors: one file each, named as in YAML. None imports another."""
