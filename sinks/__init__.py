"""From events to durable cells, and reading them back."""
