"""
Patterns of lines that Nagios and Bacula write.

They have the names and the captures of Logstash's patterns, and are written anew for `re`, without nested repetition.
"""

from decorators.grok.family import Family

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

MONITORING = (Family(_OF_NAGIOS, _NAGIOS_FIELDS), Family(_OF_BACULA, _BACULA_FIELDS))
