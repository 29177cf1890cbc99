"""The only door to Kafka clients: settings of a connection, and the clients that use them."""
