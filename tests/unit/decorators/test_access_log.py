"""The access_log decorator."""

import random
import re
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from decorators.access_log import AccessLog
from ingest.api import DecorateError
from ingest.formats.log_format import LogFormat
from ingest.testing.events import event_of, settings_of

TIME = b"10/Oct/2000:13:55:36 -0700"
TIME_MS = 971211336000
HEAD = b"h - - [" + TIME + b"] "


def read(settings, line, **options):
    event = event_of(line, **options)
    assert AccessLog(settings_of(AccessLog.settings_class(), settings)).decorate(event) is True
    return event


@pytest.mark.parametrize(
    ("tail", "expected"),
    [
        (b'"GET / HTTP/1.1" 200 5\n', {"method": b"GET", "path": b"/", "protocol": b"HTTP/1.1", "bytes": b"5"}),
        (b'"GET / HTTP/1.1" 200 5\r\n', {"method": b"GET", "path": b"/", "protocol": b"HTTP/1.1", "bytes": b"5"}),
        (b'"GET /?a=?b HTTP/2.0" 200 -', {"method": b"GET", "path": b"/", "query": b"a=?b", "protocol": b"HTTP/2.0"}),
        (b'"GET /x? HTTP/1.0" 200 -', {"method": b"GET", "path": b"/x", "query": b"", "protocol": b"HTTP/1.0"}),
        (b'"GET /a b HTTP/1.0" 200 -', {"method": b"GET", "path": b"/a b", "protocol": b"HTTP/1.0"}),
        (b'"GET /old" 200 -', {"method": b"GET", "path": b"/old"}),
        (b'"OPTIONS * HTTP/1.1" 200 -', {"method": b"OPTIONS", "path": b"*", "protocol": b"HTTP/1.1"}),
        (b'"CONNECT h:443 HTTP/1.1" 200 -', {"method": b"CONNECT", "path": b"h:443", "protocol": b"HTTP/1.1"}),
        (b'"M-SEARCH * HTTP/1.1" 200 -', {"method": b"M-SEARCH", "path": b"*", "protocol": b"HTTP/1.1"}),
        (b'"-" 200 -', {}),
        (b'"" 200 -', {"request": b""}),
        (b'"hello world" 200 -', {"request": b"hello world"}),
        (rb'"\x16\x03\x01\n" 200 -', {"request": b"\x16\x03\x01\n"}),
        (rb'"\"\\\x5C\t" 200 -', {"request": b'"\\\\\t'}),
        (rb'"-" 200 - "\x22\xC3\xA4" "a\qb"', {"referrer": b'"\xc3\xa4', "user_agent": rb"a\qb"}),
        (b'"-" 200 - "-" ""', {"user_agent": b""}),
        (b'"-" 200 - "\xff" "-"', {"referrer": b"\xff"}),
    ],
)
def test_line_sets_its_fields(tail, expected):
    event = read("{}", HEAD + tail)
    assert (event.attributes, event.timestamp_ms) == (
        {"client": b"h", "time": TIME, "status": b"200"} | expected,
        TIME_MS,
    )


def test_a_byte_order_mark_is_no_part_of_the_client():
    """Unicode 15, 23.8: a mark at the start of a text is no content."""
    assert read("{}", b"\xef\xbb\xbf" + HEAD + b'"-" 200 -').attributes["client"] == b"h"


def test_user_name_may_contain_spaces():
    assert read("{}", b"h - john doe [" + TIME + b'] "-" 401 -').attributes["user"] == b"john doe"


@pytest.mark.parametrize(
    ("settings", "line", "user"),
    [
        ("{}", b'h - "" [%b] "-" 401 -', b""),
        ("{on_dash: keep}", b'h - "" [%b] "-" 401 -', b""),
        ("{}", b'h - \\"\\" [%b] "-" 401 -', b'""'),
        ("{}", b'h - ""a [%b] "-" 401 -', b'""a'),
        ("{formats: '%%h \"%%u\" %%t'}", b'h """" [%b]', b""),
        ("{formats: '%%h %%t %%u'}", b'h [%b] ""', b""),
        ("{formats: '%%h %%t %%u %%{A}i'}", b'h [%b] "" x', b""),
    ],
)
def test_empty_user_of_apache(settings, line, user):
    """mod_log_config.c, log_remote_user: an empty name is written as two quotes, since quotes of a name are escaped."""
    assert read(settings.replace("%%", "%"), line % TIME).attributes["user"] == user


