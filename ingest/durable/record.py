"""What the product stores as JSON: an object with the number of its format, which is written and read in one way."""

from functools import cache
from typing import Annotated, Any, ClassVar, Self

import orjson
from pydantic import ConfigDict, PlainSerializer, PlainValidator, TypeAdapter, ValidationError

from ingest.api import IngestError, IntegrityError

Hex = Annotated[bytes, PlainValidator(bytes.fromhex), PlainSerializer(bytes.hex)]
"""Bytes that are stored in hexadecimal."""

_FORMAT = "format"
_names: dict[type["Record"], frozenset[str]] = {}


class UnreadableRecordError(IntegrityError):
    """A stored record, such as the committed position of a table, is damaged, or a later version has written it."""

    code = "unreadable_record"
    remedy = "Use the version that wrote it, or a later one; else follow the message."


class Plain:
    """A frozen dataclass as JSON: a part of a `Record`, or what one process sends to another one of its version."""

    __slots__ = ()
    __pydantic_config__: ClassVar = ConfigDict(extra="forbid")

    def to_json(self) -> dict[str, Any]:
        """The fields, by their names or aliases."""
        found: dict[str, Any] = self._adapter().dump_python(self, mode="json", by_alias=True)
        return found

    @classmethod
    @cache
    def _adapter(cls) -> TypeAdapter[Any]:
        return TypeAdapter(cls)

    @classmethod
    def from_json(cls, content: object) -> Self:
        """
        The inverse of `to_json`.

        Raises:
            ValueError, TypeError, IngestError: for another content.
        """
        found: Self = cls._adapter().validate_json(orjson.dumps(content), strict=True)  # JSON has no tuples
        return found


class Record(Plain):
    """
    A value that is stored as a JSON object: the fields of a frozen dataclass, and the number of their format.

    A change of its fields is a new format, so that each version refuses by name what a later one has written. An object
    of an earlier format is `upgraded`. Only a record that is `unnumbered` may have no number.

    Args:
        kind: what it is, for messages, before its place: "committed position of table".
        format: the number of its format.
        remedy: how to continue without it.
        unnumbered: whether an earlier version wrote it without a number, as 0.2.0; then it is `upgraded` too.
    """

    __slots__ = ()
    _kind: ClassVar[str]
    _format: ClassVar[int]
    _remedy: ClassVar[str]
    _is_unnumbered: ClassVar[bool]

    def __init_subclass__(
        cls,
        *,
        kind: str = "",
        format: int = 1,  # noqa: A002 - the word in the content
        remedy: str = "restore it from a copy",
        unnumbered: bool = False,
    ) -> None:
        if kind:  # else it is the copy of a class that `dataclass(slots=True)` makes
            cls._kind, cls._format, cls._remedy, cls._is_unnumbered = kind, format, remedy, unnumbered

    def to_bytes(self) -> bytes:
        """The stored content."""
        return orjson.dumps({_FORMAT: self._format, **self.to_json()}, option=orjson.OPT_SORT_KEYS)

    def to_text(self) -> str:
        """The stored content as text."""
        return self.to_bytes().decode()

    def _names(self) -> frozenset[str]:
        """Names in the content: all fields, also those that have a default; the same for all records of the class."""
        cls = type(self)
        if cls not in _names:
            _names[cls] = frozenset(self.to_json())
        return _names[cls]

    @classmethod
    def upgraded(cls, content: dict[str, Any], number: int) -> dict[str, Any]:  # noqa: ARG003 - for those that have one
        """The content of an earlier format, which is 0 if it has no number, as this version writes it."""
        return content

    @classmethod
    def of(cls, content: bytes | str, place: object) -> Self:
        """
        The inverse of `to_bytes` and `to_text`.

        Args:
            content: as stored.
            place: where it is stored, for messages: a path, or the name of a table.

        Raises:
            UnreadableRecordError: the content is no such record, or has the format of a later version.
        """
        try:
            return cls._read(orjson.loads(content))
        except (ValueError, TypeError, KeyError, AttributeError, IngestError) as error:
            raise UnreadableRecordError(
                f'the {cls._kind} "{place}" cannot be read: {_reason(error)}',
                hint=f"use the version that wrote it, or a later one; else {cls._remedy}",
            ) from error

    @classmethod
    def _read(cls, found: object) -> Self:
        if not isinstance(found, dict):
            raise ValueError("it is no JSON object")  # noqa: TRY004 - as for all contents
        number = 0
        if _FORMAT in found or not cls._is_unnumbered:
            number = found.pop(_FORMAT)
            if type(number) is not int or number < 1:  # a bool is an int
                raise ValueError(f"its format is {orjson.dumps(number).decode()}, not a number from 1 on")
        if number > cls._format:
            raise ValueError(f"it has format {number}, this version reads {cls._format}")
        if number < cls._format:
            found = cls.upgraded(found, number)
        record = cls.from_json(found)
        if missing := record._names() - found.keys():  # noqa: SLF001 - of this class
            raise KeyError(min(missing))
        return record


def _reason(error: Exception) -> str:
    if isinstance(error, KeyError):
        return f"{error.args[0]}: Field required"
    if not isinstance(error, ValidationError):
        return str(error)
    first = error.errors(include_url=False)[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
