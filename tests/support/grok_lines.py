"""Lines of servers and firewalls with what the known patterns of grok capture in them."""

HAPROXY = "Dec 10 12:01:46 lb haproxy[19312]: "
TIMES = "[10/Dec/2026:12:01:46.395] http-in~ web/w1 "
IN_HAPROXY = {"syslog_timestamp": "Dec 10 12:01:46", "syslog_server": "lb", "program": "haproxy", "pid": "19312"} | {
    "client_port": "35982", "accept_date": "10/Dec/2026:12:01:46.395", "frontend_name": "http-in~",
    "backend_name": "web", "server_name": "w1",
}  # fmt: skip
COUNTED = {
    "termination_state": "--", "actconn": "1", "feconn": "2", "beconn": "3", "srvconn": "4", "retries": "0",
    "srv_queue": "5", "backend_queue": "6",
}  # fmt: skip
S3 = '79a5 bucket [06/Feb/2026:00:00:38 +0000] 192.0.2.3 79a5 3E57 REST.GET.OBJECT a/b.jpg "GET /a/b.jpg?x=1 HTTP/1.1" '
ELB = "2026-05-13T23:39:43.945958Z lb1 192.0.2.1:2817 10.0.0.1:80 0.000073 0.001048 0.000057 200 200 0 29 "
CLOUDFRONT = [
    "2026-11-20\t08:15:01", "FRA2", "2390282", "192.0.2.202", "GET", "d111.cloudfront.net", "/view/my/file.html", "200",
    "www.example.com", "Mozilla/4.0%20(x)", "-", "zip=98101", "Hit", "MRVMF7Kyd==", "d111.cloudfront.net", "http", "-",
    "0.001", "-", "-", "-", "Hit",
]  # fmt: skip

