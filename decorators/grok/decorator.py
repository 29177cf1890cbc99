"""The grok decorator and its options."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, NamedTuple

from pydantic import AfterValidator, BeforeValidator, ValidationInfo
from pydantic_core import PydanticCustomError

from decorators.grok.ecs import ECS_LIBRARY
from decorators.grok.expansion import Capture, expanded
from decorators.grok.library import LIBRARY
from decorators.grok.searching import Search, searching
from ingest.api import DecorateError, Decorator, Event, Example, Settings, option
from ingest.api.event_errors import NotANumberError
from ingest.api.notation import shown_start
from ingest.decorating.choices import FailureAction
from ingest.decorating.errors import NoMatchError
from ingest.expressions import ExpressionSyntaxError, Match, read_number, write_number
from ingest.formats.booleans import NotABoolError

_MAX_SHORT = 256  # bytes; in a longer text the search of `re` may take more than 2 ms


class _Definition(NamedTuple):
    """A definition, and all definitions, which it may refer to."""

    name: str
    text: str
    all: Mapping[str, str]


def _with_all_definitions(definitions: object) -> object:
    if not isinstance(definitions, dict) or not all(isinstance(text, str) for text in definitions.values()):
        return definitions
    return {name: _Definition(name, text, definitions) for name, text in definitions.items()}


def _valid_definition(value: object) -> object:
    if not isinstance(value, _Definition):
        return value
    if not value.name.replace("-", "").replace("_", "").isalnum():
        message = '"{name}" cannot be the name of a pattern: names consist of letters, digits, _ and -'
        raise PydanticCustomError("bad_pattern", message, {"name": value.name})
    _check(value.text, value.all)
    return value.text


def _valid_pattern(text: str, info: ValidationInfo) -> str:
    if "definitions" in info.data:  # absent if they are invalid
        _check(text, info.data["definitions"])
    return text


def _check(text: str, definitions: Mapping[str, str]) -> None:
    try:
        expanded(text, {**LIBRARY, **definitions})
    except ExpressionSyntaxError as problem:
        raise PydanticCustomError(
            "bad_pattern",
            "{problem}",
            {"column": problem.column, "problem": problem.message, "caret": problem.caret},
        ) from problem


class Ecs(StrEnum):
    """The version of the Elastic Common Schema that names what known patterns capture."""

    DISABLED = "disabled"
    V1 = "v1"


_LIBRARIES = {Ecs.DISABLED: LIBRARY, Ecs.V1: ECS_LIBRARY}


class GrokSettings(Settings):
    """Options of the grok decorator."""

    definitions: Annotated[
        dict[str, Annotated[str, BeforeValidator(_valid_definition)]], BeforeValidator(_with_all_definitions)
    ] = option(
        "Your own patterns, by name; they override known patterns of the same name.",
        default={},
        example={"QUEUE": "[0-9A-F]{10,11}"},
    )
    patterns: list[Annotated[str, AfterValidator(_valid_pattern)]] = option(
        "Patterns, tried in this order; the first that matches is used. A pattern is a regular expression in which "
        "`%{NAME}` stands for the pattern of that name, `%{NAME:attribute}` also captures the match, and "
        "`%{NAME:attribute:type}` requires an int, long, float, double or boolean and writes it in a canonical form.",
        example=["%{IPORHOST:client} %{WORD:method} %{URIPATHPARAM:path} %{INT:bytes:int}"],
        min_length=1,
    )
    ecs_compatibility: Ecs = option(
        "Names of what known patterns capture: Logstash's older ones (`disabled`: `clientip`), or the fields of the "
        "Elastic Common Schema with dots (`v1`: `source.address`).",
        default="disabled",
        strict=False,
    )
    source: str | None = option("Attribute to search; the body if left out.", default=None, example="message")
    prefix: str = option("Put before every attribute name.", default="", example="2hb_web:")
    anchored: bool = option(
        "True: the pattern must match the whole text, except for a line feed at its end. False: it may match anywhere "
        "in the text, and `^` and `$` match the ends of the text.",
        default=False,
    )
    on_no_match: FailureAction = option(
        "Text that no pattern matches, or an absent attribute: the event fails (`error`), passes unchanged (`keep`), "
        "or is dropped (`drop`).",
        default="error",
        strict=False,
    )

    @property
    def other_names(self) -> str | None:
        """All names begin with `prefix`."""
        return self.prefix


class _CompiledPattern(NamedTuple):
    """
    A compiled pattern.

    Attributes:
        search_ascii: the same search of text that is ASCII.
        search_long: finds the same match in a long text.
        captures: of its groups, with the prefix in their names.
        is_plain: no capture has a type, and all names differ.
    """

    search: Search
    search_ascii: Search
    search_long: Search
    captures: tuple[Capture, ...]
    names: tuple[str, ...]
    is_plain: bool


class Grok(Decorator[GrokSettings]):
    """
    Find named patterns in text and put the matches into attributes.

    The text around the tags is a regular expression, which works on characters if the text is UTF-8, else on bytes
    (docs/reference/expressions.md). `(?<attribute>…)` also captures, other
    groups do not; `(?i)` or `(?s)` may be at the start. Names with a colon are quoted: `%{IP:'2hb_a:ip'}`. A group that
    does not take part in the match sets nothing; if several captures have one name, the last one that takes part wins.
    If you need no known pattern, use `regex`.

    An `int` or `long` is written as digits only (`+007` becomes `7`), a `float` or `double` without exponent, a
    `boolean` as `true` or `false`; values stay text, and a sink's encodings make them binary. A pattern that starts
    with `^`, or is `anchored`, fails much faster, since it is tried at one position instead of all. The search for the
    start of a match takes linear time if a pattern starts with a known one that is not a list of alternatives; with
    `SYSLOG5424SD`, if no quoted value of the text has a bracket.

    In the known patterns, names of users, hosts and classes, and paths have the letters of all scripts and underscores,
    as real names do, also those of hosts, which RFC 952 forbids.

    Known patterns: BACULA_CAPACITY, BACULA_DEVICE, BACULA_DEVICEPATH, BACULA_HOST, BACULA_JOB, BACULA_LOG,
    BACULA_LOGLINE, BACULA_LOG_ALL_RECORDS_PRUNED, BACULA_LOG_BEGIN_PRUNE_FILES, BACULA_LOG_BEGIN_PRUNE_JOBS,
    BACULA_LOG_CANCELLING, BACULA_LOG_CLIENT_RBJ, BACULA_LOG_DIFF_FS, BACULA_LOG_DUPLICATE, BACULA_LOG_ENDPRUNE,
    BACULA_LOG_END_VOLUME, BACULA_LOG_FATAL_CONN, BACULA_LOG_JOB, BACULA_LOG_JOBEND, BACULA_LOG_MARKCANCEL,
    BACULA_LOG_MAXSTART, BACULA_LOG_MAX_CAPACITY, BACULA_LOG_NEW_LABEL, BACULA_LOG_NEW_MOUNT, BACULA_LOG_NEW_VOLUME,
    BACULA_LOG_NOJOBS, BACULA_LOG_NOJOBSTAT, BACULA_LOG_NOOPEN, BACULA_LOG_NOOPENDIR, BACULA_LOG_NOPRIOR,
    BACULA_LOG_NOPRUNE_FILES, BACULA_LOG_NOPRUNE_JOBS, BACULA_LOG_NOSTAT, BACULA_LOG_NOSUIT, BACULA_LOG_NO_AUTH,
    BACULA_LOG_NO_CONNECT, BACULA_LOG_PRUNED_FILES, BACULA_LOG_PRUNED_JOBS, BACULA_LOG_READYAPPEND, BACULA_LOG_STARTJOB,
    BACULA_LOG_STARTRESTORE, BACULA_LOG_USEDEVICE, BACULA_LOG_VOLUME_PREVWRITTEN, BACULA_LOG_VSS,
    BACULA_LOG_WROTE_LABEL, BACULA_TIMESTAMP, BACULA_VERSION, BACULA_VOLUME, BASE10NUM, BASE16FLOAT, BASE16NUM, BIND9,
    BIND9_CATEGORY, BIND9_DNSTYPE, BIND9_QUERYLOG, BIND9_QUERYLOGBASE, BIND9_TIMESTAMP, BRO_BOOL, BRO_CONN, BRO_DATA,
    BRO_DNS, BRO_FILES, BRO_HTTP, CATALINA7_DATESTAMP, CATALINA7_LOG, CATALINA8_DATESTAMP, CATALINA8_LOG, CATALINALOG,
    CATALINA_DATESTAMP, CISCOFW104001, CISCOFW104002, CISCOFW104003, CISCOFW104004, CISCOFW105003, CISCOFW105004,
    CISCOFW105005, CISCOFW105008, CISCOFW105009, CISCOFW106001, CISCOFW106006_106007_106010, CISCOFW106014,
    CISCOFW106015, CISCOFW106021, CISCOFW106023, CISCOFW106100, CISCOFW106100_2_3, CISCOFW110002, CISCOFW302010,
    CISCOFW302013_302014_302015_302016, CISCOFW302020_302021, CISCOFW304001, CISCOFW305011, CISCOFW313001_313004_313008,
    CISCOFW313005, CISCOFW321001, CISCOFW402117, CISCOFW402119, CISCOFW419001, CISCOFW419002, CISCOFW500004,
    CISCOFW602303_602304, CISCOFW710001_710002_710003_710005_710006, CISCOFW713172, CISCOFW733100, CISCOMAC, CISCOTAG,
    CISCOTIMESTAMP, CISCO_ACTION, CISCO_DIRECTION, CISCO_DST_HOST_PORT_USER, CISCO_DST_IP_USER, CISCO_HITCOUNT_INTERVAL,
    CISCO_INTERVAL, CISCO_REASON, CISCO_SRC_HOST_PORT_USER, CISCO_SRC_IP_USER, CISCO_TAGGED_SYSLOG, CISCO_XLATE_TYPE,
    CLOUDFRONT_ACCESS_LOG, COMBINEDAPACHELOG, COMMONAPACHELOG, COMMONMAC, CRONLOG, CRON_ACTION, DATA, DATE, DATESTAMP,
    DATESTAMP_EVENTLOG, DATESTAMP_OTHER, DATESTAMP_RFC2822, DATESTAMP_RFC822, DATE_EU, DATE_US, DAY, ELB_ACCESS_LOG,
    ELB_REQUEST_LINE, ELB_URI, ELB_URIHOST, ELB_URIPATHPARAM, ELB_URIPATHQUERY, ELB_V1_HTTP_LOG, EMAILADDRESS,
    EMAILLOCALPART, EXIM, EXIM_DATE, EXIM_EXCLUDE_TERMS, EXIM_FLAGS, EXIM_HEADER_ID, EXIM_INTERFACE,
    EXIM_MESSAGE_ARRIVAL, EXIM_MSGID, EXIM_MSG_SIZE, EXIM_NAMED_FIELDS, EXIM_PID, EXIM_PROTOCOL, EXIM_QT,
    EXIM_QUOTED_CONTENT, EXIM_REMOTE_HOST, EXIM_SUBJECT, EXIM_UNKNOWN_FIELD, GREEDYDATA, HAPROXYCAPTUREDREQUESTHEADERS,
    HAPROXYCAPTUREDRESPONSEHEADERS, HAPROXYDATE, HAPROXYHTTP, HAPROXYHTTPBASE, HAPROXYHTTPREQUESTLINE, HAPROXYTCP,
    HAPROXYTIME, HAPROXYURI, HOSTNAME, HOSTPORT, HOUR, HTTPD20_ERRORLOG, HTTPD24_ERRORLOG, HTTPDATE, HTTPDERROR_DATE,
    HTTPDUSER, HTTPD_COMBINEDLOG, HTTPD_COMMONLOG, HTTPD_ERRORLOG, INT, IP, IPORHOST, IPTABLES, IPTABLES4_FRAG,
    IPTABLES4_PART, IPTABLES6_PART, IPTABLES_TCP_FLAGS, IPTABLES_TCP_PART, IPV4, IPV6, ISO8601_SECOND, ISO8601_TIMEZONE,
    JAVACLASS, JAVAFILE, JAVALOGMESSAGE, JAVAMETHOD, JAVASTACKTRACEPART, JAVATHREAD, LOGLEVEL, MAC, MAVEN_VERSION,
    MCOLLECTIVE, MCOLLECTIVEAUDIT, MINUTE, MONGO3_COMPONENT, MONGO3_LOG, MONGO3_SEVERITY, MONGO_LOG, MONGO_QUERY,
    MONGO_SLOWQUERY, MONGO_WORDDASH, MONTH, MONTHDAY, MONTHNUM, MONTHNUM2, NAGIOSLOGLINE, NAGIOSTIME,
    NAGIOS_CURRENT_HOST_STATE, NAGIOS_CURRENT_SERVICE_STATE, NAGIOS_EC_DISABLE_HOST_CHECK,
    NAGIOS_EC_DISABLE_HOST_NOTIFICATIONS, NAGIOS_EC_DISABLE_HOST_SVC_NOTIFICATIONS, NAGIOS_EC_DISABLE_SVC_CHECK,
    NAGIOS_EC_DISABLE_SVC_NOTIFICATIONS, NAGIOS_EC_ENABLE_HOST_CHECK, NAGIOS_EC_ENABLE_HOST_NOTIFICATIONS,
    NAGIOS_EC_ENABLE_HOST_SVC_NOTIFICATIONS, NAGIOS_EC_ENABLE_SVC_CHECK, NAGIOS_EC_ENABLE_SVC_NOTIFICATIONS,
    NAGIOS_EC_LINE_DISABLE_HOST_CHECK, NAGIOS_EC_LINE_DISABLE_HOST_NOTIFICATIONS,
    NAGIOS_EC_LINE_DISABLE_HOST_SVC_NOTIFICATIONS, NAGIOS_EC_LINE_DISABLE_SVC_CHECK,
    NAGIOS_EC_LINE_DISABLE_SVC_NOTIFICATIONS, NAGIOS_EC_LINE_ENABLE_HOST_CHECK,
    NAGIOS_EC_LINE_ENABLE_HOST_NOTIFICATIONS, NAGIOS_EC_LINE_ENABLE_HOST_SVC_NOTIFICATIONS,
    NAGIOS_EC_LINE_ENABLE_SVC_CHECK, NAGIOS_EC_LINE_ENABLE_SVC_NOTIFICATIONS, NAGIOS_EC_LINE_PROCESS_HOST_CHECK_RESULT,
    NAGIOS_EC_LINE_PROCESS_SERVICE_CHECK_RESULT, NAGIOS_EC_LINE_SCHEDULE_HOST_DOWNTIME,
    NAGIOS_EC_PROCESS_HOST_CHECK_RESULT, NAGIOS_EC_PROCESS_SERVICE_CHECK_RESULT, NAGIOS_EC_SCHEDULE_HOST_DOWNTIME,
    NAGIOS_EC_SCHEDULE_SERVICE_DOWNTIME, NAGIOS_HOST_ALERT, NAGIOS_HOST_DOWNTIME_ALERT, NAGIOS_HOST_EVENT_HANDLER,
    NAGIOS_HOST_FLAPPING_ALERT, NAGIOS_HOST_NOTIFICATION, NAGIOS_PASSIVE_HOST_CHECK, NAGIOS_PASSIVE_SERVICE_CHECK,
    NAGIOS_SERVICE_ALERT, NAGIOS_SERVICE_DOWNTIME_ALERT, NAGIOS_SERVICE_EVENT_HANDLER, NAGIOS_SERVICE_FLAPPING_ALERT,
    NAGIOS_SERVICE_NOTIFICATION, NAGIOS_TIMEPERIOD_TRANSITION, NAGIOS_TYPE_CURRENT_HOST_STATE,
    NAGIOS_TYPE_CURRENT_SERVICE_STATE, NAGIOS_TYPE_EXTERNAL_COMMAND, NAGIOS_TYPE_HOST_ALERT,
    NAGIOS_TYPE_HOST_DOWNTIME_ALERT, NAGIOS_TYPE_HOST_EVENT_HANDLER, NAGIOS_TYPE_HOST_FLAPPING_ALERT,
    NAGIOS_TYPE_HOST_NOTIFICATION, NAGIOS_TYPE_PASSIVE_HOST_CHECK, NAGIOS_TYPE_PASSIVE_SERVICE_CHECK,
    NAGIOS_TYPE_SERVICE_ALERT, NAGIOS_TYPE_SERVICE_DOWNTIME_ALERT, NAGIOS_TYPE_SERVICE_EVENT_HANDLER,
    NAGIOS_TYPE_SERVICE_FLAPPING_ALERT, NAGIOS_TYPE_SERVICE_NOTIFICATION, NAGIOS_TYPE_TIMEPERIOD_TRANSITION,
    NAGIOS_WARNING, NETSCREENSESSIONLOG, NONNEGINT, NOTSPACE, NUMBER, PATH, POSINT, POSTGRESQL, PROG, QS, QUOTEDSTRING,
    RAILS3, RAILS3FOOT, RAILS3HEAD, RAILS3PROFILE, RCONTROLLER, REDISLOG, REDISMONLOG, REDISTIMESTAMP, RPROCESSING,
    RT_FLOW1, RT_FLOW2, RT_FLOW3, RT_FLOW_EVENT, RT_FLOW_TAG, RUBY_LOGGER, RUBY_LOGLEVEL, RUUID, S3_ACCESS_LOG,
    S3_REQUEST_LINE, SECOND, SFW2, SFW2_LOG_PREFIX, SHOREWALL, SPACE, SQUID3, SQUID3_STATUS, SYSLOG5424BASE,
    SYSLOG5424LINE, SYSLOG5424PRI, SYSLOG5424PRINTASCII, SYSLOG5424SD, SYSLOGBASE, SYSLOGBASE2, SYSLOGFACILITY,
    SYSLOGHOST, SYSLOGLINE, SYSLOGPAMSESSION, SYSLOGPROG, SYSLOGTIMESTAMP, TIME, TIMESTAMP_ISO8601, TOMCAT7_LOG,
    TOMCAT8_LOG, TOMCATLEGACY_DATESTAMP, TOMCATLEGACY_LOG, TOMCATLOG, TOMCAT_DATESTAMP, TTY, TZ, UNIXPATH, URI, URIHOST,
    URIPARAM, URIPATH, URIPATHPARAM, URIPROTO, URIQUERY, URN, USER, USERNAME, UUID, WINDOWSMAC, WINPATH, WORD, YEAR,
    ZEEK_BOOL, ZEEK_CONN, ZEEK_DATA, ZEEK_DNS, ZEEK_FILES, ZEEK_FILES_RX_HOSTS, ZEEK_FILES_TX_HOSTS, ZEEK_HTTP.

    With `ecs_compatibility: v1` known patterns capture fields of the Elastic Common
    Schema, with a dot where Logstash has brackets: `[source][ip]` is `source.ip`.

    Source: own design; Logstash's grok filter, whose pattern names it keeps, and of patterns of lines the names of what
    they capture (logstash-patterns-core 4.3.1).
    """

    kind = "grok"
    examples = (
        Example(
            "a line of an access log",
            settings="{patterns: ['%{COMBINEDAPACHELOG}'], prefix: '2hb_web:'}",
            body='203.0.113.9 - frank [10/Oct/2000:13:55:36 -0700] "GET /a.gif HTTP/1.0" 200 2326 "-" "Mozilla/4.08"',
            after={
                "2hb_web:clientip": "203.0.113.9",
                "2hb_web:auth": "frank",
                "2hb_web:timestamp": "10/Oct/2000:13:55:36 -0700",
                "2hb_web:verb": "GET",
                "2hb_web:request": "/a.gif",
                "2hb_web:httpversion": "1.0",
                "2hb_web:response": "200",
                "2hb_web:bytes": "2326",
                "2hb_web:agent": "Mozilla/4.08",
            },
        ),
        Example(
            "your own patterns, tried in order, and a type",
            settings="{definitions: {QUEUE: '[0-9A-F]{10,11}'}, patterns: ['^%{QUEUE:queue}: removed', "
            "'^%{QUEUE:queue}: .*size=%{INT:size:int}']}",
            body="BEF25A72965: from=<a@example.com>, size=+0302",
            after={"queue": "BEF25A72965", "size": "302"},
        ),
        Example(
            "fields of the Elastic Common Schema",
            settings="{patterns: ['%{CISCOFW106021}'], ecs_compatibility: v1}",
            body="Deny TCP reverse path check from 192.0.2.2 to 10.0.0.1 on interface in",
            after={
                "cisco.asa.outcome": "Deny",
                "cisco.asa.network.transport": "TCP",
                "source.ip": "192.0.2.2",
                "destination.ip": "10.0.0.1",
                "observer.egress.interface.name": "in",
            },
        ),
        Example("no pattern matches", settings="{patterns: ['%{IP:ip}']}", body="it works", error="no_match"),
        Example(
            "a value not of its type",
            settings="{patterns: ['took %{NOTSPACE:took:int}']}",
            body="took 5ms",
            error="not_a_number",
        ),
        Example(
            "a word that is neither true nor false",
            settings="{patterns: ['ok=%{WORD:ok:boolean}']}",
            body="ok=maybe",
            error="not_a_bool",
        ),
        Example(
            "text without a match, with `on_no_match: drop`",
            "{patterns: ['%{IP}'], on_no_match: drop}",
            "ok",
            dropped=True,
        ),
    )

    def __init__(self, settings: GrokSettings) -> None:
        super().__init__(settings)
        self._source = settings.source
        self._is_anchored = settings.anchored
        patterns = {**_LIBRARIES[settings.ecs_compatibility], **settings.definitions}
        compiled = [_compiled(text, patterns, settings) for text in settings.patterns]
        self._of_ascii = tuple((pattern.search_ascii, pattern) for pattern in compiled)
        self._of_short = tuple((pattern.search, pattern) for pattern in compiled)
        self._of_long = tuple((pattern.search_long, pattern) for pattern in compiled)

    @property
    def drop_reason(self) -> str:
        """The reason for events whose text no pattern matches."""
        return NoMatchError.code

    def decorate(self, event: Event) -> bool:
        """Set the attributes."""
        text = event.body if self._source is None else event.attributes.get(self._source)
        if text is not None:
            if self._is_anchored:
                text = text.removesuffix(b"\n")
            searches = self._of_long
            if len(text) <= _MAX_SHORT:
                searches = self._of_ascii if text.isascii() else self._of_short
            for search, pattern in searches:
                match = search(text)
                if match is not None:
                    event.update(_captured(pattern, match))
                    return True
        return self.settings.on_no_match.keeps_or_refuses(self._no_match, event)

    def _no_match(self, event: Event) -> DecorateError:
        text = event.text_of(self._source, "to search")
        return NoMatchError(f"no pattern matches {shown_start(text)}")


def _compiled(text: str, patterns: Mapping[str, str], settings: GrokSettings) -> _CompiledPattern:
    pattern, captures = expanded(text, patterns)
    captures = tuple(capture._replace(attribute=settings.prefix + capture.attribute) for capture in captures)
    names = tuple(capture.attribute for capture in captures)
    is_plain = len(set(names)) == len(names) and not any(capture.type for capture in captures)
    if settings.anchored:
        return _CompiledPattern(pattern.fullmatch, pattern.fullmatch, pattern.fullmatch, captures, names, is_plain)
    search_long = searching(text, patterns, pattern)
    return _CompiledPattern(pattern.search, pattern.search_ascii, search_long, captures, names, is_plain)


def _captured(pattern: _CompiledPattern, match: Match) -> dict[str, bytes]:
    values = match.groups()
    if pattern.is_plain and None not in values:
        return dict(zip(pattern.names, values))  # noqa: B905 - `strict` takes as long as three captures
    if pattern.is_plain:
        return {name: value for name, value in zip(pattern.names, values, strict=True) if value is not None}
    return {
        capture.attribute: _canonical(value, capture) if capture.type else value
        for capture, value in zip(pattern.captures, values, strict=True)
        if value is not None
    }


def _canonical(value: bytes, capture: Capture) -> bytes:
    """
    A value in the canonical form of its type.

    Raises:
        DecorateError: it is not a value of the type.
    """
    match capture.type:
        case "int" | "long":
            number = read_number(value)
            if isinstance(number, int):
                return write_number(number)
        case "float" | "double":
            number = read_number(value.replace(b".", b"0.", 1) if value.lstrip(b"+-").startswith(b".") else value)
            if number is not None:
                return write_number(number)
        case "boolean":
            if (word := value.lower()) in {b"true", b"false"}:
                return word
        case _:
            return value
    code = NotABoolError.code if capture.type == "boolean" else NotANumberError.code
    raise DecorateError(
        f'"{capture.attribute}" is not of type {capture.type}: {shown_start(value)}',
        code=code,
    )
