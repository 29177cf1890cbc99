"""
Patterns that capture other values for fields of ECS than for the older names.

A field with a name of Logstash's has Logstash's value: facts of logstash-patterns-core 4.3.1, from the file of
patterns/ecs-v1 and the spec/patterns that each case names.
"""

import pytest

from decorators.grok import Grok
from ingest.testing.events import event_of, settings_of
from tests.support.grok_families import FILES, FILES_HEAD, NETSCREEN
from tests.support.grok_lines import CLOUDFRONT, ELB, HAPROXY, S3, TIMES

HTTP = f"{HAPROXY}192.0.2.1:35982 {TIMES}10/0/30/69/+109 200 +2750 - - -- 1/2/3/4/+1 5/6 "
FLOW = (
    "IN=eth2 OUT= MAC=00:50:56:40:91:b4:00:50:56:40:91:b5:08:00 SRC=10.1.1.1 DST=10.2.2.2 LEN=141 TOS=0x10 PREC=0x20 "
    "TTL=63 ID=55251 DF PROTO=TCP SPT=5353 DPT=5335 SEQ=12 ACK=3 WINDOW=14600 RES=0x00 ACK PSH URGP=0"
)
UNREACHED = "192.0.2.1:5 [10/Dec/2026:12:01:46.395] in web/<NOSRV> "
CASES = [
    # haproxy, haproxy_spec.rb: the URL in its parts, -1 and <NOSRV> are nothing, counts are numbers
    (
        "HAPROXYHTTP",
        HTTP + '"GET http://bob@www.example.com:8080/a?b=c HTTP/1.1"',
        {
            "url.original": "http://bob@www.example.com:8080/a?b=c", "url.scheme": "http", "url.username": "bob",
            "url.domain": "www.example.com", "url.port": "8080", "url.path": "/a", "url.query": "b=c",
            "source.bytes": "2750", "haproxy.connections.retries": "1", "haproxy.total_time_ms": "+109",
            "haproxy.server_name": "w1", "haproxy.http.request.time_wait_ms": "10", "http.version": "1.1",
        },
    ),
    (
        "HAPROXYHTTP",
        HTTP + '"OPTIONS * HTTP/1.1"',
        {"http.request.method": "OPTIONS", "url.original": "*", "url.path": None, "http.version": "1.1"},
    ),
    (
        "HAPROXYHTTP",
        HTTP + '"CONNECT [2001:db8::1]:443 HTTP/1.1"',
        {"url.original": "[2001:db8::1]:443", "url.domain": "[2001:db8::1]", "url.port": "443", "url.path": None},
    ),
    (
        "HAPROXYHTTPBASE",
        UNREACHED + '-1/-1/-1/-1/6001 408 212 - - cR-- 1/2/3/4/0 5/6 "<BADREQ>"',
        {
            "haproxy.backend_name": "web", "haproxy.server_name": None, "haproxy.http.request.time_wait_ms": None,
            "haproxy.total_waiting_time_ms": None, "haproxy.connection_wait_time_ms": None,
            "haproxy.http.request.time_wait_without_data_ms": None, "haproxy.total_time_ms": "6001",
            "source.bytes": "212", "url.original": None,
        },
    ),
    (
        "HAPROXYTCP",
        f"{HAPROXY}{UNREACHED}-1/-1/1 212 SC 1/1/0/0/0 0/0",
        {
            "haproxy.server_name": None, "haproxy.total_waiting_time_ms": None,
            "haproxy.connection_wait_time_ms": None, "haproxy.total_time_ms": "1", "source.bytes": "212",
        },
    ),
    # aws, aws_spec.rb: the same of ELB, and a request of S3 as a whole
    (
        "ELB_ACCESS_LOG",
        f'{ELB}"GET https://u@www.example.com:443/a/b?c=d|e HTTP/1.1"',
        {
            "url.original": "https://u@www.example.com:443/a/b?c=d|e", "url.scheme": "https", "url.username": "u",
            "url.domain": "www.example.com", "url.port": "443", "url.path": "/a/b", "url.query": "c=d|e",
            "aws.elb.request_processing_time.sec": "0.000073",
        },
    ),
    (
        "ELB_ACCESS_LOG",
        '2026-05-13T23:39:43.9Z lb1 192.0.2.1:2817 - -1 -1 -1 408 - 1294336 0 "PUT https://www.example.com:443/a"',
        {
            "aws.elb.request_processing_time.sec": None, "aws.elb.backend_processing_time.sec": None,
            "aws.elb.response_processing_time.sec": None, "http.response.status_code": "408", "url.query": None,
        },
    ),
    (
        "S3_ACCESS_LOG",
        f'{S3}200 - 113 2662 7 6 "-" "S3Console/0.4" -',
        {
            "aws.s3access.request_uri": "GET /a/b.jpg?x=1 HTTP/1.1", "http.request.method": "GET",
            "url.original": "/a/b.jpg?x=1", "http.version": "1.1",
        },
    ),
    (
        "CLOUDFRONT_ACCESS_LOG",
        "\t".join([*CLOUDFRONT, "HTTP/2.0", "-", "-", "11040", "0.001", "Hit", "text/html", "78", "0", "77"]),
        {
            "http.version": "2.0", "aws.cloudfront.fle_status": None, "aws.cloudfront.fle_encrypted_fields": None,
            "source.port": "11040", "aws.cloudfront.time_to_first_byte": "0.001",
            "aws.cloudfront.x_edge_detailed_result_type": "Hit", "http.request.mime_type": "text/html",
            "aws.cloudfront.http.request.size": "78", "aws.cloudfront.http.request.range.start": "0",
            "aws.cloudfront.http.request.range.end": "77", "http.response.status_code": "200",
        },
    ),
    (
        "CLOUDFRONT_ACCESS_LOG",
        "\t".join(CLOUDFRONT).replace("\t200\t", "\t000\t"),
        {"http.response.status_code": None, "http.version": None, "http.request.referrer": "www.example.com"},
    ),
    # firewalls, firewalls_spec.rb: the name of a host is no address, and each word has its own field
    (
        "CISCOFW106023",
        'Deny tcp src out:192.0.2.1/50240(u) dst inside:www.example.com/23 by access-group "S_IN" [0x5, 0x0]',
        {
            "source.ip": "192.0.2.1", "source.address": None, "source.port": "50240", "source.user.name": "u",
            "destination.ip": None, "destination.address": "www.example.com", "destination.port": "23",
        },
    ),
    (
        "CISCOFW106014",
        "Deny inbound icmp src out:192.0.2.1.example dst inside:10.0.0.1 (type 8, code 0)",
        {"source.ip": None, "source.address": "192.0.2.1.example", "destination.ip": "10.0.0.1"},
    ),
    (
        "CISCOFW106100_2_3",
        "access-list in permitted tcp for user 'b' in/10.1.1.1(5) -> out/192.0.2.8(80) hit-cnt 1 first hit [0x6, 0x0]",
        {"user.name": "b", "source.user.name": None, "cisco.asa.hit_count": "1", "cisco.asa.interval": None},
    ),
    (
        "CISCOFW106100",
        "access-list o est-allowed udp o/10.1.1.1(5) -> i/192.0.2.8(80) hit-cnt 1 300-second interval [0x6, 0x0]",
        {"cisco.asa.hit_count": "1", "cisco.asa.interval": "300"},
    ),
    (
        "CISCOFW302013_302014_302015_302016",
        "Built inbound TCP connection 1 for o:192.0.2.1/80 (192.0.2.2/81) to i:10.0.0.1/5 (10.0.0.2/6)(w) (bob)",
        {
            "source.user.name": None, "destination.user.name": "w", "user.name": "bob", "source.nat.ip": "192.0.2.2",
            "destination.nat.port": "6",
        },
    ),
    (
        "CISCOFW302020_302021",
        "Teardown ICMP connection for faddr 192.0.2.251/18425(a) gaddr 10.1.1.1/0 laddr 10.1.1.10/8 (bob)",
        {
            "cisco.asa.icmp_seq": "18425", "cisco.asa.icmp_type": "0", "cisco.asa.icmp_code": None,
            "destination.user.name": "a", "source.user.name": "bob", "source.ip": "10.1.1.10",
        },
    ),
    (
        "CISCOFW305011",
        "Built dynamic TCP translation from inside:172.31.98.44/1772 to outside:192.0.2.44/8256",
        {
            "source.ip": "172.31.98.44", "source.port": "1772", "source.nat.ip": None, "destination.ip": "192.0.2.44",
            "destination.port": "8256", "observer.egress.interface.name": "outside",
        },
    ),
    (
        "CISCOFW313005",
        ("No matching connection for ICMP error message: icmp src o:192.0.2.1 dst i:10.0.0.1 (type 3, code 4) on x "
        "interface.  Original IP payload: udp src 10.0.0.1/53 dst 192.0.2.9/54"),
        {
            "cisco.asa.network.transport": "ICMP", "cisco.asa.original_ip_payload.network.transport": "udp",
            "observer.ingress.interface.name": "o", "observer.egress.interface.name": "i",
        },
    ),
    (
        "CISCOFW402117",
        "IPSEC: Received a non-IPSec packet (protocol= ICMP) from 192.0.2.1 to 192.0.2.2",
        {"cisco.asa.network.type": "IPSEC", "cisco.asa.network.transport": "ICMP", "cisco.asa.ipsec.protocol": None},
    ),
    (
        "CISCOFW402119",
        ("IPSEC: Received an ESP packet (SPI= 0xD, sequence number= 0x7) from 192.0.2.1 (user= bob) to 192.0.2.2 that "
        "failed anti-replay checking"),
        {
            "cisco.asa.network.type": "IPSEC", "cisco.asa.network.transport": None, "cisco.asa.ipsec.protocol": "ESP",
            "source.user.name": "bob",
        },
    ),
    (
        "CISCOFW602303_602304",
        "IPSEC: An inbound LAN-to-LAN SA (SPI= 0xF4) between 192.0.2.1 and 192.0.2.2 (user= bob) has been created",
        {"cisco.asa.network.type": "IPSEC", "cisco.asa.network.transport": None, "cisco.asa.outcome": "created"},
    ),
    ("NETSCREENSESSIONLOG", NETSCREEN, {"observer.product": "NetScreen", "observer.name": "aka1"}),
    # firewalls, firewalls_spec.rb and shorewall_spec.rb: numbers without 0x, and the header of TCP
    (
        "SHOREWALL",
        f"May 28 17:23:25 web kernel: [3124658.7] Shorewall:FORWARD:REJECT:{FLOW}",
        {
            "iptables.tos": "10", "iptables.precedence_bits": "20", "iptables.fragment_flags": "DF",
            "iptables.tcp.seq": "12", "iptables.tcp.ack": "3", "iptables.tcp.window": "14600",
            "iptables.tcp_reserved_bits": "00", "iptables.tcp.flags": "ACK PSH ", "network.transport": "TCP",
        },
    ),
    (
        "IPTABLES",
        FLOW.replace("DF", "MF FRAG:64").replace("ACK PSH", "").replace("TOS=0x10", "TOS=0"),
        {
            "iptables.fragment_flags": "MF", "iptables.fragment_offset": "64", "iptables.tcp.flags": None,
            "iptables.tos": None, "iptables.tcp_reserved_bits": "00",
        },
    ),
    (
        "SFW2",
        f"Mar  8 20:16:44 black kernel: [20474.050964] SFW2-INext-ACC-TCP {FLOW}",
        {"suse.firewall.action": "ACC-TCP", "suse.firewall.log_prefix": "SFW2-INext-ACC-TCP"},
    ),
    # zeek, bro_spec.rb: the first host of several, and all of them
    (
        "ZEEK_FILES",
        FILES_HEAD + FILES,
        {
            "server.ip": "192.0.2.7", "zeek.files.tx_hosts": None, "client.ip": "192.0.2.8",
            "zeek.files.rx_hosts": "192.0.2.8,192.0.2.9",
        },
    ),
    # bind, bind_spec.rb: both names of a question, which Logstash has as equal
    (
        "BIND9",
        "17-Feb-2026 23:06:56.326 queries: info: client 172.26.0.1#5 (a.test): query: b.test IN A + (172.26.0.3)",
        {"bind.log.question.name": "a.test", "dns.question.name": "b.test"},
    ),
    # postgresql
    ("POSTGRESQL", "20-11-2026 08:15:01 UTC bob 5f1 42", {"event.timezone": "UTC", "user.name": "bob"}),
    # squid, squid_spec.rb: 0 and 000 are no status
    (
        "SQUID3",
        "1525344856.899  16867 10.170.72.111 TCP_MISS_ABORTED/000 0 GET http://a.test/ - HIER_NONE/- -",
        {"http.response.status_code": None, "event.action": "TCP_MISS_ABORTED", "http.response.bytes": "0"},
    ),
    (
        "SQUID3",
        "1525344856.899  16867 10.170.72.111 TCP_TUNNEL/200 6256 CONNECT a.test:443 - HIER_DIRECT/10.0.0.1 -",
        {"http.response.status_code": "200"},
    ),
]  # fmt: skip


@pytest.mark.parametrize(("name", "line", "expected"), CASES)
def test_a_field_has_the_value_of_logstash(name, line, expected):
    settings = f"{{patterns: ['%{{{name}}}'], ecs_compatibility: v1}}"
    event = event_of(line)
    Grok(settings_of(Grok.settings_class(), settings)).decorate(event)
    found = {field: value.decode() for field, value in event.attributes.items()}
    assert {field: found.get(field) for field in expected} == expected
