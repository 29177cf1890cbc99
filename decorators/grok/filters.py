"""
Patterns of lines that packet filters and firewalls write: netfilter, Shorewall, SuSE's firewall, Junos, NetScreen.

They have the names and the captures of Logstash's patterns, and are written anew for `re`, without nested repetition.
"""

from decorators.grok.family import Family

_FLOW = r"%{IP:src-ip}/%{INT:src-port}->%{IP:dst-ip}/%{INT:dst-port} (?<service>\S+)"
_TRANSLATED = (
    rf"{_FLOW} %{{IP:nat-src-ip}}/%{{INT:nat-src-port}}->%{{IP:nat-dst-ip}}/%{{INT:nat-dst-port}} "
    r"(?:None|(?<src-nat-rule-name>\S+)) (?:None|(?<dst-nat-rule-name>\S+)) %{INT:protocol-id}"
)
_POLICY = r"(?<policy-name>\S+) (?<from-zone>\S+) (?<to-zone>\S+)"
_JUNOS = {
    "RT_FLOW_TAG": r"RT_FLOW_SESSION_(?:CREATE|CLOSE|DENY)",
    "RT_FLOW_EVENT": r"%{RT_FLOW_TAG}",
    "RT_FLOW1": rf"%{{RT_FLOW_EVENT:event}}: (?<close-reason>[^/>]*?): {_TRANSLATED} {_POLICY} %{{INT:session-id}} "
    r"[0-9]+\((?<sent>[0-9]+)\) [0-9]+\((?<received>[0-9]+)\) %{INT:elapsed-time}(?: .*)?",
    "RT_FLOW2": rf"%{{RT_FLOW_EVENT:event}}: session created {_TRANSLATED} {_POLICY} %{{INT:session-id}}(?: .*)?",
    "RT_FLOW3": rf"%{{RT_FLOW_EVENT:event}}: session denied {_FLOW} %{{INT:protocol-id}}\([0-9]+\) {_POLICY}(?: .*)?",
}
_JUNOS_FIELDS = {
    "event": "juniper.srx.tag", "close-reason": "juniper.srx.reason", "src-ip": "source.ip", "src-port": "source.port",
    "dst-ip": "destination.ip", "dst-port": "destination.port", "service": "juniper.srx.service_name",
    "nat-src-ip": "source.nat.ip", "nat-src-port": "source.nat.port", "nat-dst-ip": "destination.nat.ip",
    "nat-dst-port": "destination.nat.port", "src-nat-rule-name": "juniper.srx.src_nat_rule_name",
    "dst-nat-rule-name": "juniper.srx.dst_nat_rule_name", "protocol-id": "network.iana_number",
    "policy-name": "rule.name", "from-zone": "observer.ingress.zone", "to-zone": "observer.egress.zone",
    "session-id": "juniper.srx.session_id", "sent": "source.bytes", "received": "destination.bytes",
    "elapsed-time": "juniper.srx.elapsed_time",
}  # fmt: skip

_NETSCREEN = (
    r"%{SYSLOGTIMESTAMP:date} %{IPORHOST:device} (?<name>[^\s:]+): NetScreen device_id=(?<device_id>\S+)"
    r'(?:[^=]*?-(?<code>[0-9]+)\((?<type>\w+)\))?[^=]*?: start_time="(?<start_time>[^"]*)" duration=%{INT:duration} '
    r"policy_id=%{INT:policy_id} service=(?<service>[^=]*?) proto=%{INT:proto} src zone=(?<src_zone>\S+) "
    r"dst zone=(?<dst_zone>\S+) action=%{WORD:action} sent=%{INT:sent} rcvd=%{INT:rcvd} src=%{IPORHOST:src_ip} "
    r"dst=%{IPORHOST:dst_ip}(?: src_port=%{INT:src_port} dst_port=%{INT:dst_port})?"
    r"(?: src-xlated ip=%{IP:src_xlated_ip} port=%{INT:src_xlated_port} dst-xlated ip=%{IP:dst_xlated_ip} "
    r"port=%{INT:dst_xlated_port})?(?: session_id=%{INT:session_id} reason=%{GREEDYDATA:reason})?"
)
_NETSCREEN_FIELDS = {
    "date": "timestamp", "device": "observer.hostname", "name": "observer.name", "device_id": "netscreen.device_id",
    "code": "event.code", "type": "netscreen.session.type", "start_time": "netscreen.session.start_time",
    "duration": "netscreen.session.duration", "policy_id": "netscreen.policy_id", "service": "netscreen.service",
    "proto": "netscreen.protocol_number", "src_zone": "observer.ingress.zone", "dst_zone": "observer.egress.zone",
    "action": "event.action", "sent": "source.bytes", "rcvd": "destination.bytes", "src_ip": "source.address",
    "dst_ip": "destination.address", "src_port": "source.port", "dst_port": "destination.port",
    "src_xlated_ip": "source.nat.ip", "src_xlated_port": "source.nat.port", "dst_xlated_ip": "destination.nat.ip",
    "dst_xlated_port": "destination.nat.port", "session_id": "netscreen.session.id",
    "reason": "netscreen.session.reason",
}  # fmt: skip
_NETSCREEN_ECS = {
    "NETSCREENSESSIONLOG": _NETSCREEN.replace(": NetScreen device", ": (?<observer.product>NetScreen) device"),
}


