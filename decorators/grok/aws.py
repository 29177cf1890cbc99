"""
Patterns of lines that S3, ELB and CloudFront of AWS write.

They have the names and the captures of Logstash's patterns, and are written anew for `re`, without nested repetition.
"""

from decorators.grok.family import Family


def _or_dash(tag: str) -> str:
    return f"(?:-|{tag})"


_QUOTED = r'"(?:-|(?<{}>[^"\\]*(?:\\.[^"\\]*)*))"'
_S3_COLUMNS = ("host_id", "signature_version", "cipher_suite", "authentication_type", "host_header", "tls_version")


def _s3(request: str) -> str:
    columns = (
        r"%{WORD:owner} %{NOTSPACE:bucket} \[%{HTTPDATE:timestamp}\]",
        *map(_or_dash, ("%{IP:clientip}", "%{NOTSPACE:requester}")),
        r"%{NOTSPACE:request_id} %{NOTSPACE:operation}",
        *map(_or_dash, ("%{NOTSPACE:key}", request, "%{INT:response}", "%{NOTSPACE:error_code}", "%{INT:bytes}")),
        *map(_or_dash, ("%{INT:object_size}", "%{INT:request_time_ms}", "%{INT:turnaround_time_ms}")),
        *map(_or_dash, (_QUOTED.format("referrer"), _QUOTED.format("agent"), "%{NOTSPACE:version_id}")),
    )
    added = " ".join(_or_dash(f"%{{NOTSPACE:{name}}}") for name in _S3_COLUMNS)
    return f"{' '.join(columns)}(?: {added})?"


_S3 = {
    "S3_REQUEST_LINE": r'%{WORD:verb} (?<request>[^\s"]+)(?: HTTP/%{NUMBER:httpversion})?|'
    r'(?<![^"])(?<rawrequest>[^"\\]*(?:\\.[^"\\]*)*)',
    "S3_ACCESS_LOG": _s3('"%{S3_REQUEST_LINE}"'),
}
_S3_FIELDS = {
    "verb": "http.request.method", "request": "url.original", "rawrequest": "http.request.line",
    "httpversion": "http.version", "response": "http.response.status_code", "referrer": "http.request.referrer",
    "agent": "user_agent.original", "owner": "aws.s3access.bucket_owner", "bucket": "aws.s3access.bucket",
    "clientip": "client.ip", "requester": "client.user.id", "request_id": "aws.s3access.request_id",
    "operation": "aws.s3access.operation", "key": "aws.s3access.key", "error_code": "aws.s3access.error_code",
    "bytes": "aws.s3access.bytes_sent", "object_size": "aws.s3access.object_size",
    "request_time_ms": "aws.s3access.total_time", "turnaround_time_ms": "aws.s3access.turn_around_time",
    "version_id": "aws.s3access.version_id", "host_id": "aws.s3access.host_id",
    "signature_version": "aws.s3access.signature_version", "cipher_suite": "tls.cipher",
    "authentication_type": "aws.s3access.authentication_type", "host_header": "aws.s3access.host_header",
    "tls_version": "aws.s3access.tls_version",
}  # fmt: skip
_S3_ECS = {"S3_ACCESS_LOG": _s3('"(?:-(?=")|%{S3_REQUEST_LINE:aws.s3access.request_uri})"')}

_ELB_SECONDS = ("request_processing_time", "backend_processing_time", "response_processing_time")


def _elb(seconds: str) -> str:
    return (
        r"%{TIMESTAMP_ISO8601:timestamp} %{NOTSPACE:elb} %{IP:clientip}:%{INT:clientport} "
        rf"(?:-|%{{IP:backendip}}:%{{INT:backendport}}) {' '.join(map(seconds.format, _ELB_SECONDS))} "
        r"(?:-|%{INT:response}) (?:-|%{INT:backend_response}) %{INT:received_bytes} %{INT:bytes} "
        rf'"%{{ELB_REQUEST_LINE}}"(?: {_QUOTED.format("agent")} (?:-|%{{NOTSPACE:cipher_suite}}) '
        r"(?:-|%{NOTSPACE:ssl_protocol}))?"
    )


