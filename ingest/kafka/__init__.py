"""The only package that imports kafka-python: settings of a connection, and the clients that use them."""
