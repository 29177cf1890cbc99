"""
Tables of Zeek and CloudFront, and error logs of httpd with other columns than usual.

The rules are facts of logstash-patterns-core 4.3.1 (spec/patterns/bro_spec.rb, httpd_spec.rb), of Zeek's log tables and
of httpd's log_apr_status.
"""

import pytest

from decorators.grok import Grok
from ingest.api import DecorateError
from ingest.testing.events import event_of, settings_of
from tests.support.grok_families import DNS, FILES, FILES_HEAD, ZEEK
from tests.support.grok_lines import CLOUDFRONT

MODES = ("disabled", "v1")
HTTP_OF_ZEEK = "1\t{}\t1.1\t{}\t-\t{}\t471\t200\tOK\t-\t-\t(empty)\t-\t-\t-\t-\t-\t-\tFPG\t-\ta/b"
DNS_OF_ZEEK = f"{ZEEK}udp\t41477\t0.075138\t{DNS}"
ERROR = "[Sat Nov 21 10:00:00.123456 2026] [core:error] [pid 1234:tid 99] "
HEAD = {"timestamp": "Sat Nov 21 10:00:00.123456 2026", "module": "core", "loglevel": "error"}
HEAD |= {"pid": "1234", "tid": "99"}


def grok(patterns, text, mode="disabled"):
    event = event_of(text)
    names = ", ".join(f"'%{{{name}}}'" for name in patterns)
    Grok(settings_of(Grok.settings_class(), f"{{patterns: [{names}], ecs_compatibility: {mode}}}")).decorate(event)
    return {name: value.decode() for name, value in event.attributes.items()}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("BRO_HTTP", ZEEK + HTTP_OF_ZEEK.format("-\t-\t-\t-", "-", "0")),
        ("BRO_HTTP", ZEEK + HTTP_OF_ZEEK.format("POST\ta.test\t/\t-", "curl/8", "12")),
        ("BRO_HTTP", ZEEK + HTTP_OF_ZEEK.format("POST\ta.test\t/\t-", "-", "12")),
        ("BRO_DNS", DNS_OF_ZEEK),
        ("BRO_DNS", f"{ZEEK}udp\t41477\t-\t-\t-\t-\t-\t-\t-\t-\tF\tF\tT\tT\t0\t-\t-\tF"),
        ("BRO_DNS", ZEEK + HTTP_OF_ZEEK.format("POST\ta.test\t/\t-", "curl/8", "12")),
        ("BRO_CONN", DNS_OF_ZEEK),
        ("ZEEK_CONN", DNS_OF_ZEEK),
        ("BRO_FILES", ZEEK + HTTP_OF_ZEEK.format("-\t-\t-\t-", "-", "0")),
        ("ZEEK_FILES", ZEEK + HTTP_OF_ZEEK.format("-\t-\t-\t-", "-", "0")),
        ("ZEEK_DNS", f"{ZEEK}udp\t3648\t{DNS}"),
        ("CLOUDFRONT_ACCESS_LOG", "\t".join([*CLOUDFRONT[:3], "x", *CLOUDFRONT[3:]])),
        ("CLOUDFRONT_ACCESS_LOG", "\t".join([*CLOUDFRONT[:9], "x", *CLOUDFRONT[9:]])),
        ("BRO_CONN", ZEEK + "0" + "\t-" * 12 + "\t(empty)" + "\t-" * 7),
        ("ZEEK_CONN", ZEEK + "0" + "\t-" * 12 + "\t(empty)" + "\t-" * 7),
        ("ZEEK_DNS", ZEEK + "0" + "\t-" * 12 + "\t(empty)" + "\t-" * 7),
    ],
)
def test_a_table_with_other_columns_has_no_match(name, line, mode):
    with pytest.raises(DecorateError, match="no pattern matches"):
        grok([name], line, mode)


