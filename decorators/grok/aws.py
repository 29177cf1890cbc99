"""
Patterns of lines that S3, ELB and CloudFront of AWS write.

They have the names and the captures of Logstash's patterns, and are written anew for `re`, without nested repetition.
"""

from decorators.grok.family import Family


def _or_dash(tag: str) -> str:
    return f"(?:-|{tag})"


_QUOTED = r'"(?:-|(?<{}>[^"\\]*(?:\\.[^"\\]*)*))"'
_S3_COLUMNS = ("host_id", "signature_version", "cipher_suite", "authentication_type", "host_header", "tls_version")
_TABBED = r"(?:-|(?<{}>[^\t]*))"
_CLOUDFRONT_COLUMNS = (
    *("x_edge_location", "sc_bytes", "clientip", "cs_method", "cs_host", "cs_uri_stem", "sc_status", "referrer"),
    *("agent", "cs_uri_query", "cookies", "x_edge_result_type", "x_edge_request_id", "x_host_header", "cs_protocol"),
    *("cs_bytes", "time_taken", "x_forwarded_for", "ssl_protocol", "ssl_cipher", "x_edge_response_result_type"),
)
_S3 = {
    "S3_REQUEST_LINE": r'%{WORD:verb} (?<request>[^\s"]+)(?: HTTP/%{NUMBER:httpversion})?|'
    r'(?<![^"])(?<rawrequest>[^"\\]*(?:\\.[^"\\]*)*)',
    "S3_ACCESS_LOG": " ".join(
        (
            r"%{WORD:owner} %{NOTSPACE:bucket} \[%{HTTPDATE:timestamp}\]",
            *map(_or_dash, ("%{IP:clientip}", "%{NOTSPACE:requester}")),
            r"%{NOTSPACE:request_id} %{NOTSPACE:operation}",
            *map(_or_dash, ("%{NOTSPACE:key}", '"%{S3_REQUEST_LINE}"', "%{INT:response}", "%{NOTSPACE:error_code}")),
            *map(_or_dash, ("%{INT:bytes}", "%{INT:object_size}", "%{INT:request_time_ms}")),
            _or_dash("%{INT:turnaround_time_ms}"),
            *map(_or_dash, (_QUOTED.format("referrer"), _QUOTED.format("agent"), "%{NOTSPACE:version_id}")),
        )
    )
    + "(?: "
    + " ".join(_or_dash(f"%{{NOTSPACE:{name}}}") for name in _S3_COLUMNS)
    + ")?",
}
_ELB = {
    "ELB_URIPATHPARAM": r'(?<path>/[^\s?"]*+)(?<params>\?[^\s"]*+)?+',
    "ELB_URI": r"%{URIPROTO:proto}://(?:%{USER}(?::[^@\s]*)?@)?(?:%{URIHOST:urihost})?(?:%{ELB_URIPATHPARAM})?",
    "ELB_REQUEST_LINE": r"%{WORD:verb} %{ELB_URI:request}(?: HTTP/%{NUMBER:httpversion})?|"
    r'(?<![^"])(?<rawrequest>[^"\\]*(?:\\.[^"\\]*)*)',
    "ELB_V1_HTTP_LOG": r"%{TIMESTAMP_ISO8601:timestamp} %{NOTSPACE:elb} %{IP:clientip}:%{INT:clientport} "
    r"(?:-|%{IP:backendip}:%{INT:backendport}) %{NUMBER:request_processing_time} %{NUMBER:backend_processing_time} "
    r"%{NUMBER:response_processing_time} (?:-|%{INT:response}) (?:-|%{INT:backend_response}) %{INT:received_bytes} "
    r'%{INT:bytes} "%{ELB_REQUEST_LINE}"'
    rf"(?: {_QUOTED.format('agent')} (?:-|%{{NOTSPACE:cipher_suite}}) (?:-|%{{NOTSPACE:ssl_protocol}}))?",
    "ELB_ACCESS_LOG": r"%{ELB_V1_HTTP_LOG}",
}
_CLOUDFRONT = {
    "CLOUDFRONT_ACCESS_LOG": r"(?<timestamp>%{YEAR}-%{MONTHNUM}-%{MONTHDAY}\t%{TIME})\t"
    + r"\t".join(_TABBED.format(name) for name in _CLOUDFRONT_COLUMNS),
}
_S3_FIELDS = {
    "verb": "http.request.method", "request": "url.original", "rawrequest": "http.request.line",
    "httpversion": "http.version",
    "response": "http.response.status_code", "referrer": "http.request.referrer", "agent": "user_agent.original",
    "owner": "aws.s3access.bucket_owner", "bucket": "aws.s3access.bucket", "clientip": "client.ip",
    "requester": "client.user.id", "request_id": "aws.s3access.request_id", "operation": "aws.s3access.operation",
    "key": "aws.s3access.key", "error_code": "aws.s3access.error_code", "bytes": "aws.s3access.bytes_sent",
    "object_size": "aws.s3access.object_size", "request_time_ms": "aws.s3access.total_time",
    "turnaround_time_ms": "aws.s3access.turn_around_time", "version_id": "aws.s3access.version_id",
    "host_id": "aws.s3access.host_id", "signature_version": "aws.s3access.signature_version",
    "cipher_suite": "tls.cipher", "authentication_type": "aws.s3access.authentication_type",
    "host_header": "aws.s3access.host_header", "tls_version": "aws.s3access.tls_version",
}  # fmt: skip
_ELB_FIELDS = {
    "verb": "http.request.method", "request": "url.original", "rawrequest": "http.request.line",
    "httpversion": "http.version",
    "response": "http.response.status_code", "bytes": "http.response.body.bytes", "agent": "user_agent.original",
    "elb": "aws.elb.name", "clientip": "source.ip", "clientport": "source.port", "backendip": "aws.elb.backend.ip",
    "backendport": "aws.elb.backend.port", "request_processing_time": "aws.elb.request_processing_time.sec",
    "backend_processing_time": "aws.elb.backend_processing_time.sec",
    "response_processing_time": "aws.elb.response_processing_time.sec",
    "backend_response": "aws.elb.backend.http.response.status_code", "received_bytes": "http.request.body.bytes",
    "cipher_suite": "tls.cipher", "ssl_protocol": "aws.elb.ssl_protocol", "proto": "url.scheme",
    "urihost": "url.domain", "path": "url.path", "params": "url.query",
}  # fmt: skip
_CLOUDFRONT_FIELDS = {
    "x_edge_location": "aws.cloudfront.x_edge_location", "sc_bytes": "destination.bytes", "clientip": "source.ip",
    "cs_method": "http.request.method", "cs_host": "url.domain", "cs_uri_stem": "url.path",
    "sc_status": "http.response.status_code", "referrer": "http.request.referrer", "agent": "user_agent.original",
    "cs_uri_query": "url.query", "cookies": "aws.cloudfront.http.request.cookie",
    "x_edge_result_type": "aws.cloudfront.x_edge_result_type",
    "x_edge_request_id": "aws.cloudfront.x_edge_request_id", "x_host_header": "aws.cloudfront.http.request.host",
    "cs_protocol": "network.protocol", "cs_bytes": "source.bytes", "time_taken": "aws.cloudfront.time_taken",
    "x_forwarded_for": "network.forwarded_ip", "ssl_protocol": "aws.cloudfront.ssl_protocol",
    "ssl_cipher": "tls.cipher", "x_edge_response_result_type": "aws.cloudfront.x_edge_response_result_type",
}  # fmt: skip

AWS = (Family(_S3, _S3_FIELDS), Family(_ELB, _ELB_FIELDS), Family(_CLOUDFRONT, _CLOUDFRONT_FIELDS))
