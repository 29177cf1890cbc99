"""The grok decorator."""

import inspect
import ipaddress
import re
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decorators.grok import Grok
from decorators.grok.expansion import expanded
from decorators.grok.library import LIBRARY, PROGRAMS
from ingest.api import DecorateError
from ingest.expressions import ExpressionSyntaxError
from ingest.testing.events import event_of, settings_of


def whole(name, text):
    """Whether a known pattern matches a whole text."""
    return expanded(f"%{{{name}}}", LIBRARY).pattern.fullmatch(text.encode()) is not None


def found(pattern, text):
    """The first match of a pattern."""
    match = expanded(pattern, LIBRARY).pattern.search(text.encode())
    return None if match is None else match[0].decode()


def grok(settings):
    return Grok(settings_of(Grok.settings_class(), settings))


class TestLibrary:
    """Each known pattern with texts that match and texts that do not."""

    @pytest.mark.parametrize(
        ("name", "texts", "others"),
        [
            ("USERNAME", ["frank", "a.b_c-1", "josé"], ["", "a b", "a@b"]),
            ("USER", ["frank"], ["a b"]),
            ("EMAILLOCALPART", ["a.b+c", "o'neill"], ["a@b", ".a", ""]),
            ("EMAILADDRESS", ["a.b+c@example.com", "josé@exämple.com"], ["a@", "@b", "a b@c"]),
            ("INT", ["0", "-12", "+7"], ["", "1.5", "x"]),
            ("BASE10NUM", ["0", "-1.5", "+.5", "12"], ["1.", "1e3", ""]),
            ("NUMBER", ["-1.5"], ["x"]),
            ("BASE16NUM", ["ff", "0x1F", "-0xA"], ["0x", "g"]),
            ("BASE16FLOAT", ["ff.8", "0x1F", ".a"], ["g", "."]),
            ("POSINT", ["1", "10"], ["0", "-1", "01"]),
            ("NONNEGINT", ["0", "01"], ["-1"]),
            ("WORD", ["a_1", "Müller", "Слово", "日本"], ["a b", "a-b", ""]),
            ("NOTSPACE", ["a-b"], ["a b", ""]),
            ("SPACE", ["", " \t"], ["a"]),
            ("DATA", ["", "a b"], ["a\nb"]),
            ("GREEDYDATA", ["", "a b"], ["a\nb"]),
            ("QUOTEDSTRING", ['"a"', "''", '"a\\"b"', "`x`"], ['"a', "a", '"a"b"']),
            ("QS", ['"a"'], ["a"]),
            ("UUID", ["550e8400-e29b-41d4-a716-446655440000"], ["550e8400e29b41d4a716446655440000"]),
            ("URN", ["urn:isbn:0451450523", "URN:a:b%20c"], ["urn:a", "urn:a:%zz"]),
            ("LOGLEVEL", ["INFO", "warn", "Warning", "err", "emergency", "crit"], ["informative", "x"]),
            ("CISCOMAC", ["0011.2233.44ff"], ["00:11:22:33:44:ff"]),
            ("WINDOWSMAC", ["00-11-22-33-44-FF"], ["00:11:22:33:44:ff"]),
            ("COMMONMAC", ["00:11:22:33:44:ff"], ["00:11:22:33:44"]),
            ("MAC", ["0011.2233.44ff", "00-11-22-33-44-FF", "00:11:22:33:44:ff"], ["x"]),
            ("IPV4", ["0.0.0.1", "255.255.255.255", "192.168.001.1"], ["256.1.1.1", "1.2.3", "1.2.3.4.5"]),
            ("IPV6", ["::", "::1", "fe80::1%eth0", "1:2:3:4:5:6:7:8", "::ffff:1.2.3.4"], ["1::2::3", ":", "1:2"]),
            ("IP", ["1.2.3.4", "::1"], ["x"]),
            (
                "HOSTNAME",
                ["a", "www.example.com", "1-a.b.", "a" * 63, "edge_7.a_", "_dns.b", "münchen.de"],
                ["-a", "a..b", "a b", "a" * 64],
            ),
            ("IPORHOST", ["1.2.3.4", "::1", "www.example.com"], ["-"]),
            ("HOSTPORT", ["1.2.3.4:80", "::1:80", "a.b:8080"], ["a.b", "a.b:0"]),
            ("UNIXPATH", ["/", "/var/log/a.log", "/a\\ b", "/dům/č"], ["var", "/a b"]),
            ("TTY", ["/dev/pts/0", "/dev/tty1", "/dev/ttyS0"], ["/dev/null"]),
            ("WINPATH", ["C:\\", "C:\\Program Files\\a.exe", "\\\\host\\share"], ["C:", "C:\\a*b"]),
            ("PATH", ["/a/b", "C:\\a"], ["a"]),
            ("URIPROTO", ["http", "svn+ssh"], ["1a", "a:"]),
            ("URIHOST", ["a.b", "a.b:80", "[::1]:80", "1.2.3.4"], ["a b"]),
            ("URIPATH", ["/", "/a/b;c=1", "/straße"], ["a", "/a?b"]),
            ("URIQUERY", ["", "a=b&c=d%20e"], ["a b"]),
            ("URIPARAM", ["?", "?a=b"], ["a=b"]),
            ("URIPATHPARAM", ["/a", "/a?b=c"], ["?b=c"]),
            ("URI", ["http://a.b/c?d=e", "ftp://u:p@a.b:21", "file:///a"], ["a.b/c", "http:/a"]),
            ("MONTH", ["Jan", "january", "Sept", "May", "DEC"], ["Ja", "Mayo"]),
            ("MONTHNUM", ["1", "01", "12"], ["0", "13"]),
            ("MONTHNUM2", ["01", "12"], ["1", "13"]),
            ("MONTHDAY", ["1", "09", "31"], ["0", "32"]),
            ("DAY", ["Mon", "sunday"], ["Mo"]),
            ("YEAR", ["26", "2026"], ["202", "6"]),
            ("HOUR", ["0", "09", "23"], ["24"]),
            ("MINUTE", ["00", "59"], ["60", "1"]),
            ("SECOND", ["0", "59", "60", "59.123", "05,5"], ["61"]),
            ("TIME", ["10:00:00", "1:02:03.456"], ["10:00", "25:00:00"]),
            ("TZ", ["UTC", "CET", "CEST", "GMT"], ["Europe/Berlin", "utc"]),
            ("DATE_US", ["12/31/2026", "1-2-26"], ["31/12/2026"]),
            ("DATE_EU", ["31.12.2026", "31/12/26"], ["12/31/2026"]),
            ("DATE", ["31.12.2026", "12/31/2026"], ["2026-12-31"]),
            ("DATESTAMP", ["31.12.2026 10:00:00", "12/31/26-10:00:00"], ["31.12.2026"]),
            ("ISO8601_TIMEZONE", ["Z", "+01:00", "-0700", "+01"], ["CET"]),
            ("ISO8601_SECOND", ["60", "1.5"], ["x"]),
            (
                "TIMESTAMP_ISO8601",
                ["2026-11-21T10:00:00.123Z", "2026-11-21 10:00:00,1+01:00", "2026-11-21T1000", "26-1-2 1:00"],
                ["2026-11-21", "2026-13-01T10:00Z"],
            ),
            ("DATESTAMP_RFC822", ["Sat Nov 21 2026 10:00:00 CET"], ["Sat, 21 Nov 2026"]),
            ("DATESTAMP_RFC2822", ["Sat, 21 Nov 2026 10:00:00 +0100"], ["Sat Nov 21 2026"]),
            ("DATESTAMP_OTHER", ["Sat Nov 21 10:00:00 UTC 2026"], ["Sat Nov 21 10:00:00 2026"]),
            ("DATESTAMP_EVENTLOG", ["20261121100000"], ["2026112110"]),
            ("HTTPDERROR_DATE", ["Sat Nov 21 10:00:00.123456 2026"], ["Sat Nov 21 2026"]),
            ("HTTPDATE", ["10/Oct/2000:13:55:36 -0700"], ["10/Oct/2000 13:55:36"]),
            ("SYSLOGTIMESTAMP", ["Nov 21 10:00:00", "Nov  1 10:00:00"], ["21 Nov 10:00:00"]),
            ("PROG", ["postfix/smtpd", "a.b-c"], ["a b", "a[1]"]),
            ("SYSLOGPROG", ["cron", "sshd[42]"], ["sshd[x]"]),
            ("SYSLOGHOST", ["web1", "10.0.0.1"], ["-"]),
            ("SYSLOGFACILITY", ["<1.6>"], ["<16>"]),
            ("SYSLOGBASE", ["Nov 21 10:00:00 web1 sshd[42]:", "Nov  1 10:00:00 <1.6> 10.0.0.1 cron:"], ["sshd:"]),
            ("SYSLOGBASE2", ["Nov 21 10:00:00 web1", "2026-11-21T10:00:00Z web1 sshd:"], ["web1"]),
            ("SYSLOGLINE", ["Nov 21 10:00:00 web1 sshd[42]: it works"], ["it works"]),
            ("CRON_ACTION", ["CMD", "BEGIN EDIT"], ["cmd"]),
            ("CRONLOG", ["Nov 21 10:00:00 web1 CRON[42]: (root) CMD (run-parts /etc)"], ["(root) CMD (x)"]),
            ("SYSLOG5424PRINTASCII", ["a-1"], ["a b"]),
            ("SYSLOG5424PRI", ["<34>"], ["<x>"]),
            ("SYSLOG5424SD", ['[a b="c"]', '[a b="\\]"][d]'], ["-", '[a b="c"']),
            ("SYSLOG5424BASE", ["<34>1 2026-11-21T10:00:00Z h a 1 m -", '<34>1 - - - - - [a b="c"]'], ["<34>1 - -"]),
            ("SYSLOG5424LINE", ["<34>1 - h a - - - it works", "<34>1 - h a - - -"], ["it works"]),
            ("HTTPDUSER", ["frank", "a@b.c"], ["a b"]),
            ("COMMONAPACHELOG", ['::1 - - [10/Oct/2000:13:55:36 -0700] "GET /" 200 -'], ["::1 - -"]),
            ("COMBINEDAPACHELOG", ['h - - [10/Oct/2000:13:55:36 -0700] "-" 408 - "-" "a\\"b"'], ["h - -"]),
            ("HTTPD_COMMONLOG", ['::1 - - [10/Oct/2000:13:55:36 -0700] "GET / HTTP/2" 200 5'], ["::1 - -"]),
            ("HTTPD_COMBINEDLOG", ['h - - [10/Oct/2000:13:55:36 -0700] "-" 408 - "-" "-"'], ["h - -"]),
            ("HTTPD20_ERRORLOG", ["[Sat Nov 21 10:00:00 2026] [error] [client 1.2.3.4] it broke"], ["it broke"]),
            ("HTTPD24_ERRORLOG", ["[Sat Nov 21 10:00:00.1 2026] [core:error] [pid 1] AH00001: it broke"], ["it broke"]),
            ("HTTPD_ERRORLOG", ["[Sat Nov 21 10:00:00 2026] [warn] it broke"], ["it broke"]),
            ("JAVACLASS", ["A", "com.example.App$1", "com.Überblick"], ["1a", "a..b"]),
            ("JAVAFILE", ["App.java", "Native Method", "A$B.gen"], ["a/b"]),
            ("JAVAMETHOD", ["run", "<init>", "lambda$0"], ["a b"]),
            ("JAVASTACKTRACEPART", ["\tat com.example.App.run(App.java:42)", "at A.b(Native Method)"], ["at x"]),
        ],
        ids=lambda value: value if isinstance(value, str) else "",
    )
    def test_pattern_matches_only_its_texts(self, name, texts, others):
        assert [text for text in texts if not whole(name, text)] == []
        assert [text for text in others if whole(name, text)] == []

    def test_every_pattern_is_tested_and_documented(self):
        (mark,) = self.test_pattern_matches_only_its_texts.pytestmark
        assert {case[0] for case in mark.args[1]} | {
            name for family in PROGRAMS for name in family.patterns
        } == LIBRARY.keys()
        documented = re.search(r"Known patterns: ([^.]+)\.", inspect.getdoc(Grok))
        assert documented[1].replace("\n", " ").split(", ") == sorted(LIBRARY)

    @pytest.mark.parametrize(
        ("pattern", "text", "expected"),
        [
            ("%{NUMBER}", "v1.2.3 took 5.25s", "1.2"),
            ("%{IPV4}", "from 10.0.0.300 and 10.0.0.3", "10.0.0.3"),
            ("%{IP}", "at [2001:db8::1]:80", "2001:db8::1"),
            ("%{IPV6}", "1:2::3:4 x", "1:2::3:4"),
            ("%{HOSTNAME}", "(www.example.com.) it works", "www.example.com."),
            ("%{WORD} %{DATA}!", "oh no no!", "oh no no!"),
            ("%{TIME}", "2026-11-21T10:00:00", "10:00:00"),
            ("^%{WORD}$", "two words", None),
            ("%{SYSLOGPROG}:", "a postfix/smtpd[42]: x", "postfix/smtpd[42]:"),
        ],
    )
    def test_pattern_may_match_inside_a_text(self, pattern, text, expected):
        assert found(pattern, text) == expected

    @given(st.ip_addresses())
    def test_every_address_matches(self, address):
        texts = [str(address), address.exploded]
        if isinstance(address, ipaddress.IPv6Address):
            texts.append(f"{ipaddress.IPv6Address(int(address) >> 32 << 32)}%lo")
        assert [text for text in texts if not whole("IP", text)] == []

    @given(st.text("0123456789abcdef:.", max_size=20))
    def test_ipv6_matches_addresses_only(self, text):
        try:
            is_address = ipaddress.ip_address(text).version == 6
        except ValueError:
            is_address = False
        if is_address or not re.search(r"(^|[:.])0[0-9]", text):  # zeros before a number are fine for us
            assert whole("IPV6", text) is is_address

    @given(st.datetimes(), st.sampled_from(["", "Z", "+01:00"]), st.sampled_from(["T", " "]))
    def test_every_time_matches(self, moment, zone, between):
        assert whole("TIMESTAMP_ISO8601", moment.isoformat(between) + zone)
        assert whole("HTTPDATE", f"{moment:%d/%b/}{moment.year:04}:{moment:%H:%M:%S} +0000")

    @given(st.uuids())
    def test_every_uuid_matches(self, identity: uuid.UUID):
        assert whole("UUID", str(identity))


