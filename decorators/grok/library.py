r"""
The built-in patterns, under the names they have in other tools.

They are written for `re`, on characters and on bytes: names of users, hosts and classes and paths have the letters of
all scripts, as `\w` has. No nested repetition can match a text in many ways, so `re` takes quadratic time at
most, and `searching` linear time. Patterns of a word, an address or a time capture nothing; patterns of a line,
SYSLOGPROG, SYSLOGFACILITY and URIHOST capture their parts under the usual names. A part that is `-` in the line is not
captured.
"""

from decorators.grok.applications import APPLICATIONS
from decorators.grok.aws import AWS
from decorators.grok.cisco import CISCO
from decorators.grok.family import Family
from decorators.grok.filters import FILTERS
from decorators.grok.haproxy import HAPROXY
from decorators.grok.monitoring import MONITORING
from decorators.grok.servers import SERVERS
from decorators.grok.zeek import ZEEK

# sets of characters that leave others of ASCII out are a table for `re`, which is faster than \w
JAVA_START = r"[^\x00-#%-@\[-^`{-\x7f]"
"""A letter, _ or $, or any character beyond ASCII."""
OF_LOCAL_PART = r"""[^\x00-\x20"(),.:;<>@\[\\\]\x7f]"""
"""A character between the dots before the @ of an email address, as RFC 6531 has it."""
OF_URI_PATH = r"""[^\x00-\x20"<>?\[\\\]^`|\x7f]"""
"""A character of a path in a URI or, as RFC 3987 has it, an IRI."""

_WORDS = {
    "USERNAME": r"[\w.-]+",
    "USER": r"%{USERNAME}",
    "EMAILLOCALPART": rf"{OF_LOCAL_PART}++(?:\.{OF_LOCAL_PART}++)*+",
    "EMAILADDRESS": r"%{EMAILLOCALPART}@%{HOSTNAME}",
    "INT": r"[+-]?[0-9]+",
    "BASE10NUM": r"(?<![0-9.+-])(?>[+-]?(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+))",
    "NUMBER": r"%{BASE10NUM}",
    "BASE16NUM": r"(?<![0-9A-Fa-f])[+-]?(?:0x)?[0-9A-Fa-f]+",
    "BASE16FLOAT": r"(?<![0-9A-Fa-f.])[+-]?(?:0x)?(?:[0-9A-Fa-f]+(?:\.[0-9A-Fa-f]*)?|\.[0-9A-Fa-f]+)\b",
    "POSINT": r"\b[1-9][0-9]*\b",
    "NONNEGINT": r"\b[0-9]+\b",
    "WORD": r"\b\w+\b",
    "NOTSPACE": r"\S+",
    "SPACE": r"\s*",
    "DATA": r".*?",
    "GREEDYDATA": r".*",
    "QUOTEDSTRING": r'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
    r"|'[^'\\]*+(?:\\.[^'\\]*+)*+'"
    r"|`[^`\\]*+(?:\\.[^`\\]*+)*+`",
    "QS": r"%{QUOTEDSTRING}",
    "UUID": r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}",
    "URN": r"(?i:urn):[0-9A-Za-z][0-9A-Za-z-]{0,31}:(?:[0-9A-Za-z()+,.:=@;$_!*'/?#-]|%[0-9A-Fa-f]{2})+",
    "LOGLEVEL": r"(?i:trace|debug|info(?:rmation)?|notice|warn(?:ing)?|err(?:or)?|crit(?:ical)?|alert|fatal|severe"
    r"|emerg(?:ency)?)",
}

_OCTET = "(?>25[0-5]|2[0-4][0-9]|[01]?[0-9]?[0-9])"  # two digits could match in two ways, in each octet of a line
_HEX = "[0-9A-Fa-f]{1,4}"
_V4_TAILS = "|".join(
    [f"(?:{_HEX}:){{6}}%{{IPV4}}"]
    + [f"(?:{_HEX}:){{1,{groups}}}(?::{_HEX}){{0,{5 - groups}}}:%{{IPV4}}" for groups in range(1, 6)]
    + [f":(?::{_HEX}){{0,5}}:%{{IPV4}}"]
)
# the first alternative that matches is the longest one, because an address has only one double colon
_GROUPS = "|".join(
    [f"(?:{_HEX}:){{7}}{_HEX}"]
    + [f"(?:{_HEX}:){{1,{groups}}}(?::{_HEX}){{1,{7 - groups}}}" for groups in range(1, 7)]
    + [f"(?:{_HEX}:){{1,7}}:", f":(?:(?::{_HEX}){{1,7}}|:)"]
)