def _packet(address: str, tos: str = r"(?<nf_tos>\w+)", precedence: str = r"(?<nf_prec>\w+)") -> str:
    """Header of a packet, with the pattern of an address and of what is hexadecimal."""
    return (
        rf"SRC=%{{{address}:nf_src_ip}}\s+DST=%{{{address}:nf_dst_ip}}(?:\s+LEN=(?<nf_len>[0-9]+)?)?"
        rf"(?:\s+(?:TOS|TC)=(?:{tos})?)?(?:\s+PREC=(?:{precedence})?)?(?:\s+(?:TTL|HOPLIMIT)=(?<nf_ttl>[0-9]+)?)?"
        r"(?:\s+ID=(?<nf_id>[0-9]+)?)?(?:\s+FLOWLBL=(?<nf_flow_label>[0-9]+)?)?(?:\s+%{IPTABLES4_FRAG:nf_fragment})?"
        r"(?:\s+FRAG:\s?(?<nf_fragment_offset>[0-9]+))?"
    )


def _netfilter(*hexadecimal: str) -> dict[str, str]:
    return {
        "IPTABLES4_PART": _packet("IPV4", *hexadecimal),
        "IPTABLES6_PART": _packet("IPV6", *hexadecimal),
        "IPTABLES": r"IN=(?<nf_in_interface>[^\s=]+)?\s+OUT=(?<nf_out_interface>[^\s=]+)?\s+"
        r"(?:MAC=%{COMMONMAC:nf_dst_mac}?(?::%{COMMONMAC:nf_src_mac})?(?::[0-9A-Fa-f]{2})*+\s+)?"
        rf"{_packet('IP', *hexadecimal)}(?:\s+OPT \([0-9A-Fa-f]*\))?(?:\s+PROTO=(?<nf_protocol>\w+)?)?"
        r"(?:\s+SPT=(?<nf_src_port>[0-9]+)?\s+DPT=(?<nf_dst_port>[0-9]+)?)?(?:\s+%{IPTABLES_TCP_PART})?",
    }


_NETFILTER = {
    "IPTABLES_TCP_FLAGS": r"(?:(?:CWR|ECE|URG|ACK|PSH|RST|SYN|FIN) )*+",
    "IPTABLES_TCP_PART": r"(?:SEQ=(?<nf_tcp_seq>[0-9]+)\s+)?(?:ACK=(?<nf_tcp_ack>[0-9]+)\s+)?"
    r"WINDOW=(?<nf_tcp_window>[0-9]+)\s+RES=0x(?<nf_tcp_reserved_bits>[0-9A-Fa-f]+)"
    r"(?:\s+(?=[A-Z]{3} )%{IPTABLES_TCP_FLAGS:nf_tcp_flags})?",
    "IPTABLES4_FRAG": r"(?:CE|DF|MF)(?: (?:CE|DF|MF))*+",
    **_netfilter(),
    "SHOREWALL": r"%{SYSLOGTIMESTAMP:timestamp} (?<nf_host>\S+) [^=]*?Shorewall:(?<nf_action1>[^\s:]+)?:"
    r"(?<nf_action2>[^\s:]+)?:?[^=]*?%{IPTABLES}",
    "SFW2_LOG_PREFIX": r"SFW2-INext-(?<nf_action>\S+)",
    "SFW2": r"(?:%{SYSLOGTIMESTAMP:timestamp}|%{TIMESTAMP_ISO8601:timestamp})\s+%{HOSTNAME:nf_host}\s[^=]*?"
    r"%{SFW2_LOG_PREFIX}\s+%{IPTABLES}",
}
_NETFILTER_ECS = {
    **_netfilter(r"(?>0x(?<nf_tos>[0-9A-Fa-f]+)|\w+)", r"(?>0x(?<nf_prec>[0-9A-Fa-f]+)|\w+)"),
    "SFW2": _NETFILTER["SFW2"].replace("%{SFW2_LOG_PREFIX}", "%{SFW2_LOG_PREFIX:suse.firewall.log_prefix}"),
}
_NETFILTER_FIELDS = {
    "nf_in_interface": "observer.ingress.interface.name", "nf_out_interface": "observer.egress.interface.name",
    "nf_dst_mac": "destination.mac", "nf_src_mac": "source.mac", "nf_src_ip": "source.ip",
    "nf_dst_ip": "destination.ip", "nf_len": "iptables.length", "nf_tos": "iptables.tos",
    "nf_prec": "iptables.precedence_bits", "nf_ttl": "iptables.ttl", "nf_id": "iptables.id",
    "nf_flow_label": "iptables.flow_label", "nf_fragment": "iptables.fragment_flags",
    "nf_protocol": "network.transport", "nf_src_port": "source.port", "nf_dst_port": "destination.port",
    "nf_host": "observer.hostname", "nf_action1": "shorewall.firewall.type", "nf_action2": "shorewall.firewall.action",
    "nf_action": "suse.firewall.action", "nf_fragment_offset": "iptables.fragment_offset",
    "nf_tcp_seq": "iptables.tcp.seq", "nf_tcp_ack": "iptables.tcp.ack", "nf_tcp_window": "iptables.tcp.window",
    "nf_tcp_reserved_bits": "iptables.tcp_reserved_bits", "nf_tcp_flags": "iptables.tcp.flags",
}  # fmt: skip

FILTERS = (
    Family(_JUNOS, _JUNOS_FIELDS),
    Family({"NETSCREENSESSIONLOG": _NETSCREEN}, _NETSCREEN_FIELDS, _NETSCREEN_ECS),
    Family(_NETFILTER, _NETFILTER_FIELDS, _NETFILTER_ECS),
)
