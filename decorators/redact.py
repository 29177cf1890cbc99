"""Replace private parts of texts: addresses, card numbers, tokens."""

import re
from collections.abc import Callable, Sequence
from enum import Enum, StrEnum
from socket import AF_INET6, inet_pton
from typing import Annotated, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from ingest.api import Decorator, Event, Example, option
from ingest.api.notation import name_to_bytes
from ingest.decorating.in_place import ALL, InPlace, InPlaceSettings
from ingest.decorating.names import BoundedMemo
from ingest.expressions import Match, Pattern
from ingest.formats.json_changes import leaving_json

Change = Callable[[bytes], bytes]


class Known(StrEnum):
    """Kinds of private data with a built-in pattern."""

    EMAIL = "email"
    CARD = "card"
    IPV4 = "ipv4"
    IPV6 = "ipv6"
    TOKEN = "token"  # noqa: S105 - a name


# Possessive quantifiers and looks behind let a search begin once for each run of characters, so that no text takes time
# that grows with its square. The looks behind come after the first character, for the engine skips to that quickly.
# bytes from 80 on are letters of other alphabets
_LOCAL = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.%+-" + bytes(range(0x80, 0x100))
_MAX_LOCAL = 256  # bytes before the @ that are looked at; RFC 5321 allows 64
_DOMAIN = re.compile(rb"@(?:[A-Za-z0-9\x80-\xff-]++\.)+[A-Za-z\x80-\xff]{2,63}")
_IPV4 = re.compile(rb"\d(?<![\d.]\d)\d{0,2}+(?:\.\d{1,3}+){3}(?!\.?\d)")
_IPV6 = re.compile(
    rb"[0-9A-Fa-f:](?<![\w:.].)(?=[0-9A-Fa-f]{0,3}:)[0-9A-Fa-f:]++(?:(?:\.\d{1,3}+){3})?(?!\w)", re.DOTALL
)
_DIGITS = re.compile(rb"\d(?<![\w.]\d)(?:[ -]?\d){12,}+")
_GROUP = re.compile(rb"\d+")
_WORD = re.compile(rb"\w")
# A quote closes with as many backslashes before it as the opening one has: 1 where the text is a string of JSON, 3
# where that is in one too, then 7. Before those, each 2, 4, 8 or 16 are backslashes of the value. Of each kind only one
# search comes to the end of the text, for the next that opens would close it.
_QUOTED = rb"(\\{0,7}+)([\"'])((?s:.*?)(?<!\\)(?:\1\1\\\\)*+)\1\2"
_BARE = rb"[^\s\"'\\&,;<>(){}\[\]]++"
_VALUE = rb"\\*[\"']?\s*+[:=]\s*+(?:%b|\\*[\"']?(?:bearer\s++)?(%b|[(\[{<]++%b[)\]}>]?))" % (_QUOTED, _BARE, _BARE)
_KEY = rb"(?:(?:api|access|secret)[_-]?key|token|secret|passw(?:or)?d)"
_NAME = re.compile(rb"(?i)(?:%b|(authorization))\Z" % _KEY)  # of an attribute; its value is all that follows
_TOKENS = (
    # bytes in small letters, one of which is there when there is anything to find; what is found, in the last group
    (
        (b"bearer", b"authorization"),
        re.compile(rb"(?i)(?:\bbearer|authorization\\*[\"']?\s*+[:=]\s*+\\*[\"']?\w++)\s++([\w.~+/-]{6,}+=*+)"),
    ),
    (
        (b"key", b"token", b"secret", b"passw"),
        re.compile(rb"(?i)" + _KEY + _VALUE),
    ),
    # its first part ends before the next beginning of one
    ((b"eyj",), re.compile(rb"\b(eyJ(?:\w++|-(?!eyJ))++\.eyJ[\w-]++\.[\w-]*+)")),
    (
        (b"akia", b"asia", b"gh", b"xox", b"k_live_", b"k_test_"),
        re.compile(
            rb"\b((?:AKIA|ASIA)[A-Z0-9]{16}\b|gh[pousr]_\w{30,}+|xox[abeoprs]-[\w-]{10,}+|[rs]k_(?:live|test)_\w{16,}+)"
        ),
    ),
)
_HEADER = b"authorization: "
_CARD_DIGITS = range(13, 20)  # ISO/IEC 7812
_MAX_GROUPS = 6  # of a card number; columns of single digits are none
_MAX_IN_BYTE = 255
_MASTERCARD = range(2221, 2721)
_DOUBLED = bytes.maketrans(b"0123456789", b"0246813579")  # digit -> the sum of the digits of twice of it


