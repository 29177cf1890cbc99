"""
Translates Flume's decorators.

Source: the registrations of SinkFactoryImpl in Flume 0.9.5, and the builders of each.
"""

import re
from collections.abc import Callable

from ingest.config import Kind
from ingest.config.nodes import NodePath
from ingest.flume.escapes import literal, template_of
from ingest.flume.og.arguments import Arguments, Translation
from ingest.flume.patterns import separator_of

_ALGORITHMS = {"MD5": "md5", "SHA": "sha1", "SHA1": "sha1", "SHA256": "sha256", "SHA384": "sha384", "SHA512": "sha512"}
_COUNTED = "counted by offsets, so that a replay selects the same events; Flume counted from its start"


def _value(args: Arguments) -> Translation:
    args.count(2, 2)
    name, text = args.texts()
    arguments: dict[NodePath, int] = {("attribute",): 0, ("value",): 1}
    if not args.is_true("escape"):
        return Translation("value", {"attribute": name, "value": literal(text)}, arguments=arguments)
    template = template_of(text)
    args.warn_of(template)
    return Translation("value", {"attribute": name, "value": template.template}, arguments=arguments)


def _select(args: Arguments) -> Translation:
    args.count(1)
    return Translation("select", {"attributes": args.texts()})


def _mask(args: Arguments) -> Translation:
    args.count(1)
    return Translation("mask", {"attributes": args.texts()})


def _format(args: Arguments) -> Translation:
    args.count(1, 1)
    template = template_of(args.text(0))
    args.warn_of(template)
    return Translation("format", {"template": template.template}, arguments={("template",): 0})


def _regex(args: Arguments) -> Translation:
    args.count(3, 3)
    notes: list[str] = []
    pattern, index, name = args.pattern(0, notes), args.integer(1, "index", least=0), args.text(2)
    options = {"pattern": pattern.text, "index": index, "attribute": name, "on_unmatched": "error"}
    return Translation("regex", options, notes, {("pattern",): 0, ("attribute",): 2})


def _regex_all(args: Arguments) -> Translation:
    args.count(2)
    notes: list[str] = []
    pattern = args.pattern(0, notes)
    names = ["" if not name.strip() else name for name in args.texts(1)]
    used = names[: pattern.groups]
    for number, name in enumerate(used):
        if name and name in used[:number]:
            message = f'"{name}" is listed twice: Flume failed every event that matched'
            args.fail(Kind.CONFLICT, args.at(number + 1), message)
    if len(names) > len(used):
        notes.append(f"the expression has {pattern.groups} groups; further names never had a value")
    if not any(used):
        return Translation("", notes=[*notes, "no group has a name, so it has no effect"])
    options: dict[str, object] = {"pattern": pattern.text, "attributes": used, "on_unmatched": "error"}
    arguments: dict[NodePath, int] = {("attributes", number): number + 1 for number in range(len(used))}
    return Translation("regex", options, notes, {("pattern",): 0, **arguments})


def _split(args: Arguments) -> Translation:
    args.count(3, 3)
    notes: list[str] = []
    pattern, index, name = args.pattern(0, notes, separator_of), args.integer(1, "index", least=0), args.text(2)
    options = {"separator": pattern.text, "index": index, "attribute": name}
    return Translation("split", options, notes, {("separator",): 0, ("attribute",): 2})


def _digest(args: Arguments) -> Translation:
    args.count(2, 2)
    algorithm = _ALGORITHMS.get(args.text(0).upper().replace("-", ""))
    if algorithm is None:
        hint = "supported are MD5, SHA-1, SHA-256, SHA-384 and SHA-512"
        args.fail(Kind.NOT_ONE_OF, args.at(0), f'there is no digest "{args.text(0)}"', hint)
    options: dict[str, object] = {"algorithm": algorithm, "attribute": args.text(1)}
    if args.is_true("base64"):
        options["encoding"] = "base64"
    return Translation("digest", options, arguments={("attribute",): 1})


def _ex_date(args: Arguments) -> Translation:
    args.count(2)
    args.ignore_from(4)
    args.note_zone()  # Flume wrote the parts in this zone, even if the date has another
    options: dict[str, object] = {"source": args.text(0), "pattern": args.text(1)}
    if args.text(2, "date") != "date":
        options["prefix"] = args.text(2)
    notes = []
    if "z" in re.sub("'[^']*'", "", args.text(1)):
        hint = "let the sender write offsets such as +0200, or compare the dates"
        args.warn("of the names of zones, only those with one offset are read, such as UTC and CEST", args.at(1), hint)
    if args.text(3, "true").lower() != "true":
        notes.append("Flume ignored this setting and always padded; so does this")
        args.warn(notes[0], args.at(3), "set `padding: false` in the pipeline to turn padding off")
    return Translation("ex_date", options, notes, {("source",): 0, ("pattern",): 1, ("prefix",): 2})


