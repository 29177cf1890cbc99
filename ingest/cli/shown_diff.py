"""The text of a difference between two versions of a pipeline, for `diff` and `reload --check`."""

from collections.abc import Mapping
from typing import Any

from ingest.amounts import counted
from ingest.api.notation import from_notation, readable
from ingest.cli.output import WIDTH, Output
from ingest.formats.times import moment

SIGNS = {"added": ("+", "green"), "removed": ("-", "red"), "changed": ("~", "yellow")}
"""Change -> its sign and colour."""
_COLORS = {"kept": "green", "dropped": "yellow", "failed": "red", "stops": "red"}
_MOST = 56  # characters of a value, so that its line is no longer; JSON has all
_OPTIONS = 10  # that differ and are shown
_AROUND = 12  # characters shown before the first that differs


def show_diff(out: Output, found: Mapping[str, Any], *, more: str) -> None:
    """
    Print the difference of one pipeline.

    Args:
        out: of the command.
        found: as `ingest.dry_run.diff.Diff.to_json` or `ingest.dry_run.shortened` returns it, with the name of the
            `pipeline`.
        more: how to see what is left out.
    """
    events = counted(found["events"], "event")
    out.parts((f"{found['pipeline']} ", "bold"), (f"{events}, {'with' if found['differs'] else 'no'} differences", ""))
    if "events_of" in found:
        out.line(f"  compared: {found['events_of']}", "dim")
        _show_options(out, found["options"])
    if not found["differs"]:
        return
    _show_outcomes(out, found["outcomes"])
    for transition in found["transitions"]:
        _show_transition(out, transition, more)
    for table in found["tables"]:
        _show_table(out, table, more)


def _show_options(out: Output, options: list[dict[str, Any]]) -> None:
    """The options that differ between the files."""
    if not options:
        out.line("  no option differs, but something else that the pipeline uses, such as the value of a secret", "dim")
    for each in options[:_OPTIONS]:
        texts = {side: out.masked(_option(each[side])) for side in ("old", "new") if side in each}
        sign, color = SIGNS["changed" if len(texts) > 1 else "removed" if "old" in texts else "added"]
        name = ": ".join(each["path"])
        head = (f"  {sign} ", color), (f"{name} = ", "dim")
        if len(texts) == 1:
            out.parts(*head, (_cut(*texts.values()), color))
            continue
        old, new = around(texts["old"], texts["new"])
        if len(f"  ~ {name} = {old} -> {new}") <= WIDTH:
            out.parts(*head, (old, "red"), (" -> ", "dim"), (new, "green"))
            continue
        out.parts((f"  {sign} ", color), (name, "dim"))
        out.line(f"      - {old}", "red")
        out.line(f"      + {new}", "green")
    _show_left(out, len(options) - _OPTIONS, "option", "--output json has all")


def _option(value: object) -> str:
    """The value of an option, on one line."""
    from ingest.config.writing import flow

    return value if isinstance(value, str) and value.isprintable() else flow(value)


def _show_outcomes(out: Output, outcomes: list[dict[str, Any]]) -> None:
    out.table(
        ("outcome", "component", "reason", "#old", "#new", "#change"),
        [
            (
                each["outcome"],
                each["component"],
                each["reason"],
                f"{each['old']:,}",
                f"{each['new']:,}",
                "" if each["old"] == each["new"] else f"{each['new'] - each['old']:+,}",
            )
            for each in outcomes
        ],
        width=WIDTH,
    )


def _show_transition(out: Output, transition: Mapping[str, Any], more: str) -> None:
    old, new = transition["old"], transition["new"]
    out.line()
    out.parts(
        (counted(transition["events"], "event"), "bold"),
        (": ", ""),
        _outcome(old),
        (" -> ", "dim"),
        _outcome(new),
    )
    examples = transition["examples"]
    for each in examples:
        place = f" at {each['topic']}/{each['partition']}/{each['offset']}" if each["topic"] else ""
        message = _cut(out.masked(each["new_message"] or each["old_message"] or ""))
        out.parts((f"  event {each['input']}{place}", "cyan"), (f": {message}" if message else "", ""))
    _show_left(out, transition["events"] - len(examples), "event", more)


def _outcome(outcome: Mapping[str, str] | None) -> tuple[str, str]:
    """The text and the colour of an outcome; None if one version makes more events of a record than the other."""
    if outcome is None:
        return "no event", "dim"
    by = {
        "kept": "kept",
        "dropped": f"dropped by {outcome['component']}: {outcome['reason']}",
        "failed": f"failed in {outcome['component']}: {outcome['reason']}",
        "stops": f"stops the pipeline in {outcome['component']}: {outcome['reason']}",
    }
    return by[outcome["outcome"]], _COLORS[outcome["outcome"]]