class _Key(Enum):
    """What an attribute's name says about its value: nothing, that it is a secret, or a header with a secret."""

    NONE = 0
    WHOLE = 1
    HEADER = 2


class RedactSettings(InPlaceSettings):
    """Options of the redact decorator."""

    find: list[Annotated[Known, Field(strict=False)]] = option(
        "What is taken out: `email`, `card` (numbers with a right check digit), `ipv4`, `ipv6`, `token` (bearer "
        "tokens, headers Authorization, values of keys such as api_key and password, JSON web tokens, keys of some "
        "well-known services).",
        default=[],
        example=["email", "card"],
    )
    patterns: list[Pattern] = option(
        "Regular expressions of what else is taken out; of one with groups only the first group that takes part.",
        default=[],
        example=["user=(\\w+)"],
    )
    replacement: str = option("What stands there instead.", default="[redacted]", example="***")
    keep_last: int = option(
        "This many bytes at the end of a match stay, after the replacement; of shorter matches none do.",
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
    Replace what is private in the body, or in the attributes that are named.

    Named attributes take the place of the body, which then stays as it came: to clean both, say `body: true` beside
    them. Names of attributes stay; to find a `token` they count as keys, so that it is found after decorators that
    parse texts.

    Matching is by form alone: private data in another form is missed, and text that only looks private is replaced. A
    card number has 13 to 19 digits with the first ones of a card and a right check digit, in up to six groups with
    blanks or hyphens between them; a version of four numbers looks like an IPv4 address.

    A `token` is one of these; letters are small or large in the first two:

    - after `bearer`, or after `authorization:` and a word, 6 characters or more;
    - any value after `=` or `:` of a key that ends with `api_key`, `access_key`, `secret_key` (the line may be a hyphen
      or left out), `token`, `secret`, `password` or `passwd`; not of others such as `pwd`, `pass` and `key`. In double
      or single quotes, also escaped ones as in JSON within JSON, it is all up to the closing one; else up to a blank,
      quote, backslash, bracket or one of `&,;`, and it may stand in brackets;
    - a JSON web token, which begins with `eyJ` and has three parts;
    - `AKIA` or `ASIA` and 16 letters or digits (AWS), `ghp_`, `gho_`, `ghu_`, `ghs_` or `ghr_` and 30 or more (GitHub),
      `xoxb-` and its siblings and 10 or more (Slack), `sk_live_`, `sk_test_`, `rk_live_` or `rk_test_` and 16 or more
      (Stripe).

    Texts are read as they are, so percent-encoding hides what stands in it: `alice%40example.com` has no @ and is not
    found. Take the query apart with `query`, which decodes, and redact its attributes, or give a pattern.

    A text that is JSON stays JSON, but for what `patterns` replace: a number or a word gets the replacement in quotes,
    unless it is JSON without them, as the replacement `0` is. An object or an array that is the value of a key such as
    `token` stays, with its members looked at one by one.

    A dead letter holds the original record, so data that must not be stored at all must not enter the topic. To make
    pseudonyms of whole values, take `hmac`.

    Source: ours; ISO/IEC 7812 for card numbers, RFC 6750 for bearer tokens.
    """

    kind = "redact"
    examples = (
        Example(
            "an address of mail",
            settings="{find: [email]}",
            body="login of alice@example.com failed",
            body_after="login of [redacted] failed",
        ),
        Example(
            "a card number but for its end",
            settings="{find: [card], replacement: '****', keep_last: 4}",
            body="paid with 4111 1111 1111 1111, order 4111111111111112",
            body_after="paid with ****1111, order 4111111111111112",
        ),
        Example(
            "tokens and addresses in an attribute, and not in the body",
            settings="{find: [token, ipv4], attributes: [header], replacement: '-'}",
            body="10.0.0.1",
            attributes={"header": "Authorization: Bearer mF_9.B5f-4.1JqM from 10.0.0.1"},
            after={"header": "Authorization: Bearer - from -"},
        ),
        Example(
            "all attributes, and the body too",
            settings="{find: [ipv4], attributes: ['*'], body: true, replacement: '-'}",
            body="from 10.0.0.1",
            attributes={"client": "10.0.0.1", "id": "7"},
            after={"client": "-"},
            body_after="from -",
        ),
        Example(
            "attributes that are secrets by their names",
            settings="{find: [token], attributes: ['*']}",
            attributes={"user": "ann", "password": "a b", "http.authorization": "Basic YTpiCg=="},
            after={"password": "[redacted]", "http.authorization": "Basic [redacted]"},
        ),
        Example(
            "keys of one's own, and an address in percent-encoding",
            settings="{find: [token, email], patterns: ['pwd=([^&]+)', '[\\w.+-]+%40[\\w.-]+'], replacement: '*'}",
            body="/login?user=alice%40example.com&pwd=abc&reset_token=1",
            body_after="/login?user=*&pwd=*&reset_token=*",
        ),
        Example(
            "JSON stays JSON",
            settings="{find: [card, token]}",
            body='{"card": 4111111111111111, "max_token": 256, "token": {"id": 7}}',
            body_after='{"card": "[redacted]", "max_token": "[redacted]", "token": {"id": 7}}',
        ),
        Example(
            "what a pattern of one's own finds",
            settings="{patterns: ['user=(\\w+)'], replacement: '*'}",
            body="user=alice id=7",
            body_after="user=* id=7",
        ),
        Example(
            "one of two things, each with a group",
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
        changes: list[Change] = [self._by(pattern) for pattern in settings.patterns]
        # tokens first: what they stand in is cut up by others
        finds = [change for name, change in reversed(known.items()) if name in settings.find]
        changes += [leaving_json(_one_after_another(finds), settings.replacement)] if finds else []
        named = settings.attributes if Known.TOKEN in settings.find else None
        self._named = () if named is None or ALL in named else tuple(named)
        self._finds_names = named is not None
        self._keys = BoundedMemo(_key_of)
        self._texts = InPlace(settings, changes[0] if len(changes) == 1 else _one_after_another(changes))

    def decorate(self, event: Event) -> bool:
        """Redact its texts."""
        if self._finds_names:
            self._redact_named(event.attributes)
        self._texts.apply(event)
        return True

    def _redact_named(self, attributes: dict[str, bytes]) -> None:
        """Redact the values of attributes whose names are keys of tokens."""
        found: dict[str, bytes] = {}
        for name in self._named or attributes:
            key = self._keys[name]
            value = attributes.get(name)
            if key is _Key.WHOLE and value:
                found[name] = self._instead(value)
            elif key is _Key.HEADER and value:
                found[name] = self._token(_HEADER + value)[len(_HEADER) :]
        attributes.update(found)

    def _instead(self, found: bytes) -> bytes:
        keep = self._keep
        return self._replacement + found[-keep:] if 0 < keep < len(found) else self._replacement

    def _whole(self, match: Match) -> bytes:
        return self._instead(match[0])

    def _group(self, match: Match) -> bytes:
        """The match with the last group that took part replaced."""
        return self._part(match, match.lastindex or 0)

    def _first_group(self, match: Match) -> bytes:
        """The match with the first group that took part replaced."""
        taken = next((number for number, group in enumerate(match.groups(), 1) if group is not None), None)
        return match[0] if taken is None else self._part(match, taken)

    def _part(self, match: Match, group: int) -> bytes:
        (first, _), (start, stop) = match.span(), match.span(group)
        return match[0][: start - first] + self._instead(match[group]) + match[0][stop - first :]

    def _email(self, text: bytes) -> bytes:
        at = text.find(b"@")
        if at < 0:
            return text
        pieces: list[bytes] = []
        done = 0
        while at >= 0:
            before = text[max(done, at - _MAX_LOCAL) : at]
            length = len(before) - len(before.rstrip(_LOCAL))
            domain = _DOMAIN.match(text, at) if length else None
            if domain is not None:
                pieces += text[done : at - length], self._instead(text[at - length : domain.end()])
                done = domain.end()
            at = text.find(b"@", at + 1)
        return b"".join([*pieces, text[done:]])

    def _ipv4(self, text: bytes) -> bytes:
        return _IPV4.sub(self._four_numbers, text)

    def _ipv6(self, text: bytes) -> bytes:
        return _IPV6.sub(self._address, text) if b":" in text else text

    def _token(self, text: bytes) -> bytes:
        small = text.lower()
        for marks, pattern in _TOKENS:
            for mark in marks:
                if mark in small:
                    text = pattern.sub(self._group, text)
                    break
        return text

    def _card(self, text: bytes) -> bytes:
        return _DIGITS.sub(self._numbers, text)

    def _by(self, pattern: Pattern) -> Change:
        instead = self._first_group if pattern.groups else self._whole
        return lambda text: pattern.replace_each(instead, text)

    def _four_numbers(self, match: Match) -> bytes:
        found = match[0]
        return found if max(map(int, found.split(b"."))) > _MAX_IN_BYTE else self._instead(found)

    def _address(self, match: Match) -> bytes:
        found, colon = match[0], b""
        if found.endswith(b":") and not found.endswith(b"::"):  # of the sentence
            found, colon = found[:-1], b":"
        try:
            inet_pton(AF_INET6, found.decode("ascii"))
        except OSError:
            return match[0]
        return match[0] if found == b"::" else self._instead(found) + colon

    def _numbers(self, match: Match) -> bytes:
        """Groups of digits, with the card numbers among them replaced."""
        text = match[0]
        groups = [group.span() for group in _GROUP.finditer(text)]
        if _WORD.match(match.string, match.end()):  # the last digits are the beginning of a word
            groups.pop()
        pieces: list[bytes] = []
        done = at = 0
        while at < len(groups):
            start = groups[at][0]
            for _, stop in reversed(groups[at : at + _MAX_GROUPS]):
                if stop - start < _CARD_DIGITS[0]:
                    break
                if _is_card(text[start:stop].translate(None, b" -")):
                    pieces += text[done:start], self._instead(text[start:stop])
                    done = stop
                    break
            at = next((number for number in range(at + 1, len(groups)) if groups[number][0] >= done), len(groups))
        return b"".join([*pieces, text[done:]])


def _key_of(name: str) -> _Key:
    found = _NAME.search(name_to_bytes(name))
    if found is None:
        return _Key.NONE
    return _Key.WHOLE if found[1] is None else _Key.HEADER


def _is_card(digits: bytes) -> bool:
    """
    Whether digits are a number that a card may have.

    Source: ISO/IEC 7812: the first digits of payment cards, and the check digit of Luhn.
    """
    if len(digits) not in _CARD_DIGITS:
        return False
    if digits[0] not in b"3456" and not digits.startswith(b"81") and int(digits[:4]) not in _MASTERCARD:
        return False
    total = sum(digits[-1::-2]) + sum(digits[-2::-2].translate(_DOUBLED))
    return (total - len(digits) * ord("0")) % 10 == 0


def _one_after_another(changes: Sequence[Change]) -> Change:
    def change(text: bytes) -> bytes:
        for each in changes:
            text = each(text)
        return text

    return change
