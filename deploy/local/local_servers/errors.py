"""The one error of this package."""


class ServerError(Exception):
    """A server could not be started or stopped; the message is one line with the way out."""
