"""Hosts with underscores and IPv4-mapped addresses in the grok library, as resolvers and servers write them."""

import pytest

from decorators.grok import Grok


@pytest.mark.parametrize(
    ("pattern", "line", "expected"),
    [
        (
            "%{SYSLOG5424LINE}",
            "<174>1 2016-11-14T09:32:44+01:00 my_dns.com named 6344 - -  info: client 192.0.2.11#63252: query",
            {"syslog5424_host": "my_dns.com", "syslog5424_app": "named", "syslog5424_proc": "6344"},
        ),
        (
            "%{SYSLOG5424LINE}",
            "<174>1 2016-11-14T09:49:23+01:00 2001:db8:0:215:130:238:4:133 named 2255 - -  info: client",
            {"syslog5424_host": "2001:db8:0:215:130:238:4:133"},
        ),
        (
            "%{SYSLOGLINE}",
            "Mar 16 00:01:25 UNKNOWN_HOSTNAME postfix/smtpd[1713]: connect from a.example.net[192.0.2.3]",
            {"logsource": "UNKNOWN_HOSTNAME", "program": "postfix/smtpd", "pid": "1713"},
        ),
        ("^%{IPORHOST:h} up$", "HNAM12522_OLDL up", {"h": "HNAM12522_OLDL"}),
        ("to %{URI:u}$", "proxy to http://my_service_1:8080/a?x=1", {"u": "http://my_service_1:8080/a?x=1"}),
        ("upstream %{HOSTPORT:u},", "upstream web_app_1.internal:8000, x", {"u": "web_app_1.internal:8000"}),
        (
            "^query: %{HOSTNAME:q} IN",
            "query: _ldap._tcp.dc._msdcs.example.com IN SRV",
            {"q": "_ldap._tcp.dc._msdcs.example.com"},
        ),
        # RFC 4291, 2.2: the last four bytes of an IPv6 address as those of IPv4, also of NAT64
        ("%{IP:ip}:%{NUMBER:port}", "::ffff:127.0.0.1:35606", {"ip": "::ffff:127.0.0.1", "port": "35606"}),
        ("client %{IP:ip} ", "client ::ffff:192.0.2.42 closed", {"ip": "::ffff:192.0.2.42"}),
        ("^%{IP:ip} ", "2001:db8:64::198.51.100.52 x", {"ip": "2001:db8:64::198.51.100.52"}),
        ("^%{IP:ip} ", "::FFFF:c000:22a x", {"ip": "::FFFF:c000:22a"}),
        (
            "%{HTTPD_COMBINEDLOG}",
            '::ffff:10.4.1.1 - - [13/Dec/2017:00:16:52 +0000] "GET /status HTTP/1.1" 200 15 "-" "probe/1.8+" 85 ms',
            {"clientip": "::ffff:10.4.1.1", "verb": "GET", "response": "200", "bytes": "15"},
        ),
    ],
)
def test_host_or_address_is_whole(attributes_after, pattern, line, expected):
    found = attributes_after(Grok, f"{{patterns: ['{pattern}']}}", line.encode())
    assert {name: found[name].decode() for name in expected} == expected


@pytest.mark.parametrize(("settings", "expected"), [("", b"8080"), (", ecs_compatibility: v1", None)])
def test_a_host_of_a_uri_sets_its_port(attributes_after, settings, expected):
    """patterns/legacy/grok-patterns of logstash-patterns-core 4.3.1 has it; patterns/ecs-v1 has no field for it."""
    text = b"proxy to http://u:p@a.test:8080/a?x=1"
    assert attributes_after(Grok, f"{{patterns: ['to %{{URI}}']{settings}}}", text).get("port") == expected
    assert attributes_after(Grok, f"{{patterns: ['to %{{URI}}']{settings}}}", b"to http://a.test/").get("port") is None
