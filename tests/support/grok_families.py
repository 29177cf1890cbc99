"""Lines of monitoring, packet filters and applications with what the known patterns of grok capture in them."""

MARK = "MAC=00:50:56:40:91:b4:00:50:56:40:91:b5:08:00 "
NETFILTER = (
    f"IN=eth2 OUT=eth2 {MARK}SRC=10.1.1.1 DST=10.2.2.2 LEN=141 TOS=0x00 PREC=0x00 TTL=63 ID=55251 DF PROTO=UDP "
    "SPT=5353 DPT=5335"
)
IN_NETFILTER = {
    "nf_in_interface": "eth2", "nf_out_interface": "eth2", "nf_dst_mac": "00:50:56:40:91:b4",
    "nf_src_mac": "00:50:56:40:91:b5", "nf_src_ip": "10.1.1.1", "nf_dst_ip": "10.2.2.2", "nf_len": "141",
    "nf_tos": "0x00", "nf_prec": "0x00", "nf_ttl": "63", "nf_id": "55251", "nf_fragment": "DF", "nf_protocol": "UDP",
    "nf_src_port": "5353", "nf_dst_port": "5335",
}  # fmt: skip
FLOW = {
    "src-ip": "10.10.10.2", "src-port": "53836", "dst-ip": "10.10.10.1", "dst-port": "22", "service": "junos-ssh",
}  # fmt: skip
NAT = {"nat-src-ip": "10.10.10.2", "nat-src-port": "53836", "nat-dst-ip": "10.10.10.1", "nat-dst-port": "22"}
POLICY = {
    "protocol-id": "6", "policy-name": "log-host", "from-zone": "untrust", "to-zone": "junos-host", "session-id": "5",
}  # fmt: skip
NETSCREEN = (
    "Jun  2 14:53:31 fw00 aka1: NetScreen device_id=aka1  [Root]system-notification-00257(traffic): "
    'start_time="2006-06-02 14:53:30" duration=1 policy_id=119 service=udp/port:7001 proto=17 src zone=Trust '
    "dst zone=DMZ action=Permit sent=1106 rcvd=160 src=10.14.94.221 dst=10.14.98.107"
)
IN_NETSCREEN = {
    "date": "Jun  2 14:53:31", "device": "fw00", "name": "aka1", "device_id": "aka1", "code": "00257",
    "type": "traffic", "start_time": "2006-06-02 14:53:30", "duration": "1", "policy_id": "119",
    "service": "udp/port:7001", "proto": "17", "src_zone": "Trust", "dst_zone": "DMZ", "action": "Permit",
    "sent": "1106", "rcvd": "160", "src_ip": "10.14.94.221", "dst_ip": "10.14.98.107",
}  # fmt: skip
ARRIVED = "1Ov4tU-0000Nz-Rm <= list@domain.example"
ZEEK = "1432555199.633017\tCOpk6E\t192.168.9.35\t55281\t2001:db8::1\t80\t"
IN_ZEEK = {
    "ts": "1432555199.633017", "uid": "COpk6E", "orig_h": "192.168.9.35", "orig_p": "55281", "resp_h": "2001:db8::1",
    "resp_p": "80",
}  # fmt: skip
DNS = "a.test\t1\tC_INTERNET\t-\t-\t0\tNOERROR\tF\tF\tT\tT\t0\t192.0.2.1,192.0.2.2\t300.0,300.0\tF"
IN_DNS = {
    "query": "a.test", "qclass": "1", "qclass_name": "C_INTERNET", "rcode": "0", "rcode_name": "NOERROR", "AA": "F",
    "TC": "F", "RD": "T", "RA": "T", "Z": "0", "answers": "192.0.2.1,192.0.2.2", "TTLs": "300.0,300.0", "rejected": "F",
}  # fmt: skip
FILES = (
    "CjhGID4\tHTTP\t0\tMD5,SHA1\ttext/html\t-\t0.000004\t-\tF\t51\t-\t0\t0\tF\t-\td41d8\tda39a\t-\t-"
)  # fmt: skip
IN_FILES = {
    "ts": "1362692527.009", "fuid": "FUEF95", "tx_hosts": "192.0.2.7", "rx_hosts": "192.0.2.8,192.0.2.9",
    "conn_uids": "CjhGID4", "source": "HTTP", "depth": "0", "analyzers": "MD5,SHA1", "mime_type": "text/html",
    "duration": "0.000004", "is_orig": "F", "seen_bytes": "51", "missing_bytes": "0", "overflow_bytes": "0",
    "timedout": "F", "md5": "d41d8", "sha1": "da39a",
}  # fmt: skip
FILES_HEAD = "1362692527.009\tFUEF95\t192.0.2.7\t192.0.2.8,192.0.2.9\t"


