"""Flattens nested content into attributes with dotted names."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from decimal import Decimal
from enum import StrEnum

import orjson

from ingest.api.errors import DecorateError
from ingest.api.event_errors import TooDeepError, TooLargeError
from ingest.api.notation import name_to_bytes, shown, to_notation
from ingest.api.settings import Settings, option
from ingest.formats.number_types import Numbers, Write
from ingest.formats.numbers import number_text

MAX_LEVELS = 100
"""Levels of nested objects and arrays; orjson allows 1024, a decoder in Python less."""
_MAX_REPEATED = 16 << 20  # characters; names contain those of all outer objects, so they grow quadratically

_REMEDY = "set a `separator` that no name contains"


class BadElementsError(DecorateError):
    """A member of the option `elements` is not an array of texts, numbers and booleans."""

    code = "bad_elements"
    remedy = "Leave the member out of `elements`, choose another `on_invalid`, or correct the producer."


class BadNestedNameError(DecorateError):
    """A name in an array is not UTF-8, so the array cannot be written as JSON."""

    code = "bad_name"
    remedy = "Change `arrays` of the decorator, or correct the producer."


class NullValueError(DecorateError):
    """A member of the JSON or Avro is null, with on_null: error."""

    code = "null_value"
    remedy = "Choose another `on_null`, or correct the producer."


class RepeatedNameError(DecorateError):
    """Two members of nested content with different values get one name, as `a.b` in `{a.b: 1, a: {b: 2}}`."""

    code = "repeated_name"
    remedy = "Set a `separator` that no name contains, or another prefix in `elements`; then replay the dead letters."


class Arrays(StrEnum):
    """How arrays become attributes."""

    TEXT = "text"
    INDEX = "index"
    UNSET = "unset"


class OnNull(StrEnum):
    """How nulls become attributes."""

    UNSET = "unset"
    EMPTY = "empty"
    ERROR = "error"


class NestedSettings(Settings):
    """Options of all decorators that flatten nested content into attributes."""

    source: str | None = option("Attribute to read; the body if left out.", default=None, example="payload")
    prefix: str = option("Prefix of attribute names.", default="", example="2hb_app:")
    separator: str = option("Separator between the names of nested members.", default=".")
    only: list[str] | None = option(
        "Members that become attributes, named without the prefix; an object or array includes all its members. All "
        "members if left out.",
        default=None,
        example=["level", "user.id"],
        min_length=1,
    )
    arrays: Arrays = option(
        "How arrays become attributes: `text` for one with the array's JSON, `index` for one for each element, named "
        "by its index, `unset` for none.",
        default="text",
        strict=False,
    )
    max_levels: int | None = option(
        "Levels of objects, and of arrays with `arrays: index`, whose members become attributes: with 1 an inner "
        "object or array becomes one attribute with its JSON. All levels when left out.",
        default=None,
        example=1,
        ge=1,
        le=MAX_LEVELS,
    )
    numbers: Numbers = option(
        "How numbers are written: as `text`; in binary form (`auto`), an integer as int64 and any other number as "
        "float64; or all as `float64`. Both have 8 bytes, as HBase's `Bytes.toBytes` writes them. An integer that "
        "does not fit fails the event. Numbers in arrays that become JSON stay text.",
        default="text",
        strict=False,
    )

    @property
    def other_names(self) -> str | None:
        """All names start with `prefix`."""
        return self.prefix

    @property
    def name_separator(self) -> str:
        """The option `separator`."""
        return self.separator

    @property
    def writes_binary(self) -> bool:
        """Whether numbers are in binary form."""
        return self.numbers is not Numbers.TEXT


class Flattening:
    """
    Flattens objects into attributes.

    Objects are dicts with str keys, arrays are lists. Text is encoded as UTF-8, lone surrogates as the bytes they
    represent (PEP 383).

    Args:
        write: encodes values other than text and null; of arrays and objects those that become JSON. A subclass of str
            is not text.
    """

    _remedy = _REMEDY

    def __init__(self, settings: NestedSettings, write: Write, on_null: OnNull = OnNull.UNSET) -> None:
        self._prefix = settings.prefix
        self._separator = settings.separator
        self._only = None if settings.only is None else frozenset(settings.only)
        self._above = frozenset(_above(settings.only or (), settings.separator))
        # decided here, since to look up a member of an enum takes as long as a call
        self._arrays_stay = settings.arrays is Arrays.TEXT
        self._has_indexes = settings.arrays is Arrays.INDEX
        self._skips_null, self._refuses_null = on_null is OnNull.UNSET, on_null is OnNull.ERROR
        self._write = write
        self._deepest = 0 if settings.max_levels is None else MAX_LEVELS + 1 - settings.max_levels
        self._repeated = 0

    def attributes(self, content: dict[str, object]) -> dict[str, bytes]:
        """
        The attributes of an object.

        Raises:
            DecorateError: it is nested too deep, its names are too long in total, two members with different values get
                one name, as in `{"a.b": 1, "a": {"b": 2}}`, or a member is null with `on_null: error`.
        """
        found: dict[str, bytes] = {}
        self._repeated = 0
        leaves = self._flatten(content.items(), "", found, MAX_LEVELS, self._only)
        if leaves != len(found):  # rare, so only now it costs time to find out which
            found = _EachOnce(self._remedy)
            self._repeated = 0
            self._flatten(content.items(), "", found, MAX_LEVELS, self._only)
        return found

    def _flatten(
        self,
        members: Collection[tuple[str, object]],
        path: str,
        found: dict[str, bytes],
        levels: int,
        only: frozenset[str] | None,
    ) -> int:
        """Add the leaves of members below a path to `found`, for at most so many more levels; how many they are."""
        if not levels:
            raise TooDeepError(f"nested deeper than {MAX_LEVELS} levels")
        leaves = len(members)
        for member, value in members:
            name = path + member
            if type(value) is str:
                if only is None or name in only:
                    found[self._prefix + name] = value.encode("utf-8", "surrogateescape")
                else:
                    leaves -= 1
            elif type(value) is dict and levels != self._deepest:  # exact types: `isinstance` takes longer
                leaves += self._flatten_inner(value.items(), name, found, levels - 1, only) - 1
            elif type(value) is list and not self._arrays_stay and not (self._has_indexes and levels == self._deepest):
                leaves -= 1
                if self._has_indexes:
                    elements = [(str(index), element) for index, element in enumerate(value)]
                    leaves += self._flatten_inner(elements, name, found, levels - 1, only)
            elif (only is not None and name not in only) or (value is None and self._skips_null):
                leaves -= 1
            elif value is not None:
                found[self._prefix + name] = self._write(value)
            elif self._refuses_null:
                raise NullValueError(f'"{name}" is null')
            else:
                found[self._prefix + name] = b""
        return leaves

    def _flatten_inner(
        self,
        members: Collection[tuple[str, object]],
        name: str,
        found: dict[str, bytes],
        levels: int,
        only: frozenset[str] | None,
    ) -> int:
        """Flatten the members of an object or array of that name, unless `only` excludes all of them."""
        if only is not None:
            if name in only:
                only = None
            elif name not in self._above:
                return 0
        if only is None:
            self._repeated += len(name) * len(members)
            if self._repeated > _MAX_REPEATED:
                raise _names_too_long(name, len(members))
        return self._flatten(members, name + self._separator, found, levels, only)


class _EachOnce(dict[str, bytes]):
    """
    Values by name; a second value of a name is refused.

    Args:
        remedy: hint of the refusal.
    """

    def __init__(self, remedy: str) -> None:
        super().__init__()
        self._remedy = remedy

    def __setitem__(self, name: str, value: bytes) -> None:
        if self.get(name, value) != value:
            raise RepeatedNameError(
                f'two members with different values become "{name}"',
                hint=self._remedy,
            )
        super().__setitem__(name, value)


class ElementsAsNames(Flattening):
    """
    The same; the elements of some arrays become names of attributes, whose value is the number 1.

    Args:
        elements: member that is an array, named as in `only` -> prefix of the names; also if `only` excludes it.
        text_of: encodes elements other than text, null, arrays and objects.
    """

    _remedy = f"{_REMEDY}, or another prefix in `elements`"

    def __init__(
        self, settings: NestedSettings, write: Write, on_null: OnNull, elements: Mapping[str, str], text_of: Write
    ) -> None:
        super().__init__(settings, write, on_null)
        self._elements = elements
        self._text_of = text_of
        self._one = write(1)
        self._above |= frozenset(_above(elements, settings.separator))

    def _flatten(
        self,
        members: Collection[tuple[str, object]],
        path: str,
        found: dict[str, bytes],
        levels: int,
        only: frozenset[str] | None,
    ) -> int:
        others = []
        names = 0
        for member, value in members:
            prefix = self._elements.get(path + member)
            if prefix is None:
                others.append((member, value))
            else:
                names += self._add_names(path + member, prefix, value, found)
        return names + super()._flatten(others, path, found, levels, only)

    def _add_names(self, name: str, prefix: str, array: object, found: dict[str, bytes]) -> int:
        """Add the names of an array to `found`; returns their number, in which equal elements count once."""
        if array is None and not self._refuses_null:
            return 0
        names = set()
        for element in self._checked(name, array):
            if element is None and self._skips_null:
                continue
            if element is None and self._refuses_null:
                raise NullValueError(f'an element of "{name}" is null')
            text = element if type(element) is str else "" if element is None else self._text_of(element).decode()
            names.add(text)
            found[prefix + text] = self._one
        return len(names)

    def _checked(self, name: str, array: object) -> list[object]:
        """The array, whose names are short enough in total."""
        if array is None:
            raise NullValueError(f'"{name}" is null')
        inner = [array] if not isinstance(array, list) else [each for each in array if isinstance(each, dict | list)]
        if inner:
            what = f'"{name}" is not an array' if inner[0] is array else f'"{name}" contains arrays or objects'
            raise BadElementsError(what, hint="see `elements`")
        assert isinstance(array, list)  # noqa: S101 - for mypy: any other value was refused
        self._repeated += len(self._elements[name]) * len(array)
        if self._repeated > _MAX_REPEATED:
            raise _names_too_long(self._elements[name], len(array))
        return array


def _names_too_long(name: str, count: int) -> DecorateError:
    return TooLargeError(
        f"the names of its members have more than {_MAX_REPEATED >> 20} MiB: a name of {len(name)} characters is the "
        f"prefix of {count} members",
        hint="see `only`",
    )


def _above(names: Iterable[str], separator: str) -> Iterator[str]:
    """All prefixes of names that end before a separator: any may be an object, as names may contain separators."""
    for name in names:
        for end in range(len(name)):
            if name.startswith(separator, end):
                yield name[:end]


def written(value: object) -> bytes:
    """
    A number, boolean, bytes, an array or an object as the value of an attribute.

    Bytes are kept. In the JSON of an array or object, bytes and text with lone surrogates are text if they are UTF-8,
    else `{"b64": …}`; numbers that are not finite are null.

    Raises:
        DecorateError: an array or object is nested too deep, or contains a name that is not UTF-8.
    """
    match value:
        case bytes():
            return value
        case bool():
            return b"true" if value else b"false"
        case int():
            return b"%d" % value
        case list() | dict():
            return _json_text(value)
        case float():
            return number_text(value)
        case Decimal():
            return format(value, "f").encode()
    raise TypeError(f"{type(value).__name__} cannot be the value of an attribute")


def _json_text(content: list[object] | dict[str, object]) -> bytes:
    try:
        return orjson.dumps(content, default=_in_json)
    except orjson.JSONEncodeError as error:
        try:
            return orjson.dumps(_writable(content), default=_in_json)
        except (orjson.JSONEncodeError, RecursionError):
            raise TooDeepError(f"an array or object is nested too deep: {error}") from error


def _writable(value: object) -> object:
    """The value with text as bytes and numbers as digits, where orjson does not write them."""
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
        raise BadNestedNameError(
            f"the name {shown(name_to_bytes(name))} in an array is not UTF-8, which JSON requires",
            hint="see `arrays`",
        ) from error
    return name


def _in_json(value: object) -> object:
    return to_notation(value) if isinstance(value, bytes) else orjson.Fragment(written(value))
