"""
Patterns of lines that HAProxy writes.

They have the names and the captures of Logstash's patterns, and are written anew for `re`, without nested repetition.
A run of any length begins behind a look-behind, so that `re` does not try it at each of its characters.
"""

from decorators.grok.family import Family

_SENDER = (
    r"(?:%{SYSLOGTIMESTAMP:syslog_timestamp}|%{TIMESTAMP_ISO8601:timestamp8601}) %{IPORHOST:syslog_server} "
    r"%{SYSLOGPROG}:"
)


def _lines(server: str, time: str, count: str) -> dict[str, str]:
    """Patterns of lines, with patterns of the name of a server, and with {} in its place of a time and a count."""
    proxied = (
        r"%{IP:client_ip}:%{INT:client_port} \[%{HAPROXYDATE:accept_date}\] %{NOTSPACE:frontend_name} "
        rf"(?<backend_name>[^\s/]+)/{server}"
    )
    counts = (
        rf"%{{NOTSPACE:termination_state}} %{{INT:actconn}}/%{{INT:feconn}}/%{{INT:beconn}}/%{{INT:srvconn}}/"
        rf"{count.format('retries')} %{{INT:srv_queue}}/%{{INT:backend_queue}}"
    )
    times = "/".join(map(time.format, ("time_request", "time_queue", "time_backend_connect", "time_backend_response")))
    return {
        "HAPROXYHTTPBASE": rf"{proxied} {times}/(?<time_duration>[+-]?[0-9]+) %{{INT:http_status_code}} "
        rf"{count.format('bytes_read')} (?:-|%{{NOTSPACE:captured_request_cookie}}) "
        rf"(?:-|%{{NOTSPACE:captured_response_cookie}}) {counts}(?: \{{%{{HAPROXYCAPTUREDREQUESTHEADERS}}\}})?"
        r'(?: \{%{HAPROXYCAPTUREDRESPONSEHEADERS}\})?(?: "%{HAPROXYHTTPREQUESTLINE}"?)?',
        "HAPROXYHTTP": rf"{_SENDER} %{{HAPROXYHTTPBASE}}",
        "HAPROXYTCP": rf"{_SENDER} {proxied} {time.format('time_queue')}/{time.format('time_backend_connect')}/"
        rf"(?<time_duration>[+-]?[0-9]+) {count.format('bytes_read')} {counts}",
    }


_USER = r"(?:%{USER:http_user}(?::[^@\s]*)?@)?"
_PATTERNS = {
    "HAPROXYTIME": r"%{HOUR}:%{MINUTE}:%{SECOND}(?![0-9])",
    "HAPROXYDATE": r"%{MONTHDAY}/%{MONTH}/%{YEAR}:%{HAPROXYTIME}",
    "HAPROXYCAPTUREDREQUESTHEADERS": r"(?<![^{])(?<captured_request_headers>[^{}]*)",
    "HAPROXYCAPTUREDRESPONSEHEADERS": r"(?<![^{])(?<captured_response_headers>[^{}]*)",
    "HAPROXYURI": rf"(?<![^\s\"])(?:%{{URIPROTO:http_proto}}://)?{_USER}"
    r'(?:%{URIHOST:http_host})?(?<http_request>[/*][^"\s]*)?',
    "HAPROXYHTTPREQUESTLINE": r"<BADREQ>|%{WORD:http_verb} %{HAPROXYURI}(?: HTTP/%{NUMBER:http_version})?",
    **_lines("%{NOTSPACE:server_name}", "%{{INT:{}}}", "(?<{}>[+-]?[0-9]+)"),
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
    "http_proto": "url.scheme", "http_user": "url.username", "http_version": "http.version",
}  # fmt: skip
_ECS = {
    "HAPROXYURI": rf"(?<![^\s\"])(?:%{{URIPROTO:http_proto}}://)?{_USER}"
    r"(?:(?<url.domain>\[%{IPV6}\]|%{IPORHOST})(?::%{POSINT:url.port})?)?"
    r'(?:\*|(?<url.path>/[^"\s?]*)(?:\?(?<url.query>[^"\s]*))?)?',
    "HAPROXYHTTPREQUESTLINE": r"<BADREQ>|%{WORD:http_verb} %{HAPROXYURI:url.original}(?: HTTP/%{NUMBER:http_version})?",
    # a time that was not reached is -1; atomic, since -1 is a number, too
    **_lines("(?>(?:<NOSRV>)(?= )|%{NOTSPACE:server_name})", "(?>-1(?=/)|%{{INT:{}}})", r"\+?%{{INT:{}}}"),
}

HAPROXY = Family(_PATTERNS, _FIELDS, _ECS)