def nagios(kind, **fields):
    return {"nagios_epoch": "1427925600", "nagios_type": kind} | {f"nagios_{key}": text for key, text in fields.items()}


LINES = [
    (
        "CISCOFW713172",
        ("Group = 192.0.2.245, IP = 192.0.2.246, Automatic NAT Detection Status:  Remote end is NOT behind a NAT device"
        "    This  end  IS  behind a NAT device"),
        {
            "group": "192.0.2.245", "src_ip": "192.0.2.246", "is_remote_natted": "is NOT", "is_local_natted": "IS",
        },
    ),
    # the examples of logstash-patterns-core 4.3.1, with other names
    (
        "NAGIOSLOGLINE",
        "[1427925600] CURRENT SERVICE STATE: web;SSH;OK;HARD;1;SSH OK; x",
        nagios(
            "CURRENT SERVICE STATE", hostname="web", service="SSH", state="OK", statetype="HARD", statecode="1",
            message="SSH OK; x",
        ),
    ),
    (
        "NAGIOSLOGLINE",
        "[1427925600] HOST NOTIFICATION: ann;web;DOWN;notify-by-email;CRITICAL",
        nagios(
            "HOST NOTIFICATION", notifyname="ann", hostname="web", state="DOWN", contact="notify-by-email",
            message="CRITICAL",
        ),
    ),
    (
        "NAGIOSLOGLINE",
        "[1427925600] SERVICE EVENT HANDLER: web;ssh;CRITICAL;SOFT;2;restart",
        nagios(
            "SERVICE EVENT HANDLER", hostname="web", service="ssh", state="CRITICAL", statelevel="SOFT", attempt="2",
            event_handler_name="restart",
        ),
    ),
    (
        "NAGIOSLOGLINE",
        "[1427925600] TIMEPERIOD TRANSITION: 24X7;-1;1",
        nagios("TIMEPERIOD TRANSITION", service="24X7", unknown1="-1", unknown2="1"),
    ),
    (
        "NAGIOSLOGLINE",
        "[1427925600] EXTERNAL COMMAND: SCHEDULE_HOST_DOWNTIME;web;1;2;1;0;60;ann;why",
        nagios(
            "EXTERNAL COMMAND", command="SCHEDULE_HOST_DOWNTIME", hostname="web", start_time="1", end_time="2",
            fixed="1", trigger_id="0", duration="60",
        ) | {"author": "ann", "comment": "why"},
    ),
    ("NAGIOSLOGLINE", "[1427925600] Warning:  x", {"nagios_epoch": "1427925600", "nagios_message": "x"}),
    (
        "BACULA_LOGLINE",
        '25-Aug 10:50 bacula-sd JobId 24: Labeled new Volume "Vol-0018" on device "Dev1" (/opt/bacula/disk).',
        {
            "bts": "25-Aug 10:50", "hostname": "bacula-sd", "jobid": "24", "volume": "Vol-0018", "device": "Dev1",
            "devicepath": "/opt/bacula/disk",
        },
    ),
    (
        "BACULA_LOGLINE",
        '24-Feb 16:36 web-fd JobId 3:      Could not open directory "/root": ERR=Permission denied',
        {
            "bts": "24-Feb 16:36", "hostname": "web-fd", "jobid": "3", "path": "/root", "berror": "Permission denied",
        },
    ),
    (
        "BACULA_LOG_END_VOLUME",
        'End of medium on Volume "TestShortZN0014" Bytes=5,228,777 Blocks=82 at 21-Dec-2016 12:30.',
        {
            "volume": "TestShortZN0014", "volume_bytes": "5,228,777", "volume_blocks": "82",
            "volume_time": "21-Dec-2016 12:30",
        },
    ),
    (
        "BRO_HTTP",
        f"{ZEEK}4\tPOST\ta.test\t/x?y\t-\tCurl (W)\t223\t1859\t200\tOK\t-\t-\t-\t(empty)\tann\t-\t-\tFrL\ttext/a\t-\t-",
        IN_ZEEK | {
            "trans_depth": "4", "method": "POST", "domain": "a.test", "uri": "/x?y", "user_agent": "Curl (W)",
            "request_body_len": "223", "response_body_len": "1859", "status_code": "200", "status_msg": "OK",
            "username": "ann", "orig_fuids": "FrL", "orig_mime_types": "text/a",
        },
    ),
    (
        "ZEEK_HTTP",
        f"{ZEEK}1\t-\t-\t-\t-\t1.1\t-\t-\t0\t471\t200\tOK\t-\t-\t(empty)\t-\t-\t-\t-\t-\t-\tFPG\t-\tapplication/ocsp-response",
        IN_ZEEK | {
            "trans_depth": "1", "version": "1.1", "request_body_len": "0", "response_body_len": "471",
            "status_code": "200", "status_msg": "OK", "resp_fuids": "FPG",
            "resp_mime_types": "application/ocsp-response",
        },
    ),
    ("BRO_DNS", f"{ZEEK}udp\t3648\t{DNS}", IN_ZEEK | IN_DNS | {"proto": "udp", "trans_id": "3648"}),
    ("ZEEK_DNS", f"{ZEEK}udp\t-\t0.03\t{DNS}", IN_ZEEK | IN_DNS | {"proto": "udp", "rtt": "0.03"}),
    (
        "BRO_CONN",
        f"{ZEEK}tcp\t-\t-\t-\t-\tS0\t-\t0\tS\t1\t64\t0\t0\t(empty)",
        IN_ZEEK | {
            "proto": "tcp", "conn_state": "S0", "missed_bytes": "0", "history": "S", "orig_pkts": "1",
            "orig_ip_bytes": "64", "resp_pkts": "0", "resp_ip_bytes": "0",
        },
    ),
    (
        "ZEEK_CONN",
        f"{ZEEK}udp\tdns\t0.32\t94\t316\tSF\tT\tF\t0\tDd\t2\t150\t2\t372\t-\t00:50:56:40:91:b4\t00:50:56:40:91:b5",
        IN_ZEEK | {
            "proto": "udp", "service": "dns", "duration": "0.32", "orig_bytes": "94", "resp_bytes": "316",
            "conn_state": "SF", "local_orig": "T", "local_resp": "F", "missed_bytes": "0", "history": "Dd",
            "orig_pkts": "2", "orig_ip_bytes": "150", "resp_pkts": "2", "resp_ip_bytes": "372",
            "orig_l2_addr": "00:50:56:40:91:b4", "resp_l2_addr": "00:50:56:40:91:b5",
        },
    ),
    ("BRO_FILES", FILES_HEAD + FILES, IN_FILES),
    ("ZEEK_FILES", f"{FILES_HEAD}{FILES}\tF\t9", IN_FILES | {"extracted_cutoff": "F", "extracted_size": "9"}),
    (
        "SHOREWALL",
        f"May 28 17:23:25 web_1 kernel: [3124658.7] Shorewall:FORWARD:REJECT:{NETFILTER}",
        IN_NETFILTER | {
            "timestamp": "May 28 17:23:25", "nf_host": "web_1", "nf_action1": "FORWARD", "nf_action2": "REJECT",
        },
    ),
    (
        "SFW2",
        ("2026-01-29T00:00:28+01:00 web kernel: SFW2-INext-DROP-DEFLT IN=eth1 OUT= MAC= SRC=2001:db8::1 DST=ff02::1 "
        "LEN=104 TC=0 HOPLIMIT=255 FLOWLBL=0 PROTO=ICMPv6"),
        {
            "timestamp": "2026-01-29T00:00:28+01:00", "nf_host": "web", "nf_action": "DROP-DEFLT",
            "nf_in_interface": "eth1", "nf_src_ip": "2001:db8::1", "nf_dst_ip": "ff02::1", "nf_len": "104",
            "nf_tos": "0", "nf_ttl": "255", "nf_flow_label": "0", "nf_protocol": "ICMPv6",
        },
    ),
    ("IPTABLES", NETFILTER, IN_NETFILTER),
    (
        "RT_FLOW1",
        ("RT_FLOW_SESSION_CLOSE: session closed TCP FIN: 10.10.10.2/53836->10.10.10.1/22 junos-ssh "
        "10.10.10.2/53836->10.10.10.1/22 None None 6 log-host untrust junos-host 5 78(6657) 122(13305) 45 UNKNOWN"),
        FLOW | NAT | POLICY | {
            "event": "RT_FLOW_SESSION_CLOSE", "close-reason": "session closed TCP FIN", "sent": "6657",
            "received": "13305", "elapsed-time": "45",
        },
    ),
    (
        "RT_FLOW2",
        ("RT_FLOW_SESSION_CREATE: session created 10.10.10.2/53836->10.10.10.1/22 junos-ssh "
        "10.10.10.2/53836->10.10.10.1/22 src1 None 6 log-host untrust junos-host 5 N/A(N/A) ge-0/0/1.0"),
        FLOW | NAT | POLICY | {"event": "RT_FLOW_SESSION_CREATE", "src-nat-rule-name": "src1"},
    ),
    (
        "RT_FLOW3",
        ("RT_FLOW_SESSION_DENY: session denied 10.10.10.2/53836->10.10.10.1/22 junos-ssh 17(0) default-deny(global) "
        "trust trust UNKNOWN UNKNOWN N/A(N/A) ge-0/0/0.0"),
        FLOW | {
            "event": "RT_FLOW_SESSION_DENY", "protocol-id": "17", "policy-name": "default-deny(global)",
            "from-zone": "trust", "to-zone": "trust",
        },
    ),
    (
        "NETSCREENSESSIONLOG",
        (f"{NETSCREEN} src_port=35250 dst_port=7001 src-xlated ip=10.14.93.7 port=8228 dst-xlated ip=192.0.2.1 port=25 "
        "session_id=2 reason=Close - AGE OUT"),
        IN_NETSCREEN | {
            "src_port": "35250", "dst_port": "7001", "src_xlated_ip": "10.14.93.7", "src_xlated_port": "8228",
            "dst_xlated_ip": "192.0.2.1", "dst_xlated_port": "25", "session_id": "2", "reason": "Close - AGE OUT",
        },
    ),
    ("NETSCREENSESSIONLOG", NETSCREEN, IN_NETSCREEN),
    (
        "EXIM",
        (f"2010-09-13 05:00:13 [1487] {ARRIVED} H=mail.test (helo.test) [192.0.2.2]:51792 I=[192.0.2.175]:25 P=esmtps "
        'X=TLSv1:AES256-SHA:256 CV=no S=21778 id=3@a.test T="Daily \\"List\\": x" from <b@a.test> for c@a.test'),
        {
            "timestamp": "2010-09-13 05:00:13", "pid": "1487", "exim_msgid": "1Ov4tU-0000Nz-Rm", "exim_flags": "<=",
            "exim_sender_email": "list@domain.example", "remote_hostname": "mail.test", "remote_heloname": "helo.test",
            "remote_host": "192.0.2.2", "remote_port": "51792", "exim_interface": "192.0.2.175",
            "exim_interface_port": "25", "protocol": "esmtps", "exim_msg_size": "21778", "exim_header_id": "3@a.test",
            "exim_subject": 'Daily \\"List\\": x', "exim_original_sender": "b@a.test",
            "exim_recipient_email": "c@a.test",
        },
    ),
    (
        "EXIM",
        "2026-02-11 17:09:46 1tkKuL-00000001abc-2Xyz <= <> R=1j1Z2g-00Faoy-Uh U=Debian-exim P=local S=1800",
        {
            "timestamp": "2026-02-11 17:09:46", "exim_msgid": "1tkKuL-00000001abc-2Xyz", "exim_flags": "<=",
            "protocol": "local", "exim_msg_size": "1800",
        },
    ),
    (
        "RAILS3",
        ('Started GET "/notes?id=162" for 127.0.0.1 at 2015-08-05 07:40:22 +0200\nProcessing by A::NoteController#list '
        'as JSON\n  Parameters: {"id"=>"162", "b"=>{"c"=>"x"}}\nRendered a (1ms)\n'
        "Completed 200 OK in 640ms (Views: 1.7ms | ActiveRecord: 91.0ms)"),
        {
            "verb": "GET", "request": "/notes?id=162", "clientip": "127.0.0.1",
            "timestamp": "2015-08-05 07:40:22 +0200", "controller": "A::NoteController", "action": "list",
            "format": "JSON", "params": '"id"=>"162", "b"=>{"c"=>"x"}', "context": "Rendered a (1ms)\n",
            "response": "200", "totalms": "640", "viewms": "1.7", "activerecordms": "91.0",
        },
    ),
    (
        "CATALINALOG",
        "Jan 9, 2014 7:13:13 AM org.apache.catalina.startup.HostConfig deployDirectory\nINFO: Deploying x",
        {
            "timestamp": "Jan 9, 2014 7:13:13 AM", "class": "org.apache.catalina.startup.HostConfig",
            "method": "deployDirectory", "level": "INFO", "logmessage": "Deploying x",
        },
    ),
    (
        "TOMCATLOG",
        "31-Jul-2020 16:40:38.578 SEVERE [http-nio-8080-exec-1] org.apache.catalina.core.Valve.invoke Servlet threw",
        {
            "timestamp": "31-Jul-2020 16:40:38.578", "level": "SEVERE", "thread": "http-nio-8080-exec-1",
            "class": "org.apache.catalina.core.Valve", "method": "invoke", "logmessage": "Servlet threw",
        },
    ),
    (
        "TOMCATLOG",
        "2014-01-09 20:03:28,269 -0800 | ERROR | com.example.service.ExampleService - something happened",
        {
            "timestamp": "2014-01-09 20:03:28,269 -0800", "level": "ERROR",
            "class": "com.example.service.ExampleService", "logmessage": "something happened",
        },
    ),
    (
        "MCOLLECTIVE",
        "I, [2010-12-29T11:15:32.321744 #11479]  INFO",
        {"timestamp": "2010-12-29T11:15:32.321744", "pid": "11479", "event_level": "INFO"},
    ),
    ("MCOLLECTIVEAUDIT", "2010-12-29T11:15:32.321744:", {"timestamp": "2010-12-29T11:15:32.321744"}),
    (
        "SYSLOGPAMSESSION",
        "Nov 14 13:54:05 web sshd[1234]: pam_unix(sshd:session): session opened for user root(uid=0) by (uid=0)",
        {
            "timestamp": "Nov 14 13:54:05", "logsource": "web", "program": "sshd", "pid": "1234",
            "message": "pam_unix(sshd:session): session opened for user root(uid=0) by (uid=0)",
            "pam_module": "pam_unix", "pam_caller": "sshd:session", "pam_session_state": "opened", "username": "root",
            "pam_by": "(uid=0)",
        },
    ),
]  # fmt: skip
"""Name of a pattern, a whole line, its captures."""