@pytest.mark.parametrize("name", ["vhost_common", "vhost_combined"])
def test_virtual_host_formats(name):
    tail = b' "-" "-"' if name == "vhost_combined" else b""
    event = read(f"{{formats: {name}}}", b"2001:db8::1:443 ::1 " + HEAD[2:] + b'"-" 200 7' + tail)
    assert {name: event.attributes[name] for name in ("vhost", "port", "client", "bytes")} == {
        "vhost": b"2001:db8::1",
        "port": b"443",
        "client": b"::1",
        "bytes": b"7",
    }


@pytest.mark.parametrize(
    ("on_dash", "expected"),
    [
        ("unset", {}),
        ("empty", {"ident": b"", "user": b"", "request": b"", "bytes": b""}),
        ("keep", {"ident": b"-", "user": b"-", "request": b"-", "bytes": b"-"}),
    ],
)
def test_dash_follows_on_dash(on_dash, expected):
    event = read(f"{{on_dash: {on_dash}}}", HEAD + b'"-" 200 -')
    assert event.attributes == {"client": b"h", "time": TIME, "status": b"200"} | expected


@pytest.mark.parametrize(
    ("form", "line", "expected", "time_ms"),
    [
        ("%h %D", b"h 5", {"client": b"h", "duration_us": b"5"}, 0),
        (r"%h \"%r\"\t%!200,304>s", b'h "-"\t500', {"client": b"h", "status": b"500"}, 0),
        ("%{c}a:%{remote}p", b"::1:80", {"peer": b"::1", "client_port": b"80"}, 0),
        ("%U%q", b"/a?b?c", {"path": b"/a", "query": b"b?c"}, 0),
        ("%U%q %H", b"/a HTTP/1.1", {"path": b"/a", "protocol": b"HTTP/1.1"}, 0),
        ('"%U%q"', rb'"/\"?\""', {"path": b'/"', "query": b'"'}, 0),
        ("%{begin:sec}t %{end:usec}t", b"5 1500000", {"time_s": b"5", "time_us": b"1500000"}, 1500),
        ("%{msec}t|%{%F}t", b"7|2000-01-01", {"time_ms": b"7", "time": b"2000-01-01"}, 7),
        ("%{X-A}i;%{X-A}o;%{Id}C;%{V}e;%{N}n;%{SSL_PROTOCOL}x", b"1;2;3;4;5;6", {
            "http_x_a": b"1", "sent_http_x_a": b"2", "cookie_id": b"3", "env_v": b"4", "note_n": b"5",
            "ssl_protocol": b"6"}, 0),
        ("%{Host}i 100%% %^FB", b"h 100% 5", {"host": b"h", "first_byte_us": b"5"}, 0),
        ("$remote_addr - $remote_user [$time_local]", b"h - u [" + TIME + b"]",
            {"client": b"h", "user": b"u", "time": TIME}, TIME_MS),
        ("$msec $request_time", b"971211336.125 0.001", {"msec": b"971211336.125", "duration_s": b"0.001"},
            TIME_MS + 125),
        ("%{msec}t", b"253402300799999", {"time_ms": b"253402300799999"}, 253_402_300_799_999),
        ("[$time_iso8601] $status", b"[2000-10-10T13:55:36-07:00] 200",
            {"time": b"2000-10-10T13:55:36-07:00", "status": b"200"}, TIME_MS),
        ("$request_method $request_uri $http_x_forwarded_for", b"GET /a?b=1 x", {
            "method": b"GET", "path": b"/a", "query": b"b=1", "http_x_forwarded_for": b"x"}, 0),
        ("$uri $args", b"/a ?b", {"path": b"/a", "query": b"?b"}, 0),
        ("$upstream_addr $upstream_response_time $status", b"a:1, b:2 : c:3 0.1, - 200", {
            "upstream_addr": b"a:1, b:2 : c:3", "upstream_response_time": b"0.1, -", "status": b"200"}, 0),
        ("%h %{X-Forwarded-For}i %I", b"h 1.1.1.1, 2.2.2.2 5", {
            "client": b"h", "http_x_forwarded_for": b"1.1.1.1, 2.2.2.2", "bytes_in": b"5"}, 0),
        ("%h %{User-Agent}i %I", rb"h a \"b\" (c 5", {"client": b"h", "user_agent": b'a "b" (c', "bytes_in": b"5"}, 0),
        ("%{X-Forwarded-For}i %l %u %t", b"1.1.1.1, 2.2.2.2 - - [" + TIME + b"]", {
            "http_x_forwarded_for": b"1.1.1.1, 2.2.2.2", "time": TIME}, TIME_MS),
        ("%h|%{User-Agent}i|%{Referer}i|%s", b"h|a b|c d|200", {
            "client": b"h", "user_agent": b"a b", "referrer": b"c d", "status": b"200"}, 0),
        ("%{%F %T}t %{Host}i %{User-Agent}i", b"2000-01-01 10:00:00 h a b", {
            "time": b"2000-01-01 10:00:00", "host": b"h", "user_agent": b"a b"}, 0),
        ('"%m %U%q %H" %r', b'"GET /a b?c HTTP/1.1" -', None, 0),
        ('"%m %U%q %H" %*r', b'"GET /a b?c HTTP/1.1" GET /a%20b', {
            "method": b"GET", "path": b"/a b", "query": b"c", "protocol": b"HTTP/1.1"}, 0),
        ("%r %>s", b"GET /a b HTTP/1.1 200", {
            "method": b"GET", "path": b"/a b", "protocol": b"HTTP/1.1", "status": b"200"}, 0),
        ("[$*time_local] $time_iso8601", b"[x] 2000-10-10T13:55:36-07:00", {
            "time": b"2000-10-10T13:55:36-07:00"}, TIME_MS),
        ("$http_x $upstream_addr $status", b"a, b c:1, - : d:2 200", {
            "http_x": b"a, b", "upstream_addr": b"c:1, - : d:2", "status": b"200"}, 0),
        ("${scheme}://${host}$request_uri", b"https://h/a", None, 0),
        ("$scheme://$host, $request_uri", b"https://h, /a", {"scheme": b"https", "host": b"h", "path": b"/a"}, 0),
        ("é$status", "é200".encode(), {"status": b"200"}, 0),
        ("$remote_addr│$request_uri│$http_x", "h│/a→b│ü".encode(), {
            "client": b"h", "path": "/a→b".encode(), "http_x": "ü".encode()}, 0),
        ("%h→%v:%p→%u→%>s", "1.1.1.1→é:80→jö→200".encode(), {
            "client": b"1.1.1.1", "vhost": "é".encode(), "port": b"80", "user": "jö".encode(), "status": b"200"}, 0),
        ('"$http_x¦$http_y"§$upstream_addr¦$status', '"a\\"§¦§"§10.0.0.1:80, -¦200'.encode(), {
            "http_x": 'a"§'.encode(), "http_y": "§".encode(), "upstream_addr": b"10.0.0.1:80, -", "status": b"200"}, 0),
    ],
)  # fmt: skip
def test_custom_format_is_parsed_or_rejected(errors_of, form, line, expected, time_ms):
    settings = "{formats: '" + form.replace("'", "''") + "'}"
    if expected is None:
        assert errors_of(AccessLog, settings) == [("bad_pattern", ("formats", 0))]
        return
    event = read(settings, line)
    assert (event.attributes, event.timestamp_ms) == (expected, time_ms)


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ('%h "%r" "%m"', ['"%r" and "%m"', "attribute method", "%*m"]),
        ("$time_local $time_iso8601", ['"$time_local" and "$time_iso8601"', "attribute time", "$*time_iso8601"]),
        ("%s %>s", ['"%s" and "%>s"', "attribute status", "%*>s"]),
    ],
)
def test_error_names_two_fields_of_one_attribute(form, expected):
    with pytest.raises(ValueError, match="both set") as caught:
        LogFormat(form)
    assert [words for words in expected if words not in str(caught.value)] == []
    LogFormat(form.replace(expected[0].split('"')[3], expected[2]))


