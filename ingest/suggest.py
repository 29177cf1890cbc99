"""Suggestions for unknown names: similar names, and the equivalents of names in other tools."""

import difflib
from collections.abc import Iterable, Mapping
from types import MappingProxyType

COMPONENTS_ELSEWHERE = {
    "access_log": "apache_log nginx_log parse_apache_log parse_nginx_log",
    "case": "lower lowercase title upper uppercase",
    "cef": "parse_cef",
    "convert": "base64 cast coerce",
    "copy": "clone extract_field",
    "csv": "parse_csv",
    "default": "coalesce",
    "dedupe": "deduplicate distinct unique",
    "explode": "unnest unroll",
    "fail": "abort assert raise reject throw",
    "files": "file tail",
    "filter": "discard drop grep",
    "first_n": "rate_limit rate_limiter throttle",
    "grok": "parse_grok",
    "gunzip": "decompress",
    "hash": "checksum fingerprint",
    "hbase": "bigtable",
    "join": "concat",
    "json": "parse_json",
    "kv": "key_value logfmt parse_key_value parse_logfmt",
    "lookup": "enrich enrichment map translate",
    "redact": "anonymise anonymize mask_field",
    "regex": "extract parse parse_regex rex",
    "remove": "delete drop_fields remove_field",
    "rename": "move replace_field",
    "replace": "gsub",
    "select": "keep_fields whitelist",
    "split": "dissect tokenize",
    "syslog": "parse_syslog",
    "template": "modify mutate",
    "timestamp": "date parse_timestamp timestamp_converter",
    "trim": "strip",
    "truncate": "limit substring",
    "unbatch": "unarchive",
    "url": "parse_url urldecode",
    "user_agent": "parse_user_agent useragent",
    "value": "add add_field assign insert_field set",
}
"""Component -> its names in other tools: Vector, Logstash, Kafka Connect, Benthos, SQL."""

OPTIONS_ELSEWHERE = {
    "source": "field input source_field src",
    "algorithm": "digest method",
    "assign": "key_value_delimiter value_split",
    "attribute": "dest field target target_field",
    "attributes": "fields",
    "brokers": "addresses bootstrap.servers bootstrap_servers kafka_brokers seed_brokers",
    "by": "group_by key_field keys",
    "format": "codec decoder decoding",
    "group": "client_group consumer_group group.id group_id",
    "host": "thrift_host",
    "label": "id name",
    "max_event_bytes": "max.message.bytes max_message_bytes",
    "max_events": "max_size threshold",
    "max_events_per_batch": "batch_size max.poll.records max_poll_records maxOffsetsPerTrigger",
    "options": "kafka_options librdkafka_options",
    "path": "database paths",
    "pattern": "expression match regexp",
    "row_key": "rowkey",
    "secret": "key",
    "security": "kerberos sasl ssl tls",
    "separator": "delimiter field_split sep",
    "share": "percentage probability rate ratio",
    "start": "auto.offset.reset auto_offset_reset start_from_oldest starting_offsets startingOffsets",
    "table": "table_name",
    "topics": "subscribe",
    "topics_pattern": "subscribePattern topics.regex topics_regex",
    "when": "condition if",
    "write_buffer_size": "buffer_size",
    "write_to_wal": "wal writeToWAL",
    "zone": "time_zone timezone tz",
    "zookeeper": "hbase.zookeeper.quorum quorum zookeeper_quorum zookeeperQuorum",
}
"""Option -> its names in other tools; where two options match, the first that the component has is suggested."""

OWN_CODE = frozenset(
    {"bloblang", "javascript", "lua", "mapping", "python", "remap", "ruby", "script", "starlark", "wasm"},
)
"""Names in other tools for a decorator that runs user code; the equivalent here is a plugin."""

SALTING = frozenset({"bucket", "buckets", "salt"})
"""Names for a prefix that distributes row keys; here it is a property of the table."""
DISTRIBUTE = "to distribute row keys over N buckets, declare the table with `distribute: {hash: N}`"
"""The hint for such names."""

_EQUIVALENTS = [
    (elsewhere, ours)
    for table in (COMPONENTS_ELSEWHERE, OPTIONS_ELSEWHERE)
    for ours, names in table.items()
    for elsewhere in names.split()
]
_MAX_NAME = 100  # characters; bounds the cost of difflib
_MIN_PREFIX = 4  # characters
_FEW_CHANGES = 0.9  # of difflib; one character of a word of six or more
_MIN_SIMILARITY = 0.6  # by difflib
_MIN_SIMILARITY_OF_OURS = 0.7  # there are so many that for any word one has the same letters


def closest(name: str, known: Iterable[str], min_similarity: float = _MIN_SIMILARITY) -> str | None:
    """The known name most similar to this one; None if none is similar."""
    if len(name) > _MAX_NAME:
        return None
    known = sorted(known)
    completions = [other for other in known if other.startswith(name)]
    if len(name) >= _MIN_PREFIX and len(completions) == 1:  # difflib rates a short prefix of a long name too low
        return completions[0]
    near = difflib.get_close_matches(name, known, n=1, cutoff=min_similarity)
    if near:
        return near[0]
    # difflib also rates differences in case, and between "-" and "_", too low
    return {_folded(other): other for other in known}.get(_folded(name))


def misspelled(name: str, known: Iterable[str]) -> str | None:
    """
    The known word that a name is with letters transposed, repeated or left out; None for any other name.

    Stricter than `closest`, for names that may be meant: `ofset` and `kye`, but not `keys`, `vhost` or `host_name`.
    """
    near = closest(name, [word for word in known if set(name) <= set(word)])
    if near is None or name.startswith(near) or name[0] != near[0]:
        return None
    has_all_letters = set(name) == set(near)
    is_similar = difflib.SequenceMatcher(None, name, near).ratio() >= _FEW_CHANGES
    return near if has_all_letters or is_similar else None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A hint that suggests the most similar known name, or ""."""
    return _hint(closest(name, known))


def did_you_mean_ours(name: str, known: Iterable[str], more: Mapping[str, str] = MappingProxyType({})) -> str:
    """
    The same for names of components and options; also finds the equivalents of names in other tools.

    Args:
        name: the unknown name.
        known: the names that exist.
        more: further names in other tools -> ours; used if the tables here do not have the name.
    """
    known = set(known)
    ours = next((ours for elsewhere, ours in _EQUIVALENTS if elsewhere == name and ours in known), more.get(name))
    return _hint(ours or closest(name, known, _MIN_SIMILARITY_OF_OURS))


def _hint(name: str | None) -> str:
    return "" if name is None else f'did you mean "{name}"?'


def _folded(name: str) -> str:
    return name.lower().replace("-", "_")
