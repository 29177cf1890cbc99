r"""
Regular expressions, an option type.

A pattern works on characters if the value is UTF-8, and the pattern could tell them from bytes:

- A dot and a set such as `[éè]`, `\w` or `[^a]` match one character, and an empty match is never inside of one.
- `\w`, `\d`, `\s` and `\b` know the letters, digits and white space of all scripts, and `(?i)` ignores their case.
  With `(?a)` at its start, a pattern knows ASCII only. White space is Unicode's White_Space: the separators of ASCII,
  0x1C to 0x1F, are none, in no value.
- `\xe9` is the character é, as `\u00e9` is. The bytes of one character, as in `\xc3\xa9`, are that character.

If the value is not UTF-8, the pattern works on its bytes: a dot is a byte, `\xe9` is the byte E9, and `\w`, `\d`, `\s`,
`\b` and `(?i)` know ASCII only. But a pattern with characters beyond ASCII, `\u` or `\N` works on characters in any
value; a byte that is not UTF-8 is then a character by itself.

The syntax is as in Python's `re`, without the flag L and without POSIX sets such as `[[:alpha:]]`.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import AnyStr

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError

from ingest.api.growth import MAX_GROWN_BYTES, check_grown
from ingest.api.notation import name_to_bytes
from ingest.expressions.grammar import ExpressionSyntaxError
from ingest.expressions.matching import (
    CharacterMatch,
    Expression,
    Match,
    expression_of,
    literal_of,
    literals,
    searched,
    tried_once_a_line,
)
from ingest.expressions.option_type import option_schema
from ingest.expressions.texts import bytes_of, characters_of

_MAX_DIGITS = 5  # of a group number
_MAX_CHARACTER_BYTES = 4  # of UTF-8

_REFERENCE = re.compile(r"\\(?:g<([^>]*)>|(.?))", re.DOTALL)
_POSIX_CLASS = re.compile(
    r"\\.|(\[:\^?(?:alnum|alpha|ascii|blank|cntrl|digit|graph|lower|print|punct|space|upper|word|xdigit):\])", re.DOTALL
)
_BYTES_OF_A_CHARACTER = re.compile(
    r"(?i:(\[\\x80-\\xbf\])|\[\^?\]?(?:\\.|[^\]\\])*\]|((?:\\x[89a-f][0-9a-f]){2,})|\\.)", re.DOTALL
)
_HINTS = {  # prefix of Python's message -> hint
    "unknown extension ?<": "a named group is written (?P<name>…)",
    "bad character in group name": "a name has letters, digits and underscores and starts with no digit; use `prefix` "
    "of the decorator regex to add other characters, such as a family",
}


@dataclass(frozen=True, slots=True)
class Pattern:
    r"""
    A regular expression, compiled once; an option type.

    Whether it works on characters or on bytes is decided for each value, as the module says.

    Attributes:
        text: the source text.
        expression: the compiled text, for functions that are no attributes.
        groups: number of groups.
        names: name of a group -> its number.
        search: the first match, or None.
        search_ascii: the same in data that is known to be ASCII; saves a quarter of the time of a short search.
        fullmatch: the match of all data, or None.
        split: all pieces between matches, without captured groups.
    """

    text: str
    expression: Expression = field(compare=False, repr=False)
    groups: int = field(compare=False, repr=False)
    names: Mapping[str, int] = field(compare=False, repr=False)
    search: Callable[[bytes], Match | None] = field(compare=False, repr=False)
    search_ascii: Callable[[bytes], Match | None] = field(compare=False, repr=False)
    fullmatch: Callable[[bytes], Match | None] = field(compare=False, repr=False)
    split: Callable[[bytes], list[bytes]] = field(compare=False, repr=False)

    @classmethod
    def parse(cls, text: str, zone: str = "UTC") -> "Pattern":  # noqa: ARG003 - the same call for all option types
        """
        Compile a regular expression.

        Raises:
            ExpressionSyntaxError: it is not valid.
        """
        try:
            expression = expression_of(text)
            whole = _with_whole_characters(text)
            if whole != text:
                expression = expression_of(whole)
            searching = expression_of(tried_once_a_line(whole))
        except re.error as error:
            hint = next((f"; {hint}" for begin, hint in _HINTS.items() if error.msg.startswith(begin)), "")
            message = "the flag L depends on the machine's locale" if "'L' flag" in error.msg else error.msg + hint
            raise ExpressionSyntaxError(f"bad pattern: {message}", (error.pos or 0) + 1, text) from error
        except (OverflowError, RecursionError) as error:
            raise ExpressionSyntaxError("bad pattern: too large or nested too deep", 1, text) from error
        except ValueError as error:
            raise ExpressionSyntaxError(
                "bad pattern: a number is too large, or flags exclude each other", 1, text
            ) from error
        _refuse_other_meanings(text, whole)
        search = searching.choosing(lambda found: found.search, lambda found: searched(found.search))
        return cls(
            text=text,
            expression=expression,
            groups=expression.groups,
            names=expression.names,
            search=search,
            search_ascii=search if searching.in_ascii is None else searching.in_ascii.search,
            fullmatch=expression.choosing(lambda found: found.fullmatch, lambda found: searched(found.fullmatch)),
            split=_splitter(whole, expression),
        )

    @property
    def literals(self) -> tuple[str, ...]:
        """The literal parts of the text, in order; of a class or a look-ahead too, so a match need not contain them."""
        return literals(self.text)

    def replacer(self, replacement: str, most: int = 0) -> Callable[[bytes], bytes]:
        r"""
        A function that replaces the first `most` matches by a text, or all matches for 0.

        In the text `\1` is the first group, `\0` the whole match, `\g<name>` a group by name or number, and `\\` a
        backslash. A group that did not match is empty.

        The function raises DecorateError if the result is too large.

        Raises:
            ExpressionSyntaxError: a backslash is not followed by a group of the pattern.
        """
        pieces = self._pieces(replacement)
        if len(pieces) == 1 and isinstance(pieces[0], bytes):
            return self.literal_replacer(pieces[0], most)
        size = sum(1 if isinstance(piece, int) else len(piece) for piece in pieces)
        numbers = [piece for piece in pieces if isinstance(piece, int)]
        form = b"".join([b"%b" if isinstance(piece, int) else piece.replace(b"%", b"%%") for piece in pieces])
        text_form = "".join(
            ["%s" if isinstance(piece, int) else characters_of(piece).replace("%", "%%") for piece in pieces]
        )
        in_bytes, in_text = _bytes_filled(form, numbers), _text_filled(text_form, numbers)
        return self._replacer(in_bytes, in_text, size, most)

    def literal_replacer(self, new: bytes, most: int = 0) -> Callable[[bytes], bytes]:
        """
        A function that replaces the first `most` matches by literal bytes, or all matches for 0.

        The function raises DecorateError if the result is too large.
        """
        text = characters_of(new)
        literal, literal_text = (lambda _match: new), (lambda _match: text)
        if b"\\" in new:  # `re` would read a reference to a group
            return self._replacer(literal, literal_text, len(new), most)
        return self._replacer(literal, literal_text, len(new), most, new)

    def each_replacer(self, new: Callable[[Match], bytes], size: int) -> Callable[[bytes], bytes]:
        """
        A function that replaces every match by the result of a function.

        The function raises DecorateError if the result is too large.

        Args:
            new: the function.
            size: bytes that its result may have besides those of the match.
        """
        return self._replacer(new, lambda match: characters_of(new(CharacterMatch(match))), size, 0)

    def _replacer(
        self,
        new: Callable[[re.Match[bytes]], bytes],
        new_text: Callable[[re.Match[str]], str],
        size: int,
        most: int,
        literal: bytes | None = None,
    ) -> Callable[[bytes], bytes]:
        """
        A function that replaces the first `most` matches; each byte may become `size` and one more.

        Args:
            new: the new bytes for a match in bytes.
            new_text: the new text for a match in characters.
            size: bytes of the result besides those of the match.
            most: 0 for all.
            literal: the new bytes of every match, which `re` puts in faster than it calls a function.
        """
        longest = MAX_GROWN_BYTES // (size + 1)  # a text that cannot become too large
        longest_text = longest // _MAX_CHARACTER_BYTES

        def in_bytes(found: re.Pattern[bytes]) -> Callable[[bytes], bytes]:
            sub = found.sub
            each = new if literal is None else literal

            def replace(data: bytes) -> bytes:
                if len(data) <= longest:
                    return sub(each, data, most)
                return sub(_counted(new, len, len(data)), data, most)

            return replace

        def in_text(found: re.Pattern[str]) -> Callable[[str], bytes]:
            def replace(text: str) -> bytes:
                each = new_text if len(text) <= longest_text else _counted(new_text, _byte_length, _byte_length(text))
                return bytes_of(found.sub(each, text, most))

            return replace

        replace = self.expression.choosing(in_bytes, in_text)
        in_ascii = self.expression.in_ascii if self.expression.depends_on_value else None
        if in_ascii is None:
            return replace
        sub, each = in_ascii.sub, new if literal is None else literal  # most values, with one call less
        return lambda data: sub(each, data, most) if data.isascii() and len(data) <= longest else replace(data)

    def _pieces(self, replacement: str) -> list[bytes | int]:
        """Literal pieces and group numbers, in order; at least one."""
        pieces: list[bytes | int] = []
        text = b""
        end = 0
        for reference in _REFERENCE.finditer(replacement):
            text += name_to_bytes(replacement[end : reference.start()])
            end = reference.end()
            if reference[0] == r"\\":
                text += b"\\"
                continue
            number = self._group(reference[1] or reference[2] or "", is_named=reference[1] is not None)
            if number is None:
                message = f'"{reference[0]}" in the replacement is no group of the pattern'
                raise ExpressionSyntaxError(message, reference.start() + 1, replacement)
            pieces += [text, number] if text else [number]
            text = b""
        text += name_to_bytes(replacement[end:])
        return [*pieces, text] if text or not pieces else pieces

    def _group(self, name: str, *, is_named: bool) -> int | None:
        """The number of the group that a reference means."""
        if name.isascii() and name.isdigit() and len(name) < _MAX_DIGITS:
            number = int(name)
            return number if number <= self.groups else None
        return self.names.get(name) if is_named else None

    def __reduce__(self) -> tuple[object, ...]:
        return Pattern.parse, (self.text,)

    def __str__(self) -> str:
        return self.text

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        return option_schema(cls, cls.parse, "bad_pattern")

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"type": "string", "format": "pattern"}


def check_replacement(pattern: Pattern, replacement: str) -> None:
    """
    Check that a replacement refers only to groups of the pattern; for validators of options.

    Raises:
        PydanticCustomError: it refers to another group.
    """
    try:
        pattern.replacer(replacement)
    except ExpressionSyntaxError as error:
        raise PydanticCustomError(
            "bad_pattern", "{problem}", {"problem": error.message, "option": "replacement"}
        ) from error


def _with_whole_characters(text: str) -> str:
    r"""An expression whose escapes for the bytes of one character, such as `\xc3\xa9`, are that character."""

    def whole(found: re.Match[str]) -> str:
        try:
            return _escaped_bytes(found[2]).decode() if found[2] else found[0]
        except UnicodeDecodeError:
            return found[0]

    return _BYTES_OF_A_CHARACTER.sub(whole, text) if r"\x" in text else text


def _escaped_bytes(escapes: str) -> bytes:
    return bytes.fromhex(escapes.replace(r"\x", ""))


def _is_part_of_a_character(found: re.Match[str]) -> bool:
    """Whether escapes end inside of a character of UTF-8; bytes of another encoding, such as GBK, do not."""
    try:
        _escaped_bytes(found[2] or "").decode()
    except UnicodeDecodeError as error:
        return error.reason == "unexpected end of data"
    return found[1] is not None


def _refuse_other_meanings(text: str, whole: str) -> None:
    r"""
    Reject what means something else here than its writer had in mind.

    Args:
        text: an expression.
        whole: the same with whole characters.

    Raises:
        ExpressionSyntaxError: it has a POSIX set, which Python would read as a set of its characters, or bytes of part
            of a character, such as `[\x80-\xbf]`, which are characters.
    """
    posix = next((found for found in _POSIX_CLASS.finditer(text) if found[1]), None)
    if posix is not None:
        message = f"bad pattern: POSIX classes such as {posix[1]} are not supported; write \\d, \\s, \\w or A-Za-z"
        raise ExpressionSyntaxError(message, posix.start() + 1, text)
    escapes = next((found for found in _BYTES_OF_A_CHARACTER.finditer(whole) if _is_part_of_a_character(found)), None)
    if escapes is not None:
        message = (
            f"bad pattern: {escapes[0]} are characters, not the bytes of one; write the character, or a dot for any"
        )
        raise ExpressionSyntaxError(message, text.index(escapes[0]) + 1, text)


def _bytes_filled(form: bytes, numbers: Sequence[int]) -> Callable[[re.Match[bytes]], bytes]:
    """A function that puts the values of groups into a form; a group that takes no part is empty."""
    if len(numbers) == 1:
        number = numbers[0]
        return lambda match: form % (match[number] or b"")
    return lambda match: form % tuple([value or b"" for value in match.group(*numbers)])


def _text_filled(form: str, numbers: Sequence[int]) -> Callable[[re.Match[str]], str]:
    """The same for matches in characters."""
    return lambda match: form % tuple([match[number] or "" for number in numbers])


def _counted(
    new: Callable[[re.Match[AnyStr]], AnyStr], size_of: Callable[[AnyStr], int], size: int
) -> Callable[[re.Match[AnyStr]], AnyStr]:
    """The same function, which raises DecorateError once its results are too large for a text of `size` bytes."""
    made = 0

    def counted(match: re.Match[AnyStr]) -> AnyStr:
        nonlocal made
        result = new(match)
        made += size_of(result)
        check_grown(made, size)
        return result

    return counted


def _byte_length(text: str) -> int:
    return len(bytes_of(text))


def _splitter(text: str, expression: Expression) -> Callable[[bytes], list[bytes]]:
    """
    A function that returns all pieces between the matches of a pattern.

    Unlike `re.split`, it does not return captured groups.
    """
    literal = literal_of(text)
    if literal is not None:
        return lambda data: data.split(literal)

    def in_text(found: re.Pattern[str]) -> Callable[[str], list[bytes]]:
        split = _split(found)
        return lambda data: [bytes_of(piece) for piece in split(data)]

    return expression.choosing(_split, in_text)


def _split(found: re.Pattern[AnyStr]) -> Callable[[AnyStr], list[AnyStr]]:
    if not found.groups:
        return found.split
    finditer = found.finditer

    def split(data: AnyStr) -> list[AnyStr]:
        pieces = []
        start = 0
        for match in finditer(data):
            pieces.append(data[start : match.start()])
            start = match.end()
        pieces.append(data[start:])
        return pieces

    return split
