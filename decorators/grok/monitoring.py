"""
Patterns of lines that Nagios, Bacula and Zeek, formerly Bro, write.

They have the names and the captures of Logstash's patterns, and are written anew for `re`, without nested repetition.
"""

_NAGIOS = {
    "CURRENT_SERVICE_STATE": "hostname service state statetype statecode message",
    "CURRENT_HOST_STATE": "hostname state statetype statecode message",
    "SERVICE_NOTIFICATION": "notifyname hostname service state contact message",
    "HOST_NOTIFICATION": "notifyname hostname state contact message",
    "SERVICE_ALERT": "hostname service state statelevel attempt message",
    "HOST_ALERT": "hostname state statelevel attempt message",
    "SERVICE_FLAPPING_ALERT": "hostname service state message",
    "HOST_FLAPPING_ALERT": "hostname state message",
    "SERVICE_DOWNTIME_ALERT": "hostname service state comment",
    "HOST_DOWNTIME_ALERT": "hostname state comment",
    "PASSIVE_SERVICE_CHECK": "hostname service state comment",
    "PASSIVE_HOST_CHECK": "hostname state comment",
    "SERVICE_EVENT_HANDLER": "hostname service state statelevel attempt? event_handler_name",
    "HOST_EVENT_HANDLER": "hostname state statelevel attempt? event_handler_name",
    "TIMEPERIOD_TRANSITION": "service unknown1 unknown2",
}
"""Type of a line -> its fields, between semicolons."""
_COMMANDS = {
    "DISABLE_SVC_CHECK": "hostname service",
    "ENABLE_SVC_CHECK": "hostname service",
    "DISABLE_HOST_CHECK": "hostname",
    "ENABLE_HOST_CHECK": "hostname",
    "PROCESS_SERVICE_CHECK_RESULT": "hostname service state check_result",
    "PROCESS_HOST_CHECK_RESULT": "hostname state check_result",
    "SCHEDULE_HOST_DOWNTIME": "hostname start_time end_time fixed trigger_id duration :author :comment",
    "DISABLE_HOST_SVC_NOTIFICATIONS": "hostname",
    "ENABLE_HOST_SVC_NOTIFICATIONS": "hostname",
    "DISABLE_HOST_NOTIFICATIONS": "hostname",
    "ENABLE_HOST_NOTIFICATIONS": "hostname",
    "DISABLE_SVC_NOTIFICATIONS": "hostname service",
    "ENABLE_SVC_NOTIFICATIONS": "hostname service",
}
"""Name of an external command -> its fields."""


def _fields(names: str) -> str:
    def field(name: str) -> str:
        capture = name[1:] if name[0] == ":" else f"nagios_{name.rstrip('?')}"
        return rf"(?:(?<{capture}>[0-9]+);)?" if name[-1] == "?" else f"(?<{capture}>[^;]*);"

    *names_before, last = map(field, names.split())
    return "".join(names_before) + last.replace("[^;]*);", ".*)")