VALUES = st.text(st.sampled_from('ab1, -:;.[]|"\\é'), min_size=1, max_size=12).map(str.strip).filter(bool)


@given(st.data())
def test_value_with_spaces_is_complete_or_fails(data):
    """Except if a value ends with a comma: then the next word is ambiguous."""
    form = data.draw(
        st.sampled_from(
            [
                "%h %{A}i %s %v",
                '%{A}i %l %u [%*{%c}t] "%*r" %s',
                "%{A}i %{B}o %h",
                "%h;%{A}i;%{B}C|%s",
                '%h "%{A}i %{B}e" %{C}i',
                "$http_a $remote_addr $status $http_b",
                "$remote_user $http_a [$*msec]",
            ]
        )
    )
    log_format = LogFormat(form)
    line, truth = form, []
    for part in re.findall(r"%\*?(?:\{[^}]*\})?\w|\$\*?\w+", form):
        plain = part in {"%h", "%l", "%v", "$remote_addr"}
        number = part in {"%s", "$status", "$*msec"}
        value = "7" if number else "h" if plain else data.draw(VALUES)
        written = as_apache(value.encode()) if form[0] == "%" else as_nginx(value.encode())
        assume(not written.endswith(b","))
        line = line.replace(part, written.decode("latin-1"), 1)
        if "*" not in part:
            truth.append(written)
    found = log_format.fullmatch(line.encode("latin-1"))
    assert found is None or list(found.groups()) == truth


