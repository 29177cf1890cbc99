"""Differences of limited size: long values are cut, and rows left out."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import orjson

from ingest.api.notation import from_notation, to_notation
from ingest.masks import Masks

_AROUND = 20  # characters before the first that differs


class Limit(NamedTuple):
    """
    The size of a difference.

    Attributes:
        rows: most rows of a table, and events of a transition.
        answer_bytes: most of the difference as JSON.
        characters: most of a value.
    """

    rows: int
    answer_bytes: int
    characters: int = 200


def limited(found: Callable[[int], Mapping[str, Any]], limit: Limit, masks: Masks) -> dict[str, Any]:
    """
    A difference that is not too large, with one row or none of a table if its rows are large; its numbers count all.

    Args:
        found: from the number of rows of a table to the difference, as `ingest.dry_run.diff.Diff.to_json`.
        limit: of its size.
        masks: as in `shortened`.
    """
    for rows in (limit.rows, 1):
        answer = shortened(found(rows), limit.characters, masks)
        if len(orjson.dumps(answer)) <= limit.answer_bytes:
            return answer
    return {**found(0)}


def shortened(found: Mapping[str, Any], most: int, masks: Masks) -> dict[str, Any]:
    """
    A difference in which a longer value is a part of it, around the first character that differs between old and new.

    Such a value has `part: {"from": 980, "to": 1180, "of": 100000}` beside it, in characters of the whole value.

    Args:
        found: as `ingest.dry_run.diff.Diff.to_json` returns it.
        most: characters of a value.
        masks: hides secrets in the values that are cut, before a part of a secret is left over.
    """
    tables = [
        {
            **table,
            "changed_rows": [
                {**row, "cells": [_cell(cell, most, masks) for cell in row["cells"]]} for row in table["changed_rows"]
            ],
        }
        for table in found["tables"]
    ]
    return {**found, "tables": tables}


def _cell(cell: Mapping[str, Any], most: int, masks: Masks) -> dict[str, Any]:
    written = {side: cell[side] for side in ("old", "new") if cell[side] is not None}
    texts = {side: _text(write["value"], most) for side, write in written.items()}
    if all(len(text) <= most for text in texts.values()):
        return {**cell}
    texts = {side: masks.hide(text) for side, text in texts.items()}
    start = max(0, _same(texts["old"], texts["new"]) - _AROUND) if len(texts) > 1 else 0
    return {**cell, **{side: _part(write, texts[side], start, most) for side, write in written.items()}}


def _same(one: str, other: str) -> int:
    """How many characters two texts begin with in common."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (here, there) in pairs if here != there), min(len(one), len(other)))


def _text(value: object, most: int) -> str:
    """A value that may be too long as text; lone surrogates stand for bytes that are not UTF-8."""
    match value:
        case None | bool() | int() | float():
            return ""
        case {"b64": str(), **more} if not more:
            return from_notation(value).decode("utf-8", "surrogateescape")
        case str() if type(value) is str:
            return from_notation(value).decode("utf-8", "surrogateescape")
        case _:
            text = orjson.dumps(value).decode()
            return text if len(text) > most else ""


def _part(write: Mapping[str, Any], text: str, start: int, most: int) -> dict[str, Any]:
    if len(text) <= most:
        return {**write}
    # the end of a value that only begins like the other one
    start = min(start, len(text) - most)
    value = to_notation(text[start : start + most].encode("utf-8", "surrogateescape"))
    return {**write, "value": value, "part": {"from": start, "to": start + most, "of": len(text)}}