class TestPatterns:
    @pytest.mark.parametrize(
        ("pattern", "text", "expected"),
        [
            ("%{WORD:a} %{WORD:b}", b"x y", {"a": b"x", "b": b"y"}),
            ("%{WORD}", b"x", {}),
            ("%{WORD:a}( %{WORD:b})?", b"x", {"a": b"x"}),
            ("a%{DATA:a}b", b"ab", {"a": b""}),
            ("%{IP:'2hb_web:ip'}", b"1.2.3.4", {"2hb_web:ip": b"1.2.3.4"}),
            ("%{WORD:'it''s'}", b"x", {"it's": b"x"}),
            ("%{WORD:@a.b-c}", b"x", {"@a.b-c": b"x"}),
            ("%{WORD:[a][b]}", b"x", {"[a][b]": b"x"}),
            ("(?<a>[0-9]+)(?P<b>[a-z]+)", b"1a", {"a": b"1", "b": b"a"}),
            (r"%{WORD:a} \k<a>", b"x y y", {"a": b"y"}),
            ("(?<a>.)(?P=a)", b"abb", {"a": b"b"}),
            ("(?:%{INT:a}|%{WORD:a})", b"x", {"a": b"x"}),
            ("%{WORD:a} %{WORD:a}", b"x y", {"a": b"y"}),
            ("%{SYSLOGPROG:all}", b"sshd[42]", {"all": b"sshd[42]", "program": b"sshd", "pid": b"42"}),
            ("(?i)abc(?<a>d)", b"ABCD", {"a": b"D"}),
            ("(?s)a(?<a>.*)", b"a\nb", {"a": b"\nb"}),
            ("(?i:A(?-i:b))(?<c>.)", b"abc", {"c": b"c"}),
            (r"[[:digit:]x]+(?<a>[[:alpha:]]+)", b"1x2abc", {"a": b"abc"}),
            (r"[]%{INT}]+(?<a>.)", b"]%{I-", {"a": b"-"}),
            (r"\%\{(?<a>\w+)", b"%{x", {"a": b"x"}),
            ("(?<=a)(?<b>b)(?!c)(?=d)", b"abcabd", {"b": b"b"}),
            ("(?#%{NO})(?<a>a)", b"a", {"a": b"a"}),
            ("ä(?<a>.)", "äb".encode(), {"a": b"b"}),
            ("(?<a>.)$", b"\xff", {"a": b"\xff"}),
        ],
    )
    def test_named_captures_become_attributes(self, attributes_after, pattern, text, expected):
        settings = "{patterns: ['" + pattern.replace("'", "''") + "']}"
        assert attributes_after(Grok, settings, text) == expected

    @pytest.mark.parametrize(
        ("kind", "text", "expected"),
        [
            ("int", b"+007", b"7"),
            ("long", b"-12", b"-12"),
            ("float", b"1.50", b"1.50"),
            ("float", b"-.5", b"-0.5"),
            ("double", b"+1e3", b"1000"),
            ("boolean", b"TRUE", b"true"),
            ("boolean", b"false", b"false"),
            ("string", b"007", b"007"),
            ("int", b"1.5", None),
            ("int", b"", None),
            ("float", b"x", None),
            ("boolean", b"yes", None),
        ],
    )
    def test_typed_capture_is_converted_or_refused(self, attributes_after, refusal_of, kind, text, expected):
        settings = f"{{patterns: ['^(?<b>)%{{GREEDYDATA:a:{kind}}}']}}"
        if expected is None:
            assert refusal_of(Grok, settings, text) == ("not_a_bool" if kind == "boolean" else "not_a_number")
        else:
            assert attributes_after(Grok, settings, text) == {"a": expected, "b": b""}

    def test_first_matching_pattern_is_used(self, attributes_after):
        settings = "{patterns: ['^%{INT:number}$', '^%{WORD:word}$', '%{GREEDYDATA:rest}']}"
        found = [attributes_after(Grok, settings, text) for text in (b"12", b"ab", b"a b")]
        assert found == [{"number": b"12"}, {"word": b"ab"}, {"rest": b"a b"}]

    def test_custom_patterns_may_refer_to_and_override_others(self, attributes_after):
        own = "{PAIR: '%{KEY:key}=%{WORD:value}', KEY: '[a-z]+', WORD: '[0-9]+'}"
        settings = f"{{definitions: {own}, patterns: ['%{{PAIR}}']}}"
        assert attributes_after(Grok, settings, b"A=1 b=2") == {"key": b"b", "value": b"2"}

    def test_flags_of_a_custom_pattern_apply_to_it_only(self, attributes_after):
        settings = "{definitions: {YES: '(?i)yes|no'}, patterns: ['^a%{YES:x}b$']}"
        assert attributes_after(Grok, settings, b"aNOb") == {"x": b"NO"}
        assert attributes_after(Grok, settings[:-1] + ", on_no_match: keep}", b"ANOb") == {}

    def test_custom_pattern_is_grouped(self, attributes_after):
        settings = "{definitions: {AB: 'a|b'}, patterns: ['^%{AB}+c(?<x>d)$']}"
        assert attributes_after(Grok, settings, b"abacd") == {"x": b"d"}

    def test_more_than_99_groups(self, attributes_after):
        pattern = "".join(f"(?<g{number}>.)" for number in range(120)) + r"\k<g110>"
        text = bytes(range(33, 93)) * 2
        assert len(attributes_after(Grok, f"{{patterns: ['{pattern}']}}", text + text[110:111])) == 120


