"""Redact private data in text: addresses, card numbers, tokens."""

import re
from collections.abc import Callable, Sequence
from enum import StrEnum
from socket import AF_INET6, inet_pton
from typing import Annotated, Self, TypeVar

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from ingest.api import Decorator, Event, Example, growth, option
from ingest.api.notation import name_to_bytes
from ingest.decorating.in_place import ALL, InPlace, InPlaceSettings
from ingest.decorating.names import BoundedMemo
from ingest.expressions import Match, Pattern
from ingest.expressions.matching import around
from ingest.expressions.texts import bytes_of, characters_of
from ingest.formats.byte_numbers import COLON
from ingest.formats.card_numbers import CARD_DIGITS, is_card
from ingest.formats.json_changes import leaving_json
from ingest.formats.secret_tokens import TOKENS, Key, key_of

C = TypeVar("C")
T = TypeVar("T")
Change = Callable[[bytes], bytes]


class Known(StrEnum):
    """Kinds of private data with a built-in pattern."""

    EMAIL = "email"
    CARD = "card"
    IPV4 = "ipv4"
    IPV6 = "ipv6"
    TOKEN = "token"  # noqa: S105 - a name


# With possessive quantifiers and lookbehinds, a search starts once for each run of characters, so no text takes
# quadratic time. A lookbehind follows the first character, because the engine skips to that character quickly.
# Bytes from 0x80 on are letters of other alphabets.
_LOCAL = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.%+-" + bytes(range(0x80, 0x100))
_CONTINUATIONS = bytes(range(0x80, 0xC0))  # of a character of UTF-8
_MAX_LOCAL = 256  # bytes before the @ that are examined; RFC 5321 allows 64
_DOMAIN = re.compile(rb"@(?:[A-Za-z0-9\x80-\xff-]++\.)+[A-Za-z\x80-\xff]{2,63}[\x80-\xbf]*+")
_IPV4 = re.compile(rb"\d(?<![\d.]\d)\d{0,2}+(?:\.\d{1,3}+){3}(?!\.?\d)")
_IPV6 = re.compile(
    rb"[0-9A-Fa-f:](?<![\w:.].)(?=[0-9A-Fa-f]{0,3}:)[0-9A-Fa-f:]++(?:(?:\.\d{1,3}+){3})?(?!\w)", re.DOTALL
)
_DIGITS = re.compile(rb"\d(?<![\w.]\d)(?:[ -]?\d){12,}+")
_GROUP = re.compile(rb"\d+")
_WORD = re.compile(rb"\w")
_HEADER = b"authorization: "
_MAX_GROUPS = 6  # of a card number; columns of single digits are not one
_MAX_IN_BYTE = 255


class RedactSettings(InPlaceSettings):
    """Options of the redact decorator."""

    find: list[Annotated[Known, Field(strict=False)]] = option(
        "Kinds of data to redact: `email`, `card` (numbers with a valid check digit), `ipv4`, `ipv6`, `token` (bearer "
        "tokens, Authorization headers, values of keys such as api_key and password, JSON web tokens, keys of some "
        "well-known services).",
        default=[],
        example=["email", "card"],
    )
    patterns: list[Pattern] = option(
        "Regular expressions of other data to redact. If a pattern has groups, only the first group that takes part "
        "in the match is replaced.",
        default=[],
        example=["user=(\\w+)"],
    )
    replacement: str = option("Replacement of each match.", default="[redacted]", example="***")
    keep_last: int = option(
        "Number of characters at the end of a match that are kept after the replacement; a match that is not longer is "
        "replaced completely.",
        default=0,
        ge=0,
        le=16,
        example=4,
    )

    @model_validator(mode="after")
    def _something_to_find(self) -> Self:
        if not self.find and not self.patterns:
            raise PydanticCustomError("missing", "redact needs `find` or `patterns`")
        return self


