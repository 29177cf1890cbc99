"""The cef decorator."""

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decorators.cef import Cef
from ingest.api import DecorateError
from ingest.testing.events import event_of, settings_of

NAMES = ("cefVersion", "deviceVendor", "deviceProduct", "deviceVersion", "deviceEventClassId", "name", "severity")
HEAD = b"CEF:0|V|P|1|7|login|5|"
HEADER = dict(zip(NAMES, (b"0", b"V", b"P", b"1", b"7", b"login", b"5"), strict=True))


def cef(settings="{}"):
    return Cef(settings_of(Cef.settings_class(), settings))


@pytest.mark.parametrize(
    ("extension", "expected"),
    [
        (b"", {}),
        (b" \n", {}),
        (b"a=1", {"a": b"1"}),
        (b" a=1 b=2\r\n", {"a": b"1", "b": b"2"}),
        (b"a=x y z b=2", {"a": b"x y z", "b": b"2"}),
        (b"a= b=2", {"a": b"", "b": b"2"}),
        (b"a=", {"a": b""}),
        (b"a=  x  b=2  ", {"a": b"  x ", "b": b"2"}),
        (b"a=1\tb=2", {"a": b"1", "b": b"2"}),
        (b"a=1 a=2", {"a": b"2"}),
        (rb"a=b\=c d\=e f=g", {"a": b"b=c d=e", "f": b"g"}),
        (rb"a=\\= b=\\\\ c=\\n", {"a": rb"\=", "b": rb"\\", "c": rb"\n"}),
        (rb"a=one\ntwo\r\n", {"a": b"one\ntwo\r\n"}),
        (rb"a=C:\temp\| b=\q\\", {"a": rb"C:\temp\|", "b": b"\\q\\"}),
        (b"request=http://x/?a=b&c=d msg=e", {"request": b"http://x/?a=b&c=d", "msg": b"e"}),
        (b"a=x | y b=|", {"a": b"x | y", "b": b"|"}),
        (b"ad.field[0]=1 a_b=2 x-y=3", {"ad.field[0]": b"1", "a_b": b"2", "x-y": b"3"}),
        (b"a=x (b)=2 c=3", {"a": b"x (b)=2", "c": b"3"}),
        (b"a=\xff b=\xc3\xa4", {"a": b"\xff", "b": b"\xc3\xa4"}),
        (b"name=root deviceVendor=x a=1", {"a": b"1"}),
        (b"cs1=x cs1Label=Rule", {"cs1": b"x", "cs1Label": b"Rule"}),
    ],
)
def test_extension_sets_its_keys(attributes_after, extension, expected):
    assert attributes_after(Cef, "{}", HEAD + extension) == HEADER | expected


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        (b"CEF:0|V|P|1|7|login|5", (b"0", b"V", b"P", b"1", b"7", b"login", b"5")),
        (b"CEF:1.2||||||", (b"1.2", b"", b"", b"", b"", b"", b"")),
        (b"CEF: 0|V|P|1|7|login|Very-High|", (b"0", b"V", b"P", b"1", b"7", b"login", b"Very-High")),
        (rb"CEF:0|a\|b|c\\|d=e|\\\||x\y|5|", (b"0", b"a|b", b"c\\", b"d=e", b"\\|", rb"x\y", b"5")),
        (b"<134>CEF:0|V|P|1|7|n|5|", (b"0", b"V", b"P", b"1", b"7", b"n", b"5")),
        (b"\xef\xbb\xbfCEF:0|V|P|1|7|n|5|", (b"0", b"V", b"P", b"1", b"7", b"n", b"5")),
        (b"<134>1 2026-11-21T10:00:00Z h a - - - CEF:0|V|P|1|7|n|5|", (b"0", b"V", b"P", b"1", b"7", b"n", b"5")),
    ],
)
def test_header_sets_seven_fields(attributes_after, body, fields):
    assert attributes_after(Cef, "{}", body) == dict(zip(NAMES, fields, strict=True))


