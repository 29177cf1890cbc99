"""
Patterns of lines that load balancers, AWS, name servers, databases and proxies write.

They have the names and the captures of Logstash's patterns, and are written anew for `re`, without nested repetition.
A run of any length begins behind a look-behind, so that `re` does not try it at each of its characters.
"""

_DEPTH_OF_QUERIES = 5  # braces in braces, of a query of MongoDB


def _braces(depth: int) -> str:
    inner = rf"(?:{_braces(depth - 1)}[^{{}}]*+)*+" if depth else ""
    return rf"\{{[^{{}}]*+{inner}\}}"


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
_HAPROXY = {
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


def _or_dash(tag: str) -> str:
    return f"(?:-|{tag})"


_QUOTED = r'"(?:-|(?<{}>[^"\\]*(?:\\.[^"\\]*)*))"'
_S3_FIELDS = ("host_id", "signature_version", "cipher_suite", "authentication_type", "host_header", "tls_version")
_TABBED = r"(?:-|(?<{}>[^\t]*))"
_CLOUDFRONT_FIELDS = (
    *("x_edge_location", "sc_bytes", "clientip", "cs_method", "cs_host", "cs_uri_stem", "sc_status", "referrer"),
    *("agent", "cs_uri_query", "cookies", "x_edge_result_type", "x_edge_request_id", "x_host_header", "cs_protocol"),
    *("cs_bytes", "time_taken", "x_forwarded_for", "ssl_protocol", "ssl_cipher", "x_edge_response_result_type"),
)
_AWS = {
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
    + "(?: " + " ".join(_or_dash(f"%{{NOTSPACE:{name}}}") for name in _S3_FIELDS) + ")?",
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
    "CLOUDFRONT_ACCESS_LOG": r"(?<timestamp>%{YEAR}-%{MONTHNUM}-%{MONTHDAY}\t%{TIME})\t"
    + r"\t".join(_TABBED.format(name) for name in _CLOUDFRONT_FIELDS),
}  # fmt: skip

_BIND = {
    "BIND9_TIMESTAMP": r"%{MONTHDAY}-%{MONTH}-%{YEAR} %{TIME}",
    "BIND9_DNSTYPE": r"[A-Z][A-Z0-9]*",
    "BIND9_CATEGORY": r"queries",
    "BIND9_QUERYLOGBASE": r"client(?: @0x[0-9A-Fa-f]+)? %{IP:clientip}#%{POSINT:clientport} \((?<query>[^()\s]*)\): "
    r"(?:view [^:\s]+: )?query: (?<query>\S+) (?<queryclass>[A-Z]+) %{BIND9_DNSTYPE:querytype}"
    r"(?: (?<queryflags>[+-]\S*))? \(%{IP:dns}\)",
    "BIND9_QUERYLOG": r"%{BIND9_TIMESTAMP:timestamp} %{BIND9_CATEGORY:category}: %{LOGLEVEL:loglevel}: "
    r"%{BIND9_QUERYLOGBASE}",
    "BIND9": r"%{BIND9_QUERYLOG}",
}

_DATABASES = {
    "MONGO_LOG": r"%{SYSLOGTIMESTAMP:timestamp} \[%{WORD:component}\] %{GREEDYDATA:message}",
    "MONGO_WORDDASH": r"(?<![\w-])[\w-]+",
    "MONGO_QUERY": _braces(_DEPTH_OF_QUERIES),
    "MONGO_SLOWQUERY": r"%{WORD:operation} %{MONGO_WORDDASH:database}\.%{MONGO_WORDDASH:collection} %{WORD}: "
    r"%{MONGO_QUERY:query} ntoreturn:%{NONNEGINT:ntoreturn} ntoskip:%{NONNEGINT:ntoskip} "
    r"nscanned:%{NONNEGINT:nscanned}%{DATA} nreturned:%{NONNEGINT:nreturned}%{DATA} (?<duration>[0-9]+)ms",
    "MONGO3_SEVERITY": r"\w",
    "MONGO3_COMPONENT": r"%{WORD}",
    "MONGO3_LOG": r"%{TIMESTAMP_ISO8601:timestamp} %{MONGO3_SEVERITY:severity} (?:-|%{MONGO3_COMPONENT:component}) *"
    r"(?:\[(?<context>[^\]]*)\])? %{GREEDYDATA:message}",
    "REDISTIMESTAMP": r"%{MONTHDAY} %{MONTH} (?:%{YEAR} )?%{TIME}",
    "REDISLOG": r"(?:\[%{POSINT:pid}\]|%{POSINT:pid}(?::[A-Z])?) %{REDISTIMESTAMP:timestamp} [*#.-]",
    "REDISMONLOG": r'%{NUMBER:timestamp} \[%{INT:database} %{IP:client}:%{NUMBER:port}\] "%{WORD:command}"'
    r"(?:\s%{GREEDYDATA:params})?",
    "POSTGRESQL": r"(?:%{TIMESTAMP_ISO8601:timestamp}|%{DATESTAMP:timestamp}) %{TZ} (?<user_id>\S*) "
    r"(?<connection_id>.*) %{POSINT:pid}",
}

_PROGRAMS = {
    "RUBY_LOGLEVEL": r"DEBUG|FATAL|ERROR|WARN|INFO",
    "RUBY_LOGGER": r"[DFEWI], \[%{TIMESTAMP_ISO8601:timestamp} #%{POSINT:pid}\] *%{RUBY_LOGLEVEL:loglevel} -- +"
    r"(?<progname>[^:\n]*): %{GREEDYDATA:message}",
    "SQUID3": r"%{NUMBER:timestamp} +%{NUMBER:duration} %{IP:client_address} %{WORD:cache_result}/"
    r"%{NONNEGINT:status_code} %{NUMBER:bytes} %{WORD:request_method} %{NOTSPACE:url} (?:-|%{NOTSPACE:user}) "
    r"%{WORD:hierarchy_code}/(?:-|%{IPORHOST:server}) (?:-|%{NOTSPACE:content_type})",
}

SERVERS = {**_HAPROXY, **_AWS, **_BIND, **_DATABASES, **_PROGRAMS}
"""Name -> pattern."""
