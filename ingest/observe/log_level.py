"""The levels of the log, without the packages that write it."""

import logging
from enum import StrEnum


class LogLevel(StrEnum):
    """The lowest level that is written."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"

    @property
    def number(self) -> int:
        """Its number in `logging`."""
        return logging.getLevelNamesMapping()[self.name]