@pytest.mark.parametrize(
    ("form", "head", "expected"),
    [
        ("combined", b"1.1.1.1, 2.2.2.2 - - [", {"client": b"1.1.1.1, 2.2.2.2"}),
        ("common", b"2001:db8::1, ::1, 10.0.0.1 - bob smith [",
            {"client": b"2001:db8::1, ::1, 10.0.0.1", "user": b"bob smith"}),
        ("vhost_common", b"v:80 unknown, 10.0.0.1:8080 - - [",
            {"vhost": b"v", "port": b"80", "client": b"unknown, 10.0.0.1:8080"}),
        ("vhost_combined", b"v:80 1.1.1.1,2.2.2.2 id u, v [",
            {"vhost": b"v", "port": b"80", "client": b"1.1.1.1,2.2.2.2", "ident": b"id", "user": b"u, v"}),
        ('$remote_addr - $remote_user [$time_local] "$request" $status',
            b"-, 10.0.0.1 - a - b [", {"client": b"-, 10.0.0.1", "user": b"a - b"}),
    ],
)  # fmt: skip
def test_client_may_be_a_list_of_addresses(form, head, expected):
    tail = {"common": b'] "-" 200 5', "vhost_common": b'] "-" 200 5'}.get(form, b'] "-" 200 5 "-" "-"')
    tail = b'] "-" 200' if form.startswith("$") else tail
    event = read(f"{{formats: '{form}', set_time: false}}", head + TIME + tail)
    for name in ("time", "status", "bytes"):
        event.attributes.pop(name, None)
    assert event.attributes == expected


@pytest.mark.parametrize("form", ["", "combind", "%", "%Z", "%{x}", "%h%u", "%h %a", "%r %m", "$args $request", "%{}i"])
def test_invalid_format_is_rejected(errors_of, form):
    assert errors_of(AccessLog, f"{{formats: [common, '{form}']}}") == [("bad_pattern", ("formats", 1))]


def test_event_time_stays_without_set_time():
    event = read("{set_time: false, prefix: '2hb_l:'}", HEAD + b'"-" 200 -', timestamp_ms=5)
    assert (event.timestamp_ms, event.attributes["2hb_l:time"]) == (5, TIME)


