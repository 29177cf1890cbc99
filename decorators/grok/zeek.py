"""
Patterns of tables that Zeek writes, formerly Bro.

They have the names and the captures of Logstash's patterns, and are written anew for `re`, without nested repetition.
Columns are of their types in Zeek, so that a line of a table with other columns has no match.
"""

from decorators.grok.family import Family

_TYPES = {
    **dict.fromkeys(("uid", "fuid"), "NOTSPACE"),
    **dict.fromkeys(("orig_h", "resp_h"), "IP"),
    "conn_state": "WORD",
    **dict.fromkeys(("ts", "duration", "rtt", "version", "request_body_len", "response_body_len"), "NUMBER"),
    **dict.fromkeys(("status_code", "info_code"), "POSINT"),
    **dict.fromkeys(("orig_l2_addr", "resp_l2_addr"), "COMMONMAC"),
    **dict.fromkeys(
        (
            *("orig_p", "resp_p", "missed_bytes", "orig_bytes", "resp_bytes", "orig_pkts", "resp_pkts"),
            *("orig_ip_bytes", "resp_ip_bytes", "trans_depth", "trans_id", "qclass", "qtype", "rcode", "Z", "depth"),
            *("seen_bytes", "total_bytes", "missing_bytes", "overflow_bytes", "extracted_size"),
        ),
        "INT",
    ),
    **dict.fromkeys(
        (
            *("local_orig", "local_resp", "AA", "TC", "RD", "RA", "rejected", "is_orig", "timedout"),
            "extracted_cutoff",
        ),
        "ZEEK_BOOL",
    ),
}
"""Name of a column -> known pattern of its values; `_TEXT` if there is none."""
_TEXT = r"[^\t]*"
_PROTOCOL = r"[A-Za-z]\w*"  # a word may be a number, as in the column of HTTP's depth
_REQUIRED = frozenset(("ts", "uid", "orig_h", "orig_p", "resp_h", "resp_p", "proto", "trans_depth"))
_ENDPOINTS = "ts uid orig_h orig_p resp_h resp_p"
_FILE = (
    "conn_uids source depth analyzers mime_type filename duration local_orig is_orig seen_bytes total_bytes "
    "missing_bytes overflow_bytes timedout parent_fuid md5 sha1 sha256 extracted"
)

_ABSENT = r"(?:-|\(empty\))(?![^\t])"


def _columns(names: str) -> str:
    r"""Columns of a table with tabs; `-` or `(empty)` captures nothing. A column with a ? may be left out."""

    def column(name: str) -> str:
        name = name.rstrip("?")
        text = _PROTOCOL if name == "proto" else _TEXT
        value = f"%{{{_TYPES[name]}:{name}}}" if name in _TYPES else f"(?<{name}>{text})"
        if name in _REQUIRED:
            return rf"\t{value}"
        # what is absent is no value, too: if both could match, a line that fails would take 2^n of its n columns
        optional = rf"\t(?:{_ABSENT}|(?!{_ABSENT}){value})"
        # a set may be empty, not absent: in the place of Bro's tags, a line of Zeek has the message of a status
        return rf"(?!\t-\t){optional}" if name == "bro_tags" else optional

    pieces = [f"(?:{column(name)})?" if name[-1] == "?" else column(name) for name in names.split()]
    return "".join(pieces).removeprefix(r"\t")


def _hosts(name: str) -> str:
    return rf"(?:-|(?<{name}>%{{IP}}(?:[ ,]%{{IP}})*))"


def _first_host(first: str, all_hosts: str) -> str:
    """Hosts with the first one as a field of its own; several ones are a field, too."""
    return rf"(?:-|%{{IP:{first}}}(?![ ,])|(?<{all_hosts}>%{{IP:{first}}}(?:[ ,]%{{IP}})+))"


