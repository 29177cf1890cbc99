"""Merge patches of RFC 7396, and their composition."""

import json
from functools import reduce

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.api import MappingError, NotMergeableError
from sinks.updates.processors.merge_json import MergeJson

MERGE = MergeJson(MergeJson.settings_class()())
NAMES = st.sampled_from("ab")
NODES = st.recursive(
    st.none() | st.booleans() | st.lists(st.none(), max_size=1),
    lambda nodes: st.dictionaries(NAMES, nodes, max_size=2),
    max_leaves=6,
)
PATCHES = st.lists(st.dictionaries(NAMES, NODES, max_size=2), min_size=2, max_size=6)


def patched(target: object, patch: object) -> object:
    """MergePatch of RFC 7396, section 2."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = patched(result.get(name), value)
    return result


def text(content: object) -> bytes:
    return json.dumps(content, separators=(",", ":"), sort_keys=True).encode()


def read(*values: bytes) -> bytes:
    return MERGE.result(MERGE.merge([MERGE.update(value) for value in values]))


RFC_EXAMPLES = [
    ('{"a":"b"}', '{"a":"c"}', '{"a":"c"}'),
    ('{"a":"b"}', '{"b":"c"}', '{"a":"b","b":"c"}'),
    ('{"a":"b"}', '{"a":null}', "{}"),
    ('{"a":"b","b":"c"}', '{"a":null}', '{"b":"c"}'),
    ('{"a":["b"]}', '{"a":"c"}', '{"a":"c"}'),
    ('{"a":"c"}', '{"a":["b"]}', '{"a":["b"]}'),
    ('{"a":{"b":"c"}}', '{"a":{"b":"d","c":null}}', '{"a":{"b":"d"}}'),
    ('{"a":[{"b":"c"}]}', '{"a":[1]}', '{"a":[1]}'),
    ('{"e":null}', '{"a":1}', '{"a":1}'),
    ("{}", '{"a":{"bb":{"ccc":null}}}', '{"a":{"bb":{}}}'),
]


@pytest.mark.parametrize(("target", "patch", "result"), RFC_EXAMPLES)
def test_examples_of_rfc_7396(target: str, patch: str, result: str) -> None:
    """Those of its appendix A whose patch is an object."""
    assert read(target.encode(), patch.encode()) == result.encode()


@given(PATCHES, st.dictionaries(NAMES, NODES, max_size=2))
def test_a_merged_update_does_what_its_patches_do(patches: list[dict], target: dict) -> None:
    """Whatever was before: the result for any target is that of the patches one after the other."""
    target = patched({}, target)
    merged = json.loads(MERGE.merge([MERGE.update(text(patch)) for patch in patches]))
    composed = merged if isinstance(merged, list) else [merged]
    assert len(composed) <= 2
    assert reduce(patched, composed, target) == reduce(patched, patches, target)


def test_two_patches_are_stored_where_one_is_not_enough() -> None:
    merged = MERGE.merge([b'{"a":1,"b":{"c":null}}', b'{"a":{"x":1,"y":null},"b":{"c":{"z":2}}}'])
    assert merged == b'[{"a":null,"b":{"c":null}},{"a":{"x":1},"b":{"c":{"z":2}}}]'
    assert MERGE.merge([merged, b'{"a":{"y":3}}']) == (
        b'[{"a":null,"b":{"c":null}},{"a":{"x":1,"y":3},"b":{"c":{"z":2}}}]'
    )
    assert MERGE.result(merged) == b'{"a":{"x":1},"b":{"c":{"z":2}}}'


def test_numbers_stay_as_they_are_written() -> None:
    numbers = b'{"a":1.50,"b":-0,"c":123456789012345678901234567890,"d":1E400,"e":[0.10]}'
    assert MERGE.update(numbers) == numbers
    assert read(numbers, b"{}") == numbers


@pytest.mark.parametrize(
    "value",
    [
        *(b"", b"[]", b"1", b"null", b'{"a":NaN}', b'{"a":"\\ud800"}', b"\xff"),
        *(b'{"a":' * depth + b"1" + b"}" * depth for depth in (260, 900)),
        b"[" * 9_999,
    ],
    ids=["empty", "array", "number", "null", "nan", "surrogate", "not UTF-8", "deep", "deeper", "too deep to parse"],
)
def test_other_values_are_refused(value: bytes) -> None:
    with pytest.raises(MappingError) as refused:
        MERGE.update(value)
    assert refused.value.code == "bad_json"
    with pytest.raises(NotMergeableError):
        MERGE.merge([value, value])
    with pytest.raises(NotMergeableError):
        MERGE.result(value)


def test_deep_objects_can_be_merged() -> None:
    depth = next(n for n in range(300, 0, -1) if is_taken(nested(n)))
    assert depth > 200
    one, other = nested(depth), b'{"a":null}'
    merged = MERGE.merge([MERGE.update(one), MERGE.update(other), MERGE.update(one)])
    assert merged.startswith(b'[{"a":null},{')
    assert MERGE.result(MERGE.merge([merged, merged])) == one


def nested(depth: int) -> bytes:
    return b'{"a":' * depth + b"1" + b"}" * depth


def is_taken(value: bytes) -> bool:
    try:
        MERGE.update(value)
    except MappingError:
        return False
    return True