_ELB = {
    "ELB_URIHOST": r"%{URIHOST:urihost}",
    "ELB_URIPATHQUERY": r'(?<path>/[^\s?"]*+)(?<params>\?[^\s"]*+)?+',
    "ELB_URIPATHPARAM": r"%{ELB_URIPATHQUERY}",
    "ELB_URI": r"%{URIPROTO:proto}://(?:%{USER}(?::[^@\s]*)?@)?(?:%{ELB_URIHOST})?(?:%{ELB_URIPATHQUERY})?",
    "ELB_REQUEST_LINE": r"%{WORD:verb} %{ELB_URI:request}(?: HTTP/%{NUMBER:httpversion})?|"
    r'(?<![^"])(?<rawrequest>[^"\\]*(?:\\.[^"\\]*)*)',
    "ELB_V1_HTTP_LOG": _elb("%{{NUMBER:{}}}"),
    "ELB_ACCESS_LOG": r"%{ELB_V1_HTTP_LOG}",
}
_ELB_FIELDS = {
    "verb": "http.request.method", "request": "url.original", "rawrequest": "http.request.line",
    "httpversion": "http.version", "response": "http.response.status_code", "bytes": "http.response.body.bytes",
    "agent": "user_agent.original", "elb": "aws.elb.name", "clientip": "source.ip", "clientport": "source.port",
    "backendip": "aws.elb.backend.ip", "backendport": "aws.elb.backend.port",
    "request_processing_time": "aws.elb.request_processing_time.sec",
    "backend_processing_time": "aws.elb.backend_processing_time.sec",
    "response_processing_time": "aws.elb.response_processing_time.sec",
    "backend_response": "aws.elb.backend.http.response.status_code", "received_bytes": "http.request.body.bytes",
    "cipher_suite": "tls.cipher", "ssl_protocol": "aws.elb.ssl_protocol", "proto": "url.scheme",
}  # fmt: skip
_ELB_ECS = {
    "ELB_URIHOST": r"(?<url.domain>\[%{IPV6}\]|%{IPORHOST})(?::%{POSINT:url.port})?",
    "ELB_URIPATHQUERY": r'(?<url.path>/[^\s?"]*+)(?:\?(?<url.query>[^\s"]*+))?+',
    "ELB_URI": r"%{URIPROTO:proto}://(?:%{USER:url.username}(?::[^@\s]*)?@)?(?:%{ELB_URIHOST})?"
    r"(?:%{ELB_URIPATHQUERY})?",
    # a time that was not reached is -1; atomic, since -1 is a number, too
    "ELB_V1_HTTP_LOG": _elb("(?>-1(?= )|%{{NUMBER:{}}})"),
}

_CLOUDFRONT_COLUMNS = (
    *("x_edge_location", "sc_bytes", "clientip", "cs_method", "cs_host", "cs_uri_stem", "sc_status", "referrer"),
    *("agent", "cs_uri_query", "cookies", "x_edge_result_type", "x_edge_request_id", "x_host_header", "cs_protocol"),
    *("cs_bytes", "time_taken", "x_forwarded_for", "ssl_protocol", "ssl_cipher", "x_edge_response_result_type"),
)
_ADDED_COLUMNS = (
    *("cs_protocol_version", "fle_status", "fle_encrypted_fields", "c_port", "time_to_first_byte"),
    *("x_edge_detailed_result_type", "sc_content_type", "sc_content_len", "sc_range_start", "sc_range_end"),
)
_TYPES = {
    **dict.fromkeys(("sc_bytes", "sc_status", "cs_bytes", "c_port"), "INT"),
    **dict.fromkeys(("sc_content_len", "sc_range_start", "sc_range_end"), "INT"),
    **dict.fromkeys(("time_taken", "time_to_first_byte"), "NUMBER"),
}
"""Name of a column -> known pattern of its values; text without a tab if there is none."""


def _tabbed(name: str) -> str:
    start = "(?:HTTP/)?+" if name == "cs_protocol_version" else ""
    value = f"%{{{_TYPES[name]}:{name}}}" if name in _TYPES else rf"(?<{name}>[^\t]*)"
    return rf"(?>-(?![^\t])|{start}{value})"  # atomic, since - is text, too


_CLOUDFRONT = {
    "CLOUDFRONT_ACCESS_LOG": r"(?<timestamp>%{YEAR}-%{MONTHNUM}-%{MONTHDAY}\t%{TIME})\t"
    + r"\t".join(map(_tabbed, _CLOUDFRONT_COLUMNS))
    + "".join((r"(?:\t", r"\t".join(map(_tabbed, _ADDED_COLUMNS)), ")?")),
}
_CLOUDFRONT_FIELDS = {
    "sc_bytes": "destination.bytes", "clientip": "source.ip", "cs_method": "http.request.method",
    "cs_host": "url.domain", "cs_uri_stem": "url.path", "sc_status": "http.response.status_code",
    "referrer": "http.request.referrer", "agent": "user_agent.original", "cs_uri_query": "url.query",
    "cookies": "aws.cloudfront.http.request.cookie", "x_host_header": "aws.cloudfront.http.request.host",
    "cs_protocol": "network.protocol", "cs_bytes": "source.bytes", "x_forwarded_for": "network.forwarded_ip",
    "ssl_cipher": "tls.cipher", "cs_protocol_version": "http.version", "c_port": "source.port",
    "sc_content_type": "http.request.mime_type", "sc_content_len": "aws.cloudfront.http.request.size",
    "sc_range_start": "aws.cloudfront.http.request.range.start",
    "sc_range_end": "aws.cloudfront.http.request.range.end",
} | {
    name: f"aws.cloudfront.{name}"
    for name in ("x_edge_location", "x_edge_result_type", "x_edge_request_id", "time_taken", "ssl_protocol",
                 "x_edge_response_result_type", "fle_status", "fle_encrypted_fields", "time_to_first_byte",
                 "x_edge_detailed_result_type")
}  # fmt: skip

_STATUS = _tabbed("sc_status")
_CLOUDFRONT_ECS = {
    # 000: the viewer closed the connection before a response
    name: pattern.replace(_STATUS, rf"(?>000(?![^\t])|{_STATUS})")
    for name, pattern in _CLOUDFRONT.items()
}

AWS = (
    Family(_S3, _S3_FIELDS, _S3_ECS),
    Family(_ELB, _ELB_FIELDS, _ELB_ECS),
    Family(_CLOUDFRONT, _CLOUDFRONT_FIELDS, _CLOUDFRONT_ECS),
)
