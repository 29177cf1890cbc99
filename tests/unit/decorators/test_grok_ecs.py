"""
Patterns that capture other values for fields of ECS than for the older names.

A field with a name of Logstash's has Logstash's value: facts of logstash-patterns-core 4.3.1, from the file of
patterns/ecs-v1 and the spec/patterns that each case names.
"""

import pytest

from decorators.grok import Grok
from ingest.testing.events import event_of, settings_of
from tests.support.grok_lines import CLOUDFRONT, ELB, HAPROXY, S3, TIMES

HTTP = f"{HAPROXY}192.0.2.1:35982 {TIMES}10/0/30/69/+109 200 +2750 - - -- 1/2/3/4/+1 5/6 "
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
]  # fmt: skip


@pytest.mark.parametrize(("name", "line", "expected"), CASES)
def test_a_field_has_the_value_of_logstash(name, line, expected):
    settings = f"{{patterns: ['%{{{name}}}'], ecs_compatibility: v1}}"
    event = event_of(line)
    Grok(settings_of(Grok.settings_class(), settings)).decorate(event)
    found = {field: value.decode() for field, value in event.attributes.items()}
    assert {field: found.get(field) for field in expected} == expected
