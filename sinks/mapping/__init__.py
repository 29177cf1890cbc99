"""From an event to a mutation: what a sink's options decide, without any store."""
