"""The HTTP endpoint of a service, and its client for the commands."""
