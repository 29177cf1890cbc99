"""
Parse Protocol Buffers messages.

`decorator` has the decorator, `content` converts messages to dicts and lists.
"""

from decorators.protobuf.decorator import Protobuf

__all__ = ["Protobuf"]