_ADDRESSES = {
    "CISCOMAC": r"(?:[0-9A-Fa-f]{4}\.){2}[0-9A-Fa-f]{4}",
    "WINDOWSMAC": r"(?:[0-9A-Fa-f]{2}-){5}[0-9A-Fa-f]{2}",
    "COMMONMAC": r"(?:[0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}",
    "MAC": r"%{CISCOMAC}|%{WINDOWSMAC}|%{COMMONMAC}",
    "IPV4": rf"(?<![0-9])(?:{_OCTET}\.){{3}}{_OCTET}(?![0-9])",
    "IPV6": r"(?<![0-9A-Fa-f])(?=[0-9A-Fa-f]{0,4}:)"
    rf"(?:{_V4_TAILS}|(?:{_GROUPS})(?![0-9A-Fa-f]))(?:%[0-9A-Za-z_.-]+)?",
    "IP": r"%{IPV4}|%{IPV6}",
    "HOSTNAME": r"\b\w[\w-]{0,62}(?:\.\w[\w-]{0,62})*(?:\.(?!\w)|\b)",
    "IPORHOST": r"%{IP}|%{HOSTNAME}",
    "HOSTPORT": r"%{IPORHOST}:%{POSINT}",
    "UNIXPATH": r"/[\w%!$@:.,+~/-]*(?:\\.[\w%!$@:.,+~/-]*)*",
    "TTY": r"/dev/(?:pts/[0-9]+|tty[A-Za-z]*[0-9]*)",
    "WINPATH": r'(?:\b[A-Za-z]:|\\)(?:\\[^\\/:*?"<>|\r\n]*)+',
    "PATH": r"%{UNIXPATH}|%{WINPATH}",
    "URIPROTO": r"[A-Za-z][A-Za-z0-9+.-]*",
    "URIHOST": r"(?:\[%{IPV6}\]|%{IPORHOST})(?::%{POSINT:port})?",
    "URIPATH": rf"/{OF_URI_PATH}*",
    "URIQUERY": r"""[^\x00-\x20"\\^`\x7f]*""",
    "URIPARAM": r"\?%{URIQUERY}",
    "URIPATHPARAM": r"%{URIPATH}(?:%{URIPARAM})?",
    "URI": r"%{URIPROTO}://(?:%{USER}(?::[^@/\s]*)?@)?(?:%{URIHOST})?(?:%{URIPATHPARAM})?",
}
_ADDRESSES_ECS = {"URIHOST": _ADDRESSES["URIHOST"].replace("%{POSINT:port}", "%{POSINT}")}

_TIMES = {
    "MONTH": r"\b(?i:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sep(?:t(?:ember)?)?"
    r"|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)\b",
    "MONTHNUM": r"1[0-2]|0?[1-9]",
    "MONTHNUM2": r"0[1-9]|1[0-2]",
    "MONTHDAY": r"3[01]|[12][0-9]|0?[1-9]",
    "DAY": r"\b(?i:Mon(?:day)?|Tue(?:sday)?|Wed(?:nesday)?|Thu(?:rsday)?|Fri(?:day)?|Sat(?:urday)?|Sun(?:day)?)\b",
    "YEAR": r"[0-9]{2}(?:[0-9]{2})?",
    "HOUR": r"2[0-3]|[01]?[0-9]",
    "MINUTE": r"[0-5][0-9]",
    "SECOND": r"(?:60|[0-5]?[0-9])(?:[:.,][0-9]+)?",
    "TIME": r"(?<![0-9])%{HOUR}:%{MINUTE}:%{SECOND}(?![0-9])",
    "TZ": r"\b(?:UTC|MSK|[A-Z]{2,4}T)\b",
    "DATE_US": r"%{MONTHNUM}[/-]%{MONTHDAY}[/-]%{YEAR}",
    "DATE_EU": r"%{MONTHDAY}[./-]%{MONTHNUM}[./-]%{YEAR}",
    "DATE": r"%{DATE_US}|%{DATE_EU}",
    "DATESTAMP": r"%{DATE}[- ]%{TIME}",
    "ISO8601_TIMEZONE": r"Z|[+-]%{HOUR}(?::?%{MINUTE})?",
    "ISO8601_SECOND": r"%{SECOND}",
    "TIMESTAMP_ISO8601": r"%{YEAR}-%{MONTHNUM}-%{MONTHDAY}[T ]%{HOUR}:?%{MINUTE}(?::?%{SECOND})?%{ISO8601_TIMEZONE}?",
    "DATESTAMP_RFC822": r"%{DAY} %{MONTH} %{MONTHDAY} %{YEAR} %{TIME} %{TZ}",
    "DATESTAMP_RFC2822": r"%{DAY}, %{MONTHDAY} %{MONTH} %{YEAR} %{TIME} %{ISO8601_TIMEZONE}",
    "DATESTAMP_OTHER": r"%{DAY} %{MONTH} %{MONTHDAY} %{TIME} %{TZ} %{YEAR}",
    "DATESTAMP_EVENTLOG": r"%{YEAR}%{MONTHNUM2}%{MONTHDAY}%{HOUR}%{MINUTE}%{SECOND}",
    "HTTPDERROR_DATE": r"%{DAY} %{MONTH} %{MONTHDAY} %{TIME} %{YEAR}",
    "HTTPDATE": r"%{MONTHDAY}/%{MONTH}/%{YEAR}:%{TIME} %{INT}",
    "SYSLOGTIMESTAMP": r"%{MONTH} +%{MONTHDAY} %{TIME}",
}