_FILES = r"%{NUMBER:ts}\t%{NOTSPACE:fuid}\t%{ZEEK_FILES_TX_HOSTS}\t%{ZEEK_FILES_RX_HOSTS}\t" + _columns(_FILE)
_DNS = "query qclass qclass_name qtype qtype_name rcode rcode_name AA TC RD RA Z answers TTLs rejected"
_COUNTS = "history orig_pkts orig_ip_bytes resp_pkts resp_ip_bytes tunnel_parents"
_CONNECTION = f"{_ENDPOINTS} proto service duration orig_bytes resp_bytes conn_state local_orig"
_WORDS = {
    "BRO_BOOL": r"[TF]",
    "BRO_DATA": r"(?<![^\t])[^\t]+",
    "ZEEK_BOOL": r"%{BRO_BOOL}",
    "ZEEK_DATA": r"%{BRO_DATA}",
}
_HTTP = {
    "BRO_HTTP": _columns(
        f"{_ENDPOINTS} trans_depth method domain uri referrer user_agent request_body_len response_body_len "
        "status_code status_msg info_code info_msg filename bro_tags username password proxied orig_fuids "
        "orig_mime_types resp_fuids resp_mime_types"
    ),
    "ZEEK_HTTP": _columns(
        f"{_ENDPOINTS} trans_depth method domain uri referrer version user_agent origin request_body_len "
        "response_body_len status_code status_msg info_code info_msg bro_tags username password proxied orig_fuids "
        "orig_filenames orig_mime_types resp_fuids resp_filenames resp_mime_types"
    ),
}
_DNS_LINES = {
    "BRO_DNS": _columns(f"{_ENDPOINTS} proto trans_id {_DNS}"),
    "ZEEK_DNS": _columns(f"{_ENDPOINTS} proto trans_id rtt {_DNS}"),
}
_CONN = {
    "BRO_CONN": _columns(f"{_CONNECTION} local_resp? missed_bytes {_COUNTS}"),
    "ZEEK_CONN": _columns(f"{_CONNECTION} local_resp missed_bytes {_COUNTS} orig_l2_addr? resp_l2_addr?"),
}
_FILES_LINES = {
    "BRO_FILES": _FILES,
    "ZEEK_FILES_TX_HOSTS": _hosts("tx_hosts"),
    "ZEEK_FILES_RX_HOSTS": _hosts("rx_hosts"),
    "ZEEK_FILES": _FILES + rf"(?:\t{_columns('extracted_cutoff extracted_size')})?",
}
_OF_CONNECTION = {
    name: f"zeek.connection.{name}"
    for name in ("duration", "orig_bytes", "resp_bytes", "local_orig", "local_resp", "missed_bytes", "history",
                 "tunnel_parents")
}  # fmt: skip
_ENDPOINT_FIELDS = {
    "ts": "timestamp", "uid": "zeek.session_id", "orig_h": "source.ip", "orig_p": "source.port",
    "resp_h": "destination.ip", "resp_p": "destination.port",
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
    "proto": "network.transport",
    "trans_id": "dns.id", "query": "dns.question.name", "qtype_name": "dns.question.type",
    "rcode_name": "dns.response_code",
} | {
    name: f"zeek.dns.{name}"
    for name in ("rtt", "qclass", "qclass_name", "qtype", "rcode", "AA", "TC", "RD", "RA", "Z", "answers", "TTLs",
                 "rejected")
}  # fmt: skip
_CONNECTION_FIELDS = _ENDPOINT_FIELDS | _OF_CONNECTION | {
    "proto": "network.transport",
    "service": "network.protocol", "conn_state": "zeek.connection.state", "orig_pkts": "source.packets",
    "orig_ip_bytes": "source.bytes", "resp_pkts": "destination.packets", "resp_ip_bytes": "destination.bytes",
    "orig_l2_addr": "source.mac", "resp_l2_addr": "destination.mac",
}  # fmt: skip
_FILES_FIELDS = {name: f"zeek.files.{name}" for name in f"fuid {_FILE} extracted_cutoff extracted_size".split()} | {
    "ts": "timestamp", "conn_uids": "zeek.files.session_ids", "mime_type": "file.mime_type",
    "filename": "file.name", "total_bytes": "file.size",
    "md5": "file.hash.md5", "sha1": "file.hash.sha1", "sha256": "file.hash.sha256",
}  # fmt: skip
_FILES_ECS = {
    "ZEEK_FILES_TX_HOSTS": _first_host("server.ip", "zeek.files.tx_hosts"),
    "ZEEK_FILES_RX_HOSTS": _first_host("client.ip", "zeek.files.rx_hosts"),
}

ZEEK = (
    Family(_WORDS, {}),
    Family(_HTTP, _HTTP_FIELDS),
    Family(_DNS_LINES, _DNS_FIELDS),
    Family(_CONN, _CONNECTION_FIELDS),
    Family(_FILES_LINES, _FILES_FIELDS, _FILES_ECS),
)