def _show_table(out: Output, table: Mapping[str, Any], more: str) -> None:
    if not any(table["rows"].values()):
        return
    name = f"{table['store']}/{table['table']}" if table["store"] else table["table"]
    out.line()
    out.parts((f"{name} ", "bold"), (f"rows: {_counts(table['rows'])}; cells: {_counts(table['cells'])}", ""))
    for row in table["changed_rows"]:
        sign, color = SIGNS[row["change"]]
        stored = f", stored as {_bytes(row['row'])}" if "key" in row else ""
        about = f"{stored} (event {row['input']})"
        out.parts((f"  {sign} ", color), (_bytes(row.get("key", row["row"])), "bold"), (about, "dim"))
        for cell in row["cells"]:
            _show_cell(out, cell, is_marked=row["change"] == "changed")
    _show_left(out, sum(table["rows"].values()) - len(table["changed_rows"]), "row", more)


def _show_cell(out: Output, cell: Mapping[str, Any], *, is_marked: bool) -> None:
    sign, color = SIGNS[cell["change"]]
    head = (f"      {sign} " if is_marked else "      ", color)
    old, new = cell["old"], cell["new"]
    if old is not None and new is not None:
        before, after = _changed(out, old, new)
        out.parts(head, (f"{_name(cell)} = ", "dim"), (before, "red"), (" -> ", "dim"), (after, "green"))
        return
    (write,) = [each for each in (old, new) if each is not None]
    value = "" if "delete" in cell else _cut(_written(out, write))
    out.parts(head, (_name(cell) + (" = " if value else ""), "dim"), (value, ""))


def _changed(out: Output, old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[str, str]:
    """What differs between two writes: their values, else the times, the times to live, or how many there are."""
    if old["value"] != new["value"]:
        return around(_written(out, old), _written(out, new))
    if old["timestamp_ms"] != new["timestamp_ms"]:
        return moment(old["timestamp_ms"]), moment(new["timestamp_ms"])
    if old.get("ttl_ms") != new.get("ttl_ms"):
        return _ttl(old), _ttl(new)
    if old["writes"] != new["writes"]:
        return counted(old["writes"], "write"), counted(new["writes"], "write")
    return "an earlier value", "another one"


def _ttl(write: Mapping[str, Any]) -> str:
    return f"ttl {write['ttl_ms']:,} ms" if "ttl_ms" in write else "no ttl"


def _show_left(out: Output, left: int, noun: str, more: str) -> None:
    if left > 0:
        out.line(f"  and {counted(left, noun)} more: {more}", "dim")


def _name(cell: Mapping[str, Any]) -> str:
    if "delete" in cell:
        deleted = cell["delete"]
        return "delete row" if deleted == "row" else " ".join(("delete", *deleted, *map(_bytes, deleted.values())))
    if "order" in cell:
        return "order of writes"
    if "name" in cell:
        return _bytes(cell["name"])
    return f"{_bytes(cell['family'])}:{_bytes(cell['qualifier'])}"


def _bytes(notation: Any) -> str:
    return readable(from_notation(notation))


def _written(out: Output, write: Mapping[str, Any]) -> str:
    """The value of a write, or the part of it that `ingest.dry_run.shortened` has left."""
    text = out.masked(_value(write["value"]))
    part = write.get("part")
    if part is None:
        return text
    return f"{'…' if part['from'] else ''}{text}{'…' if part['to'] < part['of'] else ''}"


def _value(value: object) -> str:
    match value:
        case None:
            return "null"
        case str() | {"b64": _}:
            return _bytes(value)
        case bool():
            return "true" if value else "false"
        case _:
            return str(value)


def _counts(numbers: Mapping[str, int]) -> str:
    return ", ".join(f"{number:,} {change}" for change, number in numbers.items() if number) or "none"


def _cut(text: str) -> str:
    """The text, or its beginning."""
    return text if len(text) <= _MOST else f"{text[: _MOST - 1]}…"


def around(old: str, new: str) -> tuple[str, str]:
    """Two texts, or parts of them from shortly before the first difference on."""
    if len(old) <= _MOST and len(new) <= _MOST:
        return old, new
    pairs = enumerate(zip(old, new, strict=False))
    same = next((place for place, (one, other) in pairs if one != other), min(len(old), len(new)))
    start = max(0, same - _AROUND)
    lead = "…" if start else ""
    return lead + _cut(old[start:]), lead + _cut(new[start:])
