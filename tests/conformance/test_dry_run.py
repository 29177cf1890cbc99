"""The mutations that `explain` prints, applied in order, give the rows that a run stores."""

import json
from collections.abc import Mapping
from contextlib import chdir
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from ingest.api import Record, Scan
from ingest.api.notation import from_notation, to_notation
from ingest.catalog import Catalog
from ingest.config import load
from ingest.config.model import Configuration
from ingest.config.test_cases import GivenRecord
from ingest.dry_run import DryRun
from ingest.dry_run.inputs import record_of
from ingest.plan.assemble import plan_of
from sinks.rewriting.update_readers import MergedReader
from sinks.updates.feature import Updates
from sinks.updates.merging import Merging, RowMerger
from tests.support.scenarios import SCENARIOS, Scenario
from tests.support.without_spark import WithoutSpark, records_of

EXAMPLES = Path(__file__).parents[2] / "deploy" / "examples"
Cells = dict[tuple[str, bytes], dict[bytes, bytes]]


def in_memory(folder: Path, name: str) -> Configuration:
    """An example whose store is in memory."""
    content = yaml.safe_load((EXAMPLES / name / "pipeline.yaml").read_text())
    content["stores"] = {store: {"memory": {}} for store in content["stores"]}
    for table in content.get("tables", {}).values():
        for family in table["families"].values():
            family.pop("ttl", None)  # events have old times
    (folder / "pipeline.yaml").write_text(json.dumps(content))
    with chdir(EXAMPLES / name):  # the file may name others in its folder
        return load(folder / "pipeline.yaml", env={}, lookup=Catalog())


def mergings_of(configuration: Configuration) -> dict[str, Merging]:
    """Table -> how its updates are merged, for the tables that have any."""
    catalog = Catalog()
    return {
        table.name: updates.merging()
        for table in configuration.tables.values()
        if (updates := Updates().planned(table, catalog)) is not None
    }


def applied(lines: list[dict[str, Any]], mergings: Mapping[str, Merging] = MappingProxyType({})) -> Cells:
    """Rows, columns and values after the printed mutations are applied in order."""
    rows: Cells = {}
    updates: dict[tuple[str, bytes], RowMerger] = {}
    for put in (put for line in lines for put in line["puts"]):
        if (merging := mergings.get(put["table"])) is not None:
            place = put["table"], from_notation(put.get("key", put["row"]))
            merger = updates.setdefault(place, merging.merger())
            merger.add(merging.updates(_columns(put)))
            rows[place] = merging.results(merger.merged()).columns
            continue
        place = put["table"], from_notation(put["row"])
        row = rows.setdefault(place, {})
        match put.get("delete"):
            case None:
                row |= _columns(put)
            case "row":
                row.clear()
            case {"family": family}:
                for column in [each for each in row if each.startswith(from_notation(family) + b":")]:
                    del row[column]
            case {"column": column}:
                row.pop(from_notation(column), None)
    return {place: row for place, row in rows.items() if row}


def _columns(put: dict[str, Any]) -> dict[bytes, bytes]:
    return {from_notation(f) + b":" + from_notation(q): from_notation(v) for f, q, v in put["cells"]}


def stored(pipeline: WithoutSpark, mergings: Mapping[str, Merging]) -> Cells:
    """Rows, columns and newest values of every table; those of deferred updates are merged."""
    store = pipeline.store
    return {
        (table, row.key): {cell.family + b":" + cell.qualifier: cell.value for cell in row.cells}
        for table in store.tables()
        for row in (
            MergedReader.of(store, table, mergings[table]).scan(Scan())
            if table in mergings
            else store.scan(table, Scan())
        )
    }


def bodies_of(configuration: Configuration, pipeline: str) -> list[str]:
    """Bodies of the events in the tests of a pipeline."""
    events = [event for case in configuration.tests if case.pipeline == pipeline for event in case.given]
    contents = [event.get("record", {}).get("value") or event.get("body", "") for event in events]
    return [content for content in contents if isinstance(content, str)]


PIPELINES = sorted(
    (path.parent.name, pipeline)
    for path in EXAMPLES.glob("*/pipeline.yaml")
    if not (path.parent / "pyproject.toml").exists()  # plugin packages are not installed here
    for pipeline in yaml.safe_load(path.read_text())["pipelines"]
)


@pytest.mark.parametrize(("name", "pipeline"), PIPELINES)
def test_explain_agrees_with_a_run(name: str, pipeline: str, tmp_path: Path) -> None:
    configuration = in_memory(tmp_path, name)
    plan = plan_of(configuration, configuration.pipelines[pipeline], Catalog())
    dry_run = DryRun(plan, configuration.tables.values())
    mergings = mergings_of(configuration)
    body = st.sampled_from([*bodies_of(configuration, pipeline), "", "x:y"]).flatmap(
        lambda text: st.sampled_from([text, text[: len(text) // 2], text.upper()])
    )
    event = st.fixed_dictionaries(
        {"value": body, "key": st.sampled_from(["k", "l"]), "timestamp_ms": st.integers(0, 9)}
    )

    @given(st.lists(event, max_size=12))
    def check(values: list[dict[str, Any]]) -> None:
        inputs = [{"record": {**value, "topic": "t", "offset": at}} for at, value in enumerate(values)]
        lines = [json.loads(output.to_json()) for output in dry_run.run(inputs)]
        run = WithoutSpark(configuration, pipeline, tmp_path / "incoming")
        run.run([_record(number, each) for number, each in enumerate(inputs)], 1_700_000_000_000)
        assert applied(lines, mergings) == stored(run, mergings)

    check()


def _record(number: int, given_input: dict[str, Any]) -> Record:
    return record_of(number, GivenRecord.model_validate(given_input["record"]))


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_scenario_in_a_dry_run(scenario: Scenario, tmp_path: Path) -> None:
    content = {
        "version": 1,
        "stores": {"kept": {"memory": {}}},
        "tables": {scenario.name: scenario.table("kept")},
        "pipelines": {scenario.name: scenario.pipeline_of({"brokers": "localhost:9092", "topics": ["t"]}, "kept")},
    }
    file = tmp_path / "pipeline.yaml"
    file.write_text(json.dumps(content))
    configuration = load(file, env={}, lookup=Catalog())
    plan = plan_of(configuration, configuration.pipelines[scenario.name], Catalog())
    lines = [
        json.loads(output.to_json())
        for output in DryRun(plan, configuration.tables.values()).run(map(_given, records_of(scenario.records)))
    ]
    rows = {row: cells for (_, row), cells in applied(lines).items()}
    assert rows == scenario.rows
    failed = {line["input"]: line["error"]["code"] for line in lines if line["outcome"] == "failed"}
    assert failed == scenario.letters
    dropped = [line["reason"] for line in lines if line["outcome"] == "dropped"]
    assert {reason: dropped.count(reason) for reason in dropped} == scenario.dropped


def _given(record: Record) -> dict[str, Any]:
    given_record = {
        "value": None if record.value is None else to_notation(record.value),
        "key": None if record.key is None else to_notation(record.key),
        "headers": [[name, None if value is None else to_notation(value)] for name, value in record.headers],
    }
    place = {"topic": record.topic, "partition": record.partition, "offset": record.offset}
    return {"record": {**given_record, **place, "timestamp_ms": record.timestamp_ms}}