def _null_deco(args: Arguments) -> Translation:
    args.count(0, 0)
    return Translation("null_deco")


def _interval_sampler(args: Arguments) -> Translation:
    args.count(1, 1)
    return Translation("interval_sampler", {"n": args.integer(0, "interval", least=1)}, [_COUNTED])


def _interval_droppy_append(args: Arguments) -> Translation:
    args.count(1, 1)
    return Translation("interval_droppy_append", {"n": args.integer(0, "interval", least=1)}, [_COUNTED])


def _prob_sampler(args: Arguments) -> Translation:
    args.count(1, 2)
    probability = args.number(0, "probability")
    notes = ["the decision depends on the record's offset, so that a replay selects the same events"]
    if not 0 <= probability <= 1:
        notes.append(f"a probability of {probability:g} lets {'all' if probability > 1 else 'no'} events pass")
    options: dict[str, object] = {"p": min(max(probability, 0.0), 1.0)}
    if len(args) > 1:
        options["seed"] = args.long(1, "seed")
    else:
        notes.append("Flume used the time as seed; here it is 0")
    return Translation("prob_sampler", options, notes)


def _reservoir_sampler(args: Arguments) -> Translation:
    args.count(1, 1)
    note = "samples the events of a partition in one micro-batch; Flume sampled those between two flushes"
    return Translation("reservoir_sampler", {"k": args.integer(0, "size", least=1)}, [note])


def _mult(args: Arguments) -> Translation:
    args.count(0, 1)
    return Translation("mult", {"n": args.integer(0, "number of copies", least=0) if len(args) else 1})


def _gunzip(args: Arguments) -> Translation:
    args.count(0, 0)
    return Translation("gunzip")


def _unbatch(args: Arguments) -> Translation:
    args.count(0, 0)
    return Translation("unbatch")


TRANSLATED: dict[str, Callable[[Arguments], Translation]] = {
    "digest": _digest,
    "exDate": _ex_date,
    "format": _format,
    "gunzip": _gunzip,
    "intervalDroppyAppend": _interval_droppy_append,
    "intervalSampler": _interval_sampler,
    "mask": _mask,
    "mult": _mult,
    "nullDeco": _null_deco,
    "probSampler": _prob_sampler,
    "regex": _regex,
    "regexAll": _regex_all,
    "reservoirSampler": _reservoir_sampler,
    "select": _select,
    "split": _split,
    "unbatch": _unbatch,
    "value": _value,
}
"""Name of a decorator -> function that translates it."""

_RETRIED = "while a store is unavailable the micro-batch is retried, with back-off, until it is stored"
_ACKED = "offsets are committed only after the events are stored"
_RATE = "`max_rate` of the pipeline limits the rate"
_FAULTS = "for tests; see `docs/guides/failpoints.md`"
_METRICS = "it measured Flume; the service counts events at `/metrics`"

LEFT_OUT: dict[str, str] = {
    "ackChecker": _ACKED,
    "ackInjector": _ACKED,
    "ackedWriteAhead": _ACKED,
    "batch": "replaced by micro-batches and `write_buffer_size` of the sink",
    "benchinject": _METRICS,
    "benchreport": _METRICS,
    "bloomCheck": _METRICS,
    "bloomGen": _METRICS,
    "choke": _RATE,
    "delay": _RATE,
    "diskFailover": "events stay in Kafka while the store is unavailable",
    "flakeyAppend": _FAULTS,
    "gzip": "it compressed events between nodes; Kafka producers compress records",
    "inmem": "replaced by micro-batches",
    "insistentAppend": _RETRIED,
    "insistentOpen": _RETRIED,
    "intervalFlakeyAppend": _FAULTS,
    "lazyOpen": "stores are opened on first use",
    "stubbornAppend": _RETRIED,
}
"""Name of a decorator -> why it is left out, and its replacement."""

UNPACKED_BY = {"batch": "unbatch", "gzip": "gunzip"}
"""Decorator that packs events -> the one that unpacks them and must follow it."""

UNKNOWN: dict[str, str] = {
    "failchain": "it was removed in Flume 0.9.3; a failover is written < primary ? backup >",
    "latch": "it is in Flume's source, but was never registered",
    "reorder": "it is in Flume's source, but was never registered",
    "writeAhead": "it is in Flume's guide, but in no release",
}
"""Names that no release of Flume accepts -> hint."""
