"""Where the app of a syslog message ends, what is no header, and what is more than one message."""

from datetime import UTC, datetime

import pytest

from decorators.syslog import Syslog
from ingest.api import DecorateError
from ingest.testing.events import event_of, settings_of

NEAR = int(datetime(2026, 11, 21, tzinfo=UTC).timestamp()) * 1000
AT = int(datetime(2026, 11, 20, 8, 15, 1, tzinfo=UTC).timestamp()) * 1000


def read(body, settings="{}"):
    event = event_of(body, timestamp_ms=NEAR)
    assert Syslog(settings_of(Syslog.settings_class(), settings)).decorate(event) is True
    found = {name: value.decode() for name, value in event.attributes.items()}
    for name in ("facility", "severity", "time"):
        found.pop(name, None)
    return found, event.timestamp_ms


@pytest.mark.parametrize(
    ("rest", "expected"),
    [
        # RFC 3164, 4.1.3: the character that ends the tag belongs to the content, so without an app all is the message
        (
            "web1 2026-11-20T08:15:00.123Z INFO started",
            {"host": "web1", "message": "2026-11-20T08:15:00.123Z INFO started"},
        ),
        ("web1 192.0.2.7:443 connected", {"host": "web1", "message": "192.0.2.7:443 connected"}),
        ("web1 C:\\Windows\\x.exe crashed", {"host": "web1", "message": "C:\\Windows\\x.exe crashed"}),
        ("web1 a0:1b:21:00:00:01 joined", {"host": "web1", "message": "a0:1b:21:00:00:01 joined"}),
        ("web1 fe80::1 joined", {"host": "web1", "message": "fe80::1 joined"}),
        ("web1 https://example.com/ is up", {"host": "web1", "message": "https://example.com/ is up"}),
        ("web1 main.go:12 started", {"host": "web1", "message": "main.go:12 started"}),
        ("web1 auth|security:info sshd[1]: x", {"host": "web1", "message": "auth|security:info sshd[1]: x"}),
        ("web1 a:b", {"host": "web1", "message": "a:b"}),
        # a colon before white space or the end, or after [PID], ends the app
        ("h Puppet::Agent: x: y", {"host": "h", "app": "Puppet::Agent", "message": "x: y"}),
        ("h Puppet::Agent[7]: x", {"host": "h", "app": "Puppet::Agent", "pid": "7", "message": "x"}),
        ("Puppet::Agent: Starting", {"app": "Puppet::Agent", "message": "Starting"}),
        ("h app:", {"host": "h", "app": "app", "message": ""}),
        ("h app:\tx", {"host": "h", "app": "app", "message": "\tx"}),
        ("h app[7]:x", {"host": "h", "app": "app", "pid": "7", "message": "x"}),
    ],
)
@pytest.mark.parametrize(("form", "start"), [("auto", "<14>"), ("rfc3164", "<14>"), ("file", "")])
@pytest.mark.parametrize("time", ["Nov 20 08:15:01", "2026-11-20T08:15:01Z"])
def test_colon_within_a_word_ends_no_app(rest, expected, form, start, time):
    assert read(f"{start}{time} {rest}", f"{{form: {form}}}") == (expected, AT)


@pytest.mark.parametrize(
    "text",
    [
        "1 file copied to the archive today",
        "1 of 3 disks failed",
        "1 yesterday - - - - -",
        "1 of 3 disks has failed - x",
        "1 7 a b c d e",
    ],
)
def test_text_that_begins_with_a_1_is_no_header_of_rfc5424(text):
    """RFC 5424, 6.2.3: the time is `-` or begins with a digit; RFC 3164, 4.3.2: what has no header is the content."""
    assert read(f"<14>{text}")[0] == {"message": text}
    with pytest.raises(
        DecorateError, match="it has no TIMESTAMP at column 7" if text[2].isalpha() else "it has no MSGID"
    ):
        read(f"<14>{text}", "{form: rfc5424}")


def test_repeated_names_of_structured_data_are_joined():
    """RFC 5424, 7.2.1: `ip` of `origin` may repeat; 6.3.3: a name may repeat inside an element."""
    found, _ = read(
        r'<14>1 - h a - - [origin ip="192.0.2.1" x="1" ip="192.0.2.129" ip="\"]"][o2 ip="a"] m'.replace("\\", "\\")
    )
    data = {name: value for name, value in found.items() if name.startswith("data.")}
    assert data == {"data.origin.ip": '192.0.2.1,192.0.2.129,"]', "data.origin.x": "1", "data.o2.ip": "a"}


def test_many_repeated_names_take_linear_time():
    found, _ = read("<14>1 - h a - - [o" + ' n="x"' * 100_000 + "]")
    assert len(found["data.o.n"]) == 199_999


def frame(message):
    return f"{len(message.encode())} {message}"


@pytest.mark.parametrize(
    "frames",
    [
        ["<165>1 2026-11-20T08:15:01Z h a - - - größe\n", "<165>1 2026-11-20T08:15:01Z h a - - - y\n"],
        ["<14>some text", "<14>some text"],
        ["<1>x", "<1>y"],
        ["<14>Nov 20 08:15:01 h app: x", "<14>Nov 20 08:15:01 h app: y", "<14>z"],
    ],
)
def test_several_frames_are_refused(frames):
    """RFC 6587, 3.4.1: after MSG-LEN bytes the next frame begins; its message would be lost in that of the first."""
    with pytest.raises(DecorateError, match=r"several frames.*explode") as caught:
        read("".join(map(frame, frames)))
    assert caught.value.code == "bad_syslog"


@pytest.mark.parametrize("body", ["9 <14>text that is longer", "99 <14>22 <14>x", "14 <14>text 4 22 <14>x"])
def test_length_that_is_wrong_is_skipped(body):
    assert read(body)[0] == {"message": body.partition(">")[2]}


def test_length_of_a_single_frame_is_skipped():
    for body in (frame("<14>größe"), frame("<14>größe\n"), frame("<14>größe") + "\n"):
        assert read(body)[0] == {"message": "größe"}


@pytest.mark.parametrize(
    "text",
    [
        "1 2026-11-20T08:15:01+01:75 h a - - - x",
        "2026-11-20T08:15:01+01:75 h a: x",
        "2026-11-20 08:15:01 +0160 h a: x",
        "Nov 20 08:15:01 UTC+1:75 h a: x",
        "Nov 20 08:15:01 2026 GMT-24 h a: x",
    ],
)
def test_offset_has_23_hours_and_59_minutes_at_most(text):
    """RFC 3339, 5.6, which RFC 5424, 6.2.3, refers to."""
    with pytest.raises(DecorateError) as caught:
        read(f"<14>{text}")
    assert caught.value.code == "bad_time"
