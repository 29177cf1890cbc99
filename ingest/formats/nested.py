"""Nested content, such as records of records, as attributes: members of members get dotted names."""

from collections.abc import Callable, Collection, Iterable, Iterator
from decimal import Decimal
from enum import StrEnum

import orjson

from ingest.api.errors import DecorateError
from ingest.api.notation import name_to_bytes, shown, to_notation
from ingest.api.settings import Settings, option
from ingest.formats.numbers import number_text

_MAX_LEVELS = 100  # orjson itself allows 1024, a decoder in Python less
_MAX_REPEATED = 16 << 20  # letters: each member's name has that of its object in it, so they grow with the square


class Arrays(StrEnum):
    """What becomes of an array."""

    TEXT = "text"
    INDEX = "index"
    UNSET = "unset"


class OnNull(StrEnum):
    """What a null leads to."""

    UNSET = "unset"
    EMPTY = "empty"
    ERROR = "error"


class NestedSettings(Settings):
    """Options of every decorator that makes attributes of nested content."""

    source: str | None = option("Attribute that is read; the body when left out.", default=None, example="payload")
    prefix: str = option("Put before every attribute name.", default="", example="2hb_app:")
    separator: str = option("Stands between the names of nested members.", default=".")
    only: list[str] | None = option(
        "Only these members, as named before the prefix, of an object or array all that is in it; all when left out.",
        default=None,
        example=["level", "user.id"],
        min_length=1,
    )
    arrays: Arrays = option(
        "An array becomes its JSON `text`, or an attribute for each element named by its `index`, or stays `unset`.",
        default="text",
        strict=False,
    )

    @property
    def other_names(self) -> str | None:
        """All names begin with `prefix`."""
        return self.prefix


class Flattening:
    """
    Attributes of the members of an object.

    Objects are dicts with names of text, arrays are lists. Text becomes its UTF-8, a lone surrogate the byte it stands
    for.

    Args:
        write: the bytes of what is neither text nor null nor object, and of arrays where they become text.
    """

    def __init__(
        self, settings: NestedSettings, write: Callable[[object], bytes], on_null: OnNull = OnNull.UNSET
    ) -> None:
        self._prefix = settings.prefix
        self._separator = settings.separator
        self._only = None if settings.only is None else frozenset(settings.only)
        self._above = frozenset(_above(settings.only or (), settings.separator))
        self._arrays = settings.arrays
        self._write = write
        self._on_null = on_null
        self._repeated = 0

    def attributes(self, content: dict[str, object]) -> dict[str, bytes]:
        """
        The attributes of an object.

        Raises:
            DecorateError: it is nested too deep, the names would fill the memory, or a member is null where it must
                not be.
        """
        found: dict[str, bytes] = {}
        self._repeated = 0
        self._flatten(content.items(), "", found, _MAX_LEVELS, self._only)
        return found

    def _flatten(
        self,
        members: Iterable[tuple[str, object]],
        path: str,
        found: dict[str, bytes],
        levels: int,
        only: frozenset[str] | None,
    ) -> None:
        """Put the leaves of members below a path into `found`, going no more than so many levels deeper."""
        if not levels:
            raise DecorateError(f"nested deeper than {_MAX_LEVELS} levels", code="too_deep")
        for member, value in members:
            name = path + member
            if isinstance(value, str):
                if only is None or name in only:
                    found[self._prefix + name] = value.encode("utf-8", "surrogateescape")
            elif isinstance(value, dict):
                self._flatten_inner(value.items(), name, found, levels - 1, only)
            elif isinstance(value, list) and self._arrays is not Arrays.TEXT:
                if self._arrays is Arrays.INDEX:
                    elements = [(str(index), element) for index, element in enumerate(value)]
                    self._flatten_inner(elements, name, found, levels - 1, only)
            elif only is None or name in only:
                if value is not None:
                    found[self._prefix + name] = self._write(value)
                elif self._on_null is OnNull.EMPTY:
                    found[self._prefix + name] = b""
                elif self._on_null is OnNull.ERROR:
                    raise DecorateError(f'"{name}" is null', code="null_value")

    def _flatten_inner(
        self,
        members: Collection[tuple[str, object]],
        name: str,
        found: dict[str, bytes],
        levels: int,
        only: frozenset[str] | None,
    ) -> None:
        """The members of an object or array with that name, unless none of them is wanted."""
        if only is not None:
            if name in only:
                only = None
            elif name not in self._above:
                return
        if only is None:
            self._repeated += len(name) * len(members)
            if self._repeated > _MAX_REPEATED:
                raise DecorateError(
                    f"the names of its members have more than {_MAX_REPEATED >> 20} MiB, for a name of "
                    f"{len(name)} letters stands before each of {len(members)}",
                    code="too_large",
                    hint="see `only`",
                )
        self._flatten(members, name + self._separator, found, levels, only)


def _above(names: Iterable[str], separator: str) -> Iterator[str]:
    """What a name begins with that may be the name of an object it is in: members have separators in them too."""
    for name in names:
        for end in range(len(name)):
            if name.startswith(separator, end):
                yield name[:end]


def written(value: object) -> bytes:
    """
    A number, truth value, bytes or an array of anything as an attribute holds it.

    Bytes stay as they are; in the JSON of an array they are text where they are UTF-8, else `{"b64": …}`, as is text
    with lone surrogates, and what is not finite is null.

    Raises:
        DecorateError: an array is nested too deep, or has a name in it that is not UTF-8.
    """
    match value:
        case bytes():
            return value
        case bool():
            return b"true" if value else b"false"
        case int():
            return b"%d" % value
        case list():
            return _array_text(value)
        case float():
            return number_text(value)
        case Decimal():
            return format(value, "f").encode()
    raise TypeError(f"{type(value).__name__} is nothing that an attribute holds")


def _array_text(array: list[object]) -> bytes:
    try:
        return orjson.dumps(array, default=_in_json)
    except orjson.JSONEncodeError as error:
        try:
            return orjson.dumps(_writable(array), default=_in_json)
        except (orjson.JSONEncodeError, RecursionError):
            raise DecorateError(f"an array is nested too deep: {error}", code="too_deep") from error


def _writable(value: object) -> object:
    """The same, with bytes for the text and digits for the numbers that orjson does not write."""
    match value:
        case str():
            return value.encode("utf-8", "surrogateescape")
        case int():
            return orjson.Fragment(written(value))
        case list():
            return [_writable(element) for element in value]
        case dict():
            return {_utf8(name): _writable(element) for name, element in value.items()}
    return value


def _utf8(name: str) -> str:
    try:
        name.encode()
    except UnicodeEncodeError as error:
        raise DecorateError(
            f"the name {shown(name_to_bytes(name))} in an array is not UTF-8, as names in JSON are",
            code="bad_name",
            hint="see `arrays`",
        ) from error
    return name


def _in_json(value: object) -> object:
    return to_notation(value) if isinstance(value, bytes) else orjson.Fragment(written(value))