_STATES = {
    "CURRENT_SERVICE_STATE": "h;s;OK;HARD;1;x", "CURRENT_HOST_STATE": "h;UP;HARD;1;x",
    "SERVICE_NOTIFICATION": "ann;h;s;OK;mail;x", "HOST_NOTIFICATION": "ann;h;UP;mail;x",
    "SERVICE_ALERT": "h;s;OK;SOFT;1;x", "HOST_ALERT": "h;UP;SOFT;1;x", "SERVICE_FLAPPING_ALERT": "h;s;STARTED;x",
    "HOST_FLAPPING_ALERT": "h;STARTED;x", "SERVICE_DOWNTIME_ALERT": "h;s;STARTED;x",
    "HOST_DOWNTIME_ALERT": "h;STARTED;x", "PASSIVE_SERVICE_CHECK": "h;s;0;x", "PASSIVE_HOST_CHECK": "h;0;x",
    "SERVICE_EVENT_HANDLER": "h;s;OK;SOFT;x", "HOST_EVENT_HANDLER": "h;UP;SOFT;1;x",
    "TIMEPERIOD_TRANSITION": "24X7;-1;1",
}  # fmt: skip
_COMMANDS = {
    "DISABLE_SVC_CHECK": "h;s", "ENABLE_SVC_CHECK": "h;s", "DISABLE_HOST_CHECK": "h", "ENABLE_HOST_CHECK": "h",
    "PROCESS_SERVICE_CHECK_RESULT": "h;s;0;x", "PROCESS_HOST_CHECK_RESULT": "h;0;x",
    "SCHEDULE_HOST_DOWNTIME": "h;1;2;1;0;60;ann;x", "DISABLE_HOST_SVC_NOTIFICATIONS": "h",
    "ENABLE_HOST_SVC_NOTIFICATIONS": "h", "DISABLE_HOST_NOTIFICATIONS": "h", "ENABLE_HOST_NOTIFICATIONS": "h",
    "DISABLE_SVC_NOTIFICATIONS": "h;s", "ENABLE_SVC_NOTIFICATIONS": "h;s",
}  # fmt: skip
_BACULA = {
    "MAX_CAPACITY": 'User defined maximum volume capacity 108,372 exceeded on device "F" (/var/bac).',
    "NEW_VOLUME": 'Created new Volume="Full-8812", Pool="FullFile", MediaType="FullFile" in catalog.',
    "NEW_LABEL": 'Labeled new Volume "V-18" on file device "D" (/opt).',
    "WROTE_LABEL": 'Wrote label to prelabeled Volume "V01" on device "D01" (/dev/nst0)',
    "NEW_MOUNT": 'New volume "D-4861" mounted on device "v-1" (/usr/bac) at 24-Aug-2015 01:54.',
    "NOOPEN": "Cannot open /a b: ERR=No such file", "NOOPENDIR": "Could not open directory /a: ERR=x",
    "NOSTAT": "Could not stat /a: ERR=x",
    "NOJOBS": 'There are no more Jobs associated with Volume "V". Marking it purged.',
    "ALL_RECORDS_PRUNED": 'All records pruned from Volume "V"; marking it "Purged"',
    "BEGIN_PRUNE_JOBS": "Begin pruning Jobs older than 1 month 27 days .",
    "BEGIN_PRUNE_FILES": "Begin pruning Files.", "PRUNED_JOBS": "Pruned 2 Jobs for client web-fd from catalog.",
    "PRUNED_FILES": "Pruned Files from 1 Jobs for client web-fd from catalog.", "ENDPRUNE": "End auto prune.",
    "STARTJOB": "Start Backup JobId 7, Job=web.2015-08-24_01.54", "STARTRESTORE": "Start Restore Job web.2015",
    "USEDEVICE": 'Using Device "vDrive-1"',
    "DIFF_FS": "/sys is a different filesystem. Will not descend from / into it.",
    "JOBEND": "Job write elapsed time = 00:00:28, Transfer rate = 1.5 M Bytes/second",
    "NOPRUNE_JOBS": "No Jobs found to prune.", "NOPRUNE_FILES": "No Files found to prune.",
    "VOLUME_PREVWRITTEN": 'Volume "V" previously written, moving to end of data.',
    "READYAPPEND": 'Ready to append to end of Volume "V" size=78', "CANCELLING": "Cancelling duplicate JobId=7.",
    "MARKCANCEL": "JobId 7, Job web.2015 marked to be canceled.",
    "CLIENT_RBJ": 'shell command: run ClientRunBeforeJob "/bin/a "b""', "VSS": "Generate VSS Writer",
    "MAXSTART": "Fatal error: Job canceled because max start delay time exceeded.",
    "DUPLICATE": "Fatal Error: JobId 7 already running. Duplicate job not allowed.",
    "NOJOBSTAT": "Fatal error: No Job status returned from FD.",
    "FATAL_CONN": "Fatal error: bsock.c:133 Unable to connect to Client: web-fd on 192.0.2.1:9102. ERR=x",
    "NO_CONNECT": "Warning: bsock.c:127 Could not connect to Storage daemon on web.test:9103. ERR=x",
    "NO_AUTH": 'Fatal error: Unable to authenticate with File daemon at "web.test:9102". Possible causes:',
    "NOSUIT": "No prior or suitable Full backup found in catalog. Doing FULL backup.",
    "NOPRIOR": "No prior Full backup Job record found.", "JOB": "Error: Bacula web-dir 5.2.6 (21Feb12):",
}  # fmt: skip

