"""From an event to a mutation, by a sink's options and without any store."""
