"""Kafka on the driver: source, consumer group, topics, and logged batches."""
