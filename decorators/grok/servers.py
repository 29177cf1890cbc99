"""
Patterns of lines that name servers, databases, Ruby's logger and Squid write.

They have the names and the captures of Logstash's patterns, and are written anew for `re`, without nested repetition.
A run of any length begins behind a look-behind, so that `re` does not try it at each of its characters.
"""

from decorators.grok.family import Family

_DEPTH_OF_QUERIES = 5  # braces in braces, of a query of MongoDB


def _braces(depth: int) -> str:
    inner = rf"(?:{_braces(depth - 1)}[^{{}}]*+)*+" if depth else ""
    return rf"\{{[^{{}}]*+{inner}\}}"


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
_BIND_FIELDS = {
    "clientip": "client.ip", "clientport": "client.port", "query": "dns.question.name",
    "queryclass": "dns.question.class", "querytype": "dns.question.type", "queryflags": "bind.log.question.flags",
    "dns": "server.ip", "category": "bind.log.category", "loglevel": "log.level",
}  # fmt: skip
_BIND_ECS = {
    "BIND9_QUERYLOGBASE": _BIND["BIND9_QUERYLOGBASE"].replace("(?<query>", "(?<bind.log.question.name>", 1),
}

_MONGO = {
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
}
_MONGO_FIELDS = {
    "component": "mongodb.component", "severity": "log.level", "context": "mongodb.context",
    "operation": "mongodb.profile.op", "database": "mongodb.database", "collection": "mongodb.collection",
    "query": "mongodb.query.original", "ntoreturn": "mongodb.profile.ntoreturn", "ntoskip": "mongodb.profile.ntoskip",
    "nscanned": "mongodb.profile.nscanned", "nreturned": "mongodb.profile.nreturned",
    "duration": "mongodb.profile.duration",
}  # fmt: skip

_REDIS = {
    "REDISTIMESTAMP": r"%{MONTHDAY} %{MONTH} (?:%{YEAR} )?%{TIME}",
    "REDISLOG": r"(?:\[%{POSINT:pid}\]|%{POSINT:pid}(?::[A-Z])?) %{REDISTIMESTAMP:timestamp} [*#.-]",
    "REDISMONLOG": r'%{NUMBER:timestamp} \[%{INT:database} %{IP:client}:%{NUMBER:port}\] "%{WORD:command}"'
    r"(?:\s%{GREEDYDATA:params})?",
}
_REDIS_FIELDS = {
    "pid": "process.pid", "database": "redis.database.id", "client": "client.ip", "port": "client.port",
    "command": "redis.command.name", "params": "redis.command.args",
}  # fmt: skip

_POSTGRESQL = {
    "POSTGRESQL": r"(?:%{TIMESTAMP_ISO8601:timestamp}|%{DATESTAMP:timestamp}) %{TZ} (?<user_id>\S*) "
    r"(?<connection_id>.*) %{POSINT:pid}",
}
_POSTGRESQL_FIELDS = {"user_id": "user.name", "connection_id": "postgresql.log.connection_id", "pid": "process.pid"}
_POSTGRESQL_ECS = {"POSTGRESQL": _POSTGRESQL["POSTGRESQL"].replace("%{TZ}", "%{TZ:event.timezone}")}

_RUBY = {
    "RUBY_LOGLEVEL": r"DEBUG|FATAL|ERROR|WARN|INFO",
    "RUBY_LOGGER": r"[DFEWI], \[%{TIMESTAMP_ISO8601:timestamp} #%{POSINT:pid}\] *%{RUBY_LOGLEVEL:loglevel} -- +"
    r"(?<progname>[^:\n]*): %{GREEDYDATA:message}",
}
_RUBY_FIELDS = {"pid": "process.pid", "loglevel": "log.level", "progname": "process.name"}

_SQUID = {
    "SQUID3_STATUS": r"%{NONNEGINT:status_code}",
    "SQUID3": r"%{NUMBER:timestamp} +%{NUMBER:duration} %{IP:client_address} %{WORD:cache_result}/"
    r"%{SQUID3_STATUS} %{NUMBER:bytes} %{WORD:request_method} %{NOTSPACE:url} (?:-|%{NOTSPACE:user}) "
    r"%{WORD:hierarchy_code}/(?:-|%{IPORHOST:server}) (?:-|%{NOTSPACE:content_type})",
}
_SQUID_FIELDS = {
    "duration": "squid.request.duration", "client_address": "source.ip", "cache_result": "event.action",
    "status_code": "http.response.status_code", "bytes": "http.response.bytes", "request_method": "http.request.method",
    "url": "url.original", "user": "user.name", "hierarchy_code": "squid.hierarchy_code",
    "server": "destination.address", "content_type": "http.response.mime_type",
}  # fmt: skip

SERVERS = (
    Family(_BIND, _BIND_FIELDS, _BIND_ECS),
    Family(_MONGO, _MONGO_FIELDS),
    Family(_REDIS, _REDIS_FIELDS),
    Family(_POSTGRESQL, _POSTGRESQL_FIELDS, _POSTGRESQL_ECS),
    Family(_RUBY, _RUBY_FIELDS),
    Family(_SQUID, _SQUID_FIELDS, {"SQUID3_STATUS": r"%{POSINT:status_code}|0(?:00)?(?![0-9])"}),
)
