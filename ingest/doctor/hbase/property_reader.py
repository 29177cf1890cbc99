"""Reads values of a server's properties as numbers."""

import math
import re

from ingest.api import ConfigError
from ingest.formats.hadoop_site import Properties

_UNITS = "kmgtpe"
_STORAGE_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*(?:([kmgtpe])(?:b|\w+bytes)?|b|bytes)")  # of HBase's StorageSize
_SUFFIXES = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}  # of Hadoop's sizes


class PropertyReader:
    """
    Reads values of properties as numbers.

    Raises:
        ConfigError: a value is not a number, or out of range; from each method, with its place.
    """

    def __init__(self, properties: Properties) -> None:
        self._properties = properties

    def optional(self, name: str, *, above: float | None = None) -> float | None:
        """A number; None if the property is not set."""
        return self.number(name, above=above) if name in self._properties else None

    def number(self, name: str, *, above: float | None = None) -> float:
        """A finite number, above a bound if there is one."""
        text = self._properties[name].value
        try:
            value = float(text.rstrip("fFdD"))  # as Java reads it
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise self._mistake(name, "not a number")
        if above is not None and value <= above:
            raise self._mistake(name, f"not above {above:g}")
        return value

    def fraction(self, name: str) -> float:
        """A number from 0 to 1."""
        value = self.number(name)
        if not 0 <= value <= 1:
            raise self._mistake(name, "not between 0 and 1")
        return value

    def count(self, name: str, least: int) -> int:
        """A whole number."""
        try:
            value = int(self._properties[name].value)
        except ValueError as error:
            raise self._mistake(name, "not a whole number") from error
        if value < least:
            raise self._mistake(name, f"below {least}")
        return value

    def size(self, name: str) -> int:
        """Bytes; Hadoop also allows a suffix, as in `128m`."""
        text = self._properties[name].value.lower()
        factor = _SUFFIXES.get(text[-1:], 1)
        digits = text[:-1] if factor > 1 else text
        if not digits.isdecimal() or int(digits) < 1:
            raise self._mistake(name, "not a size")
        return int(digits) * factor

    def storage_size(self, name: str) -> int:
        """Bytes, with or without a unit such as `512m`, `1.5GB` or `10 megabytes`; below 0 is as if it were not set."""
        text = self._properties[name].value.strip().lower()
        if text.removeprefix("-").isdecimal():
            return int(text)
        found = _STORAGE_SIZE.fullmatch(text)
        if found is None:
            raise self._mistake(name, "not a size")
        power = _UNITS.index(found[2]) + 1 if found[2] else 0
        return math.floor(float(found[1]) * (1 << 10 * power))

    def _mistake(self, name: str, what: str) -> ConfigError:
        found = self._properties[name]
        place = f"{found.place}: " if found.place else ""
        return ConfigError(f'{place}{name} is "{found.value}", {what}')