def test_parts_of_a_log_line(attributes_after):
    line = b'10.0.0.1 - - [10/Oct/2000:13:55:36 -0700] "\\x16\\x03\\"" 400 - "http://a/" "-"\n'
    assert attributes_after(Grok, "{patterns: ['^%{HTTPD_COMBINEDLOG}$']}", line) == {
        "clientip": b"10.0.0.1",
        "timestamp": b"10/Oct/2000:13:55:36 -0700",
        "rawrequest": b'\\x16\\x03\\"',
        "response": b"400",
        "referrer": b"http://a/",
    }


def test_anchored_patterns_match_the_whole_text(attributes_after):
    settings = "{patterns: ['%{INT:a}', '%{WORD:b}'], anchored: true, on_no_match: keep}"
    found = [attributes_after(Grok, settings, text) for text in (b"12\n", b"1a", b"1 a")]
    assert found == [{"a": b"12"}, {"b": b"1a"}, {}]


class TestNoMatch:
    def test_text_without_a_match_fails(self, refusal_of):
        assert refusal_of(Grok, "{patterns: ['%{INT}', '%{IP}']}", b"x") == "no_match"

    def test_drops_with_on_no_match_drop(self):
        decorator = grok("{patterns: ['%{INT}'], on_no_match: drop}")
        assert (decorator.decorate(event_of(b"x")), decorator.drop_reason) == (False, "no_match")

    def test_passes_with_on_no_match_keep(self, attributes_after):
        assert attributes_after(Grok, "{patterns: ['%{INT}'], on_no_match: keep}", b"x") == {}


