"""Content for the command line and the documentation: component pages, error pages, JSON Schema, pipeline graphs."""