_SD_NAME = r'[^\s="\[\]\\]++'
_SD_PARAM = rf' ++{_SD_NAME}="[^"\\]*+(?:\\.[^"\\]*+)*+"'
_SD_ELEMENT = rf"\[{_SD_NAME}(?:{_SD_PARAM})*+ *+\]"
"""As in RFC 5424, where a value may have a bracket, if it is not escaped, too."""

_SYSLOG = {
    "PROG": r"[!-Z\\^-~]+",
    "SYSLOGPROG": r"%{PROG:program}(?:\[%{POSINT:pid}\])?",
    "SYSLOGHOST": r"%{IPORHOST}",
    "SYSLOGFACILITY": r"<%{NONNEGINT:facility}\.%{NONNEGINT:priority}>",
    "SYSLOGBASE": r"%{SYSLOGTIMESTAMP:timestamp} (?:%{SYSLOGFACILITY} )?%{SYSLOGHOST:logsource} %{SYSLOGPROG}:",
    "SYSLOGBASE2": r"(?:%{SYSLOGTIMESTAMP:timestamp}|%{TIMESTAMP_ISO8601:timestamp8601}) (?:%{SYSLOGFACILITY} )?"
    r"%{SYSLOGHOST:logsource}(?: %{SYSLOGPROG}:)?",
    "SYSLOGLINE": r"%{SYSLOGBASE2} %{GREEDYDATA:message}",
    "CRON_ACTION": r"[A-Z ]+",
    "CRONLOG": r"%{SYSLOGBASE} \(%{USER:user}\) %{CRON_ACTION:action} \(%{DATA:message}\)",
    "SYSLOG5424PRINTASCII": r"[!-~]+",
    "SYSLOG5424PRI": r"<%{NONNEGINT:syslog5424_pri}>",
    "SYSLOG5424SD": rf"(?>{_SD_ELEMENT}|\[[^\]\\]*+(?:\\.[^\]\\]*+)*+\])+",
    "SYSLOG5424BASE": r"%{SYSLOG5424PRI}%{NONNEGINT:syslog5424_ver} ++(?:-|%{TIMESTAMP_ISO8601:syslog5424_ts}) ++"
    r"(?:-|%{SYSLOG5424PRINTASCII:syslog5424_host}) ++(?:-|%{SYSLOG5424PRINTASCII:syslog5424_app}) ++"
    r"(?:-|%{SYSLOG5424PRINTASCII:syslog5424_proc}) ++(?:-|%{SYSLOG5424PRINTASCII:syslog5424_msgid})"
    r"(?: ++(?:-(?![^ ])|%{SYSLOG5424SD:syslog5424_sd})|(?=  ))",
    "SYSLOG5424LINE": r"%{SYSLOG5424BASE}(?:(?: ++|(?<=\])(?=.))%{GREEDYDATA:syslog5424_msg})?",
}
_SYSLOG_FIELDS = {
    "program": "process.name", "pid": "process.pid", "logsource": "host.hostname",
    "facility": "log.syslog.facility.code", "priority": "log.syslog.priority", "user": "user.name",
    "action": "system.cron.action", "syslog5424_pri": "log.syslog.priority", "syslog5424_ver": "system.syslog.version",
    "syslog5424_ts": "timestamp", "syslog5424_host": "host.hostname", "syslog5424_app": "process.name",
    "syslog5424_proc": "process.pid", "syslog5424_msgid": "event.code",
    "syslog5424_sd": "system.syslog.structured_data",
    "syslog5424_msg": "message",
}  # fmt: skip
_SYSLOG_ECS = {
    "SYSLOGBASE2": r"(?<timestamp>%{SYSLOGTIMESTAMP}|%{TIMESTAMP_ISO8601})(?: %{SYSLOGFACILITY})?"
    r"(?: %{SYSLOGHOST:host.hostname}(?![^ ]))?(?: %{SYSLOGPROG}:)?",
}