def test_searches_an_attribute(attributes_after):
    assert attributes_after(Grok, "{source: s, patterns: ['%{INT:a}']}", b"1", {"s": "2"})["a"] == b"2"


def test_absent_attribute_has_no_match(refusal_of, attributes_after):
    assert refusal_of(Grok, "{source: s, patterns: ['%{INT:a}']}", b"1") == "no_attribute"
    assert attributes_after(Grok, "{source: s, patterns: ['%{INT:a}'], on_no_match: keep}", b"1") == {}


def test_existing_attribute_fails_if_written_once(refusal_of):
    settings = "{patterns: ['%{INT:b} %{INT:a}']}"
    assert refusal_of(Grok, settings, b"1 2", {"a": "0"}, write_once=True) == "attribute_exists"


def problems(settings):
    with pytest.raises(ValueError) as caught:
        grok(settings)
    return [(error["loc"], error["msg"], error.get("ctx", {}).get("column")) for error in caught.value.errors()]


@pytest.mark.parametrize(
    ("pattern", "message", "column"),
    [
        ("a %{WROD:x}", 'there is no pattern "WROD"; did you mean "WORD"', 3),
        ("%{INT:x:itn}", 'there is no type "itn"; did you mean "int"', 1),
        ("%{INT:x:q}", 'there is no type "q"; the types are int, long, float, double, boolean, string', 1),
        ("%{INT:a:b:c}", "a tag is", 1),
        ("ab %{INT", "a tag is", 4),
        ("%{INT} %{}", "a tag is", 8),
        ("%{INT}(", "missing ), unterminated subpattern", 7),
        ("%{INT:x} a**", "multiple repeat", 12),
        ("%{INT})", "unbalanced parenthesis", 7),
        ("%{INT}**", "multiple repeat", 8),
        (r"(.)\1", "references by number are not supported", 4),
        (r"(?<ab>.)\k<abc>", 'there is no group "abc" before this reference; did you mean "ab"', 9),
        ("(?<>a)", "a group has an empty name", 1),
        ("(?<a>b)?(?(a)c)", "conditions on a group", 9),
        ("[%{INT}", "a character set is not closed", 1),
        ("[[:alhpa:]]", 'there is no class [:alhpa:]; did you mean "alpha"', 1),
        ("[[:^alpha:]]", "there is no class [:^alpha:]", 1),
        ("(?m)a", "m in other tools", 1),
        ("a(?i)b", "flags are allowed at the start", 2),
        ("(?x: a)", 'unknown flags "x"', 1),
        (r"a\h", r"bad escape \h", 2),
        ("(?<=a+)b", "look-behind requires fixed-width pattern", 1),
    ],
)
def test_invalid_patterns_are_rejected_with_column(pattern, message, column):
    ((loc, said, where),) = problems("{patterns: ['%{WORD}', '" + pattern.replace("'", "''") + "']}")
    assert (loc, where) == (("patterns", 1), column)
    assert said.startswith("bad pattern: ")
    assert message in said


