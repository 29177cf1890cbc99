"""The kv decorator."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decorators.kv import Kv
from ingest.testing.events import event_of, settings_of


@pytest.mark.parametrize(
    ("settings", "body", "expected"),
    [
        ("{}", b"a=1", {"a": b"1"}),
        ("{}", b"\xef\xbb\xbfa=1 \xef\xbb\xbfb=2", {"a": b"1", "\ufeffb": b"2"}),
        ("{}", b" a=1\tb=2  c=3 ", {"a": b"1", "b": b"2", "c": b"3"}),
        ("{}", b"a= b=2", {"a": b"", "b": b"2"}),
        ("{}", b'a="" b=""', {"a": b"", "b": b""}),
        ("{}", b"a=b=c", {"a": b"b=c"}),
        ("{}", b"a=1 a=2", {"a": b"2"}),
        ("{}", b'a="x y" b', {"a": b"x y", "b": b"true"}),
        ("{}", rb'a="\"\\\n\t\r\x"', {"a": rb'"\\n\t\r\x'}),
        ("{escapes: logfmt}", rb'a="\"\\\n\t\r\x"', {"a": b'"\\\n\t\r\\x'}),
        ("{}", b"a=\xff \xfe=1", {"a": b"\xff", "\udcfe": b"1"}),
        ("{}", b'a=x"y', {"a": b'x"y'}),
        ("{on_bare: empty}", b"a b=1", {"a": b"", "b": b"1"}),
        ("{on_bare: skip}", b"a b=1", {"b": b"1"}),
        ("{separator: '&'}", b"q=a b&&page=2&", {"q": b"a b", "page": b"2"}),
        ("{separator: ',', assign: ':'}", b'a : 1, b:"x, y" ,c', {"a": b"1", "b": b"x, y", "c": b"true"}),
        ("{separator: ';'}", b"the key = a value ; b=2", {"the key": b"a value", "b": b"2"}),
        ("{separator: '&'}", b"a =  b c & d&e=  &f=  ", {"a": b"b c", "d": b"true", "e": b"", "f": b""}),
        ("{separator: '|'}", b"a=1|b=2", {"a": b"1", "b": b"2"}),
        ("{separator: '^', assign: ']'}", b"a]1^b]2", {"a": b"1", "b": b"2"}),
        ("{separator: '-', assign: '.'}", b"a.1-b.2", {"a": b"1", "b": b"2"}),
        ("{prefix: '2hb_f:', only: [b]}", b"a=1 b=2", {"2hb_f:b": b"2"}),
    ],
)
def test_pairs_become_attributes(attributes_after, settings, body, expected):
    assert attributes_after(Kv, settings, body) == expected


BOTH = """{quotes: "\\"'"}"""
LTSV = '{separator: "\\t", assign: ":"}'
KEYS = st.text(st.characters(exclude_categories=["Cs", "Z", "Cc"], exclude_characters='="'), min_size=1, max_size=6)


@given(st.dictionaries(KEYS, st.text(st.characters(exclude_categories=["Cs"]), max_size=8), min_size=1, max_size=6))
@pytest.mark.parametrize(
    ("settings", "escapes"),
    [
        ("{}", {"\\": r"\\", '"': r"\""}),
        ("{escapes: logfmt}", {"\\": r"\\", '"': r"\"", "\n": r"\n", "\r": r"\r", "\t": r"\t"}),
    ],
)
def test_round_trip(settings, escapes, pairs):
    line = " ".join(
        f'{key}="{"".join(escapes.get(letter, letter) for letter in value)}"' for key, value in pairs.items()
    )
    event = event_of(line)
    Kv(settings_of(Kv.settings_class(), settings)).decorate(event)
    assert event.attributes == {key: value.encode() for key, value in pairs.items()}


@pytest.mark.parametrize(
    ("settings", "body", "expected"),
    [
        # a backslash that is no escape, and one before the closing quote
        ("{}", rb'user="CORP\account x" ip="192.0.2.1"', {"user": rb"CORP\account x", "ip": b"192.0.2.1"}),
        ("{}", rb'dir="C:\Data\" next=1', {"dir": b"C:\\Data\\", "next": b"1"}),
        ("{}", b'a="x\\"', {"a": b"x\\"}),
        ("{}", rb'dir="C:\new\table\"', {"dir": b"C:\\new\\table\\"}),
        ("{}", rb'a="C:\x y\" b="z" c=""', {"a": b"C:\\x y\\", "b": b"z", "c": b""}),
        ("{}", rb'a="C:\\x\\" b="z"', {"a": b"C:\\x\\", "b": b"z"}),
        ("{}", rb'a="say \"hi\"" b="\d+\.\d"', {"a": b'say "hi"', "b": rb"\d+\.\d"}),
        ("{separator: ','}", rb'a="C:\Data\",b="c, d"', {"a": b"C:\\Data\\", "b": b"c, d"}),
        ("{escapes: none}", rb'a="\\srv\share\" b="\"', {"a": b"\\\\srv\\share\\", "b": b"\\"}),
        # white space as separator
        ('{separator: "\\t"}', b"a=\tb=1\tc=", {"a": b"", "b": b"1", "c": b""}),
        ('{separator: "\\n"}', b"a=\nb = x y\nc=\n", {"a": b"", "b": b"x y", "c": b""}),
        ('{separator: " "}', b"a=  b=1 c=", {"a": b"", "b": b"1", "c": b""}),
        # LTSV
        (LTSV, b'h:::1\tref:\tua:"foo" bar\tsize:', {"h": b"::1", "ref": b"", "ua": b'"foo" bar', "size": b""}),
        (LTSV, b"time:[10/Oct/2000:13:55:36 -0700]\ta: \\t ", {"time": b"[10/Oct/2000:13:55:36 -0700]", "a": b" \\t "}),
        (LTSV, b'a:"x\tb:"y"\n', {"a": b'"x', "b": b'"y"'}),
        ("{separator: \"\\t\", assign: ':', quotes: '\"'}", b'a:"x y"\tb:1', {"a": b"x y", "b": b"1"}),
        # other quotes
        (BOTH, b"""u=0 msg='op=a acct="u1"' r='it\\'s'""", {"u": b"0", "msg": b'op=a acct="u1"', "r": b"it's"}),
        ("{quotes: \"'\"}", b"""a="x b='y z'""", {"a": b'"x', "b": b"y z"}),
        ("{quotes: '`'}", b"a=`x y` b=1", {"a": b"x y", "b": b"1"}),
        ("{quotes: ''}", b'a="x y" b', {"a": b'"x', 'y"': b"true", "b": b"true"}),
        # brackets
        ("{include_brackets: true}", b"a=[b c] d=(e) f=<> g=[h", {"a": b"b c", "d": b"e", "f": b"", "g": b"[h"}),
        ("{include_brackets: true}", b"a=[b]c d=[e]", {"a": b"[b]c", "d": b"e"}),
        ("{include_brackets: true, separator: ','}", b"a=(b, c), d=1", {"a": b"b, c", "d": b"1"}),
        # blanks around the equals sign
        ("{whitespace: lenient}", b'key = value other = "x y" z', {"key": b"value", "other": b"x y", "z": b"true"}),
        ("{whitespace: lenient}", b"a =1\tb= 2 c=", {"a": b"1", "b": b"2", "c": b""}),
        ("{whitespace: strict, separator: ','}", b"a = 1 , b=2", {"a ": b" 1 ", " b": b"2"}),
    ],
)  # fmt: skip
def test_dialects(attributes_after, settings, body, expected):
    assert attributes_after(Kv, settings, body) == expected


@pytest.mark.parametrize("body", [b"", b"  \n", b"a", b"it works", b'a="x', b"=1", b'"a"=1', b'a="x"y', b"a=1 =2"])
def test_invalid_pair_fails(refusal_of, body):
    assert refusal_of(Kv, "{}", body) == "bad_pairs"


@pytest.mark.parametrize(
    "body", [rb'dir="C:\Data\" msg=" x" n=1', rb'a="x \" y\" b=1', b'a=b"c d" n=1', b'a"b=1', b'a=1 b"']
)
@pytest.mark.parametrize("settings", ["{}", "{escapes: logfmt}", "{whitespace: lenient}"])
def test_key_with_a_quote_fails(refusal_of, settings, body):
    """A quote in a key shows that a value ended elsewhere; kr/logfmt: `ident byte`, any but blank, = and the quote."""
    assert refusal_of(Kv, settings, body) == "bad_pairs"


@pytest.mark.parametrize(("settings", "body"), [("", 'a=1 b="2'), ("", "it works"), ("source: x, ", "a=1")])
def test_invalid_pair_may_pass_or_be_dropped(settings, body):
    for choice, kept in (("keep", True), ("drop", False)):
        event = event_of(body)
        kv = Kv(settings_of(Kv.settings_class(), f"{{{settings}on_invalid: {choice}}}"))
        assert (kv.decorate(event), event, kv.drop_reason) == (kept, event_of(body), "bad_pairs")


def test_bare_key_follows_on_bare(refusal_of):
    assert refusal_of(Kv, "{on_bare: error, on_invalid: keep}", "a") == "bare_key"


def test_bare_key_fails_with_on_bare_error(refusal_of):
    assert refusal_of(Kv, "{on_bare: error}", b"a=1 b") == "bare_key"


def test_reads_an_attribute(attributes_after):
    assert attributes_after(Kv, "{source: s}", b"x=1", {"s": "a=1"})["a"] == b"1"


def test_absent_attribute_fails(refusal_of):
    assert refusal_of(Kv, "{source: s}", b"x=1") == "no_attribute"


def test_existing_attribute_fails_if_written_once(refusal_of):
    assert refusal_of(Kv, "{}", b"b=1 a=2", {"a": "0"}, write_once=True) == "attribute_exists"


def test_many_blanks_and_quotes_take_linear_time(attributes_after):
    assert attributes_after(Kv, "{separator: ','}", b"a=1" + b" " * 20_000 + b",b=2") == {"a": b"1", "b": b"2"}


@pytest.mark.parametrize(
    ("settings", "body"),
    [
        ("{}", b'{"data":"%s="}' % (b"A" * 200_000)),
        ("{separator: ';'}", b"word " * 40_000 + b'="b"c'),
        ("{separator: '&'}", b"a=" + b" " * 200_000 + b'"x'),
        ("{}", b'a="' + b'\\" ' * 100_000 + b'"x'),
        ("{whitespace: lenient}", b"a" + b" " * 200_000 + b'="x'),
        ("{include_brackets: true}", b"a=" + b"[" * 200_000 + b' "'),
    ],
)
def test_long_text_without_pairs_takes_linear_time(refusal_of, settings, body):
    # the square of it would take minutes, and ends in `decorator_timeout`
    assert refusal_of(Kv, settings, body) == "bad_pairs"


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ("{separator: ''}", [("bad_character", ("separator",))]),
        ("{separator: '::'}", [("bad_character", ("separator",))]),
        ("{assign: '\"'}", [("bad_character", ("assign",))]),
        ("{separator: '=' }", [("conflict", ())]),
        ("{quotes: 'a'}", [("bad_character", ("quotes",))]),
        ("{quotes: '\\'}", [("bad_character", ("quotes",))]),
        ("{quotes: '=' }", [("conflict", ())]),
        ("{only: []}", [("too_short", ("only",))]),
        ("{on_bare: maybe}", [("enum", ("on_bare",))]),
    ],
)
def test_invalid_options_are_rejected(errors_of, settings, expected):
    assert errors_of(Kv, settings) == expected