@pytest.mark.parametrize(
    ("settings", "line", "code"),
    [
        ("{}", b"", "bad_access_line"),
        ("{}", HEAD + b'"GET / HTTP/1.1" 200', "bad_access_line"),
        ("{}", HEAD + b'"GET "/" HTTP/1.1" 200 5', "bad_access_line"),
        ("{}", HEAD + b'"GET / HTTP/1.1" OK 5', "bad_access_line"),
        ("{}", HEAD + b'"-" 200 5\n' + HEAD + b'"-" 200 5', "bad_access_line"),
        ("{formats: common}", HEAD + b'"-" 200 5 "-" "-"', "bad_access_line"),
        ("{formats: '%{X-Forwarded-For}i %l %u %t'}", b"1.1.1.1 2.2.2.2 - - [" + TIME + b"]", "bad_access_line"),
        ("{}", b"1.1.1.1 2.2.2.2 - - [" + TIME + b'] "-" 200 5', "bad_access_line"),
        ("{}", b"1.1.1.1 2.2.2.2 - bob [" + TIME + b'] "-" 200 5', "bad_access_line"),
        ("{formats: '%h|%{User-Agent}i|%{Referer}i|%s'}", b"h|a|b|c|200", "bad_access_line"),
        ("{formats: '%h %l'}", b"a b c", "bad_access_line"),
        ("{}", b'h - - [30/Feb/2000:13:55:36 -0700] "-" 200 5', "bad_time"),
        ("{}", b'h - - [10/Foo/2000:13:55:36 -0700] "-" 200 5', "bad_time"),
        ("{}", b'h - - [10/Oct/2000:13:55:36 -2400] "-" 200 5', "bad_time"),
        ("{}", b'h - - [now] "-" 200 5', "bad_time"),
        ("{formats: '$time_iso8601'}", b"2000-10-10T13:55:36", "bad_time"),
        ("{formats: '$time_iso8601'}", b"\xff", "bad_time"),
        ("{formats: '$msec'}", b"9" * 30, "bad_time"),
        ("{formats: '%h %{sec}t'}", b"h " + b"9" * 20, "bad_time"),
        ("{formats: '%h %{sec}t'}", b"h 253402300800", "bad_time"),
        ("{formats: '%h %{msec}t'}", b"h 253402300800000", "bad_time"),
        ("{formats: '%h %{usec}t'}", b"h 253402300800000000", "bad_time"),
        ("{formats: '$time_iso8601'}", b"0001-01-01T00:59:59+01:00", "bad_time"),
        ("{formats: '$time_iso8601'}", b"9999-12-31T23:00:00-01:00", "bad_time"),
        ("{formats: '$time_iso8601'}", b"9999-12-31T23:59:60Z", "bad_time"),
        ("{}", b'h - - [31/Dec/9999:23:59:60 +0000] "-" 200 5', "bad_time"),
        ("{}", b'h - - [01/Jan/0001:00:59:59 +0100] "-" 200 5', "bad_time"),
        ("{source: line}", b"", "no_attribute"),
    ],
)
def test_invalid_line_fails(refusal_of, settings, line, code):
    assert refusal_of(AccessLog, settings, line) == code


def test_existing_attribute_fails_if_written_once(refusal_of):
    line = HEAD + b'"-" 200 5'
    assert refusal_of(AccessLog, "{}", line, {"status": "x"}, write_once=True) == "attribute_exists"


def as_apache(text):
    escapes = {0x22: rb"\"", 0x5C: rb"\\", 8: rb"\b", 9: rb"\t", 10: rb"\n", 11: rb"\v", 13: rb"\r"}
    return b"".join(escapes.get(byte) or (bytes((byte,)) if 32 <= byte < 127 else b"\\x%02x" % byte) for byte in text)


def as_nginx(text):
    return b"".join(bytes((byte,)) if 32 <= byte < 127 and byte not in b'"\\' else b"\\x%02X" % byte for byte in text)


@given(st.sampled_from([as_apache, as_nginx]), st.binary(), st.binary())
def test_escapes_of_both_servers_are_decoded(escaped, referrer, agent):
    line = HEAD + b'"-" 200 5 "%b" "%b"' % (escaped(referrer), escaped(agent))
    attributes = read("{on_dash: keep}", line).attributes
    assert (attributes["referrer"], attributes["user_agent"]) == (referrer, agent)


@given(st.binary(), st.sampled_from(["{}", "{formats: '%h \"%r\"'}", "{formats: '$args, $msec $upstream_addr $uri'}"]))
def test_any_bytes_parse_or_fail(line, settings):
    try:
        read(settings, line)
    except DecorateError:
        return


LINES = 2_000
WORDS = [b"shop", b"cart", b"%20x", b"index.html", b"a+b", "größe".encode(), b'q"uote', b"back\\slash", b"tab\there"]
AGENTS = [b"-", b"", b"curl/8.4.0", b'Mozilla/5.0 (X11; "Linux") \\o/', b"\xff\xfe bot", b"x" * 300]