class Redact(Decorator[RedactSettings]):
    """
    Redact private data in the body, or in the named attributes.

    If attributes are named, the body stays unchanged; to redact both, add `body: true`. Names of attributes are never
    changed. For `token` they count as keys, so tokens are also found after decorators that parse the text.

    Matching considers the form of text only: private data in another form is missed, and text that looks private is
    replaced. A card number has 13 to 19 digits with a card's first digits and a valid check digit, in up to six groups
    separated by spaces or hyphens. A version of four numbers looks like an IPv4 address.

    A `token` is one of the following; the first two ignore case:

    - after `bearer`, or after `authorization:` and a word: 6 characters or more; after `authorization:` and a word also
      parameters such as `username="ann", response="6629"`, all of them, with their names;
    - any value after `=` or `:` of a key that ends with `api_key`, `access_key`, `secret_key` (with underscore, hyphen
      or neither), `token`, `secret`, `password` or `passwd`; not of other keys such as `pwd`, `pass` and `key`. A value
      in double or single quotes, also escaped as in JSON within JSON, ends at the closing quote. Any other value ends
      at white space, a quote, backslash, bracket or one of `&,;`; it may be in brackets;
    - a JSON web token, which starts with `eyJ` and has three parts;
    - `AKIA` or `ASIA` and 16 letters or digits (AWS), `ghp_`, `gho_`, `ghu_`, `ghs_` or `ghr_` and 30 or more (GitHub),
      `xoxb-` and similar and 10 or more (Slack), `sk_live_`, `sk_test_`, `rk_live_` or `rk_test_` and 16 or more
      (Stripe).

    A pattern works on characters if the text is UTF-8, else on bytes (docs/reference/expressions.md). Characters beyond
    ASCII count as letters of an email address.

    Text is not decoded, so percent-encoding hides data: `alice%40example.com` has no @ and is not found. Parse the
    query with `query`, which decodes it, and redact its attributes, or add a pattern.

    JSON stays valid JSON, except for replacements by `patterns`: a number or a word is replaced by the replacement in
    quotes, unless the replacement itself is valid JSON, such as `0`. An object or array that is the value of a key such
    as `token` stays; its members are examined one by one.

    Replacements of more than 64 MiB in a text, or four times the text, fail the event with `too_large`.

    A dead letter contains the original record, so data that must not be stored at all must not enter the topic. To
    replace whole values with pseudonyms, use `hmac`.

    Source: own design; ISO/IEC 7812 for card numbers, RFC 6750 for bearer tokens, RFC 9110, 11.4, for
    parameters of the Authorization header.
    """

    kind = "redact"
    examples = (
        Example(
            "an email address",
            settings="{find: [email]}",
            body="login of alice@example.com failed",
            body_after="login of [redacted] failed",
        ),
        Example(
            "a card number except for its last digits",
            settings="{find: [card], replacement: '****', keep_last: 4}",
            body="paid with 4111 1111 1111 1111, order 4111111111111112",
            body_after="paid with ****1111, order 4111111111111112",
        ),
        Example(
            "tokens and addresses in an attribute, not in the body",
            settings="{find: [token, ipv4], attributes: [header], replacement: '-'}",
            body="10.0.0.1",
            attributes={"header": "Authorization: Bearer mF_9.B5f-4.1JqM from 10.0.0.1"},
            after={"header": "Authorization: Bearer - from -"},
        ),
        Example(
            "all attributes and the body",
            settings="{find: [ipv4], attributes: ['*'], body: true, replacement: '-'}",
            body="from 10.0.0.1",
            attributes={"client": "10.0.0.1", "id": "7"},
            after={"client": "-"},
            body_after="from -",
        ),
        Example(
            "attributes whose names are keys of secrets",
            settings="{find: [token], attributes: ['*']}",
            attributes={"user": "ann", "password": "a b", "http.authorization": "Basic YTpiCg=="},
            after={"password": "[redacted]", "http.authorization": "Basic [redacted]"},
        ),
        Example(
            "other keys, and a percent-encoded address",
            settings="{find: [token, email], patterns: ['pwd=([^&]+)', '[\\w.+-]+%40[\\w.-]+'], replacement: '*'}",
            body="/login?user=alice%40example.com&pwd=abc&reset_token=1",
            body_after="/login?user=*&pwd=*&reset_token=*",
        ),
        Example(
            "JSON stays valid",
            settings="{find: [card, token]}",
            body='{"card": 4111111111111111, "max_token": 256, "token": {"id": 7}}',
            body_after='{"card": "[redacted]", "max_token": "[redacted]", "token": {"id": 7}}',
        ),
        Example(
            "a pattern with a group",
            settings="{patterns: ['user=(\\w+)'], replacement: '*'}",
            body="user=alice id=7",
            body_after="user=* id=7",
        ),
        Example(
            "a pattern with alternative groups",
            settings="{patterns: ['user=(\\w+)|id=(\\d+)'], replacement: '*'}",
            body="user=alice id=7",
            body_after="user=* id=*",
        ),
    )

    def __init__(self, settings: RedactSettings) -> None:
        super().__init__(settings)
        self._replacement = name_to_bytes(settings.replacement)
        self._keep = settings.keep_last
        known = {
            Known.EMAIL: self._email,
            Known.CARD: self._card,
            Known.IPV4: self._ipv4,
            Known.IPV6: self._ipv6,
            Known.TOKEN: self._token,
        }
        self._longest = growth.MAX_GROWN_BYTES // (len(self._replacement) + 1)  # a text that cannot become too large
        self._is_counted = False
        self._made = self._size = 0  # if counted: bytes that replaced others in a text, and of the text
        changes: list[Change] = [self._pattern_change(pattern) for pattern in settings.patterns]
        # tokens first: other replacements may break the text around them
        finds = tuple(change for name, change in reversed(known.items()) if name in settings.find)
        changes += [leaving_json(self._without_known(finds), settings.replacement)] if finds else []
        named = settings.attributes if Known.TOKEN in settings.find else None
        self._named = () if named is None or ALL in named else tuple(named)
        self._finds_names = named is not None
        self._keys = BoundedMemo(key_of)
        self._texts = InPlace(settings, changes[0] if len(changes) == 1 else _in_sequence(changes))

    def decorate(self, event: Event) -> bool:
        """Redact the texts of the event."""
        if self._finds_names:
            attributes = event.attributes
            size = len(b"".join(attributes.values()))
            if size <= self._longest:
                self._redact_named(attributes)
            else:
                self._counting(self._redact_named, attributes, size)
        self._texts.apply(event)
        return True

    def _without_known(self, finds: tuple[Change, ...]) -> Change:
        """A function that removes data of known kinds from a text: it returns the same object if there are none."""
        longest, counting = self._longest, self._counting
        if len(finds) == 1:
            find = finds[0]
            return lambda text: find(text) if len(text) <= longest else counting(find, text, len(text))

        def without(text: bytes) -> bytes:
            is_short = len(text) <= longest
            for find in finds:
                found = find(text) if is_short else counting(find, text, len(text))
                if found is not text:
                    text, is_short = found, len(found) <= longest
            return text

        return without

    def _counting(self, change: Callable[[C], T], content: C, size: int) -> T:
        """The result of a change, which raises DecorateError if it is too large for content of `size` bytes."""
        self._is_counted, self._made, self._size = True, 0, size
        try:
            return change(content)
        finally:
            self._is_counted = False

    def _redact_named(self, attributes: dict[str, bytes]) -> None:
        """Redact the values of attributes whose names are keys of tokens."""
        found: dict[str, bytes] = {}
        whole, header = Key.WHOLE, Key.HEADER
        for name in self._named or attributes:
            key = self._keys[name]
            value = attributes.get(name)
            if key is whole and value:
                found[name] = self._replaced(value)
            elif key is header and value:
                found[name] = self._token(_HEADER + value)[len(_HEADER) :]
        attributes.update(found)

    def _replaced(self, found: bytes) -> bytes:
        keep, new = self._keep, self._replacement
        if keep and keep < len(found):
            new += found[-keep:] if found.isascii() else _end(found, keep)
        if self._is_counted:
            self._made += len(new)
            growth.check_grown(self._made, self._size)
        return new

    def _whole(self, match: Match) -> bytes:
        return self._replaced(match[0])

    def _group(self, match: re.Match[bytes]) -> bytes:
        """Replace the last group that takes part in the match."""
        return self._part(match, match.lastindex or 0)

    def _only_group(self, match: Match) -> bytes:
        return match[0] if match[1] is None else self._part(match, 1)

    def _first_group(self, match: Match) -> bytes:
        """Replace the first group that takes part in the match."""
        for number, group in enumerate(match.groups(), 1):
            if group is not None:
                return self._part(match, number)
        return match[0]

    def _part(self, match: Match, group: int) -> bytes:
        before, after = around(match, group)
        return before + self._replaced(match[group]) + after

    def _email(self, text: bytes) -> bytes:
        at = text.find(b"@")
        if at < 0:
            return text
        pieces: list[bytes] = []
        done = 0
        while at >= 0:
            before = text[max(done, at - _MAX_LOCAL) : at]
            length = len(before) - len(before.rstrip(_LOCAL))
            if length == _MAX_LOCAL:  # it may begin inside of a character
                length = len(before.lstrip(_CONTINUATIONS))
            domain = _DOMAIN.match(text, at) if length else None
            if domain is not None:
                pieces += text[done : at - length], self._replaced(text[at - length : domain.end()])
                done = domain.end()
            at = text.find(b"@", at + 1)
        return b"".join([*pieces, text[done:]])

    def _ipv4(self, text: bytes) -> bytes:
        return _IPV4.sub(self._four_numbers, text)

    def _ipv6(self, text: bytes) -> bytes:
        return _IPV6.sub(self._address, text) if COLON in text else text

    def _token(self, text: bytes) -> bytes:
        find = text.lower().find  # not `in`, see `ingest.formats.byte_numbers`
        for marks, pattern in TOKENS:
            for mark in marks:
                if find(mark) >= 0:
                    text = pattern.sub(self._group, text)
                    break
        return text

    def _card(self, text: bytes) -> bytes:
        return _DIGITS.sub(self._numbers, text)

    def _pattern_change(self, pattern: Pattern) -> Change:
        if not pattern.groups and not self._keep:
            return pattern.literal_replacer(self._replacement)
        replace = (self._whole, self._only_group, self._first_group)[min(pattern.groups, 2)]
        return pattern.each_replacer(replace, len(self._replacement))

    def _four_numbers(self, match: re.Match[bytes]) -> bytes:
        found = match[0]
        return found if max(map(int, found.split(b"."))) > _MAX_IN_BYTE else self._replaced(found)

    def _address(self, match: re.Match[bytes]) -> bytes:
        found, colon = match[0], b""
        if found.endswith(b":") and not found.endswith(b"::"):  # punctuation after the address
            found, colon = found[:-1], b":"
        try:
            inet_pton(AF_INET6, found.decode("ascii"))
        except OSError:
            return match[0]
        return match[0] if found == b"::" else self._replaced(found) + colon

    def _numbers(self, match: re.Match[bytes]) -> bytes:
        """Replace the card numbers within groups of digits."""
        text = match[0]
        groups = [group.span() for group in _GROUP.finditer(text)]
        if _WORD.match(match.string, match.end()):  # the last group is the start of a word
            groups.pop()
        pieces: list[bytes] = []
        done = at = 0
        while at < len(groups):
            start = groups[at][0]
            for _, stop in reversed(groups[at : at + _MAX_GROUPS]):
                if stop - start < CARD_DIGITS[0]:
                    break
                if is_card(text[start:stop].translate(None, b" -")):
                    pieces += text[done:start], self._replaced(text[start:stop])
                    done = stop
                    break
            at = next((number for number in range(at + 1, len(groups)) if groups[number][0] >= done), len(groups))
        return b"".join([*pieces, text[done:]])


def _end(found: bytes, characters: int) -> bytes:
    """The last characters of a text that has more than these, else nothing."""
    text = characters_of(found)
    return bytes_of(text[-characters:]) if characters < len(text) else b""


def _in_sequence(changes: Sequence[Change]) -> Change:
    def change(text: bytes) -> bytes:
        for each in changes:
            text = each(text)
        return text

    return change
