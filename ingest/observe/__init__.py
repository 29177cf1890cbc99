"""Metrics, health and logs of a running process."""
