"""
The library with the field names of the Elastic Common Schema, as Logstash's grok has them with `ecs_compatibility: v1`.

A field of objects, `[source][ip]` in Logstash, has a dotted name, `source.ip`, as everywhere here.
"""

import re
from collections.abc import Mapping

from decorators.grok.applications import APPLICATIONS_FIELDS, OF_PAM
from decorators.grok.filters import FILTERS_FIELDS
from decorators.grok.library import LIBRARY
from decorators.grok.monitoring import MONITORING_FIELDS

_CAPTURE = re.compile(r"(%\{\w+:|\(\?<)(\w[\w-]*)(?=[}>])")

_SYSLOG = {
    "program": "process.name", "pid": "process.pid", "logsource": "host.hostname", "timestamp8601": "timestamp",
    "facility": "log.syslog.facility.code", "priority": "log.syslog.priority", "user": "user.name",
    "action": "system.cron.action", "syslog5424_pri": "log.syslog.priority", "syslog5424_ver": "system.syslog.version",
    "syslog5424_ts": "timestamp", "syslog5424_host": "host.hostname", "syslog5424_app": "process.name",
    "syslog5424_proc": "process.pid", "syslog5424_msgid": "event.code",
    "syslog5424_sd": "system.syslog.structured_data",
    "syslog5424_msg": "message",
}  # fmt: skip
_HTTP = {
    "verb": "http.request.method", "request": "url.original", "rawrequest": "http.request.line",
    "httpversion": "http.version", "response": "http.response.status_code", "bytes": "http.response.body.bytes",
    "referrer": "http.request.referrer", "agent": "user_agent.original",
}  # fmt: skip
_HTTPD = _HTTP | {
    "clientip": "source.address", "ident": "apache.access.user.identity", "auth": "user.name", "loglevel": "log.level",
    "module": "apache.error.module", "pid": "process.pid", "tid": "process.thread.id", "clientport": "source.port",
    "errorcode": "error.code",
}  # fmt: skip
_JAVA = {
    "class": "java.log.origin.class.name", "method": "log.origin.function", "file": "log.origin.file.name",
    "line": "log.origin.file.line",
}  # fmt: skip
_HAPROXY = {
    "syslog_timestamp": "timestamp", "timestamp8601": "timestamp", "syslog_server": "host.hostname",
    "client_ip": "source.address", "client_port": "source.port", "accept_date": "haproxy.request_date",
    "frontend_name": "haproxy.frontend_name", "backend_name": "haproxy.backend_name",
    "server_name": "haproxy.server_name", "time_request": "haproxy.http.request.time_wait_ms",
    "time_queue": "haproxy.total_waiting_time_ms", "time_backend_connect": "haproxy.connection_wait_time_ms",
    "time_backend_response": "haproxy.http.request.time_wait_without_data_ms", "time_duration": "haproxy.total_time_ms",
    "http_status_code": "http.response.status_code", "bytes_read": "source.bytes",
    "captured_request_cookie": "haproxy.http.request.captured_cookie",
    "captured_response_cookie": "haproxy.http.response.captured_cookie",
    "captured_request_headers": "haproxy.http.request.captured_headers",
    "captured_response_headers": "haproxy.http.response.captured_headers",
    "termination_state": "haproxy.termination_state", "actconn": "haproxy.connections.active",
    "feconn": "haproxy.connections.frontend", "beconn": "haproxy.connections.backend",
    "srvconn": "haproxy.connections.server", "retries": "haproxy.connections.retries",
    "srv_queue": "haproxy.server_queue", "backend_queue": "haproxy.backend_queue", "http_verb": "http.request.method",
    "http_proto": "url.scheme", "http_user": "url.username", "http_host": "url.domain", "http_request": "url.path",
    "http_version": "http.version",
}  # fmt: skip
_S3 = _HTTP | {
    "owner": "aws.s3access.bucket_owner", "bucket": "aws.s3access.bucket", "clientip": "client.ip",
    "requester": "client.user.id", "request_id": "aws.s3access.request_id", "operation": "aws.s3access.operation",
    "key": "aws.s3access.key", "error_code": "aws.s3access.error_code", "bytes": "aws.s3access.bytes_sent",
    "object_size": "aws.s3access.object_size", "request_time_ms": "aws.s3access.total_time",
    "turnaround_time_ms": "aws.s3access.turn_around_time", "version_id": "aws.s3access.version_id",
    "host_id": "aws.s3access.host_id", "signature_version": "aws.s3access.signature_version",
    "cipher_suite": "tls.cipher", "authentication_type": "aws.s3access.authentication_type",
    "host_header": "aws.s3access.host_header", "tls_version": "aws.s3access.tls_version",
}  # fmt: skip
_ELB = _HTTP | {
    "elb": "aws.elb.name", "clientip": "source.ip", "clientport": "source.port", "backendip": "aws.elb.backend.ip",
    "backendport": "aws.elb.backend.port", "request_processing_time": "aws.elb.request_processing_time.sec",
    "backend_processing_time": "aws.elb.backend_processing_time.sec",
    "response_processing_time": "aws.elb.response_processing_time.sec",
    "backend_response": "aws.elb.backend.http.response.status_code", "received_bytes": "http.request.body.bytes",
    "cipher_suite": "tls.cipher", "ssl_protocol": "aws.elb.ssl_protocol", "proto": "url.scheme",
    "urihost": "url.domain", "path": "url.path", "params": "url.query",
}  # fmt: skip
_CLOUDFRONT = {
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
_BIND = {
    "clientip": "client.ip", "clientport": "client.port", "query": "dns.question.name",
    "queryclass": "dns.question.class", "querytype": "dns.question.type", "queryflags": "bind.log.question.flags",
    "dns": "server.ip", "category": "bind.log.category", "loglevel": "log.level",
}  # fmt: skip
_MONGO = {
    "component": "mongodb.component", "severity": "log.level", "context": "mongodb.context",
    "operation": "mongodb.profile.op", "database": "mongodb.database", "collection": "mongodb.collection",
    "query": "mongodb.query.original", "ntoreturn": "mongodb.profile.ntoreturn", "ntoskip": "mongodb.profile.ntoskip",
    "nscanned": "mongodb.profile.nscanned", "nreturned": "mongodb.profile.nreturned",
    "duration": "mongodb.profile.duration",
}  # fmt: skip
_REDIS = {
    "pid": "process.pid", "database": "redis.database.id", "client": "client.ip", "port": "client.port",
    "command": "redis.command.name", "params": "redis.command.args",
}  # fmt: skip
_PROGRAMS = {
    "user_id": "user.name", "connection_id": "postgresql.log.connection_id", "pid": "process.pid",
    "loglevel": "log.level", "progname": "process.name",
}  # fmt: skip
_SQUID = {
    "duration": "squid.request.duration", "client_address": "source.ip", "cache_result": "event.action",
    "status_code": "http.response.status_code", "bytes": "http.response.bytes", "request_method": "http.request.method",
    "url": "url.original", "user": "user.name", "hierarchy_code": "squid.hierarchy_code",
    "server": "destination.address", "content_type": "http.response.mime_type",
}  # fmt: skip
_CISCO = {
    "syslog_pri": "log.syslog.priority", "sysloghost": "host.hostname", "ciscotag": "cisco.asa.tag",
    "switch_reason": "event.reason", "reason": "event.reason", "interface_name": "network.interface.name",
    "direction": "cisco.asa.network.direction", "protocol": "cisco.asa.network.transport",
    "action": "cisco.asa.outcome", "src_interface": "observer.ingress.interface.name", "src_ip": "source.ip",
    "src_port": "source.port", "src_fwuser": "source.user.name", "dst_interface": "observer.egress.interface.name",
    "dst_ip": "destination.ip", "dst_port": "destination.port", "dst_fwuser": "destination.user.name",
    "interface": "observer.egress.interface.name", "tcp_flags": "cisco.asa.tcp_flags",
    "policy_id": "cisco.asa.rule_name", "icmp_type": "cisco.asa.icmp_type", "icmp_code": "cisco.asa.icmp_code",
    "hashcode1": "cisco.asa.hashcode1", "hashcode2": "cisco.asa.hashcode2", "hit_count": "cisco.asa.hit_count",
    "interval": "cisco.asa.interval", "dst_url": "url.original", "connection_count": "cisco.asa.connections.in_use",
    "connection_count_max": "cisco.asa.connections.most_used", "connection_id": "cisco.asa.connection_id",
    "src_mapped_ip": "source.nat.ip", "src_mapped_port": "source.nat.port", "dst_mapped_ip": "destination.nat.ip",
    "dst_mapped_port": "destination.nat.port", "duration": "cisco.asa.duration", "bytes": "network.bytes",
    "user": "source.user.name", "fwuser": "destination.user.name", "icmp_seq_num": "cisco.asa.icmp_seq",
    "src_xlated_ip": "source.nat.ip", "src_xlated_port": "source.nat.port",
    "src_xlated_interface": "observer.egress.interface.name", "icmp_code_xlated": "cisco.asa.icmp_type",
    "xlate_type": "cisco.asa.xlate_type", "err_protocol": "cisco.asa.error.network.transport",
    "err_src_interface": "observer.ingress.interface.name", "err_src_ip": "source.ip",
    "err_src_fwuser": "source.user.name", "err_dst_interface": "observer.egress.interface.name",
    "err_dst_ip": "destination.ip", "err_dst_fwuser": "destination.user.name",
    "err_icmp_type": "cisco.asa.icmp_type", "err_icmp_code": "cisco.asa.icmp_code",
    "orig_src_ip": "cisco.asa.original_ip_payload.source.ip",
    "orig_src_port": "cisco.asa.original_ip_payload.source.port",
    "orig_src_fwuser": "cisco.asa.original_ip_payload.source.user.name",
    "orig_dst_ip": "cisco.asa.original_ip_payload.destination.ip",
    "orig_dst_port": "cisco.asa.original_ip_payload.destination.port",
    "orig_dst_fwuser": "cisco.asa.original_ip_payload.destination.user.name",
    "resource_name": "cisco.asa.resource.name", "resource_limit": "cisco.asa.resource.limit",
    "orig_protocol": "cisco.asa.ipsec.protocol", "spi": "cisco.asa.ipsec.spi", "seq_num": "cisco.asa.ipsec.seq_num",
    "tunnel_type": "cisco.asa.ipsec.tunnel_type", "group": "cisco.asa.source.group",
    "is_remote_natted": "cisco.asa.remote_nat", "is_local_natted": "cisco.asa.local_nat",
    "drop_type": "cisco.asa.burst.object", "drop_rate_id": "cisco.asa.burst.id",
    "drop_rate_current_burst": "cisco.asa.burst.current_rate", "drop_rate_max_burst": "cisco.asa.burst.configured_rate",
    "drop_rate_current_avg": "cisco.asa.burst.avg_rate", "drop_rate_max_avg": "cisco.asa.burst.configured_avg_rate",
    "drop_total_count": "cisco.asa.burst.cumulative_count",
}  # fmt: skip
_FAMILIES = {
    "SYSLOG": _SYSLOG | OF_PAM, "CRON": _SYSLOG, "HTTPD": _HTTPD, "COMMONAPACHE": _HTTPD, "COMBINEDAPACHE": _HTTPD,
    "JAVA": _JAVA, "HAPROXY": _HAPROXY, "S3": _S3, "ELB": _ELB, "CLOUDFRONT": _CLOUDFRONT, "BIND9": _BIND,
    "MONGO": _MONGO, "REDIS": _REDIS, "POSTGRESQL": _PROGRAMS, "RUBY": _PROGRAMS, "SQUID3": _SQUID, "CISCO": _CISCO,
    **FILTERS_FIELDS, **APPLICATIONS_FIELDS, **MONITORING_FIELDS,
}  # fmt: skip
"""Start of the names of patterns -> name of a capture in the library -> field."""


def _with_fields(name: str, pattern: str) -> str:
    fields: Mapping[str, str] = next((fields for start, fields in _FAMILIES.items() if name.startswith(start)), {})
    return _CAPTURE.sub(lambda found: found[1] + fields.get(found[2], found[2]), pattern)


ECS_LIBRARY = {name: _with_fields(name, pattern) for name, pattern in LIBRARY.items()}
"""Name -> pattern."""
