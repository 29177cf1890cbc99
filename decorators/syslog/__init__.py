"""
Parse syslog messages.

`decorator` has the decorator, `messages` reads the parts of a message, `times` its time.
"""

from decorators.syslog.decorator import Syslog

__all__ = ["Syslog"]