class Generator:
    """Generates lines as a server writes them, with the expected attributes; some are broken."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def fields(self):
        one_of = self.random.choice
        moment = datetime(2020, 1, 1, tzinfo=UTC) + timedelta(seconds=self.random.randrange(10**8))
        zone = timezone(timedelta(minutes=self.random.choice([0, 60, -420, 330, -30])))
        fields = {
            "client": one_of([b"203.0.113.9", b"2001:db8::1", b"host.example.com"]),
            "user": one_of([b"-", b"-", b"ann", b"john doe", "jörg".encode()]),
            "time": moment.astimezone(zone).strftime("%d/%b/%Y:%H:%M:%S %z").encode(),
            "status": one_of([b"200", b"301", b"404", b"500"]),
            "bytes": one_of([b"-", b"0", b"5120", b"%d" % self.random.randrange(10**12)]),
            "referrer": one_of([b"-", b"https://example.com/?q=1", b'"', "https://ä.example/".encode()]),
            "user_agent": one_of(AGENTS),
        }
        fields |= {"ident": b"-"}
        kind = self.random.random()
        if kind < 0.05:
            fields["request"] = one_of([b"-", b"", b"\x16\x03\x01\x02", b"SSH-2.0-Go"])
        else:
            path = b"/" + b"/".join(self.random.choices(WORDS, k=self.random.randrange(4)))
            fields |= {"method": one_of([b"GET", b"POST", b"PROPFIND"]), "path": path}
            if kind < 0.4:
                fields["query"] = one_of([b"", b"page=7", b"a=?&b=%3F", b"x y"])
            if kind < 0.95:
                fields["protocol"] = one_of([b"HTTP/1.0", b"HTTP/1.1", b"HTTP/2.0"])
        return fields, round(moment.timestamp()) * 1000

    def line(self, fields, form, escaped):
        whole = fields.get("request")
        if whole is None:
            whole = fields["method"] + b" " + fields["path"]
            if "query" in fields:
                whole += b"?" + fields["query"]
            if "protocol" in fields:
                whole += b" " + fields["protocol"]
        written = {name: escaped(value) for name, value in fields.items()}
        line = b'%b - %b [%b] "%b" %b %b' % (
            written["client"],
            written["user"],
            fields["time"],
            escaped(whole),
            fields["status"],
            fields["bytes"],
        )
        if form.endswith("combined"):
            line += b' "%b" "%b"' % (written["referrer"], written["user_agent"])
        return b"www.example.com:443 " + line if form.startswith("vhost") else line

    def broken(self, line):
        quote = line.index(b'"')
        return self.random.choice(
            [
                b"",
                line[: self.random.randrange(quote)],
                line[:quote] + line[quote + 1 :],
                line.replace(b"[", b"(", 1),
                line + b" and more",
                line.replace(b'" ', b'" OK', 1),
                bytes(self.random.randrange(128, 256) for _ in range(40)),
            ]
        )


@pytest.mark.parametrize("escaped", [as_apache, as_nginx])
@pytest.mark.parametrize("form", ["common", "combined", "vhost_common", "vhost_combined"])
def test_random_lines(form, escaped):
    generator = Generator(f"{form} {escaped.__name__}")
    decorator = AccessLog(settings_of(AccessLog.settings_class(), f"{{formats: {form}}}"))
    broken = 0
    for _ in range(LINES):
        fields, time_ms = generator.fields()
        line = generator.line(fields, form, escaped)
        if generator.random.random() < 0.1:
            broken += 1
            event = event_of(generator.broken(line))
            with pytest.raises(DecorateError) as caught:
                decorator.decorate(event)
            assert (caught.value.code, event.attributes, event.timestamp_ms) == ("bad_access_line", {}, 0)
            continue
        event = event_of(line)
        assert decorator.decorate(event) is True
        if form.endswith("common"):
            del fields["referrer"], fields["user_agent"]
        if form.startswith("vhost"):
            fields |= {"vhost": b"www.example.com", "port": b"443"}
        expected = {name: value for name, value in fields.items() if value != b"-"}
        assert (event.attributes, event.timestamp_ms) == (expected, time_ms)
    assert LINES // 20 < broken < LINES // 5


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('h - - [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.1" OK 5', 'at column 53, the format has "%>s" there'),
        ("h - - 10/Oct/2000", 'at column 6, the format has " [" there'),
        ('h - - [t] "r" 200 5 more', "at column 20, the format ends there"),
        ('é - ü [t] "→" OK', 'at column 15, the format has "%>s" there'),
    ],
)
def test_error_names_the_column_where_the_line_stops_matching(line, expected):
    with pytest.raises(DecorateError, match="stops matching") as caught:
        AccessLog(settings_of(AccessLog.settings_class(), "{formats: common}")).decorate(event_of(line))
    assert expected in str(caught.value)


FORWARDED = "{formats: '%s'}"


@pytest.mark.parametrize(
    ("settings", "line", "expected"),
    [
        (
            FORWARDED % '%{X-Forwarded-For}i %h %l %u %t "%r" %>s %b',
            '203.0.113.7, 198.51.100.2 10.0.0.5 - - [17/Apr/2012:12:50:11 -0400] "GET /favicon.ico HTTP/1.1" 200 1406',
            {"http_x_forwarded_for": "203.0.113.7, 198.51.100.2", "client": "10.0.0.5", "user": None, "bytes": "1406"},
        ),
        (
            FORWARDED % '%h (%{X-Forwarded-For}i) %l %u %t "%r" %>s %b "%{Referer}i" "%{User-agent}i"',
            '10.0.2.9 (192.0.2.41, 198.51.100.7) - - [27/Jun/2018:06:54:33 -0400] "GET /a/ HTTP/1.1" 200 24917 "-" "x"',
            {"client": "10.0.2.9", "http_x_forwarded_for": "192.0.2.41, 198.51.100.7", "user": None, "status": "200"},
        ),
        (
            FORWARDED % '%h (%{X-Forwarded-For}i) %l %u %t "%r" %>s %b "%{Referer}i" "%{User-agent}i"',
            '10.0.2.9 (-) - - [27/Jun/2018:06:54:35 -0400] "GET /a HTTP/1.1" 301 - "http://a.example/" "Serf (x)"',
            {"client": "10.0.2.9", "http_x_forwarded_for": None, "user": None, "status": "301", "bytes": None},
        ),
        (
            FORWARDED % '%t [%v:%p] [client %{X-Forwarded-For}i] "%r" %>s %b "%{User-Agent}i"',
            '[08/Jan/2019:17:49:30 +0000] [a.example:443] [client 192.0.2.49, 198.51.100.86] "GET / HTTP/1.1" 20 6 "M"',
            {"vhost": "a.example", "port": "443", "http_x_forwarded_for": "192.0.2.49, 198.51.100.86"},
        ),
        (
            FORWARDED % '%t "%h %{X-FORWARDED-FOR}i" %>s %B',
            '[16/Jun/2016:01:59:57 -0400] "10.210.101.4 192.0.2.132, 198.51.100.244, 10.233.174.212" 218 366204',
            {"client": "10.210.101.4", "http_x_forwarded_for": "192.0.2.132, 198.51.100.244, 10.233.174.212"},
        ),
        (
            "{}",
            '192.0.2.105, 203.0.113.54 - - [17/Apr/2012:12:50:11 -0400] "GET /favicon.ico HTTP/1.1" 200 -',
            {"client": "192.0.2.105, 203.0.113.54", "ident": None, "user": None, "status": "200"},
        ),
        (
            "{}",
            'unknown, 2001:db8::7, 203.0.113.7:54321 - bob [03/Oct/2026:21:59:42 +0200] "GET / HTTP/1.1" 200 5 "-" "x"',
            {"client": "unknown, 2001:db8::7, 203.0.113.7:54321", "ident": None, "user": "bob"},
        ),
        (
            "{formats: vhost_combined}",
            'www.example.com:443 10.0.0.1, 10.0.0.2 - ann lee [03/Oct/2026:21:59:42 +0200] "-" 408 - "-" "-"',
            {"vhost": "www.example.com", "port": "443", "client": "10.0.0.1, 10.0.0.2", "user": "ann lee"},
        ),
    ],
)
def test_lists_of_addresses_in_logs_behind_proxies(attributes_after, settings, line, expected):
    found = attributes_after(AccessLog, settings, line.encode())
    assert {name: found[name].decode() if name in found else None for name in expected} == expected
