"""From mutations to durable rows of a store."""