LINES = [
    (
        "HAPROXYHTTP",
        (f"{HAPROXY}::ffff:192.0.2.1:35982 {TIMES}10/0/30/69/+109 200 +2750 - - -- 1/2/3/4/0 5/6 {{h1|h2}} {{r}} "
        '"GET http://bob@example.com:81/up/&sid=3 HTTP/1.1"'),
        IN_HAPROXY | COUNTED | {
            "client_ip": "::ffff:192.0.2.1", "time_request": "10", "time_queue": "0", "time_backend_connect": "30",
            "time_backend_response": "69", "time_duration": "+109", "http_status_code": "200", "bytes_read": "+2750",
            "captured_request_headers": "h1|h2", "captured_response_headers": "r", "http_verb": "GET",
            "http_proto": "http", "http_user": "bob", "http_host": "example.com:81", "port": "81",
            "http_request": "/up/&sid=3",
            "http_version": "1.1",
        },
    ),
    (
        "HAPROXYHTTP",
        ('2026-12-10T12:01:46+01:00 lb haproxy: 2001:db8::1:35982 [10/Dec/2026:12:01:46.395] in web/<NOSRV> '
        '-1/-1/-1/-1/5 400 187 a=1 b=2 CR-- 1/2/3/4/0 5/6 "<BADREQ>"'),
        COUNTED | {
            "timestamp8601": "2026-12-10T12:01:46+01:00", "syslog_server": "lb", "program": "haproxy",
            "client_ip": "2001:db8::1", "client_port": "35982", "accept_date": "10/Dec/2026:12:01:46.395",
            "frontend_name": "in", "backend_name": "web", "server_name": "<NOSRV>", "time_request": "-1",
            "time_queue": "-1", "time_backend_connect": "-1", "time_backend_response": "-1", "time_duration": "5",
            "http_status_code": "400", "bytes_read": "187", "captured_request_cookie": "a=1",
            "captured_response_cookie": "b=2", "termination_state": "CR--",
        },
    ),
    (
        "HAPROXYTCP",
        f"{HAPROXY}192.0.2.1:35982 {TIMES}0/0/3061 18 -- 1/2/3/4/0 5/6",
        IN_HAPROXY | COUNTED | {
            "client_ip": "192.0.2.1", "time_queue": "0", "time_backend_connect": "0", "time_duration": "3061",
            "bytes_read": "18",
        },
    ),
    (
        "S3_ACCESS_LOG",
        f'{S3}200 - 113 2662 7 6 "http://a/\\"b" "S3Console/0.4" - 9vKBE6 SigV2 ECDHE AuthHeader h.s3.test TLSV1.2',
        {
            "owner": "79a5", "bucket": "bucket", "timestamp": "06/Feb/2026:00:00:38 +0000", "clientip": "192.0.2.3",
            "requester": "79a5", "request_id": "3E57", "operation": "REST.GET.OBJECT", "key": "a/b.jpg", "verb": "GET",
            "request": "/a/b.jpg?x=1", "httpversion": "1.1", "response": "200", "bytes": "113", "object_size": "2662",
            "request_time_ms": "7", "turnaround_time_ms": "6", "referrer": 'http://a/\\"b', "agent": "S3Console/0.4",
            "host_id": "9vKBE6", "signature_version": "SigV2", "cipher_suite": "ECDHE",
            "authentication_type": "AuthHeader", "host_header": "h.s3.test", "tls_version": "TLSV1.2",
        },
    ),
    (
        "S3_ACCESS_LOG",
        '79a5 b [06/Feb/2026:00:00:38 +0000] - - 3E57 S3.EXPIRE.OBJECT k "-" - - - - - - "-" "-" v1',
        {
            "owner": "79a5", "bucket": "b", "timestamp": "06/Feb/2026:00:00:38 +0000", "request_id": "3E57",
            "operation": "S3.EXPIRE.OBJECT", "key": "k", "rawrequest": "-", "version_id": "v1",
        },
    ),
    (
        "ELB_ACCESS_LOG",
        f'{ELB}"GET https://u@www.example.com:443/a/b?c=d|e HTTP/1.1" "curl/7.38.0" DHE-RSA TLSv1.2',
        {
            "timestamp": "2026-05-13T23:39:43.945958Z", "elb": "lb1", "clientip": "192.0.2.1", "clientport": "2817",
            "backendip": "10.0.0.1", "backendport": "80", "request_processing_time": "0.000073",
            "backend_processing_time": "0.001048", "response_processing_time": "0.000057", "response": "200",
            "backend_response": "200", "received_bytes": "0", "bytes": "29", "verb": "GET",
            "request": "https://u@www.example.com:443/a/b?c=d|e", "proto": "https", "urihost": "www.example.com:443",
            "port": "443", "path": "/a/b", "params": "?c=d|e", "httpversion": "1.1", "agent": "curl/7.38.0",
            "cipher_suite": "DHE-RSA", "ssl_protocol": "TLSv1.2",
        },
    ),
    (
        "ELB_ACCESS_LOG",
        '2026-05-13T23:39:43.945958Z lb1 192.0.2.1:2817 - -1 -1 -1 503 0 0 0 "- - - "',
        {
            "timestamp": "2026-05-13T23:39:43.945958Z", "elb": "lb1", "clientip": "192.0.2.1", "clientport": "2817",
            "request_processing_time": "-1", "backend_processing_time": "-1", "response_processing_time": "-1",
            "response": "503", "backend_response": "0", "received_bytes": "0", "bytes": "0", "rawrequest": "- - - ",
        },
    ),
    (
        "CLOUDFRONT_ACCESS_LOG",
        "\t".join(CLOUDFRONT),
        {
            "timestamp": "2026-11-20\t08:15:01", "x_edge_location": "FRA2", "sc_bytes": "2390282",
            "clientip": "192.0.2.202", "cs_method": "GET", "cs_host": "d111.cloudfront.net",
            "cs_uri_stem": "/view/my/file.html", "sc_status": "200", "referrer": "www.example.com",
            "agent": "Mozilla/4.0%20(x)", "cookies": "zip=98101", "x_edge_result_type": "Hit",
            "x_edge_request_id": "MRVMF7Kyd==", "x_host_header": "d111.cloudfront.net", "cs_protocol": "http",
            "time_taken": "0.001", "x_edge_response_result_type": "Hit",
        },
    ),
    (
        "BIND9",
        ("17-Feb-2026 23:06:56.326 queries: info: client @0x7f64500b4f00 172.26.0.1#12345 (test.example.com): view in: "
        "query: test.example.com IN AAAA +E(0)K (172.26.0.3)"),
        {
            "timestamp": "17-Feb-2026 23:06:56.326", "category": "queries", "loglevel": "info",
            "clientip": "172.26.0.1", "clientport": "12345", "query": "test.example.com", "queryclass": "IN",
            "querytype": "AAAA", "queryflags": "+E(0)K", "dns": "172.26.0.3",
        },
    ),
    (
        "MONGO_LOG",
        "Nov 21 10:00:00.123 [initandlisten] waiting",
        {"timestamp": "Nov 21 10:00:00.123", "component": "initandlisten", "message": "waiting"},
    ),
    (
        "MONGO_SLOWQUERY",
        ("query app.User query: { $q: { a: { $gt: 1 } }, n: 5 } ntoreturn:0 ntoskip:2 nscanned:287011 keyUpdates:0 "
        "locks(micros) r:4187700 nreturned:18 reslen:14019 2340ms"),
        {
            "operation": "query", "database": "app", "collection": "User", "query": "{ $q: { a: { $gt: 1 } }, n: 5 }",
            "ntoreturn": "0", "ntoskip": "2", "nscanned": "287011", "nreturned": "18", "duration": "2340",
        },
    ),
    (
        "MONGO3_LOG",
        "2026-11-03T18:28:32.450-0500 I NETWORK  [initandlisten] waiting for connections",
        {
            "timestamp": "2026-11-03T18:28:32.450-0500", "severity": "I", "component": "NETWORK",
            "context": "initandlisten", "message": "waiting for connections",
        },
    ),
    (
        "MONGO3_LOG",
        "2026-11-03T18:28:32.450-0500 F -        [conn11] Got signal: 11",
        {
            "timestamp": "2026-11-03T18:28:32.450-0500", "severity": "F", "context": "conn11",
            "message": "Got signal: 11",
        },
    ),
    ("REDISLOG", "[4018] 14 Nov 07:01:22.119 *", {"pid": "4018", "timestamp": "14 Nov 07:01:22.119"}),
    ("REDISLOG", "4018:M 14 Nov 2026 07:01:22.119 #", {"pid": "4018", "timestamp": "14 Nov 2026 07:01:22.119"}),
    (
        "REDISMONLOG",
        '1470637867.953466 [0 ::1:52500] "set" "a" "b c"',
        {
            "timestamp": "1470637867.953466", "database": "0", "client": "::1", "port": "52500", "command": "set",
            "params": '"a" "b c"',
        },
    ),
    (
        "POSTGRESQL",
        "2026-11-20 08:15:01.123 UTC bob 5f1 a 42",
        {"timestamp": "2026-11-20 08:15:01.123", "user_id": "bob", "connection_id": "5f1 a", "pid": "42"},
    ),
    (
        "RUBY_LOGGER",
        "E, [2026-11-20T08:15:01.123456 #42] ERROR -- app: it: broke",
        {
            "timestamp": "2026-11-20T08:15:01.123456", "pid": "42", "loglevel": "ERROR", "progname": "app",
            "message": "it: broke",
        },
    ),
    (
        "SQUID3",
        "1525344856.899  16867 10.170.72.111 TCP_TUNNEL/200 6256 CONNECT a.test:443 - HIER_DIRECT/10.0.0.1 -",
        {
            "timestamp": "1525344856.899", "duration": "16867", "client_address": "10.170.72.111",
            "cache_result": "TCP_TUNNEL", "status_code": "200", "bytes": "6256", "request_method": "CONNECT",
            "url": "a.test:443", "hierarchy_code": "HIER_DIRECT", "server": "10.0.0.1",
        },
    ),
    (
        "CISCO_TAGGED_SYSLOG",
        "<166>Nov 20 2026 08:15:01 fw_1 : %ASA-6-302013:",
        {"syslog_pri": "166", "timestamp": "Nov 20 2026 08:15:01", "sysloghost": "fw_1", "ciscotag": "ASA-6-302013"},
    ),
    ("CISCO_TAGGED_SYSLOG", "<191>Jan 24 11:28:30.407: %LINEPROTO-5-UPDOWN:", None),
    ("CISCOFW104001", "(Secondary) Switching to ACTIVE - Unit has failed", {"switch_reason": "Unit has failed"}),
    ("CISCOFW104002", "(Primary) Switching to STANDBY - x", {"switch_reason": "x"}),
    ("CISCOFW104003", "(Primary) Switching to FAILED.", {}),
    ("CISCOFW104004", "(Primary) Switching to OK.", {}),
    ("CISCOFW105003", "(Primary) Monitoring on interface in-1 waiting", {"interface_name": "in-1"}),
    ("CISCOFW105004", "(Primary) Monitoring on Interface in-1 normal", {"interface_name": "in-1"}),
    ("CISCOFW105005", "(Primary) Lost Failover communications with mate on interface a", {"interface_name": "a"}),
    ("CISCOFW105008", "(Primary) Testing interface a", {"interface_name": "a"}),
    ("CISCOFW105009", "(Primary) Testing on interface a Passed", {"interface_name": "a"}),
    (
        "CISCOFW106001",
        "Inbound TCP connection denied from 192.0.2.2/43803 to 10.10.10.10/14322 flags SYN ACK on interface out111",
        {
            "direction": "Inbound", "protocol": "TCP", "action": "denied", "src_ip": "192.0.2.2", "src_port": "43803",
            "dst_ip": "10.10.10.10", "dst_port": "14322", "tcp_flags": "SYN ACK", "interface": "out111",
        },
    ),
    (
        "CISCOFW106006_106007_106010",
        "Deny inbound UDP from 192.0.2.2/65020 to 10.10.10.10/65021 due to DNS Response",
        {
            "action": "Deny", "direction": "inbound", "protocol": "UDP", "src_ip": "192.0.2.2", "src_port": "65020",
            "dst_ip": "10.10.10.10", "dst_port": "65021", "reason": "DNS Response",
        },
    ),
    (
        "CISCOFW106014",
        "Deny inbound icmp src fw111:10.10.10.10 dst fw112:10.10.10.11(type 8, code 0)",
        {
            "action": "Deny", "direction": "inbound", "protocol": "icmp", "src_interface": "fw111",
            "src_ip": "10.10.10.10", "dst_interface": "fw112", "dst_ip": "10.10.10.11", "icmp_type": "8",
            "icmp_code": "0",
        },
    ),
    (
        "CISCOFW106015",
        "Deny TCP (no connection) from 192.0.2.65/2278 to 64.101.128.83/80 flags RST on interface eth0",
        {
            "action": "Deny", "protocol": "TCP", "policy_id": "no connection", "src_ip": "192.0.2.65",
            "src_port": "2278", "dst_ip": "64.101.128.83", "dst_port": "80", "tcp_flags": "RST", "interface": "eth0",
        },
    ),
    (
        "CISCOFW106021",
        "Deny TCP reverse path check from 192.0.2.2 to 10.10.10.10 on interface fw111",
        {
            "action": "Deny", "protocol": "TCP", "src_ip": "192.0.2.2", "dst_ip": "10.10.10.10", "interface": "fw111",
        },
    ),
    (
        "CISCOFW106023",
        'Deny protocol 103 src out:192.0.2.1/50240(a\\b) dst inside:www.a.test/23 by access-group "S_IN" [0x5, 0x0]',
        {
            "action": "Deny", "protocol": "103", "src_interface": "out", "src_ip": "192.0.2.1",
            "src_port": "50240", "src_fwuser": "a\\b", "dst_interface": "inside", "dst_ip": "www.a.test",
            "dst_port": "23", "policy_id": "S_IN", "hashcode1": "0x5", "hashcode2": "0x0",
        },
    ),
    (
        "CISCOFW106100_2_3",
        "access-list in permitted tcp for user 'b' in/10.1.1.1(5) -> out/192.0.2.8(80) hit-cnt 1 first hit [0x6, 0x0]",
        {
            "policy_id": "in", "action": "permitted", "protocol": "tcp", "src_fwuser": "b", "src_interface": "in",
            "src_ip": "10.1.1.1", "src_port": "5", "dst_interface": "out", "dst_ip": "192.0.2.8", "dst_port": "80",
            "hit_count": "1", "interval": "first hit", "hashcode1": "0x6", "hashcode2": "0x0",
        },
    ),
    (
        "CISCOFW106100",
        "access-list o est-allowed udp o/10.1.1.1(5)(u) -> i/192.0.2.8(80) hit-cnt 1 300-second interval [0x6, 0x0]",
        {
            "policy_id": "o", "action": "est-allowed", "protocol": "udp", "src_interface": "o", "src_ip": "10.1.1.1",
            "src_port": "5", "src_fwuser": "u", "dst_interface": "i", "dst_ip": "192.0.2.8", "dst_port": "80",
            "hit_count": "1", "interval": "300-second interval", "hashcode1": "0x6", "hashcode2": "0x0",
        },
    ),
    (
        "CISCOFW304001",
        "10.20.30.40(DOMAIN\\login) Accessed URL 10.11.12.13:http://example.org/",
        {
            "src_ip": "10.20.30.40", "src_fwuser": "DOMAIN\\login", "dst_ip": "10.11.12.13",
            "dst_url": "http://example.org/",
        },
    ),
    (
        "CISCOFW110002",
        "Failed to locate egress interface for TCP from in:192.0.2.178/7777 to 192.0.2.2/12341",
        {
            "reason": "Failed to locate egress interface", "protocol": "TCP", "src_interface": "in",
            "src_ip": "192.0.2.178", "src_port": "7777", "dst_ip": "192.0.2.2", "dst_port": "12341",
        },
    ),
    ("CISCOFW302010", "7 in use, 30 most used", {"connection_count": "7", "connection_count_max": "30"}),
    (
        "CISCOFW302013_302014_302015_302016",
        ("Teardown TCP connection 11757 for outside:192.0.2.104/80 (192.0.2.105/81)(d\\u) to inside:172.31.98.44/1772 "
        "duration 0:00:02 bytes 6 TCP FINs from inside (bob)"),
        {
            "action": "Teardown", "protocol": "TCP", "connection_id": "11757", "src_interface": "outside",
            "src_ip": "192.0.2.104", "src_port": "80", "src_mapped_ip": "192.0.2.105", "src_mapped_port": "81",
            "src_fwuser": "d\\u", "dst_interface": "inside", "dst_ip": "172.31.98.44", "dst_port": "1772",
            "duration": "0:00:02", "bytes": "6", "reason": "TCP FINs from inside", "user": "bob",
        },
    ),
    (
        "CISCOFW302020_302021",
        "Built inbound ICMP connection for faddr 192.0.2.251/18425(a) gaddr 10.1.1.1/0 laddr 10.1.1.10/8",
        {
            "action": "Built", "direction": "inbound", "protocol": "ICMP", "dst_ip": "192.0.2.251",
            "icmp_seq_num": "18425", "fwuser": "a", "src_xlated_ip": "10.1.1.1", "icmp_code_xlated": "0",
            "src_ip": "10.1.1.10", "icmp_code": "8",
        },
    ),
    (
        "CISCOFW305011",
        "Built dynamic TCP translation from inside:172.31.98.44/1772 to outside:192.0.2.44/8256",
        {
            "action": "Built", "xlate_type": "dynamic", "protocol": "TCP", "src_interface": "inside",
            "src_ip": "172.31.98.44", "src_port": "1772", "src_xlated_interface": "outside",
            "src_xlated_ip": "192.0.2.44", "src_xlated_port": "8256",
        },
    ),
    (
        "CISCOFW313001_313004_313008",
        "Denied ICMP type=3, code=5 from 10.2.3.5 on interface Outside to 10.2.3.6",
        {
            "action": "Denied", "protocol": "ICMP", "icmp_type": "3", "icmp_code": "5", "src_ip": "10.2.3.5",
            "interface": "Outside", "dst_ip": "10.2.3.6",
        },
    ),
    (
        "CISCOFW313005",
        ("No matching connection for ICMP error message: icmp src o:192.0.2.1 dst i:10.0.0.1 (type 3, code 4) on o "
        "interface.  Original IP payload: udp src 10.0.0.1/53 dst 192.0.2.9/54"),
        {
            "reason": "No matching connection", "protocol": "udp", "err_protocol": "icmp", "err_src_interface": "o",
            "err_src_ip": "192.0.2.1", "err_dst_interface": "i", "err_dst_ip": "10.0.0.1", "err_icmp_type": "3",
            "err_icmp_code": "4", "interface": "o", "orig_src_ip": "10.0.0.1", "orig_src_port": "53",
            "orig_dst_ip": "192.0.2.9", "orig_dst_port": "54",
        },
    ),
    (
        "CISCOFW321001",
        "Resource 'conns' limit of 100000 reached for system",
        {"resource_name": "conns", "resource_limit": "100000"},
    ),
    (
        "CISCOFW402117",
        "IPSEC: Received a non-IPSec packet (protocol= ICMP) from 192.0.2.1 to 192.0.2.2",
        {"protocol": "IPSEC", "orig_protocol": "ICMP", "src_ip": "192.0.2.1", "dst_ip": "192.0.2.2"},
    ),
    (
        "CISCOFW402119",
        ("IPSEC: Received an ESP packet (SPI= 0xD, sequence number= 0x7) from 192.0.2.1 (user= bob) to 192.0.2.2 that "
        "failed anti-replay checking"),
        {
            "protocol": "IPSEC", "orig_protocol": "ESP", "spi": "0xD", "seq_num": "0x7", "src_ip": "192.0.2.1",
            "user": "bob", "dst_ip": "192.0.2.2",
        },
    ),
    (
        "CISCOFW419001",
        "Dropping TCP packet from o:192.0.2.1/443 to i:10.0.0.1/52 , reason: MSS exceeded".replace(" ,", ","),
        {
            "action": "Dropping", "protocol": "TCP", "src_interface": "o", "src_ip": "192.0.2.1", "src_port": "443",
            "dst_interface": "i", "dst_ip": "10.0.0.1", "dst_port": "52", "reason": "MSS exceeded",
        },
    ),
    (
        "CISCOFW419002",
        "Duplicate TCP SYN from i:10.0.0.1/2531 to o:192.0.2.1/1098 with different initial sequence number",
        {
            "reason": "Duplicate TCP SYN", "src_interface": "i", "src_ip": "10.0.0.1", "src_port": "2531",
            "dst_interface": "o", "dst_ip": "192.0.2.1", "dst_port": "1098",
        },
    ),
    (
        "CISCOFW500004",
        "Invalid transport field for protocol = UDP, from 192.0.2.1/0 to 10.0.0.1/53",
        {
            "reason": "Invalid transport field", "protocol": "UDP", "src_ip": "192.0.2.1", "src_port": "0",
            "dst_ip": "10.0.0.1", "dst_port": "53",
        },
    ),
    (
        "CISCOFW602303_602304",
        "IPSEC: An inbound LAN-to-LAN SA (SPI= 0xF4) between 192.0.2.1 and 192.0.2.2 (user= bob) has been created",
        {
            "protocol": "IPSEC", "direction": "inbound", "tunnel_type": "LAN-to-LAN", "spi": "0xF4",
            "src_ip": "192.0.2.1", "dst_ip": "192.0.2.2", "user": "bob", "action": "created",
        },
    ),
    (
        "CISCOFW710001_710002_710003_710005_710006",
        "UDP request discarded from 192.0.2.1/138 to inside:10.0.0.255/138",
        {
            "protocol": "UDP", "action": "discarded", "src_ip": "192.0.2.1", "src_port": "138",
            "dst_interface": "inside", "dst_ip": "10.0.0.255", "dst_port": "138",
        },
    ),
    (
        "CISCOFW713172",
        ("Group = g, IP = 192.0.2.1, Automatic NAT Detection Status: Remote end is NOT behind a NAT device This end is "
        "behind a NAT device"),
        {"group": "g", "src_ip": "192.0.2.1", "is_remote_natted": "is NOT", "is_local_natted": "is"},
    ),
    (
        "CISCOFW733100",
        ("[ Scan] drop r-1 exceeded. Current burst rate is 1 per second, max configured rate is 10; Current average "
        "rate is 5 per second, max configured rate is 6; Cumulative total count is 1738"),
        {
            "drop_type": "Scan", "drop_rate_id": "r-1", "drop_rate_current_burst": "1",
            "drop_rate_max_burst": "10", "drop_rate_current_avg": "5", "drop_rate_max_avg": "6",
            "drop_total_count": "1738",
        },
    ),
]  # fmt: skip
"""Name, line, and captures; None for those of others."""

