"""
Patterns of messages of Cisco's firewalls ASA and PIX; each has the numbers of the messages in its name.

They have the names and the captures of Logstash's patterns, and are written anew for `re`, without nested repetition.
"""

from decorators.grok.family import Family, renamed

_WORDS = r"(?<!\w)\w+(?:[ -]\w+){0,15}?"  # of a reason; not any number: each word may be the first one
_ON = r"(?<{}>\S+)"


def _user(name: str) -> str:
    return rf"(?:\((?<{name}>[^()]*)\))?"


def _side(side: str, address: str, port: str = "") -> str:
    """Interface, address, port and user of one side of a connection."""
    return rf"(?<![^\s:/])(?<{side}_interface>[^\s:/]+):{address}{port}" + _user(f"{side}_fwuser")


def _sides(source: str, destination: str) -> dict[str, str]:
    """Patterns of the sides, with a pattern of each address that may be the name of a host."""
    return {
        "CISCO_SRC_IP_USER": _side("src", "%{IP:src_ip}"),
        "CISCO_DST_IP_USER": _side("dst", "%{IP:dst_ip}"),
        "CISCO_SRC_HOST_PORT_USER": _side("src", source, "(?:/%{INT:src_port})?"),
        "CISCO_DST_HOST_PORT_USER": _side("dst", destination, "(?:/%{INT:dst_port})?"),
    }


_PORTS = r"%{IP:src_ip}/%{INT:src_port} to %{IP:dst_ip}/%{INT:dst_port}"
_SIDES = (
    r"(?<src_interface>[^\s:/]+):%{IP:src_ip}/%{INT:src_port} to "
    r"(?<dst_interface>[^\s:/]+):%{IP:dst_ip}/%{INT:dst_port}"
)
_HASH = r"\[(?<hashcode1>[^\s,\]]+), (?<hashcode2>[^\s\]]+)\]"
_ICMP = r"type %{INT:icmp_type}, code %{INT:icmp_code}"
_RATE = r"(?:is|are) %{{INT:drop_rate_current_{0}}} per second, max configured rate is %{{INT:drop_rate_max_{0}}}"
_LISTED = (
    r"(?<src_interface>[^\s/]+)/%{IP:src_ip}\(%{INT:src_port}\)"
    + _user("src_fwuser")
    + r" -> (?<dst_interface>[^\s/]+)/%{IP:dst_ip}\(%{INT:dst_port}\)"
    + _user("dst_fwuser")
    + rf" %{{CISCO_HITCOUNT_INTERVAL}} {_HASH}"
)
_MAPPED = r"(?: \(%{{IP:{0}_mapped_ip}}/%{{INT:{0}_mapped_port}}\))?"
_PAYLOAD = r"%{{IP:orig_{0}_ip}}/%{{INT:orig_{0}_port}}"


def _icmp_error(on: str, of_payload: str) -> str:
    """Pattern of 313005, with the patterns of its interface and of the protocol of the original packet."""
    return (
        r"%{CISCO_REASON:reason} for %{WORD:protocol} error message: %{WORD:err_protocol} src "
        r"(?<err_src_interface>[^\s:/]+):%{IP:err_src_ip}"
        rf"{_user('err_src_fwuser')} dst (?<err_dst_interface>[^\s:/]+):%{{IP:err_dst_ip}}{_user('err_dst_fwuser')} "
        rf"\(type %{{INT:err_icmp_type}}, code %{{INT:err_icmp_code}}\) on {on} interface\. +Original IP payload: "
        rf"{of_payload} src {_PAYLOAD.format('src')}{_user('orig_src_fwuser')} dst "
        rf"{_PAYLOAD.format('dst')}{_user('orig_dst_fwuser')}"
    )


_TRANSLATED = (
    r"%{CISCO_ACTION:action} %{CISCO_XLATE_TYPE:xlate_type} %{WORD:protocol} translation from "
    r"%{CISCO_SRC_HOST_PORT_USER} to "
)

