"""
Patterns of lines that HAProxy writes.

They have the names and the captures of Logstash's patterns, and are written anew for `re`, without nested repetition.
A run of any length begins behind a look-behind, so that `re` does not try it at each of its characters.
"""

from decorators.grok.family import Family

_COUNTS = (
    r"%{NOTSPACE:termination_state} %{INT:actconn}/%{INT:feconn}/%{INT:beconn}/%{INT:srvconn}/(?<retries>[+-]?[0-9]+) "
    r"%{INT:srv_queue}/%{INT:backend_queue}"
)
_PROXIED = (
    r"%{IP:client_ip}:%{INT:client_port} \[%{HAPROXYDATE:accept_date}\] %{NOTSPACE:frontend_name} "
    r"(?<backend_name>[^\s/]+)/%{NOTSPACE:server_name}"
)
_SENDER = (
    r"(?:%{SYSLOGTIMESTAMP:syslog_timestamp}|%{TIMESTAMP_ISO8601:timestamp8601}) %{IPORHOST:syslog_server} "
    r"%{SYSLOGPROG}:"
)
_PATTERNS = {
    "HAPROXYTIME": r"%{HOUR}:%{MINUTE}:%{SECOND}(?![0-9])",
    "HAPROXYDATE": r"%{MONTHDAY}/%{MONTH}/%{YEAR}:%{HAPROXYTIME}",
    "HAPROXYCAPTUREDREQUESTHEADERS": r"(?<![^{])(?<captured_request_headers>[^{}]*)",
    "HAPROXYCAPTUREDRESPONSEHEADERS": r"(?<![^{])(?<captured_response_headers>[^{}]*)",
    "HAPROXYURI": r"(?<![^\s\"])(?:%{URIPROTO:http_proto}://)?(?:%{USER:http_user}(?::[^@\s]*)?@)?"
    r'(?:%{URIHOST:http_host})?(?<http_request>[/*][^"\s]*)?',
    "HAPROXYHTTPREQUESTLINE": r"<BADREQ>|%{WORD:http_verb} %{HAPROXYURI}(?: HTTP/%{NUMBER:http_version})?",
    "HAPROXYHTTPBASE": rf"{_PROXIED} %{{INT:time_request}}/%{{INT:time_queue}}/%{{INT:time_backend_connect}}/"
    r"%{INT:time_backend_response}/(?<time_duration>[+-]?[0-9]+) %{INT:http_status_code} (?<bytes_read>[+-]?[0-9]+) "
    r"(?:-|%{NOTSPACE:captured_request_cookie}) (?:-|%{NOTSPACE:captured_response_cookie}) "
    rf"{_COUNTS}(?: \{{%{{HAPROXYCAPTUREDREQUESTHEADERS}}\}})?(?: \{{%{{HAPROXYCAPTUREDRESPONSEHEADERS}}\}})?"
    r'(?: "%{HAPROXYHTTPREQUESTLINE}"?)?',
    "HAPROXYHTTP": rf"{_SENDER} %{{HAPROXYHTTPBASE}}",
    "HAPROXYTCP": rf"{_SENDER} {_PROXIED} %{{INT:time_queue}}/%{{INT:time_backend_connect}}/"
    rf"(?<time_duration>[+-]?[0-9]+) (?<bytes_read>[+-]?[0-9]+) {_COUNTS}",
}
_FIELDS = {
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

HAPROXY = Family(_PATTERNS, _FIELDS)
