"""JSON objects merged member by member."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import reduce

import orjson

from ingest.api import MappingError, Model, NotMergeableError, Processor, ProcessorExample
from ingest.api.event_errors import BadJsonError
from ingest.api.notation import shown_start
from ingest.formats.cell_types import CellType
from ingest.formats.json_text import NumberAsWritten, refuse_constant

_OPTIONS = orjson.OPT_SORT_KEYS | orjson.OPT_PASSTHROUGH_SUBCLASS
_decoder = json.JSONDecoder(parse_float=NumberAsWritten, parse_int=NumberAsWritten, parse_constant=refuse_constant)


class MergeJson(Processor[Model]):
    """
    Merge JSON objects: each is a merge patch of RFC 7396.

    Members of an update replace those of the same name. Objects are merged member by member at any depth, arrays are
    replaced as a whole, and `null` removes a member. Numbers stay as they are written; members are sorted by name.

    An update row holds a patch, with `null` for members that it removes. Two patches do not always make one: to remove
    an object and then set another of its name takes both. The update is then an array of two patches, to be applied
    in order. A read applies them, so it returns an object without such members.

    Source: RFC 7396; the composition of patches is own work.
    """

    kind = "merge_json"
    merges_all = True
    merge_examples = (
        ProcessorExample(
            "a profile from several events",
            values=('{"name": "Ann", "at": {"city": "Bern"}}', '{"at": {"zip": "3011"}, "visits": 1.50}'),
            merged='{"at":{"city":"Bern","zip":"3011"},"name":"Ann","visits":1.50}',
        ),
        ProcessorExample(
            "null removes a member, and an array is replaced",
            values=('{"tags": ["a", "b"], "phone": "1"}', '{"tags": ["c"], "phone": null}'),
            merged='{"tags":["c"]}',
        ),
        ProcessorExample(
            "an object in place of a removed one",
            values=('{"at": {"city": "Bern"}}', '{"at": null}', '{"at": {"zip": "1"}}'),
            merged='{"at":{"zip":"1"}}',
        ),
        ProcessorExample("only objects", values=("{}", '{"a":1}'), merged='{"a":1}', refused=("[1]", "7", "{", "")),
    )

    @classmethod
    def value_type(cls, settings: Model) -> str:  # noqa: ARG003 - the same for all
        """JSON."""
        return CellType.JSON

    def update(self, value: bytes) -> bytes:
        """The patch."""
        try:
            patch = _parsed(value)
            if not isinstance(patch, dict):
                raise MappingError(f"{shown_start(value)} is not a JSON object", code=BadJsonError.code)
            return _text([patch])[1:-1]  # in an array, because two patches in an array must not be nested too deep
        except ValueError as error:
            raise MappingError(f"{shown_start(value)} is not a JSON object: {error}", code=BadJsonError.code) from error

    def merge(self, updates: Sequence[bytes]) -> bytes:
        """The composition of the patches."""
        with _limited_depth():
            patch = reduce(_composed_objects, map(_patch_of, updates))
            removals = _removals(patch)
        return _text([removals, patch] if removals else patch)

    def result(self, update: bytes) -> bytes:
        """The object that the patch makes of an empty one."""
        with _limited_depth():
            content = _applied({}, _patch_of(update))
        return _text(content)


class _Replacement(dict[str, object]):
    """An object that replaces what was there before, instead of being merged with it; without patches in it."""


def _composed(first: object, second: object) -> object:
    """The patch that does what two patches do, one after the other."""
    if type(second) is not dict:
        return second
    if type(first) is dict:
        return _composed_objects(first, second)
    return _Replacement(_applied_object(first, second))


def _composed_objects(first: dict[str, object], second: dict[str, object]) -> dict[str, object]:
    composed = dict(first)
    for name, node in second.items():
        composed[name] = _composed(composed[name], node) if name in composed else node
    return composed


def _applied(target: object, patch: object) -> object:
    """A target after a patch."""
    if isinstance(patch, _Replacement):
        return dict(patch)
    return _applied_object(target, patch) if isinstance(patch, dict) else patch


def _applied_object(target: object, patch: Mapping[str, object]) -> dict[str, object]:
    patched = dict(target) if isinstance(target, dict) else {}
    for name, node in patch.items():
        if node is None:
            patched.pop(name, None)
        else:
            patched[name] = _applied(patched.get(name), node)
    return patched


def _removals(patch: Mapping[str, object]) -> dict[str, object]:
    """A patch that removes what replacements replace."""
    found: dict[str, object] = {}
    for name, node in patch.items():
        if isinstance(node, _Replacement):
            found[name] = None
        elif isinstance(node, dict) and (inner := _removals(node)):
            found[name] = inner
    return found


def _patch_of(update: bytes) -> dict[str, object]:
    try:
        content = _parsed(update)
    except ValueError as error:
        raise NotMergeableError(f"{shown_start(update)} is not a JSON object: {error}") from error
    patches = content if isinstance(content, list) else [content]
    objects: list[dict[str, object]] = [patch for patch in patches if isinstance(patch, dict)]
    if not patches or len(objects) < len(patches):
        raise NotMergeableError(f"{shown_start(update)} is not a JSON object, nor an array of some")
    return reduce(_composed_objects, objects)


def _parsed(text: bytes) -> object:
    with _limited_depth():
        content: object = _decoder.decode(text.decode())
    return content


@contextmanager
def _limited_depth() -> Iterator[None]:
    try:
        yield
    except RecursionError as error:
        raise NotMergeableError("the JSON is nested too deep") from error


def _text(content: object) -> bytes:
    try:
        return orjson.dumps(content, default=_plain, option=_OPTIONS)
    except orjson.JSONEncodeError as error:  # nested too deep, or a lone surrogate
        raise NotMergeableError(str(error)) from error


def _plain(value: object) -> object:
    """A number or a replacement, for orjson."""
    return dict(value) if isinstance(value, _Replacement) else orjson.Fragment(str(value))
