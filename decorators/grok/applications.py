"""
Patterns of lines that Exim, Rails, Tomcat, MCollective and PAM write, and of versions of Maven.

They have the names and the captures of Logstash's patterns, and are written anew for `re`, without nested repetition.
"""

from decorators.grok.family import Family

_ARRIVED = (
    r"%{EXIM_DATE:timestamp} (?:%{EXIM_PID} )?%{EXIM_MSGID:exim_msgid} (?<exim_flags><=) "
    r"(?:<>|%{EMAILADDRESS:exim_sender_email})%{EXIM_NAMED_FIELDS}"
    r"(?:(?: from <?(?<exim_original_sender>[^\s<>]*)>?)? for %{EMAILADDRESS:exim_recipient_email})?"
)
_EXIM = {
    "EXIM_MSGID": r"[0-9A-Za-z]{6}-(?:[0-9A-Za-z]{11}-[0-9A-Za-z]{4}|[0-9A-Za-z]{6}-[0-9A-Za-z]{2})",  # since 4.97
    "EXIM_FLAGS": r"<=|=>|->|\*>|\*\*|==|<>|>>",
    "EXIM_DATE": r"%{YEAR}-%{MONTHNUM}-%{MONTHDAY} %{TIME}(?: [+-][0-9]{4})?",
    "EXIM_PID": r"\[%{POSINT:pid}\]",
    "EXIM_QT": r"(?<![0-9ywdhms])(?:[0-9]+y)?(?:[0-9]+w)?(?:[0-9]+d)?(?:[0-9]+h)?(?:[0-9]+m)?(?:[0-9.]+s)?",
    "EXIM_EXCLUDE_TERMS": r"Message is frozen|(?:Start|End) queue run| Warning: | retry time not reached "
    r"| no (?:IP address|host name) found for (?:IP address|host) "
    r"| unexpected disconnection while reading SMTP command | no immediate delivery: "
    r"|another process is handling this message",
    "EXIM_REMOTE_HOST": r"H=(?:(?<remote_hostname>[^\s\[(]\S*) )?(?:\((?<remote_heloname>[^\s)]*)\) )?"
    r"\[%{IP:remote_host}\](?::%{POSINT:remote_port})?",
    "EXIM_INTERFACE": r"I=\[%{IP:exim_interface}\](?::%{POSINT:exim_interface_port})?",
    "EXIM_PROTOCOL": r"P=(?<protocol>\S+)",
    "EXIM_MSG_SIZE": r"S=(?<exim_msg_size>[0-9]+)",
    "EXIM_HEADER_ID": r"id=(?<exim_header_id>\S+)",
    "EXIM_QUOTED_CONTENT": r'(?<![^"])[^"\\]*+(?:\\.[^"\\]*+)*+',
    "EXIM_SUBJECT": r'T="(?<exim_subject>[^"\\]*+(?:\\.[^"\\]*+)*+)"',
    "EXIM_UNKNOWN_FIELD": r"[A-Za-z0-9]{1,4}=(?:%{QUOTEDSTRING}|\S+)",
    "EXIM_NAMED_FIELDS": r"(?: (?:%{EXIM_REMOTE_HOST}|%{EXIM_INTERFACE}|%{EXIM_PROTOCOL}|%{EXIM_MSG_SIZE}"
    r"|%{EXIM_HEADER_ID}|%{EXIM_SUBJECT}|%{EXIM_UNKNOWN_FIELD}))*+",
    "EXIM_MESSAGE_ARRIVAL": _ARRIVED,
    "EXIM": r"%{EXIM_MESSAGE_ARRIVAL}",
}
_EXIM_FIELDS = {
    "pid": "process.pid", "exim_msgid": "exim.log.message.id", "exim_flags": "exim.log.flags",
    "exim_sender_email": "exim.log.sender.email", "exim_original_sender": "exim.log.sender.original",
    "exim_recipient_email": "exim.log.recipient.email", "remote_hostname": "source.address",
    "remote_heloname": "exim.log.remote_address", "remote_host": "source.ip", "remote_port": "source.port",
    "exim_interface": "destination.ip", "exim_interface_port": "destination.port", "protocol": "network.protocol",
    "exim_msg_size": "exim.log.message.size", "exim_header_id": "exim.log.header_id",
    "exim_subject": "exim.log.message.subject",
}  # fmt: skip