@pytest.mark.parametrize(
    ("extension", "expected"),
    [
        (b"cs1=x cs1Label=Rule", {"Rule": b"x"}),
        (b"cs1Label=Rule name cs1=x y", {"Rule name": b"x y"}),
        (b"cs1Label=Rule", {"cs1Label": b"Rule"}),
        (b"cs1=x cs1Label=", {"cs1": b"x", "cs1Label": b""}),
        (b"cs1=x cs1Label=src src=1", {"cs1": b"x", "cs1Label": b"src", "src": b"1"}),
        (b"cs1=x cs1Label=name", {"cs1": b"x", "cs1Label": b"name"}),
        (b"cs1=x cs1Label=A cs2=y cs2Label=A", {"A": b"x", "cs2": b"y", "cs2Label": b"A"}),
        (b"deviceCustomDate1=1 deviceCustomDate1Label=Seen Label=x", {"Seen": b"1", "Label": b"x"}),
    ],
)
def test_labels_become_names(attributes_after, extension, expected):
    assert attributes_after(Cef, "{fold_labels: true}", HEAD + extension) == HEADER | expected


def test_only_and_prefix(attributes_after):
    found = attributes_after(Cef, "{prefix: '2hb_c:', only: [b]}", HEAD + b"a=1 b=2")
    assert found == {f"2hb_c:{name}": value for name, value in HEADER.items()} | {"2hb_c:b": b"2"}


def test_only_with_folded_labels(attributes_after):
    found = attributes_after(Cef, "{fold_labels: true, only: [cs1]}", HEAD + b"cs1=1 cs1Label=Rule cs2=2 cs2Label=x")
    assert found == HEADER | {"Rule": b"1"}


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"it works",
        b"CEF:|V|P|1|7|login|5|",
        b"CEF:x|V|P|1|7|login|5|",
        b"cef:0|V|P|1|7|login|5|",
        b"CEF:0|V|P|1|7|login",
        rb"CEF:0|V\|P|1|7|login|5",
        b"CEF:0|V|P|1|7|login|5\\",
        HEAD + b"allowed",
        HEAD + b"allowed a=1",
        HEAD + rb"a\=1",
    ],
)
def test_invalid_message_fails(refusal_of, body):
    assert refusal_of(Cef, "{}", body) == "bad_cef"


def test_reads_an_attribute(attributes_after):
    assert attributes_after(Cef, "{source: s}", b"x", {"s": (HEAD + b"a=1").decode()})["a"] == b"1"


def test_absent_attribute_fails(refusal_of):
    assert refusal_of(Cef, "{source: s}") == "no_attribute"


def test_existing_attribute_fails_if_written_once(refusal_of):
    assert refusal_of(Cef, "{}", HEAD + b"a=1", {"a": "0"}, write_once=True) == "attribute_exists"


def test_many_headers_in_one_message_take_linear_time(refusal_of):
    assert refusal_of(Cef, "{}", b"CEF:0|" * 5 + b"\\|CEF:0" * 20_000 + b"\\") == "bad_cef"


@pytest.mark.parametrize(
    ("settings", "expected"),
    [("{only: []}", [("too_short", ("only",))]), ("{fold_labels: 1}", [("bool_type", ("fold_labels",))])],
)
def test_invalid_options_are_rejected(errors_of, settings, expected):
    assert errors_of(Cef, settings) == expected


def header_text(value):
    return value.replace(b"\\", b"\\\\").replace(b"|", b"\\|")


def value_text(value):
    value = value.replace(b"\\", b"\\\\").replace(b"=", b"\\=")
    return value.replace(b"\n", b"\\n").replace(b"\r", b"\\r")


def line_of(header, pairs):
    extension = b" ".join(key.encode() + b"=" + value_text(value) for key, value in pairs)
    return b"CEF:" + b"|".join(header_text(field) for field in header) + b"|" + extension