_LINES = {f"NAGIOS_{name}": f"%{{NAGIOS_TYPE_{name}:nagios_type}}: {_fields(names)}" for name, names in _NAGIOS.items()}
_COMMAND_LINES = {
    f"NAGIOS_EC_LINE_{name}": "%{NAGIOS_TYPE_EXTERNAL_COMMAND:nagios_type}: "
    f"%{{NAGIOS_EC_{name}:nagios_command}};{_fields(names)}"
    for name, names in _COMMANDS.items()
}
_OF_NAGIOS = {
    "NAGIOSTIME": r"\[%{NUMBER:nagios_epoch}\]",
    **{f"NAGIOS_TYPE_{name}": name.replace("_", " ") for name in (*_NAGIOS, "EXTERNAL_COMMAND")},
    **{f"NAGIOS_EC_{name}": name for name in (*_COMMANDS, "SCHEDULE_SERVICE_DOWNTIME")},
    "NAGIOS_WARNING": r"Warning:\s*%{GREEDYDATA:nagios_message}",
    **_LINES,
    **_COMMAND_LINES,
    "NAGIOSLOGLINE": "%{NAGIOSTIME} (?:%{NAGIOS_WARNING}|"
    + "|".join(f"%{{{name}}}" for name in (*_LINES, *_COMMAND_LINES))
    + ")",
}
_NAGIOS_FIELDS = {
    "nagios_epoch": "timestamp", "nagios_type": "nagios.log.type", "nagios_message": "message",
    "nagios_hostname": "host.hostname", "nagios_service": "service.name", "nagios_state": "service.state",
    "nagios_statetype": "nagios.log.state_type", "nagios_statelevel": "nagios.log.state_type",
    "nagios_statecode": "nagios.log.attempt", "nagios_attempt": "nagios.log.attempt",
    "nagios_notifyname": "user.name", "nagios_contact": "nagios.log.notification_command",
    "nagios_comment": "nagios.log.comment", "nagios_event_handler_name": "nagios.log.event_handler_name",
    "nagios_unknown1": "nagios.log.period_from", "nagios_unknown2": "nagios.log.period_to",
    "nagios_command": "nagios.log.command", "nagios_check_result": "nagios.log.check_result",
    "nagios_start_time": "nagios.log.start_time", "nagios_end_time": "nagios.log.end_time",
    "nagios_fixed": "nagios.log.fixed", "nagios_trigger_id": "nagios.log.trigger_id",
    "nagios_duration": "nagios.log.duration", "author": "user.name", "comment": "nagios.log.comment",
}  # fmt: skip