@pytest.mark.parametrize(
    ("definitions", "name", "message", "column"),
    [
        ("A: 'x%{A}'", "A", 'the pattern "A" refers to itself: A -> A', 2),
        ("INT: '%{SECOND}%{IPV4}', SECOND: ' %{INT}'", "INT", '"SECOND" refers to itself: SECOND -> INT -> SECOND', 1),
        ("A: 'a %{NO_SUCH_THING}'", "A", 'there is no pattern "NO_SUCH_THING"', 3),
        ("A: '('", "A", "missing ), unterminated subpattern", 1),
        ("'a b': 'x'", "a b", "cannot be the name of a pattern", None),
    ],
)
def test_invalid_definitions_are_rejected_with_column(definitions, name, message, column):
    loc, said, where = problems(f"{{definitions: {{{definitions}}}, patterns: ['%{{WORD}}']}}")[0]
    assert (loc, where) == (("definitions", name), column)
    assert message in said


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ("{}", [("missing", ("patterns",))]),
        ("{patterns: []}", [("too_short", ("patterns",))]),
        ("{patterns: ['a'], definitions: {A: 1}}", [("string_type", ("definitions", "A"))]),
        ("{patterns: ['a'], definitions: [A]}", [("dict_type", ("definitions",))]),
        ("{patterns: ['%{A}'], definitions: {A: '%{B}'}}", [("bad_pattern", ("definitions", "A"))]),
        ("{patterns: ['a'], on_no_match: empty}", [("enum", ("on_no_match",))]),
    ],
)
def test_invalid_options_are_rejected(errors_of, settings, expected):
    assert errors_of(Grok, settings) == expected