FIELDS = st.binary(max_size=8) | st.text(max_size=8).map(str.encode)
KEYS = st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9_.\[\]-]{0,6}", fullmatch=True).filter(lambda key: key not in NAMES)


@given(st.tuples(*[FIELDS] * 6), st.dictionaries(KEYS, FIELDS, max_size=6))
def test_round_trip(header, values):
    event = event_of(line_of((b"0", *header), [*values.items(), ("last", b"x")]))
    cef().decorate(event)
    expected = dict(zip(NAMES, (b"0", *header), strict=True)) | values | {"last": b"x"}
    assert event.attributes == expected


@given(st.binary(max_size=60), st.booleans())
def test_any_bytes_parse_or_fail(tail, fold):
    event = event_of(HEAD + tail)
    failed = ""
    try:
        cef(f"{{fold_labels: {str(fold).lower()}}}").decorate(event)
    except DecorateError as error:
        failed = error.code
    assert (failed, event.attributes.get("deviceVendor")) in [("bad_cef", None), ("", b"V")]


class Generator:
    """Generates lines as devices write them, with the expected attributes; one in ten is broken."""

    WORDS = ("", "allow", "deny", "a|b", "a=b", "\\", "c:\\temp\\new", "x\ny", "\r\n", "ä€", "x=1 y=2", "CEF:0|", "\\n")
    KEYS = ("src", "dst", "spt", "dpt", "msg", "act", "rt", "request", "filePath", "cs1", "cs1Label", "cn1", "c6a2")

    def __init__(self, seed):
        self.random = random.Random(seed)

    def text(self, words):
        return " ".join(self.random.choice(self.WORDS) for _ in range(words)).encode()

    def whole(self):
        chance = self.random
        header = [chance.choice([b"0", b"1"]), *(self.text(chance.randint(1, 3)) for _ in range(5)), b"5"]
        keys = chance.sample(self.KEYS, chance.randint(0, len(self.KEYS)))
        pairs = [(key, self.text(chance.randint(0, 4)) + chance.choice([b"", b"  "])) for key in keys]
        record = dict(zip(NAMES, header, strict=True)) | dict(pairs)
        if pairs:  # only the last value loses the blanks at its end; returns and line feeds are escaped
            key, value = pairs[-1]
            record[key] = value.rstrip(b" ")
        before = chance.choice([b"", b"<134>Sep 19 08:26:10 host ", b"<134>1 2026-11-21T10:00:00Z h a - - - "])
        return before + line_of(header, pairs) + chance.choice([b"", b"\n", b"\r\n"]), record

    def broken(self):
        fields = [b"0", b"V", b"P", b"1", b"7", b"a login", b"5"]
        match self.random.randrange(6):
            case 0:
                return b"CEF:" + b"|".join(fields[: self.random.randint(1, 6)])
            case 1:
                return b"CEF:" + b"|".join([b"zero", *fields[1:]]) + b"|a=1"
            case 2:
                return b"|".join(fields) + b"|a=1"
            case 3:
                return b"CEF:" + b"\\|".join(fields) + b"|a=1"
            case 4:
                return b"CEF:" + b"|".join(fields) + b"|" + self.random.choice([b"text", b"(a)=1 b=2", b"= b=2"])
            case _:
                return self.random.randbytes(200).replace(b"CEF", b"cef")


def test_ten_thousand_lines_round_trip():
    generator = Generator(2026)
    decorator = cef()
    counts = Counter()
    for number in range(10_000):
        line, record = (generator.broken(), None) if number % 10 == 3 else generator.whole()
        event = event_of(line)
        outcome = "read"
        try:
            decorator.decorate(event)
        except DecorateError as error:
            outcome = error.code
        counts[outcome] += 1
        assert event.attributes == (record or {}), line
    assert counts == {"read": 9_000, "bad_cef": 1_000}
