"""The one error of this package."""


class ServerError(Exception):
    """A server cannot be started or stopped; the message is one line and includes the remedy."""