def test_too_long_expansion_is_rejected():
    doubling = {f"A{number}": f"%{{A{number + 1}}}" * 2 for number in range(30)} | {"A30": "a"}
    with pytest.raises(ExpressionSyntaxError, match="expands to more than"):
        expanded("%{A0}", doubling)


def test_too_deep_nesting_is_rejected():
    chain = {f"A{number}": f"%{{A{number + 1}}}" for number in range(100)} | {"A100": "a"}
    with pytest.raises(ExpressionSyntaxError, match="patterns are nested too deep"):
        expanded("%{A0}", chain)


@given(st.text(st.sampled_from("ab%{}()[]?<>:'*\\k1iNT^-=|#"), max_size=16))
def test_any_pattern_expands_or_fails_with_column(pattern):
    column, groups, captures = 1, 0, ()
    try:
        found, captures = expanded(pattern, {"N": "[0-9]", "T": "(?i)t|(?<x>u)"})
        groups = found.groups
    except ExpressionSyntaxError as error:
        column = error.column
    assert (1 <= column <= len(pattern) + 1, groups) == (True, len(captures))


@given(st.binary(max_size=60))
def test_any_bytes_match_or_do_not(text):
    event = event_of(text)
    failed = ""
    try:
        grok("{patterns: ['%{SYSLOGLINE}', '%{URI:uri}', '%{NUMBER:n:float}', '%{WORD:w}']}").decorate(event)
    except DecorateError as error:
        failed = error.code
    assert (failed == "no_match") is (event.attributes == {})


@pytest.mark.parametrize("name", LIBRARY)
def test_no_pattern_takes_exponential_time(name):
    search = expanded(f"%{{{name}}}\x00", LIBRARY).pattern.search
    texts = (b"a", b"1.", b"a@", b"/", b'"\\', b"a:", b"Jan 1 ", b" ", b"\\a", b"a-", b"[a", b"%20", b"::1")
    assert [text for text in texts if search(text * 60)] == []