_PATTERNS = {
    "CISCOTIMESTAMP": r"%{MONTH} +%{MONTHDAY}(?: %{YEAR})? %{TIME}",
    "CISCOTAG": r"[A-Z0-9]+-%{INT}-[A-Z0-9_]+",
    "CISCO_TAGGED_SYSLOG": r"^<%{POSINT:syslog_pri}>%{CISCOTIMESTAMP:timestamp}(?: %{SYSLOGHOST:sysloghost})? ?: "
    r"%%{CISCOTAG:ciscotag}:",
    "CISCO_ACTION": r"Built|Teardown|Deny|Denied|denied by ACL|denied|requested|permitted|discarded|est-allowed"
    r"|Dropping|created|deleted",
    "CISCO_REASON": _WORDS,
    "CISCO_DIRECTION": r"Inbound|inbound|Outbound|outbound",
    "CISCO_INTERVAL": r"first hit|%{INT}-second interval",
    "CISCO_XLATE_TYPE": r"static|dynamic",
    "CISCO_HITCOUNT_INTERVAL": r"hit-cnt %{INT:hit_count} %{CISCO_INTERVAL:interval}",
    **_sides(r"(?<src_ip>[^\s/()]+)", r"(?<dst_ip>[^\s/()]+)"),
    "CISCOFW104001": r"\((?:Primary|Secondary)\) Switching to ACTIVE - %{GREEDYDATA:switch_reason}",
    "CISCOFW104002": r"\((?:Primary|Secondary)\) Switching to STANDBY - %{GREEDYDATA:switch_reason}",
    "CISCOFW104003": r"\((?:Primary|Secondary)\) Switching to FAILED\.",
    "CISCOFW104004": r"\((?:Primary|Secondary)\) Switching to OK\.",
    "CISCOFW105003": r"\((?:Primary|Secondary)\) Monitoring on [Ii]nterface %{NOTSPACE:interface_name} waiting",
    "CISCOFW105004": r"\((?:Primary|Secondary)\) Monitoring on [Ii]nterface %{NOTSPACE:interface_name} normal",
    "CISCOFW105005": r"\((?:Primary|Secondary)\) Lost Failover communications with mate on [Ii]nterface "
    r"%{NOTSPACE:interface_name}",
    "CISCOFW105008": r"\((?:Primary|Secondary)\) Testing [Ii]nterface %{NOTSPACE:interface_name}",
    "CISCOFW105009": r"\((?:Primary|Secondary)\) Testing on [Ii]nterface %{NOTSPACE:interface_name} (?:Passed|Failed)",
    "CISCOFW106001": r"%{CISCO_DIRECTION:direction} %{WORD:protocol} connection %{CISCO_ACTION:action} from "
    rf"{_PORTS} flags (?<tcp_flags>[A-Za-z ]{{0,60}}?) on interface {_ON.format('interface')}",
    "CISCOFW106006_106007_106010": r"%{CISCO_ACTION:action} %{CISCO_DIRECTION:direction} %{WORD:protocol} (?:from|src) "
    rf"(?:[^\s:/]+:)?%{{IP:src_ip}}(?:/%{{INT:src_port}})?{_user('src_fwuser')} (?:to|dst) "
    rf"(?:[^\s:/]+:)?%{{IP:dst_ip}}(?:/%{{INT:dst_port}})?{_user('dst_fwuser')} "
    rf"(?:on interface {_ON.format('interface')}|due to (?<reason>\w+(?: \w+){{0,15}}))",
    "CISCOFW106014": r"%{CISCO_ACTION:action} %{CISCO_DIRECTION:direction} %{WORD:protocol} src "
    rf"%{{CISCO_SRC_HOST_PORT_USER}} dst %{{CISCO_DST_HOST_PORT_USER}} ?\({_ICMP}\)",
    "CISCOFW106015": r"%{CISCO_ACTION:action} %{WORD:protocol} \((?<policy_id>[^()]*)\) from "
    rf"{_PORTS} flags (?<tcp_flags>[A-Za-z ]{{0,60}}?) on interface {_ON.format('interface')}",
    "CISCOFW106021": r"%{CISCO_ACTION:action} %{WORD:protocol} reverse path check from %{IP:src_ip} to %{IP:dst_ip} on "
    rf"interface {_ON.format('interface')}",
    "CISCOFW106023": r"%{CISCO_ACTION:action}(?: protocol)? %{WORD:protocol} src "
    rf"%{{CISCO_SRC_HOST_PORT_USER}} dst %{{CISCO_DST_HOST_PORT_USER}}(?: \({_ICMP}\))? by access-group "
    rf"\"?(?<policy_id>[^\s\"]+)\"? {_HASH}",
    "CISCOFW106100_2_3": r"access-list %{NOTSPACE:policy_id} %{CISCO_ACTION:action} %{WORD:protocol} for user "
    r"'(?<src_fwuser>[^']*)' (?<src_interface>[^\s/]+)/%{IP:src_ip}\(%{INT:src_port}\) -> "
    rf"(?<dst_interface>[^\s/]+)/%{{IP:dst_ip}}\(%{{INT:dst_port}}\) "
    rf"%{{CISCO_HITCOUNT_INTERVAL}} {_HASH}",
    "CISCOFW106100": rf"access-list %{{NOTSPACE:policy_id}} %{{CISCO_ACTION:action}} %{{WORD:protocol}} {_LISTED}",
    "CISCOFW304001": rf"%{{IP:src_ip}}{_user('src_fwuser')} Accessed URL %{{IP:dst_ip}}:%{{GREEDYDATA:dst_url}}",
    "CISCOFW110002": r"%{CISCO_REASON:reason} for %{WORD:protocol} from (?<src_interface>[^\s:/]+):%{IP:src_ip}/"
    r"%{INT:src_port} to %{IP:dst_ip}/%{INT:dst_port}",
    "CISCOFW302010": r"%{INT:connection_count} in use, %{INT:connection_count_max} most used",
    "CISCOFW302013_302014_302015_302016": r"%{CISCO_ACTION:action}(?: %{CISCO_DIRECTION:direction})? %{WORD:protocol} "
    r"connection %{INT:connection_id} for (?<src_interface>[^\s:/]+):%{IP:src_ip}/%{INT:src_port}"
    rf"{_MAPPED.format('src')}{_user('src_fwuser')} to (?<dst_interface>[^\s:/]+):%{{IP:dst_ip}}/%{{INT:dst_port}}"
    rf"{_MAPPED.format('dst')}{_user('dst_fwuser')}(?: duration %{{TIME:duration}} bytes %{{INT:bytes}})?"
    r"(?: (?<reason>[\w-]+(?: [\w-]+)*))?(?: \((?<user>[^()]*)\))?",
    "CISCOFW302020_302021": r"%{CISCO_ACTION:action}(?: %{CISCO_DIRECTION:direction})? %{WORD:protocol} connection for "
    rf"faddr %{{IP:dst_ip}}/%{{INT:icmp_seq_num}}{_user('fwuser')} gaddr %{{IP:src_xlated_ip}}/"
    r"%{INT:icmp_code_xlated} laddr %{IP:src_ip}/%{INT:icmp_code}(?: ?\((?<user>[^()]*)\))?",
    "CISCOFW305011": rf"{_TRANSLATED}(?<src_xlated_interface>[^\s:/]+):%{{IP:src_xlated_ip}}"
    r"(?:/%{INT:src_xlated_port})?",
    "CISCOFW313001_313004_313008": r"%{CISCO_ACTION:action} %{WORD:protocol} type=%{INT:icmp_type}, "
    r"code=%{INT:icmp_code} from %{IP:src_ip} on interface (?<interface>\S+)(?: to %{IP:dst_ip})?",
    "CISCOFW313005": _icmp_error(_ON.format("interface"), "%{WORD:protocol}"),
    "CISCOFW321001": r"Resource '(?<resource_name>[^']*)' limit of %{POSINT:resource_limit} reached for system",
    "CISCOFW402117": r"%{WORD:protocol}: Received a non-IPSec packet \(protocol= ?%{WORD:orig_protocol}\) from "
    r"%{IP:src_ip} to %{IP:dst_ip}",
    "CISCOFW402119": r"%{WORD:protocol}: Received an %{WORD:orig_protocol} packet \(SPI= ?(?<spi>[^\s,]+), "
    r"sequence number= ?(?<seq_num>[^\s)]+)\) from %{IP:src_ip} \(user= ?(?<user>[^()]*)\) to %{IP:dst_ip} that failed "
    r"anti-replay checking",
    "CISCOFW419001": rf"%{{CISCO_ACTION:action}} %{{WORD:protocol}} packet from {_SIDES}, "
    r"reason: %{GREEDYDATA:reason}",
    "CISCOFW419002": rf"%{{CISCO_REASON:reason}} from {_SIDES} with different initial sequence number",
    "CISCOFW500004": rf"%{{CISCO_REASON:reason}} for protocol ?= ?%{{WORD:protocol}}, from {_PORTS}",
    "CISCOFW602303_602304": r"%{WORD:protocol}: An %{CISCO_DIRECTION:direction} (?<tunnel_type>\S+(?: \S+)?) SA "
    r"\(SPI= ?(?<spi>[^\s)]+)\) between %{IP:src_ip} and %{IP:dst_ip} \(user= ?(?<user>[^()]*)\) has been "
    r"%{CISCO_ACTION:action}",
    "CISCOFW710001_710002_710003_710005_710006": r"%{WORD:protocol} (?:request|access) %{CISCO_ACTION:action} from "
    r"%{IP:src_ip}/%{INT:src_port} to (?<dst_interface>[^\s:/]+):%{IP:dst_ip}/%{INT:dst_port}",
    "CISCOFW713172": r"Group = (?<group>[^,\n]*), IP = %{IP:src_ip}, Automatic NAT Detection Status: +Remote end +"
    r"(?<is_remote_natted>(?i:is(?: not)?)) +behind a NAT device +This +end +(?<is_local_natted>(?i:is(?: not)?)) +"
    r"behind a NAT device",
    "CISCOFW733100": r"\[ *(?<drop_type>[^\[\]\n]*?) *\] drop (?<drop_rate_id>\S+) exceeded\. Current burst rate "
    rf"{_RATE.format('burst')}; Current average rate {_RATE.format('avg')}; Cumulative total count is "
    r"%{INT:drop_total_count}",
}
_FIELDS = {
    "syslog_pri": "log.syslog.priority", "sysloghost": "host.hostname", "ciscotag": "cisco.asa.tag",
    "switch_reason": "event.reason", "reason": "event.reason", "interface_name": "network.interface.name",
    "direction": "cisco.asa.network.direction", "protocol": "cisco.asa.network.transport",
    "action": "cisco.asa.outcome", "src_interface": "observer.ingress.interface.name", "src_ip": "source.ip",
    "src_port": "source.port", "src_fwuser": "source.user.name", "dst_interface": "observer.egress.interface.name",
    "dst_ip": "destination.ip", "dst_port": "destination.port", "dst_fwuser": "destination.user.name",
    "interface": "observer.egress.interface.name", "tcp_flags": "cisco.asa.tcp_flags",
    "policy_id": "cisco.asa.rule_name", "icmp_type": "cisco.asa.icmp_type", "icmp_code": "cisco.asa.icmp_code",
    "hashcode1": "cisco.asa.hashcode1", "hashcode2": "cisco.asa.hashcode2", "hit_count": "cisco.asa.hit_count",
    "interval": "cisco.asa.interval", "dst_url": "url.original", "connection_count": "cisco.asa.connections.in_use",
    "connection_count_max": "cisco.asa.connections.most_used", "connection_id": "cisco.asa.connection_id",
    "src_mapped_ip": "source.nat.ip", "src_mapped_port": "source.nat.port", "dst_mapped_ip": "destination.nat.ip",
    "dst_mapped_port": "destination.nat.port", "duration": "cisco.asa.duration", "bytes": "network.bytes",
    "user": "source.user.name", "fwuser": "destination.user.name", "icmp_seq_num": "cisco.asa.icmp_seq",
    "src_xlated_ip": "source.nat.ip", "icmp_code_xlated": "cisco.asa.icmp_type",
    "xlate_type": "cisco.asa.xlate_type", "err_protocol": "cisco.asa.error.network.transport",
    "err_src_interface": "observer.ingress.interface.name", "err_src_ip": "source.ip",
    "err_src_fwuser": "source.user.name", "err_dst_interface": "observer.egress.interface.name",
    "err_dst_ip": "destination.ip", "err_dst_fwuser": "destination.user.name",
    "err_icmp_type": "cisco.asa.icmp_type", "err_icmp_code": "cisco.asa.icmp_code",
    "orig_src_ip": "cisco.asa.original_ip_payload.source.ip",
    "orig_src_port": "cisco.asa.original_ip_payload.source.port",
    "orig_src_fwuser": "cisco.asa.original_ip_payload.source.user.name",
    "orig_dst_ip": "cisco.asa.original_ip_payload.destination.ip",
    "orig_dst_port": "cisco.asa.original_ip_payload.destination.port",
    "orig_dst_fwuser": "cisco.asa.original_ip_payload.destination.user.name",
    "resource_name": "cisco.asa.resource.name", "resource_limit": "cisco.asa.resource.limit",
    "orig_protocol": "cisco.asa.ipsec.protocol", "spi": "cisco.asa.ipsec.spi", "seq_num": "cisco.asa.ipsec.seq_num",
    "tunnel_type": "cisco.asa.ipsec.tunnel_type", "group": "cisco.asa.source.group",
    "is_remote_natted": "cisco.asa.remote_nat", "is_local_natted": "cisco.asa.local_nat",
    "drop_type": "cisco.asa.burst.object", "drop_rate_id": "cisco.asa.burst.id",
    "drop_rate_current_burst": "cisco.asa.burst.current_rate", "drop_rate_max_burst": "cisco.asa.burst.configured_rate",
    "drop_rate_current_avg": "cisco.asa.burst.avg_rate", "drop_rate_max_avg": "cisco.asa.burst.configured_avg_rate",
    "drop_total_count": "cisco.asa.burst.cumulative_count",
}  # fmt: skip

