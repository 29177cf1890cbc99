"""
The parts of a syslog message, as RFC 5424 and RFC 3164 have them, and as senders that follow neither write them.

Each form is one regular expression, which reads as much of a header as there is. The rest is the message.
"""

import re

from decorators.syslog.times import TIME, ZONES
from ingest.formats.byte_numbers import BACKSLASH

_COUNT = rb"(?:\d{1,10} )?"  # octets of a frame, RFC 6587, 3.4.1
_FRAME = re.compile(rb"\s*\d{1,10} <\d{1,3}>")
_PRI = _COUNT + rb"<(?P<pri>\d{1,3})>"
_EPOCH = rb"\d{9,11}\.\d+"
_TIME = rb"(?!%b )[-\d]\S*" % _EPOCH  # any, to find errors in it, but no word: then `1` is of the message
_DATE = rb"(?:-|\d{4}-\S+)"
_PAYLOAD = rb"(?:CEF|LEEF):"  # formats whose name looks like a tag, and is a part of the message
_CLEAN = rb"[^\s={}\"|,;]*+"  # a word that is no pair, JSON, list or CEF

_HEADER = rb"(?P<time>%b(?: \d\d:\d\d:\d\d\S*)?) (?P<host>\S*) "
_EXACT = rb"(?P<app>(?!%b)\S*) (?P<pid>\S*) (?P<msgid>\S*) (?P<rest>(?:-(?: |\Z)|\[).*)" % _PAYLOAD
_BARE = rb"(?P<app>(?!%b)%b(?<!:)) (?P<pid>%b) (?P<msgid>%b)(?: (?P<rest>.*)|\Z)" % (_PAYLOAD, *[_CLEAN] * 3)

RFC5424 = re.compile(_PRI + rb"1 " + _HEADER % _TIME + _EXACT, re.DOTALL)
"""A header of RFC 5424; `rest` is structured data and message. A second blank is an empty field, as for rsyslog."""

RFC5424_BARE = re.compile(_PRI + rb"1 " + _HEADER % _DATE + _BARE, re.DOTALL)
"""A header of RFC 5424 without structured data: words that can only be of a message are not of the header."""

_STEPS = (
    ("<PRI>", _PRI),
    ("version 1", rb"1 "),
    ("TIMESTAMP", _TIME + rb" "),
    ("HOSTNAME", rb"\S* "),
    ("APP-NAME", rb"\S* "),
    ("PROCID", rb"\S* "),
)

_WORD = rb"(?![%*#])[^\s={}\"<>(),;|\[\]]+?"  # of a host: not a pair, JSON, a list or the code of a message
_INNER = rb"|:(?=\S)"  # a colon within a word, as in Puppet::Agent, an address or a path, ends no name of an app
_TAG = rb"(?:[^\s:\[\]]++%b)++(?:\[[^\]]*+\]:(?!\S)|(?<!:):(?!\S)(?! +%%))" % _INNER
_CODE = rb"[%%#][A-Z][\w-]*-\d-\w+ ?:"  # of Cisco's message
_APP = rb"(?!\d+:|%%|%b|%b)(?:[^\s:\[\]={}\",;]++%b)++" % (_CODE, _PAYLOAD, _INNER)
_END_OF_APP = rb"(?:\[(?P<pid>[^\]]*)\]: ?|(?<!:):(?: |(?!\S)))"
_NAMED_PRI = (
    rb"(?:kern|user|mail|daemon|auth(?:priv)?|syslog|lpr|news|uucp|cron|ftp|ntp|local[0-7])\."
    rb"(?:emerg|panic|alert|crit|err(?:or)?|warn(?:ing)?|notice|info|debug)"
)
_CARD = rb"[A-Z]+ \d+/\d+: *"  # a line card of a uBR
_CISCO = (
    rb" *(?P<device>(?:(?P<counter>\d*) ?: *)?(?:\d+: +)?"  # a counter of messages, a sequence number
    rb"(?:(?P<origin>(?!\d+ ?: )%(word)b) ?: +(?:\*\S+: +)?)?(?:\d*: +)?"  # logging origin-id, a task of a controller
    rb"(?:%(card)b|(?:(?P<router>%(word)b) +)?(?:\w+/)+\w+:)?(?P<unsynced>[*.])?)"  # a node of IOS XR, the clock's mark
) % {b"word": _WORD, b"card": _CARD}
_ZONE_OF_DEVICE = (  # of `clock timezone`: any word before the code of a message, if this is the header of a device
    rb"(?(counter)%(zone)b|(?(origin)%(zone)b|(?(unsynced)%(zone)b)))" % {b"zone": rb"(?: [A-Za-z][\w+-]*(?=: %))?"}
)
_AFTER_TIME = (
    rb"(?: *:(?: +|\Z)| +Message forwarded from (?P<relayed>[^\s:]+): +"
    rb"| +(?:(?P<first_pri>%(pri)b) +)?(?:(?=%%|%(tag)b|last message repeated )"
    rb"|(?P<host>%(word)b)(?: : ?|:? +(?=%%)| |(?=\t)))| +|\Z)"
    rb"(?:(?P<second_pri>%(pri)b) +)?"
    rb"(?:(?P<app>%(app)b)%(end)b)?(?P<message>.*)"
) % {b"word": _WORD, b"tag": _TAG, b"app": _APP, b"end": _END_OF_APP, b"pri": _NAMED_PRI}