_HTTPD = {
    "HTTPDUSER": r"%{EMAILADDRESS}|%{USER}",
    "COMMONAPACHELOG": r"%{IPORHOST:clientip} (?:-|%{NOTSPACE:ident}) (?:-|%{NOTSPACE:auth}) \[%{HTTPDATE:timestamp}\] "
    r'"(?:%{WORD:verb} %{NOTSPACE:request}(?: HTTP/%{NUMBER:httpversion})?|(?<rawrequest>[^"\\]*(?:\\.[^"\\]*)*))" '
    r"(?:-|%{INT:response}) (?:-|%{INT:bytes})",
    "COMBINEDAPACHELOG": r'%{COMMONAPACHELOG} "(?:-|(?<referrer>[^"\\]*(?:\\.[^"\\]*)*))" '
    r'"(?:-|(?<agent>[^"\\]*(?:\\.[^"\\]*)*))"',
    "HTTPD_COMMONLOG": r"%{COMMONAPACHELOG}",
    "HTTPD_COMBINEDLOG": r"%{COMBINEDAPACHELOG}",
    "HTTPD20_ERRORLOG": r"\[%{HTTPDERROR_DATE:timestamp}\] \[%{LOGLEVEL:loglevel}\] "
    r"(?:\[client %{IPORHOST:clientip}\] )?%{GREEDYDATA:message}",
    "HTTPD24_ERRORLOG": r"\[%{HTTPDERROR_DATE:timestamp}\] \[(?:%{WORD:module})?:%{LOGLEVEL:loglevel}\] "
    r"\[pid %{POSINT:pid}(?::tid %{INT:tid})?\] "
    r"(?:\((?<proxy_errorcode>(?:OS |EAI )?[0-9]+)\)(?<proxy_message>[^:\n]++(?::(?! )[^:\n]*+)*+): )?"
    r"(?:\[client (?:%{IPORHOST:clientip}:(?:0|%{POSINT:clientport})|%{IPORHOST:clientip})\] )?"
    r"(?:(?<errorcode>AH[0-9]+): )?%{GREEDYDATA:message}",
    "HTTPD_ERRORLOG": r"%{HTTPD20_ERRORLOG}|%{HTTPD24_ERRORLOG}",
}
_HTTPD_FIELDS = {
    "verb": "http.request.method", "request": "url.original", "rawrequest": "http.request.line",
    "httpversion": "http.version", "response": "http.response.status_code", "bytes": "http.response.body.bytes",
    "referrer": "http.request.referrer", "agent": "user_agent.original",
    "clientip": "source.address", "ident": "apache.access.user.identity", "auth": "user.name", "loglevel": "log.level",
    "module": "apache.error.module", "pid": "process.pid", "tid": "process.thread.id", "clientport": "source.port",
    "errorcode": "error.code", "proxy_errorcode": "apache.error.proxy.error.code",
    "proxy_message": "apache.error.proxy.error.message",
}  # fmt: skip

_JAVA = {
    "JAVACLASS": rf"(?:{JAVA_START}[\w$]*\.)*{JAVA_START}[\w$]*",
    "JAVAFILE": r"[\w$. -]+",
    "JAVAMETHOD": rf"<(?:cl)?init>|{JAVA_START}[\w$]*",
    "JAVASTACKTRACEPART": r"%{SPACE}at %{JAVACLASS:class}\.%{JAVAMETHOD:method}\(%{JAVAFILE:file}(?::%{INT:line})?\)",
}
_JAVA_FIELDS = {
    "class": "java.log.origin.class.name", "method": "log.origin.function", "file": "log.origin.file.name",
    "line": "log.origin.file.line",
}  # fmt: skip

PROGRAMS = (HAPROXY, *AWS, *SERVERS, CISCO, *FILTERS, *APPLICATIONS, *MONITORING, *ZEEK)
"""Families of what one program writes, or several that write alike."""
FAMILIES = (
    Family(_WORDS, {}),
    Family(_ADDRESSES, {}, _ADDRESSES_ECS),
    Family(_TIMES, {}),
    Family(_SYSLOG, _SYSLOG_FIELDS, _SYSLOG_ECS),
    Family(_HTTPD, _HTTPD_FIELDS),
    Family(_JAVA, _JAVA_FIELDS),
    *PROGRAMS,
)
"""All families."""
LIBRARY = {name: pattern for family in FAMILIES for name, pattern in family.patterns.items()}
"""Name -> pattern, with the captures of Logstash's older names."""