_ON_DEVICE = r' on (?:file )?device "%{BACULA_DEVICE:device}" \(%{BACULA_DEVICEPATH:devicepath}\)'
_FAILED = r'(?<path>(?:(?!"?: ERR=)[^\n])*+)"?: ERR=%{GREEDYDATA:berror}'
_VOLUME = 'Volume[ =]"?%{BACULA_VOLUME:volume}"?'
_CLIENT = r"(?:Client: %{BACULA_HOST:client}|Storage daemon) on %{IPORHOST:client_address}:%{POSINT:client_port}\. "
_BACULA = {
    "MAX_CAPACITY": rf"User defined maximum volume capacity %{{BACULA_CAPACITY:max_capacity}} exceeded{_ON_DEVICE}\.?",
    "END_VOLUME": rf"End of medium on {_VOLUME} Bytes=%{{BACULA_CAPACITY:volume_bytes}} "
    r"Blocks=%{BACULA_CAPACITY:volume_blocks} at %{BACULA_TIMESTAMP:volume_time}\.",
    "NEW_VOLUME": rf"Created new {_VOLUME}(?:, [^\n]*)? in catalog\.",
    "NEW_LABEL": rf"Labeled new {_VOLUME}{_ON_DEVICE}\.",
    "WROTE_LABEL": rf"Wrote label to prelabeled {_VOLUME}{_ON_DEVICE}",
    "NEW_MOUNT": rf'New volume "%{{BACULA_VOLUME:volume}}" mounted{_ON_DEVICE} at %{{BACULA_TIMESTAMP:volume_time}}\.',
    "NOOPEN": rf'Cannot open "?{_FAILED}',
    "NOOPENDIR": rf'Could not open directory "?{_FAILED}',
    "NOSTAT": rf'Could not stat "?{_FAILED}',
    "NOJOBS": rf"There are no more Jobs associated with {_VOLUME}\. Marking it purged\.",
    "ALL_RECORDS_PRUNED": rf'All records pruned from {_VOLUME}; marking it "Purged"',
    "BEGIN_PRUNE_JOBS": r"Begin pruning Jobs older than [0-9]+ months? [0-9]+ days? \.",
    "BEGIN_PRUNE_FILES": r"Begin pruning Files\.",
    "PRUNED_JOBS": r"Pruned [0-9]+ Jobs? for client %{BACULA_HOST:client} from catalog\.",
    "PRUNED_FILES": r"Pruned Files from [0-9]+ Jobs? for client %{BACULA_HOST:client} from catalog\.",
    "ENDPRUNE": r"End auto prune\.",
    "STARTJOB": r"Start Backup JobId [0-9]+, Job=%{BACULA_JOB:job}",
    "STARTRESTORE": r"Start Restore Job %{BACULA_JOB:job}",
    "USEDEVICE": r'Using Device "%{BACULA_DEVICE:device}"',
    "DIFF_FS": r"%{UNIXPATH} is a different filesystem\. Will not descend from %{UNIXPATH} into it\.",
    "JOBEND": r"Job write elapsed time = (?<elapsed>[0-9:]+), Transfer rate = [0-9.]+ [KMGT]? ?Bytes/second",
    "NOPRUNE_JOBS": r"No Jobs found to prune\.",
    "NOPRUNE_FILES": r"No Files found to prune\.",
    "VOLUME_PREVWRITTEN": rf"{_VOLUME} previously written, moving to end of data\.",
    "READYAPPEND": rf"Ready to append to end of {_VOLUME} size=%{{INT:volume_size}}",
    "CANCELLING": r"Cancelling duplicate JobId=%{INT:duplicate}\.",
    "MARKCANCEL": r"JobId %{INT:canceled}, Job %{BACULA_JOB:job} marked to be canceled\.",
    "CLIENT_RBJ": r'shell command: run ClientRunBeforeJob "(?<runjob>.*)"',
    "VSS": r"(?:Generate )?VSS (?:Writer)?",
    "MAXSTART": r"Fatal [eE]rror: Job canceled because max start delay time exceeded\.",
    "DUPLICATE": r"Fatal [eE]rror: JobId %{INT:duplicate} already running\. Duplicate job not allowed\.",
    "NOJOBSTAT": r"Fatal [eE]rror: No Job status returned from FD\.",
    "FATAL_CONN": rf"Fatal [eE]rror: bsock\.c:[0-9]+ Unable to connect to {_CLIENT}ERR=%{{GREEDYDATA:berror}}",
    "NO_CONNECT": rf"Warning: bsock\.c:[0-9]+ Could not connect to {_CLIENT}ERR=%{{GREEDYDATA:berror}}",
    "NO_AUTH": r"Fatal error: Unable to authenticate with File daemon at "
    r'"?%{IPORHOST:client_address}(?::%{POSINT:client_port})?"?\. Possible causes:',
    "NOSUIT": r"No prior or suitable Full backup found in catalog\. Doing FULL backup\.",
    "NOPRIOR": r"No prior Full backup Job record found\.",
    "JOB": r"(?:Error: )?Bacula %{BACULA_HOST} %{BACULA_VERSION} \(%{BACULA_VERSION}\):",
}
_OF_BACULA = {
    "BACULA_TIMESTAMP": r"%{MONTHDAY}-%{MONTH}(?:-%{YEAR})? %{HOUR}:%{MINUTE}",
    "BACULA_HOST": r"%{HOSTNAME}",
    "BACULA_VOLUME": r"%{USER}",
    "BACULA_DEVICE": r"%{USER}",
    "BACULA_DEVICEPATH": r"%{UNIXPATH}",
    "BACULA_CAPACITY": r"(?<![0-9,])[0-9]+(?:,[0-9]{3})*",
    "BACULA_VERSION": r"%{USER}",
    "BACULA_JOB": r"%{USER}",
    **{f"BACULA_LOG_{name}": pattern for name, pattern in _BACULA.items()},
    "BACULA_LOG": r"%{BACULA_TIMESTAMP:bts} %{BACULA_HOST:hostname}(?: JobId %{INT:jobid})?:?\s+(?:"
    + "|".join(f"%{{BACULA_LOG_{name}}}" for name in _BACULA)
    + ")",
    "BACULA_LOGLINE": r"%{BACULA_LOG}",
}
_BACULA_FIELDS = {
    "bts": "timestamp", "hostname": "host.hostname", "jobid": "bacula.job.id", "canceled": "bacula.job.id",
    "duplicate": "bacula.job.other_id", "job": "bacula.job.name", "elapsed": "bacula.job.elapsed_time",
    "runjob": "bacula.job.client_run_before_command", "client": "bacula.client.name", "volume": "bacula.volume.name",
    "device": "bacula.volume.device", "devicepath": "bacula.volume.path", "max_capacity": "bacula.volume.max_capacity",
    "volume_bytes": "bacula.volume.bytes", "volume_blocks": "bacula.volume.blocks",
    "volume_size": "bacula.volume.size", "volume_time": "bacula.timestamp", "path": "file.path",
    "berror": "error.message", "client_address": "client.address", "client_port": "client.port",
}  # fmt: skip

