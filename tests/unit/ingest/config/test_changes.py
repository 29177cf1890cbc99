"""Which options of a pipeline differ between two files, and which of its components are the same."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ingest.catalog import Catalog
from ingest.config import load
from ingest.config.changes import changed_options, is_changed
from ingest.config.model import Configuration
from ingest.dry_run.matching import new_names
from ingest.plan.assemble import plan_of

Content = dict[str, Any]
Change = Callable[[Content], object]
REGISTRY = {"url": "http://localhost:1"}


def configuration(folder: Path, change: Change = lambda _content: None) -> Configuration:
    """Pipelines p and q; p writes the table t of the store one, and all tables of the store two that events name."""
    content: Content = {
        "version": 1,
        "stores": {name: {"rocksdb": {"path": f"./{name}"}} for name in ("one", "two", "three")},
        "tables": {
            name: {"store": store, "families": {"f": {}}}
            for name, store in (("t", "one"), ("u", "one"), ("v", "two"), ("w", "three"))
        },
        "chains": {name: [{"value": {"attribute": name, "value": "1"}}] for name in ("a", "b")},
        "pipelines": {
            name: {
                "source": {"files": {"path": "./in"}},
                "decorators": [{"chain": chain}],
                "sinks": [{"attr2hbase": {"table": table, "store": store}} for table, store in targets],
            }
            for name, chain, targets in (
                ("p", "a", [("t", "one"), ("%{topic}", "two")]),
                ("q", "b", [("u", "one"), ("w", "three")]),
            )
        },
    }
    change(content)
    path = folder / "pipeline.yaml"
    path.write_text(json.dumps(content))
    return load(path, env={}, lookup=Catalog())


def updated(*path: str, **options: object) -> Change:
    """Sets options of a part of the file."""

    def change(content: Content) -> None:
        for name in path:
            content = content.setdefault(name, {})
        content.update(options)

    return change


@pytest.mark.parametrize(
    ("change", "of_p", "of_q"),
    [
        (updated("tables", "t", "families", "f", versions=2), ["tables: t: families: f: versions"], []),
        (updated("tables", "u", "families", "f", versions=2), [], ["tables: u: families: f: versions"]),
        (updated("tables", "v", "families", "f", versions=2), ["tables: v: families: f: versions"], []),
        (updated("tables", x={"store": "two", "families": {"f": {}}}), ["tables: x"], []),
        (updated("tables", x={"store": "one", "families": {"f": {}}}), [], []),
        (updated("stores", "three", rocksdb={"path": "./four"}), [], ["stores: three: rocksdb: path"]),
        (updated("stores", "two", rocksdb={"path": "./four"}), ["stores: two: rocksdb: path"], []),
        (updated("chains", b=[{"value": {"attribute": "b", "value": "2"}}]), [], ["decorators: value: value"]),
        (updated("tables", "t", columns={"f:q": "int32"}), [], []),
        (updated(spark={"master": "local[1]"}), [], []),
        (updated(registry=REGISTRY), [], []),
        (updated(secrets={"directory": "./secrets"}), [], []),
        (updated("pipelines", "p", description="other words"), [], []),
        (updated("pipelines", "q", max_rate=5), [], ["max_rate"]),
    ],
)
def test_options_are_of_what_the_pipeline_uses(
    tmp_path: Path, change: Change, of_p: list[str], of_q: list[str]
) -> None:
    old, new = configuration(tmp_path), configuration(tmp_path, change)
    for name, expected in (("p", of_p), ("q", of_q)):
        assert [": ".join(each.path) for each in changed_options(name, old, new)] == expected
        assert is_changed(name, old, new) == bool(expected)


def test_plugins_are_used_by_all_pipelines(tmp_path: Path) -> None:
    """A component of the same name may be another one with them."""
    (tmp_path / "plugin_of_changes.py").write_text('"""Has no components."""\n')
    old, new = configuration(tmp_path), configuration(tmp_path, updated(plugins=["plugin_of_changes"]))
    for name in ("p", "q"):
        assert [each.path for each in changed_options(name, old, new)] == [("plugins",)]
        assert is_changed(name, old, new)


AVRO = {"avro": {"header": "confluent"}}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (updated("registry", insecure=True), []),
        (updated("registry", url="http://localhost:2"), ["registry: url"]),
    ],
)
def test_registry_counts_with_what_decides_the_meaning_of_values(
    tmp_path: Path, change: Change, expected: list[str]
) -> None:
    def with_registry(content: Content) -> None:
        updated(registry=dict(REGISTRY))(content)
        content["pipelines"]["p"]["decorators"] = [AVRO]

    def changed(content: Content) -> None:
        with_registry(content)
        change(content)

    old, new = configuration(tmp_path, with_registry), configuration(tmp_path, changed)
    assert [": ".join(each.path) for each in changed_options("p", old, new)] == expected
    assert is_changed("p", old, new) == bool(expected)


def value(attribute: str, **options: object) -> Content:
    return {"value": {"attribute": attribute, "value": "1", **options}}


def json_of(**options: object) -> Content:
    return {"json": options}


@pytest.mark.parametrize(
    ("before", "after", "options", "names"),
    [
        # a label is given to it, and another one of the kind is inserted
        (
            [value("a"), json_of(on_null="empty")],
            [json_of(prefix="x."), value("a"), json_of(on_null="empty", label="reader")],
            ["+ json", "+ json (reader): label"],
            {"value": "value", "json": "reader"},
        ),
        # others of its kind are around it
        (
            [value("a"), value("b"), value("c")],
            [value("b"), value("d")],
            ["- value", "~ value: attribute"],
            {"value#2": "value#1", "value#3": "value#2", "value#1": "value#1 (old)"},
        ),
        # the same label, with another kind
        (
            [value("a", label="x"), json_of(prefix="y.")],
            [json_of(prefix="x.", label="x"), json_of(prefix="y.")],
            ["- value (x)", "+ json (x)"],
            {"x": "x", "json": "json#2"},
        ),
        # the same labels in another order
        (
            [value("a", label="x"), value("b", label="y")],
            [value("b", label="y"), value("a", label="x")],
            ["+ value (y)", "- value (y)"],
            {"x": "x", "y": "y"},
        ),
        # another of the kind at another place
        (
            [value("a"), json_of()],
            [json_of(), value("b")],
            ["- value", "+ value"],
            {"json": "json", "value": "value (old)"},
        ),
        ([], [value("a")], ["+ value"], {}),
    ],
    ids=["labelled", "between", "another-kind", "moved", "elsewhere", "first"],
)
def test_options_and_results_have_the_same_components(
    tmp_path: Path, before: list[Content], after: list[Content], options: list[str], names: dict[str, str]
) -> None:
    old, new = (
        configuration(tmp_path, updated("pipelines", "p", decorators=decorators)) for decorators in (before, after)
    )
    signs = {(True, True): "~", (True, False): "-", (False, True): "+"}
    found = [
        f"{signs[each.has_old, each.has_new]} {': '.join(each.path[1:])}" for each in changed_options("p", old, new)
    ]
    assert found == options
    plans = [plan_of(each, each.pipelines["p"], Catalog()) for each in (old, new)]
    renamed = {name: new for name, new in new_names(*plans).items() if not name.startswith("attr2hbase")}
    assert renamed == names


def test_sinks_are_matched_as_decorators_are(tmp_path: Path) -> None:
    def labelled(content: Content) -> None:
        sinks = content["pipelines"]["p"]["sinks"]
        content["pipelines"]["p"]["sinks"] = [{"attr2hbase": {"table": "v", "store": "two"}}, *sinks]
        sinks[0]["attr2hbase"]["label"] = "rows"

    old, new = configuration(tmp_path), configuration(tmp_path, labelled)
    found = [": ".join(each.path) for each in changed_options("p", old, new)]
    assert found == ["sinks: attr2hbase", "sinks: attr2hbase (rows): label"]
