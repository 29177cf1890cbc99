"""
Set the event's time from text.

`decorator` has the decorator, `formats` the formats of times, `zones` the zones that events name.
"""

from decorators.timestamp.decorator import Timestamp

__all__ = ["Timestamp"]