def test_of_two_tables_the_one_with_the_columns_of_the_line_matches():
    found = grok(["BRO_DNS", "ZEEK_DNS"], DNS_OF_ZEEK, "v1")
    assert (found["zeek.dns.rtt"], found["dns.question.name"], found["zeek.dns.qclass"]) == ("0.075138", "a.test", "1")


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("ZEEK_HTTP", ZEEK + HTTP_OF_ZEEK.format("M-SEARCH\ta\t*\t-", "curl/8", "12") + "\tmore"),
        ("ZEEK_DNS", DNS_OF_ZEEK + "\tmore"),
        ("BRO_FILES", FILES_HEAD + FILES + "\tF\t-"),
    ],
)
def test_a_table_may_have_further_columns(name, line):
    assert grok([name], line)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "(13)Permission denied: [client 192.0.2.1:50123] AH00035: access to / denied",
            {"proxy_errorcode": "13", "proxy_message": "Permission denied", "clientip": "192.0.2.1"}
            | {"clientport": "50123", "errorcode": "AH00035", "message": "access to / denied"},
        ),
        (
            "(2)No such file: a:b: AH00036: it: broke",
            {"proxy_errorcode": "2", "proxy_message": "No such file", "message": "a:b: AH00036: it: broke"},
        ),
        (
            "(OS 64)The specified network name is gone.: AH00341: it broke",
            {"proxy_errorcode": "OS 64", "proxy_message": "The specified network name is gone."}
            | {"errorcode": "AH00341", "message": "it broke"},
        ),
        ("(a)b: it broke", {"message": "(a)b: it broke"}),
        ("[client ::1:50123] x", {"clientip": "::1", "clientport": "50123", "message": "x"}),
        ("[client 192.0.2.1] x", {"clientip": "192.0.2.1", "message": "x"}),
        ("[client 192.0.2.1:0] x", {"clientip": "192.0.2.1", "message": "x"}),
    ],
)
def test_an_error_of_the_system_is_before_the_client(text, expected):
    assert grok(["HTTPD_ERRORLOG"], ERROR + text) == HEAD | expected


def test_an_error_of_the_system_with_fields_of_ecs():
    """httpd_spec.rb, "a full httpd 2.4 message"."""
    text = "(70008)Partial results are valid but processing is incomplete: [client 192.0.2.1:59307] AH01075: it broke"
    found = grok(["HTTPD_ERRORLOG"], ERROR + text, "v1")
    assert found["apache.error.proxy.error.code"] == "70008"
    assert found["apache.error.proxy.error.message"] == "Partial results are valid but processing is incomplete"
    assert (found["source.address"], found["source.port"], found["error.code"]) == ("192.0.2.1", "59307", "AH01075")


@pytest.mark.parametrize(
    ("pattern", "line"),
    [
        ("%{CLOUDFRONT_ACCESS_LOG}\\x00", "2026-11-20\t08:15:01" + "\t-" * 31),
        ("%{BRO_HTTP}\\x00", "1\tC\t::1\t1\t::1\t2" + "\t-" * 13 + "\t(empty)" + "\t-" * 7),
        ("%{ZEEK_FILES}\\x00", "1\tF" + "\t-" * 23),
    ],
)
def test_absent_columns_of_a_line_without_a_match_are_read_in_one_way(pattern, line):
    """If `-` were an absent value and a text as well, 31 of them could be read in 2³¹ ways, which takes minutes."""
    settings = f"{{patterns: ['{pattern}'], on_no_match: keep}}"
    assert Grok(settings_of(Grok.settings_class(), settings)).decorate(event_of(line))


@pytest.mark.parametrize(("mode", "name"), [("disabled", "local_orig"), ("v1", "zeek.files.local_orig")])
def test_a_column_has_the_name_of_zeek(mode, name):
    line = FILES_HEAD + FILES.replace("0.000004\t-\t", "0.000004\tT\t")
    assert grok(["BRO_FILES"], line, mode)[name] == "T"