@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
def test_a_line_end_is_no_part_of_a_value_of_ltsv(attributes_after, end):
    """A byte of a value is neither CR nor LF (ltsv.org, the ABNF)."""
    settings = r'{separator: "\t", assign: ":"}'
    assert attributes_after(Kv, settings, f"a: x \tb:1{end}".encode()) == {"a": b" x ", "b": b"1"}


@pytest.mark.parametrize(
    ("settings", "body", "expected"),
    [
        # Docker's logfmt (Go escapes the backslash), a web firewall, Windows' events, tail of a path
        (
            "{}",
            r"""level=info http.request.method=PUT  agent="docker/17.09.1-ce Docker-Client/17 \\(darwin\\)" """,
            {
                "level": "info",
                "http.request.method": "PUT",
                "agent": r"docker/17.09.1-ce Docker-Client/17 \(darwin\)",
            },
        ),
        (
            "{}",
            r'line="PUT /up/z.php.mp3%0a HTTP/1.1" hdr="Host: 192.0.2.181\r\nUser-Agent: "',
            {"line": "PUT /up/z.php.mp3%0a HTTP/1.1", "hdr": r"Host: 192.0.2.181\r\nUser-Agent: "},
        ),
        (
            "{}",
            r'EventID=4688 ProcessName="C:\acmecorp\new\acmecorp.Mes.Console.exe" ProcessId=0x1f4',
            {"EventID": "4688", "ProcessName": r"C:\acmecorp\new\acmecorp.Mes.Console.exe", "ProcessId": "0x1f4"},
        ),
        ("{}", r'path="C:\\Windows\\" msg="a \"b\"" rc=0', {"path": "C:\\Windows\\", "msg": 'a "b"', "rc": "0"}),
        # LTSV of Fluentd's and axslogparser's documents, and of Fluent Bit's tests
        (
            LTSV,
            "time:28/Feb/2013:12:00:00 +0900\thost:192.0.2.1\treq:GET /list HTTP/1.1\tstatus:200",
            {"time": "28/Feb/2013:12:00:00 +0900", "host": "192.0.2.1", "req": "GET /list HTTP/1.1", "status": "200"},
        ),
        (LTSV, "key1:value1\tkey2:\tkey3:\tkey4:", {"key1": "value1", "key2": "", "key3": "", "key4": ""}),
        (LTSV, "key4:value4\t\tkey5:  value5  ", {"key4": "value4", "key5": "  value5  "}),
        # Linux' /proc/PID/status, /etc/os-release, pairs of LEEF
        (
            '{separator: "\\n", assign: ":"}',
            "Name:\tbash\nState:\tS (sleeping)\nGroups:\t \nVmPeak:\t   7236 kB\n",
            {"Name": "bash", "State": "S (sleeping)", "Groups": "", "VmPeak": "7236 kB"},
        ),
        (
            '{separator: "\\n"}',
            'NAME="Alpine Linux"\nID=alpine\nVARIANT=\nVERSION_ID=3.20.3\n',
            {"NAME": "Alpine Linux", "ID": "alpine", "VARIANT": "", "VERSION_ID": "3.20.3"},
        ),
        (
            '{separator: "\\t"}',
            "devTime=Nov 20 2026 08:15:01\tusrName=\tsrc=192.0.2.9\tmsg=",
            {"devTime": "Nov 20 2026 08:15:01", "usrName": "", "src": "192.0.2.9", "msg": ""},
        ),
        # HAProxy, auditd, Check Point, libpq's connection strings
        (
            BOTH,
            """backend_server=<PROMEX> request_headers= request='"GET /metrics HTTP/1.1"'""",
            {"backend_server": "<PROMEX>", "request_headers": "", "request": '"GET /metrics HTTP/1.1"'},
        ),
        (
            "{separator: ';', assign: ':'}",
            'action:"Accept"; flags:"444676"; rule_name:"a; b:c"; match_id:"4"',
            {"action": "Accept", "flags": "444676", "rule_name": "a; b:c", "match_id": "4"},
        ),
        (
            """{quotes: "'", whitespace: lenient}""",
            r"host = localhost port=5432 dbname = 'my db' password='it\'s \\ x' options=''",
            {"host": "localhost", "port": "5432", "dbname": "my db", "password": r"it's \ x", "options": ""},
        ),
    ],
)  # fmt: skip
def test_pairs_of_real_senders(attributes_after, settings, body, expected):
    found = attributes_after(Kv, settings, body.encode())
    assert found == {name: value.encode() for name, value in expected.items()}


