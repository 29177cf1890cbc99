"""The forms of numbers in updates: decimal text, or the fixed-width numbers of HBase."""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from enum import StrEnum
from fractions import Fraction
from functools import reduce
from types import MappingProxyType
from typing import Any

from ingest.api import MappingError, Model, NotMergeableError, Processor, option
from ingest.api.event_errors import NotANumberError
from ingest.api.notation import shown_start
from ingest.formats.cell_types import NUMBERS, CellType

_DECIMAL = re.compile(rb"[+-]?(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,2})?")
_MAX_DECIMAL_BYTES = 400  # far beyond all sensible numbers; bounds the work for others
_EXACT = Context(prec=3 * _MAX_DECIMAL_BYTES)  # the sum of any such numbers is exact


class NumberType(StrEnum):
    """The form of a number."""

    DECIMAL = "decimal"
    INT64 = "int64"
    FLOAT64 = "float64"


class NumberSettings(Model):
    """Options of processors of numbers."""

    type: NumberType = option(
        "Form of the numbers: `decimal` (text such as `-3.5`, exact, with up to 400 digits), `int64` (8 bytes, as "
        "HBase's counters) or `float64` (8 bytes).",
        default="decimal",
        strict=False,
        example="int64",
    )


@dataclass(frozen=True, slots=True)
class NumberForm:
    """
    A form of numbers.

    Attributes:
        read: bytes -> number; raises ValueError for bytes that are not in this form.
        write: number -> bytes; raises ValueError for a number that the form does not have.
        total: the sum of numbers; raises ValueError if it cannot be computed.
    """

    read: Callable[[bytes], Any]
    write: Callable[[Any], bytes]
    total: Callable[[Iterable[Any]], Any]

    def update(self, value: bytes) -> bytes:
        """
        The update with one number.

        Raises:
            MappingError: the value is no number in this form.
        """
        try:
            return self.write(self.read(value))
        except ValueError as error:
            raise MappingError(str(error), code=NotANumberError.code) from error

    def merge(self, updates: Sequence[bytes], merge: Callable[[Iterable[Any]], Any]) -> bytes:
        """
        The number that a function makes of others.

        Raises:
            NotMergeableError: an update is no number in this form, or the form does not have the result.
        """
        try:
            return self.write(merge(map(self.read, updates)))
        except ValueError as error:
            raise NotMergeableError(str(error)) from error


def _read_decimal(value: bytes) -> Decimal:
    if len(value) > _MAX_DECIMAL_BYTES or _DECIMAL.fullmatch(value) is None:
        raise ValueError(f"{shown_start(value)} is not a number in decimal digits")
    return _EXACT.create_decimal(value.decode("ascii"))


def _write_decimal(number: Decimal) -> bytes:
    text = f"{_EXACT.plus(number):f}".encode("ascii")  # plus() of -0 is 0
    if len(text) > _MAX_DECIMAL_BYTES:
        raise ValueError(f"the number has {len(text)} characters; at most {_MAX_DECIMAL_BYTES} are allowed")
    return text


def _total_of_decimals(numbers: Iterable[Decimal]) -> Decimal:
    return reduce(_EXACT.add, numbers)


def _total_of_floats(numbers: Iterable[float]) -> float:
    addends = list(numbers)
    try:
        return math.fsum(addends)
    except OverflowError:
        exact = sum(map(Fraction, addends))  # a sum of large numbers with both signs may be small
    try:
        return float(exact)
    except OverflowError as error:
        raise ValueError("the sum is too large for float64") from error


NUMBER_FORMS: Mapping[NumberType, NumberForm] = MappingProxyType(
    {
        NumberType.DECIMAL: NumberForm(_read_decimal, _write_decimal, _total_of_decimals),
        NumberType.INT64: NumberForm(NUMBERS["int64"].decode, NUMBERS["int64"].encode, sum),
        NumberType.FLOAT64: NumberForm(NUMBERS["float64"].decode, NUMBERS["float64"].encode, _total_of_floats),
    }
)
"""Type -> its form. Infinity and NaN are no numbers in any of them."""

CELL_TYPES: Mapping[NumberType, CellType] = MappingProxyType(
    {NumberType.DECIMAL: CellType.UTF8, NumberType.INT64: CellType.INT64, NumberType.FLOAT64: CellType.FLOAT64}
)
"""Type -> that of its cells."""


class NumberProcessor(Processor[NumberSettings]):
    """A processor whose updates are numbers of one form."""

    def __init__(self, settings: NumberSettings) -> None:
        super().__init__(settings)
        self._form = NUMBER_FORMS[settings.type]

    @classmethod
    def value_type(cls, settings: NumberSettings) -> str:
        """The option `type`."""
        return CELL_TYPES[settings.type]

    def update(self, value: bytes) -> bytes:
        """The number."""
        return self._form.update(value)