_SOURCE, _DESTINATION = (
    rf"(?:%{{IP:{side}.ip}}(?![^\s/()])|(?<{side}.address>[^\s/()]+))" for side in ("source", "destination")
)
_OF_IPSEC = {"protocol": "cisco.asa.network.type"}
_OF_USER = {"user": "user.name"}
_ECS = {
    "CISCO_HITCOUNT_INTERVAL": r"hit-cnt %{INT:hit_count} (?:first hit|%{INT:interval}-second interval)",
    **_sides(_SOURCE, _DESTINATION),
    "CISCOFW106100_2_3": renamed(_PATTERNS["CISCOFW106100_2_3"], {"src_fwuser": "user.name"}),
    "CISCOFW302013_302014_302015_302016": renamed(_PATTERNS["CISCOFW302013_302014_302015_302016"], _OF_USER),
    "CISCOFW302020_302021": _PATTERNS["CISCOFW302020_302021"].replace("%{INT:icmp_code}", "%{INT}"),
    "CISCOFW305011": rf"{_TRANSLATED}(?<observer.egress.interface.name>[^\s:/]+):%{{IP:destination.ip}}"
    r"(?:/%{INT:destination.port})?",
    "CISCOFW313005": _icmp_error(r"\S+", "%{WORD:cisco.asa.original_ip_payload.network.transport}"),
    "CISCOFW402117": renamed(_PATTERNS["CISCOFW402117"], _OF_IPSEC | {"orig_protocol": "cisco.asa.network.transport"}),
    "CISCOFW402119": renamed(_PATTERNS["CISCOFW402119"], _OF_IPSEC),
    "CISCOFW602303_602304": renamed(_PATTERNS["CISCOFW602303_602304"], _OF_IPSEC),
}

CISCO = Family(_PATTERNS, _FIELDS, _ECS)