_TYPES = {
    "ts": "NUMBER", "uid": "NOTSPACE", "fuid": "NOTSPACE", "orig_h": "IP", "orig_p": "INT", "resp_h": "IP",
    "resp_p": "INT", "proto": "WORD", "local_orig": "ZEEK_BOOL", "local_resp": "ZEEK_BOOL", "missed_bytes": "INT",
    "conn_state": "WORD",
}  # fmt: skip
_ENDPOINTS = "ts uid orig_h orig_p resp_h resp_p"
_FILE = (
    "conn_uids source depth analyzers mime_type filename duration is_local is_orig seen_bytes total_bytes "
    "missing_bytes overflow_bytes timedout parent_fuid md5 sha1 sha256 extracted"
)

_ABSENT = r"(?:-|\(empty\))(?![^\t])"


def _columns(names: str) -> str:
    r"""Columns of a table with tabs; one of `-` or `(empty)` captures nothing. A column with a ? may be absent."""

    def column(name: str) -> str:
        kind = _TYPES.get(name.rstrip("?"))
        value = f"%{{{kind}:{name.rstrip('?')}}}" if kind else rf"(?<{name.rstrip('?')}>[^\t]*)"
        # what is absent is no value, too: if both could match, a line that fails would take 2^n of its n columns
        return rf"\t(?:{_ABSENT}|(?!{_ABSENT}){value})"

    pieces = [f"(?:{column(name)})?" if name[-1] == "?" else column(name) for name in names.split()]
    return "".join(pieces).removeprefix(r"\t")


def _hosts(name: str) -> str:
    return rf"\t(?:-|(?<{name}>%{{IP}}(?:[ ,]%{{IP}})*))"


