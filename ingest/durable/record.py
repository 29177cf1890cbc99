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
    of an earlier format is `upgraded`; one without a number is of 0.2.0 or before.

    Args:
        kind: what it is, for messages, before its place: "committed position of table".
        format: the number of its format.
        remedy: how to continue without it.
    """

    __slots__ = ()
    _kind: ClassVar[str]
    _format: ClassVar[int]
    _remedy: ClassVar[str]

    def __init_subclass__(cls, *, kind: str = "", format: int = 1, remedy: str = "restore it from a copy") -> None:  # noqa: A002 - the word in the content
        if kind:  # else it is the copy of a class that `dataclass(slots=True)` makes
            cls._kind, cls._format, cls._remedy = kind, format, remedy

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
            found = orjson.loads(content)
            number = found.pop(_FORMAT, 0)
            if number < cls._format:
                found, number = cls.upgraded(found, number), cls._format
            if number == cls._format:
                record = cls.from_json(found)
                missing = sorted(record._names() - found.keys())  # noqa: SLF001 - of this class
                if not missing:
                    return record
                reason, cause = f"{missing[0]}: Field required", None
            else:
                reason, cause = f"it has format {number}, this version reads {cls._format}", None
        except (ValueError, TypeError, KeyError, AttributeError, IngestError) as error:
            reason, cause = _reason(error), error
        raise UnreadableRecordError(
            f'the {cls._kind} "{place}" cannot be read: {reason}',
            hint=f"use the version that wrote it, or a later one; else {cls._remedy}",
        ) from cause


def _reason(error: Exception) -> str:
    if not isinstance(error, ValidationError):
        return str(error)
    first = error.errors(include_url=False)[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