_NOT_RFC5424 = rb"(?!1 %b(?:%b|%b))" % tuple(
    re.sub(rb"\?P<\w+>", b"?:", part) for part in (_HEADER % _DATE, _EXACT, _BARE)
)

RFC3164 = re.compile(
    _PRI
    + _NOT_RFC5424
    + rb"(?:%b%b%b|1 (?P<epoch>%b))%b" % (_CISCO + rb"(?:1 (?=\d{4}-))?", TIME, _ZONE_OF_DEVICE, _EPOCH, _AFTER_TIME),
    re.DOTALL,
)
"""A header of RFC 3164, or of a device."""

_PLAIN = (
    rb"(?P<time>(?P<month>[A-Z][a-z]{2}) (?P<day>[ \d]\d) (?P<clock>\d\d:\d\d:\d\d)) "
    rb"(?!(?=[A-Z12])(?:(?:%b|(?:19|20)\d\d|[AP]M)[ :]|[AP]M\.)|(?=[acdfklmnsu])%b[ :])"  # most words begin otherwise
    rb"(?:(?P<host>[A-Za-z\d][\w.-]*+) |(?=%b))"
    rb"(?P<app>(?!%b)[A-Za-z][\w./-]*+)%b(?P<message>.*)"
) % (ZONES, _NAMED_PRI, _TAG, _PAYLOAD, _END_OF_APP)

PLAIN = re.compile(rb"<(?P<pri>\d{1,3})>" + _PLAIN, re.DOTALL)
"""What most daemons write: it gives the same as `RFC3164`, in half the time."""

PLAIN_LINE = re.compile(_PLAIN, re.DOTALL)
"""The same as `FILE`, for what most daemons write."""

_UP = rb"(?:\d+:\d\d:\d\d|(?:\d+[ywdhms])+): +"

UNTIMED = re.compile(
    _PRI + rb" *(?:(?P<counter>\d+) ?: +)?(?:(?P<origin>(?!%(up)b|\d+ ?: )%(word)b) ?: +)?(?:\d+: +)?"
    rb"(?(counter)|(?(origin)|(?!)))(?P<message>(?:%(up)b)?%(code)b.*)" % {b"up": _UP, b"word": _WORD, b"code": _CODE},
    re.DOTALL,
)
"""A message of Cisco's with a counter or a host and no time, or the time since the start of the device."""

TEXT = re.compile(_PRI + _NOT_RFC5424 + rb"(?P<message>.*)", re.DOTALL)
"""A priority, and text without a time (RFC 3164, 4.3.2)."""

FILE = re.compile(TIME + _AFTER_TIME, re.DOTALL)
"""A line that a daemon wrote to a file."""

_VALUE = rb'"([^"\\]*+(?:\\.[^"\\]*+)*+)"'
_NAME = rb"[^\s=\"\]]++"
_ELEMENT = re.compile(
    rb"\[[ \t]*+(%b)((?:[ \t]++%b=%b)*+)[ \t]*+\]" % (_NAME, _NAME, _VALUE.replace(b"(", b"(?:", 1)), re.DOTALL
).match
_PARAMETERS = re.compile(rb"[ \t]++(%b)=%b" % (_NAME, _VALUE), re.DOTALL).findall
_ESCAPED = re.compile(rb'\\(["\\\]])')


def data_of(rest: bytes | None) -> tuple[dict[bytes, bytes], bytes | None]:
    """
    The structured data at the start of a text, and the message that follows, if there is one.

    The text follows a header of RFC 5424. The data are the values by `ID.NAME`, those of a repeated name joined by
    commas; what is not data is the message.
    """
    if rest is None or rest == b"-":
        return {}, None
    if rest.startswith(b"- "):
        return {}, rest[2:]
    parameters: dict[bytes, bytes] = {}
    count = at = 0
    while (found := _ELEMENT(rest, at)) is not None:
        at = found.end()
        element, pairs = found.groups()
        named = _PARAMETERS(pairs)
        count += len(named)
        for name, value in named:
            parameters[b"%b.%b" % (element, name)] = _ESCAPED.sub(rb"\1", value) if BACKSLASH in value else value
    if count != len(parameters):  # rare, so only now it costs time to join values
        parameters = _joined(rest)
    if at and at == len(rest):
        return parameters, None
    return parameters, rest[at:].removeprefix(b" ")


def _joined(rest: bytes) -> dict[bytes, bytes]:
    values: dict[bytes, list[bytes]] = {}
    at = 0
    while (found := _ELEMENT(rest, at)) is not None:
        at = found.end()
        for name, value in _PARAMETERS(found[2]):
            values.setdefault(b"%b.%b" % (found[1], name), []).append(_ESCAPED.sub(rb"\1", value))
    return {key: b",".join(each) for key, each in values.items()}


def has_second_frame(line: bytes) -> bool:
    """Whether a length (RFC 6587) in front of a message is of one of several frames."""
    length, blank, _ = line.partition(b" ")
    return _FRAME.match(line, len(length + blank) + int(length)) is not None


def missing_of_rfc5424(line: bytes) -> tuple[str, int]:
    """The first part of a header of RFC 5424 that a line lacks, and its column, from 1."""
    at = 0
    for part, pattern in _STEPS:
        found = re.compile(pattern).match(line, at)
        if found is None:
            return part, at + 1
        at = found.end()
    return "MSGID", at + 1