_FILES = rf"%{{NUMBER:ts}}\t%{{NOTSPACE:fuid}}{_hosts('tx_hosts')}{_hosts('rx_hosts')}\t{_columns(_FILE)}"
_DNS = "query qclass qclass_name qtype qtype_name rcode rcode_name AA TC RD RA Z answers TTLs rejected"
_COUNTS = "history orig_pkts orig_ip_bytes resp_pkts resp_ip_bytes tunnel_parents"
_CONNECTION = f"{_ENDPOINTS} proto service duration orig_bytes resp_bytes conn_state local_orig"
_OF_ZEEK = {
    "BRO_BOOL": r"[TF]",
    "BRO_DATA": r"(?<![^\t])[^\t]+",
    "BRO_HTTP": _columns(
        f"{_ENDPOINTS} trans_depth method domain uri referrer user_agent request_body_len response_body_len "
        "status_code status_msg info_code info_msg filename bro_tags username password proxied orig_fuids "
        "orig_mime_types resp_fuids resp_mime_types"
    ),
    "BRO_DNS": _columns(f"{_ENDPOINTS} proto trans_id {_DNS}"),
    "BRO_CONN": _columns(f"{_CONNECTION} local_resp? missed_bytes {_COUNTS}"),
    "BRO_FILES": _FILES,
    "ZEEK_BOOL": r"%{BRO_BOOL}",
    "ZEEK_DATA": r"%{BRO_DATA}",
    "ZEEK_HTTP": _columns(
        f"{_ENDPOINTS} trans_depth method domain uri referrer version user_agent origin request_body_len "
        "response_body_len status_code status_msg info_code info_msg bro_tags username password proxied orig_fuids "
        "orig_filenames orig_mime_types resp_fuids resp_filenames resp_mime_types"
    ),
    "ZEEK_DNS": _columns(f"{_ENDPOINTS} proto trans_id rtt {_DNS}"),
    "ZEEK_CONN": _columns(f"{_CONNECTION} local_resp missed_bytes {_COUNTS} orig_l2_addr? resp_l2_addr?"),
    "ZEEK_FILES_TX_HOSTS": _hosts("tx_hosts").removeprefix(r"\t"),
    "ZEEK_FILES_RX_HOSTS": _hosts("rx_hosts").removeprefix(r"\t"),
    "ZEEK_FILES": _FILES + rf"(?:\t{_columns('extracted_cutoff extracted_size')})?",
}
_OF_CONNECTION = {
    name: f"zeek.connection.{name}"
    for name in ("duration", "orig_bytes", "resp_bytes", "local_orig", "local_resp", "missed_bytes", "history",
                 "tunnel_parents")
}  # fmt: skip
_ENDPOINT_FIELDS = {
    "ts": "timestamp", "uid": "zeek.session_id", "orig_h": "source.ip", "orig_p": "source.port",
    "resp_h": "destination.ip", "resp_p": "destination.port", "proto": "network.transport",
}  # fmt: skip
_HTTP_FIELDS = _ENDPOINT_FIELDS | {
    "method": "http.request.method", "domain": "url.domain", "uri": "url.original",
    "referrer": "http.request.referrer", "version": "http.version", "user_agent": "user_agent.original",
    "request_body_len": "http.request.body.bytes", "response_body_len": "http.response.body.bytes",
    "status_code": "http.response.status_code", "bro_tags": "zeek.http.tags", "username": "url.username",
    "password": "url.password", "orig_mime_types": "http.request.mime_type",
    "resp_mime_types": "http.response.mime_type",
} | {
    name: f"zeek.http.{name}"
    for name in ("trans_depth", "status_msg", "info_code", "info_msg", "filename", "proxied", "orig_fuids",
                 "resp_fuids", "origin", "orig_filenames", "resp_filenames")
}  # fmt: skip
_DNS_FIELDS = _ENDPOINT_FIELDS | {
    "trans_id": "dns.id", "query": "dns.question.name", "qtype_name": "dns.question.type",
    "rcode_name": "dns.response_code",
} | {
    name: f"zeek.dns.{name}"
    for name in ("rtt", "qclass", "qclass_name", "qtype", "rcode", "AA", "TC", "RD", "RA", "Z", "answers", "TTLs",
                 "rejected")
}  # fmt: skip
_CONNECTION_FIELDS = _ENDPOINT_FIELDS | _OF_CONNECTION | {
    "service": "network.protocol", "conn_state": "zeek.connection.state", "orig_pkts": "source.packets",
    "orig_ip_bytes": "source.bytes", "resp_pkts": "destination.packets", "resp_ip_bytes": "destination.bytes",
    "orig_l2_addr": "source.mac", "resp_l2_addr": "destination.mac",
}  # fmt: skip
_FILES_FIELDS = {name: f"zeek.files.{name}" for name in f"fuid {_FILE} extracted_cutoff extracted_size".split()} | {
    "ts": "timestamp", "tx_hosts": "server.ip", "rx_hosts": "client.ip", "conn_uids": "zeek.files.session_ids",
    "mime_type": "file.mime_type", "filename": "file.name", "is_local": "zeek.files.local_orig",
    "total_bytes": "file.size", "md5": "file.hash.md5", "sha1": "file.hash.sha1", "sha256": "file.hash.sha256",
}  # fmt: skip

MONITORING = {**_OF_NAGIOS, **_OF_BACULA, **_OF_ZEEK}
"""Name -> pattern."""
MONITORING_FIELDS = {
    "NAGIOS": _NAGIOS_FIELDS, "BACULA": _BACULA_FIELDS,
    **{f"{kind}_HTTP": _HTTP_FIELDS for kind in ("BRO", "ZEEK")},
    **{f"{kind}_DNS": _DNS_FIELDS for kind in ("BRO", "ZEEK")},
    **{f"{kind}_CONN": _CONNECTION_FIELDS for kind in ("BRO", "ZEEK")},
    **{f"{kind}_FILES": _FILES_FIELDS for kind in ("BRO", "ZEEK")},
}  # fmt: skip
"""Start of the names of patterns -> name of a capture -> field of ECS."""
