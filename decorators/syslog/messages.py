"""
The parts of a syslog message, as RFC 5424 and RFC 3164 have them, and as senders that follow neither write them.

Each form is one regular expression, which reads as much of a header as there is. The rest is the message.
"""

import re

from decorators.syslog.times import ISO, NAMED, ZONE, ZONES

_COUNT = rb"(?:\d{1,10} )?"  # octets of a frame, RFC 6587, 3.4.1
_PRI = _COUNT + rb"<(?P<pri>\d{1,3})>"
_EPOCH = rb"\d{9,11}\.\d+"

RFC5424 = re.compile(
    _PRI + rb"1 (?P<time>(?!%b )\S+) (?P<host>\S*) (?P<app>\S*) (?P<pid>\S*) (?P<msgid>\S*)(?: (?P<rest>.*))?" % _EPOCH,
    re.DOTALL,
)
"""A header of RFC 5424; `rest` is structured data and message. A second blank is an empty field, as for rsyslog."""

_STEPS = (
    ("<PRI>", _PRI),
    ("version 1", rb"1 "),
    ("TIMESTAMP", rb"(?!%b )\S+ " % _EPOCH),
    ("HOSTNAME", rb"\S* "),
    ("APP-NAME", rb"\S* "),
    ("PROCID", rb"\S* "),
)

_WORD = rb"(?![%*])[^\s={}\"<>(),;]+?"  # of a host: not a pair, JSON, a list or the code of a Cisco message
_TAG = rb"[^\s:\[\]]++(?:\[[^\]]*+\]:(?!\S)|:(?!\S)(?! +%))"
_APP = rb"(?!\d+:|%)[^\s:\[\]={}\",;]+"
_TIME = rb"(?P<time>(?:%b|%b)%b)" % (NAMED, ISO, ZONE)
_CISCO = (
    rb" *(?P<device>(?:(?P<counter>\d*) ?: *)?(?:\d+: +)?"  # a counter of messages, a sequence number
    rb"(?:(?P<origin>(?!\d+ ?: )%(word)b) ?: +(?:\*\S+: +)?)?(?:\d*: +)?"  # logging origin-id, a task of a controller
    rb"(?:(?:(?P<router>%(word)b) +)?(?:\w+/)+\w+:)?(?P<unsynced>[*.])?)"  # a node of IOS XR, the mark of the clock
) % {b"word": _WORD}
_ZONE_OF_DEVICE = (  # of `clock timezone`: any word before the code of a message, if this is the header of a device
    rb"(?(counter)%(zone)b|(?(origin)%(zone)b|(?(unsynced)%(zone)b)))" % {b"zone": rb"(?: [A-Za-z]\w*(?=: %))?"}
)
_AFTER_TIME = (
    rb"(?: *:(?: +|\Z)| +Message forwarded from (?P<relayed>[^\s:]+): +"
    rb"| +(?=%%|%(tag)b|last message repeated )"
    rb"| +(?P<host>%(word)b)(?: : ?|:? +(?=%%)| |(?=\t))| +|\Z)"
    rb"(?:(?P<app>%(app)b)(?:\[(?P<pid>[^\]]*)\])?: ?)?(?P<message>.*)"
) % {b"word": _WORD, b"tag": _TAG, b"app": _APP}

_NOT_RFC5424 = rb"(?!1 (?:-|\d{4}-\S+) \S+ \S+ \S+ \S)"

RFC3164 = re.compile(
    _PRI
    + _NOT_RFC5424
    + rb"(?:%b%b%b|1 (?P<epoch>%b))%b" % (_CISCO + rb"(?:1 (?=\d{4}-))?", _TIME, _ZONE_OF_DEVICE, _EPOCH, _AFTER_TIME),
    re.DOTALL,
)
"""A header of RFC 3164, or of a device."""

PLAIN = re.compile(
    rb"<(?P<pri>\d{1,3})>(?P<time>(?P<month>[A-Z][a-z]{2}) (?P<day>[ \d]\d) (?P<clock>\d\d:\d\d:\d\d)) "
    rb"(?!(?:%b|(?:19|20)\d\d) )(?P<host>[A-Za-z\d][\w.-]*+) "
    rb"(?P<app>[A-Za-z][\w./-]*+)(?:\[(?P<pid>[^\]]*)\])?: ?(?P<message>.*)" % ZONES,
    re.DOTALL,
)
"""What most daemons write: it gives the same as `RFC3164`, in half the time."""

TEXT = re.compile(_PRI + _NOT_RFC5424 + rb"(?P<message>.*)", re.DOTALL)
"""A priority, and text without a time (RFC 3164, 4.3.2)."""

FILE = re.compile(_TIME + _AFTER_TIME, re.DOTALL)
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

    The text follows a header of RFC 5424. The data are the values by `ID.NAME`; what is not data is the message.
    """
    if rest is None or rest == b"-":
        return {}, None
    if rest.startswith(b"- "):
        return {}, rest[2:]
    parameters: dict[bytes, bytes] = {}
    at = 0
    while (found := _ELEMENT(rest, at)) is not None:
        at = found.end()
        element, pairs = found.groups()
        for name, value in _PARAMETERS(pairs):
            parameters[b"%b.%b" % (element, name)] = _ESCAPED.sub(rb"\1", value) if b"\\" in value else value
    if at and at == len(rest):
        return parameters, None
    return parameters, rest[at:].removeprefix(b" ")


def missing_of_rfc5424(line: bytes) -> tuple[str, int]:
    """The first part of a header of RFC 5424 that a line lacks, and its column, from 1."""
    at = 0
    for part, pattern in _STEPS:
        found = re.compile(pattern).match(line, at)
        if found is None:
            return part, at + 1
        at = found.end()
    return "MSGID", at + 1
