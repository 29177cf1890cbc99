"""
The functions of the language, by family; `FUNCTIONS` has them all by name.

- `text`: case, parts, replacing, padding, defaults
- `time`: dates, truncation, inverted times
- `hash`: digests, checksums, encodings
- `number`: exact arithmetic, hexadecimal, 8-byte and inverted numbers
- `event`: identity and ids of an event
- `choice`: one of two values

Each family is a module with a table `FUNCTIONS`; the parser does not depend on them.
"""

from collections.abc import Mapping
from types import MappingProxyType

from ingest.expressions.functions import choice, event, hash, number, text, time  # noqa: A004 - a family, not the builtin
from ingest.expressions.functions.elsewhere import OURS
from ingest.expressions.functions.function import OF_EVENT, Function, FunctionExample, Kind, Parameter

FUNCTIONS: Mapping[str, Function] = MappingProxyType(
    {
        function.name: function
        for function in sorted(
            text.FUNCTIONS + time.FUNCTIONS + hash.FUNCTIONS + number.FUNCTIONS + event.FUNCTIONS + choice.FUNCTIONS,
            key=lambda function: function.name,
        )
    }
)
"""Name -> function, sorted by name."""

__all__ = ["FUNCTIONS", "OF_EVENT", "OURS", "Function", "FunctionExample", "Kind", "Parameter"]