_RAILS = {
    "RUUID": r"(?<![0-9A-Fa-f])[0-9A-Fa-f]{32}",
    "RCONTROLLER": r"(?<![^\s#])(?<controller>[^\s#]+)#(?<action>\w+)",
    "RAILS3HEAD": r'Started %{WORD:verb} "%{URIPATHPARAM:request}" for %{IPORHOST:clientip} at '
    r"(?<timestamp>%{YEAR}-%{MONTHNUM}-%{MONTHDAY} %{HOUR}:%{MINUTE}:%{SECOND} %{ISO8601_TIMEZONE})",
    "RPROCESSING": r"(?<!\W)\W*Processing by %{RCONTROLLER} as (?<format>\S*)"
    r"(?:\W*Parameters: \{(?<params>[^\n]*)\}\W*)?",
    "RAILS3PROFILE": r"(?:\((?:Views: %{NUMBER:viewms}ms \| )?ActiveRecord: %{NUMBER:activerecordms}ms)?",
    "RAILS3FOOT": r"Completed %{POSINT:response}(?:(?! in [0-9])[^\n])*+ in %{NUMBER:totalms}ms ?%{RAILS3PROFILE}"
    r"%{GREEDYDATA}",
    "RAILS3": r"%{RAILS3HEAD}(?:%{RPROCESSING})?(?<context>(?:(?!Completed )[^\n]*\n)*+)(?:%{RAILS3FOOT})?",
}
_RAILS_FIELDS = {
    "controller": "rails.controller.class", "action": "rails.controller.action", "verb": "http.request.method",
    "request": "url.original", "clientip": "source.address", "format": "rails.request.format",
    "params": "rails.request.params", "response": "http.response.status_code",
    "totalms": "rails.request.duration.total", "viewms": "rails.request.duration.view",
    "activerecordms": "rails.request.duration.active_record", "context": "rails.request.explain.original",
}  # fmt: skip

_TOMCAT = {
    "JAVATHREAD": r"[A-Z]{2}-Processor[0-9]+",
    "JAVALOGMESSAGE": r"%{GREEDYDATA}",
    "CATALINA7_DATESTAMP": r"%{MONTH} %{MONTHDAY}, %{YEAR} %{HOUR}:%{MINUTE}:%{SECOND} [AP]M",
    "CATALINA7_LOG": r"%{CATALINA7_DATESTAMP:timestamp} %{JAVACLASS:class}(?: %{JAVAMETHOD:method})?(?!\S)\s*"
    r"(?:%{LOGLEVEL:level}: )?%{JAVALOGMESSAGE:logmessage}",
    "CATALINA8_DATESTAMP": r"%{MONTHDAY}-%{MONTH}-%{YEAR} %{HOUR}:%{MINUTE}:%{SECOND}",
    "CATALINA8_LOG": r"%{CATALINA8_DATESTAMP:timestamp} %{LOGLEVEL:level} \[(?<thread>[^\]]*)\] "
    r"%{JAVACLASS:class}\.(?:%{JAVAMETHOD:method})? %{JAVALOGMESSAGE:logmessage}",
    "CATALINA_DATESTAMP": r"%{CATALINA8_DATESTAMP}|%{CATALINA7_DATESTAMP}",
    "CATALINALOG": r"%{CATALINA8_LOG}|%{CATALINA7_LOG}",
    "TOMCAT7_LOG": r"%{CATALINA7_LOG}",
    "TOMCAT8_LOG": r"%{CATALINA8_LOG}",
    "TOMCATLEGACY_DATESTAMP": r"%{YEAR}-%{MONTHNUM}-%{MONTHDAY} %{HOUR}:%{MINUTE}:%{SECOND}(?: %{ISO8601_TIMEZONE})?",
    "TOMCATLEGACY_LOG": r"%{TOMCATLEGACY_DATESTAMP:timestamp} \| %{LOGLEVEL:level} \| %{JAVACLASS:class} - "
    r"%{JAVALOGMESSAGE:logmessage}",
    "TOMCAT_DATESTAMP": r"%{CATALINA8_DATESTAMP}|%{CATALINA7_DATESTAMP}|%{TOMCATLEGACY_DATESTAMP}",
    "TOMCATLOG": r"%{TOMCAT8_LOG}|%{TOMCAT7_LOG}|%{TOMCATLEGACY_LOG}",
}
_TOMCAT_FIELDS = {
    "class": "java.log.origin.class.name", "method": "log.origin.function", "level": "log.level",
    "logmessage": "message", "thread": "java.log.origin.thread.name",
}  # fmt: skip

_MAVEN = {
    "MAVEN_VERSION": r"(?<![0-9])(?:[0-9]+\.){0,2}(?:\*|[0-9]+)(?:[.-](?:RELEASE|SNAPSHOT))?",
}
_MCOLLECTIVE = {
    "MCOLLECTIVE": r"., \[%{TIMESTAMP_ISO8601:timestamp} #%{POSINT:pid}\] *%{LOGLEVEL:event_level}",
    "MCOLLECTIVEAUDIT": r"%{TIMESTAMP_ISO8601:timestamp}:",
}
_PAM = {
    "SYSLOGPAMSESSION": r"%{SYSLOGBASE} (?=%{GREEDYDATA:message})%{WORD:pam_module}\((?<pam_caller>[^()]*)\): session "
    r"%{WORD:pam_session_state} for user %{USERNAME:username}(?:\(uid=[0-9]+\))?(?: by (?<pam_by>[^\n]*))?",
}
_PAM_FIELDS = {
    "pam_module": "system.auth.pam.module", "pam_caller": "system.auth.pam.origin",
    "pam_session_state": "system.auth.pam.session_state", "username": "user.name", "pam_by": "system.auth.pam.by",
}  # fmt: skip

APPLICATIONS = (
    Family(_EXIM, _EXIM_FIELDS),
    Family(_RAILS, _RAILS_FIELDS),
    Family(_TOMCAT, _TOMCAT_FIELDS),
    Family(_MAVEN, {}),
    Family(_MCOLLECTIVE, {"pid": "process.pid", "event_level": "log.level"}),
    Family(_PAM, _PAM_FIELDS),
)