@pytest.mark.parametrize(
    ("settings", "body", "expected"),
    [
        (
            "{}",
            'tty=(none) comm="sshd" key=(null)\x1dARCH=x86_64 SYSCALL=sendmsg AUID="unset"',
            {"tty": "(none)", "comm": "sshd", "key": "(null)", "ARCH": "x86_64", "SYSCALL": "sendmsg", "AUID": "unset"},
        ),
        ("{}", 'exe="/usr/sbin/sshd" key="login"\x1dUID="é"', {"exe": "/usr/sbin/sshd", "key": "login", "UID": "é"}),
        (
            BOTH,
            """uid=0 msg='op=destroy  exe="/usr/sbin/sshd" res=success'\x1dUID="root" AUID="root\"""",
            {"uid": "0", "msg": 'op=destroy  exe="/usr/sbin/sshd" res=success', "UID": "root", "AUID": "root"},
        ),
        ("{whitespace: lenient}", "a =\x1e1\x1fb = 2", {"a": "1", "b": "2"}),
    ],
)
def test_separators_of_ascii_are_white_space(attributes_after, settings, body, expected):
    """Audit 2.6 and later writes 1D before the fields of `log_format = ENRICHED` (its SPEC-Audit-Event-Enrichment)."""
    found = attributes_after(Kv, settings, body.encode())
    assert found == {name: value.encode() for name, value in expected.items()}
