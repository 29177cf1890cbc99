"""Kafka events through decorator chains into HBase column families."""

__version__ = "0.2.0"
