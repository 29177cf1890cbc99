"""The only door to Kafka clients: settings of a connection, and what works with them."""