PARTS = {
    "HAPROXYTIME": "12:01:46", "HAPROXYDATE": "10/Dec/2026:12:01:46.395", "HAPROXYCAPTUREDREQUESTHEADERS": "a|b",
    "HAPROXYCAPTUREDRESPONSEHEADERS": "", "HAPROXYURI": "*", "HAPROXYHTTPREQUESTLINE": "GET /a|b HTTP/1.1",
    "HAPROXYHTTPBASE": f"192.0.2.1:35982 {TIMES}0/0/0/0/0 200 0 - - -- 1/2/3/4/0 5/6", "S3_REQUEST_LINE": "GET /a",
    "ELB_URIPATHPARAM": "/a?b", "ELB_URIPATHQUERY": "/a?b", "ELB_URIHOST": "a.b:80",
    "ELB_URI": "http://a:80/", "ELB_REQUEST_LINE": "GET http://a/ HTTP/1.1",
    "ELB_V1_HTTP_LOG": f'{ELB}"GET http://a/ HTTP/1.1"', "BIND9_TIMESTAMP": "17-Feb-2026 23:06:56.326",
    "BIND9_DNSTYPE": "NSEC3", "BIND9_CATEGORY": "queries",
    "BIND9_QUERYLOGBASE": "client ::1#53 (a.test): query: a.test IN A (::1)",
    "BIND9_QUERYLOG": "17-Feb-2026 23:06:56.326 queries: info: client ::1#53 (a.test): query: a.test IN A + (::1)",
    "MONGO_WORDDASH": "a-b", "MONGO_QUERY": "{ a: {} }", "MONGO3_SEVERITY": "I", "MONGO3_COMPONENT": "NETWORK",
    "REDISTIMESTAMP": "14 Nov 07:01:22.119", "RUBY_LOGLEVEL": "WARN", "CISCOTIMESTAMP": "Nov  2 2026 08:15:01",
    "CISCOTAG": "ASA-6-302013", "CISCO_ACTION": "denied by ACL", "CISCO_REASON": "No matching connection",
    "CISCO_DIRECTION": "inbound", "CISCO_INTERVAL": "first hit", "CISCO_XLATE_TYPE": "static",
    "CISCO_HITCOUNT_INTERVAL": "hit-cnt 1 300-second interval", "CISCO_SRC_IP_USER": "out:192.0.2.1(a)",
    "CISCO_DST_IP_USER": "in:::1", "CISCO_SRC_HOST_PORT_USER": "out:a.test/5(b)",
    "CISCO_DST_HOST_PORT_USER": "in:192.0.2.1/5", "SQUID3_STATUS": "200",
}  # fmt: skip
"""Patterns that are parts of others, with a text."""