PARTS = {
    "NAGIOSTIME": "[1427925600]", "NAGIOS_WARNING": "Warning: x", "NAGIOS_TYPE_EXTERNAL_COMMAND": "EXTERNAL COMMAND",
    "NAGIOS_EC_SCHEDULE_SERVICE_DOWNTIME": "SCHEDULE_SERVICE_DOWNTIME",
    **{f"NAGIOS_TYPE_{name}": name.replace("_", " ") for name in _STATES},
    **{f"NAGIOS_{name}": f"{name.replace('_', ' ')}: {fields}" for name, fields in _STATES.items()},
    **{f"NAGIOS_EC_{name}": name for name in _COMMANDS},
    **{f"NAGIOS_EC_LINE_{name}": f"EXTERNAL COMMAND: {name};{fields}" for name, fields in _COMMANDS.items()},
    "BACULA_TIMESTAMP": "25-Aug 10:50", "BACULA_HOST": "web-fd", "BACULA_VOLUME": "V-1", "BACULA_DEVICE": "D",
    "BACULA_DEVICEPATH": "/opt/bacula", "BACULA_CAPACITY": "108,372", "BACULA_VERSION": "5.2.6", "BACULA_JOB": "a.b",
    "BACULA_LOG": "25-Aug 10:50 web-dir: End auto prune.",
    **{f"BACULA_LOG_{name}": text for name, text in _BACULA.items()},
    "BRO_BOOL": "T", "BRO_DATA": "a b", "ZEEK_BOOL": "F", "ZEEK_DATA": "a b", "ZEEK_FILES_TX_HOSTS": "192.0.2.1",
    "ZEEK_FILES_RX_HOSTS": "192.0.2.1,::1", "IPTABLES4_FRAG": "CE DF", "IPTABLES_TCP_FLAGS": "ACK PSH ",
    "IPTABLES_TCP_PART": "SEQ=1 ACK=2 WINDOW=3 RES=0x00 ACK ", "IPTABLES4_PART": "SRC=10.0.0.1 DST=10.0.0.2 LEN=1",
    "IPTABLES6_PART": "SRC=::1 DST=::2 LEN=1 TC=0 HOPLIMIT=255 FLOWLBL=0", "SFW2_LOG_PREFIX": "SFW2-INext-DROP",
    "RT_FLOW_TAG": "RT_FLOW_SESSION_CLOSE",
    "RT_FLOW_EVENT": "RT_FLOW_SESSION_DENY", "EXIM_MSGID": "1Ov4tU-0000Nz-Rm", "EXIM_FLAGS": "=>",
    "EXIM_DATE": "2010-09-13 05:00:13 +0200", "EXIM_PID": "[1487]", "EXIM_QT": "2d3h4m",
    "EXIM_EXCLUDE_TERMS": "Message is frozen", "EXIM_REMOTE_HOST": "H=a.test [192.0.2.2]:5",
    "EXIM_INTERFACE": "I=[::1]:25", "EXIM_PROTOCOL": "P=esmtp", "EXIM_MSG_SIZE": "S=7", "EXIM_HEADER_ID": "id=a@b",
    "EXIM_QUOTED_CONTENT": r"a \"b\"", "EXIM_SUBJECT": r'T="a \"b\""', "EXIM_UNKNOWN_FIELD": 'DN="CN=a b"',
    "EXIM_NAMED_FIELDS": " U=a P=local S=7", "EXIM_MESSAGE_ARRIVAL": f"2010-09-13 05:00:13 {ARRIVED}",
    "RUUID": "0123456789abcdef0123456789ABCDEF", "RCONTROLLER": "A::B#index",
    "RAILS3HEAD": 'Started GET "/" for ::1 at 2015-08-05 07:40:22 +0200', "RPROCESSING": "Processing by A#b as */*",
    "RAILS3PROFILE": "(ActiveRecord: 1.0ms", "RAILS3FOOT": "Completed 401 Unauthorized in 1ms",
    "JAVATHREAD": "TP-Processor12", "JAVALOGMESSAGE": "a b", "CATALINA7_DATESTAMP": "Jan 9, 2014 7:13:13 AM",
    "CATALINA7_LOG": "Jan 9, 2014 7:13:13 AM a.B c", "CATALINA8_DATESTAMP": "31-Jul-2020 16:40:38.578",
    "CATALINA8_LOG": "31-Jul-2020 16:40:38.578 INFO [main] a.B. c", "CATALINA_DATESTAMP": "31-Jul-2020 16:40:38.578",
    "TOMCAT7_LOG": "Jan 9, 2014 7:13:13 AM a.B c", "TOMCAT8_LOG": "31-Jul-2020 16:40:38.578 INFO [main] a.B.c d",
    "TOMCATLEGACY_DATESTAMP": "2014-01-09 20:03:28,269 -0800", "TOMCAT_DATESTAMP": "2014-01-09 20:03:28",
    "TOMCATLEGACY_LOG": "2014-01-09 20:03:28 | WARN | a.B - c", "MAVEN_VERSION": "1.2.3-SNAPSHOT",
}  # fmt: skip
"""Name of a pattern -> a text that it matches."""
