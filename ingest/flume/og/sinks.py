"""
Translates Flume's HBase sinks.

Source: the attr2hbase and hbase plugins of Flume 0.9.4 and 0.9.5, and their unit tests where the documentation differs.
"""

from collections.abc import Callable

from ingest.config import Kind
from ingest.flume.escapes import literal, template_of
from ingest.flume.og.arguments import Arguments, Translation

_DEFAULT_PREFIX = "2hb_"
_SMALL_BUFFER_BYTES = 65_536  # a smaller buffer causes many calls with few rows
_FIRST_CELL = 2  # arguments of hbase() before the first family
_OF_A_CELL = 3

OTHER_SINKS = frozenset({
    "agentBEChain", "agentBESink", "agentDFOChain", "agentDFOSink", "agentE2EChain", "agentE2ESink", "agentFailChain",
    "agentSink", "autoBEChain", "autoCollectorSource", "autoDFOChain", "autoE2EChain", "avroSink", "collectorSink",
    "console", "count", "counter", "customdfs", "dfs", "escapedCustomDfs", "escapedFormatDfs", "fail", "formatDfs",
    "irc", "logicalSink", "multigrep", "multigrepspec", "null", "regexhisto", "regexhistospec", "rpcSink", "seqfile",
    "syslogTcp", "text", "thriftSink", "tsink",
})  # fmt: skip
"""Flume's own sinks other than HBase sinks."""


def attr2hbase(args: Arguments) -> Translation:
    """The sink with columns from attributes."""
    args.count(1)
    args.ignore_from(6)
    found = Translation("attr2hbase", {"table": literal(args.text(0))})
    options = ("table", "sys_family", "write_body", "attr_prefix", "write_buffer_size")
    found.arguments = {(name,): index for index, name in enumerate(options)}
    family = args.text(1, "")
    if family:
        found.options["sys_family"] = family
    _write_body(args, found, has_family=bool(family))
    prefix = args.text(3, _DEFAULT_PREFIX)
    if prefix != _DEFAULT_PREFIX:
        found.options["attr_prefix"] = prefix
    if not prefix:
        found.notes.append("the row key is the attribute with the empty name; all other attributes may be cells")
    _buffer(found, args.integer(4, "writeBufferSize") if len(args) > 4 else 0)  # noqa: PLR2004 - its place
    if args.text(5, "true").lower() != "true":
        found.options["write_to_wal"] = False
    found.options["on_missing_key"] = "drop"  # as in Flume
    return found


def _write_body(args: Arguments, found: Translation, *, has_family: bool) -> None:
    text = args.text(2, "")
    if not text:
        return
    parts = text.split(":")
    while parts and not parts[-1]:  # as Java's split does
        parts.pop()
    if len(parts) != 2:  # noqa: PLR2004 - family and qualifier
        args.fail(Kind.WRONG_TYPE, args.at(2), f'"{text}" is not a column for the body', "write family:qualifier")
    if not parts[0]:
        args.fail(
            Kind.WRONG_TYPE, args.at(2), f'"{text}" has no family: HBase rejected every event', "write family:qualifier"
        )
    if has_family:
        found.options["write_body"] = ":".join(parts)
        return
    note = f'the body is not written: without a system family, Flume ignored "{text}"'
    found.notes.append(f"{note}; `write_body: {text}` would write it")
    args.warn(
        note,
        args.at(2),
        f"set `write_body: {':'.join(parts)}` in the pipeline to write it, as documented in Flume's guide",
    )


def _buffer(found: Translation, size_bytes: int) -> None:
    if size_bytes <= 0:
        return  # Flume sent each put separately; the default buffer is used instead
    found.options["write_buffer_size"] = f"{size_bytes}B"
    if size_bytes < _SMALL_BUFFER_BYTES:
        found.notes.append(
            f"{size_bytes} bytes cause many small calls; remove write_buffer_size for the default of 2MiB"
        )


def hbase(args: Arguments) -> Translation:
    """The sink with a list of cells."""
    args.count(_FIRST_CELL + _OF_A_CELL)
    if (len(args) - _FIRST_CELL) % _OF_A_CELL:
        message = f"hbase takes table, row key and triples of family, qualifier and value, not {len(args)} arguments"
        args.fail(Kind.MISSING_FIELD, args.at(len(args) - 1), message)
    row = template_of(args.text(1))
    found = Translation("hbase", {"table": literal(args.text(0))})
    found.arguments = {("table",): 0, ("row_key",): 1}
    found.options["row_key"] = {"template": row.template, "on_missing": "empty"}
    cells: list[dict[str, str]] = []
    args.warn_of(row)
    for at in range(_FIRST_CELL, len(args), _OF_A_CELL):
        qualifier, value = template_of(args.text(at + 1)), template_of(args.text(at + 2))
        args.warn_of(qualifier, value)
        names = enumerate(("family", "qualifier", "value"))
        found.arguments |= {("cells", len(cells), name): at + number for number, name in names}
        cells.append({"family": literal(args.text(at)), "qualifier": qualifier.template, "value": value.template})
    found.options["cells"] = cells
    size = args.keyword("writeBufferSize")
    _buffer(found, 0 if size is None else args.as_integer(size, "writeBufferSize", args.call.at))
    wal = args.keyword("writeToWal")
    if (wal or "").lower() != "true":
        found.options["write_to_wal"] = False
    if wal is None:
        note = "hbase() without writeToWal=true skipped the write-ahead log, so rows could be lost; this does the same"
        found.notes.append(note)
        args.warn(note, None, "remove `write_to_wal: false` from the pipeline to keep them")
    return found


SINKS: dict[str, Callable[[Arguments], Translation]] = {"attr2hbase": attr2hbase, "hbase": hbase}
"""Name of a sink -> function that translates it."""
