"""What `updates` of a table may say, and what is doubtful."""

from pathlib import Path

import pytest

from tests.support.problems import problems_of

FILE = """
version: 1
state_dir: {folder}/state
spark: {{master: "{master}"}}
stores: {{s: {store}}}
tables: {{hits: {{families: {{c: {{}}}}, updates: {updates}}}}}
pipelines:
  p:
    source: {{files: {{path: {folder}}}}}
    decorators: [value: {{attribute: "2hb_", value: total}}, value: {{attribute: "2hb_c:n", value: "1"}}]
    sinks: [attr2hbase: {{table: hits}}]
"""
ROCKSDB, HBASE = "{rocksdb: {path: %s/store}}", '{hbase: {bootstrap_servers: "localhost:16000"}}'
NEVER_COMPACTED = (
    '6:71: doubtful: warning: table "hits" is never compacted: Spark has one task slot, and that is left to the '
    "pipelines; give Spark more slots, as in spark: {master: local[2]}"
)


def problems(folder: Path, updates: str, *, master: str = "local[2]", store: str = ROCKSDB) -> list[str]:
    path = folder / "p.yaml"
    store = store.replace("%s", str(folder))
    path.write_text(FILE.format(folder=folder, master=master, store=store, updates=updates))
    return problems_of(path)


@pytest.mark.parametrize(
    ("updates", "problem"),
    [
        ('{processor: sum, columns: ["c:n", c]}', None),
        ('{processor: sum, columns: ["c:n", "d:n"]}', '6:79: doubtful: warning: table "hits" declares no family "d"'),
        ("{processor: sum, columns: [cc]}", 'did you mean "c"'),
        ('{processor: sum, columns: ["c:nn"]}', 'no decorator sets the column "c:nn"'),
        ('{processor: sum, columns: ["c:*"]}', 'did you mean "c:n"'),
        ("{processor: sum, columns: []}", "doubtful: warning: no column is listed, so the processor merges all; leave"),
        ("{processor: summ}", 'did you mean "sum"'),
        ("sum", 'updates must be a mapping, not the text "sum"; write {processor: sum}'),
        ("{processor: sum, compact: 10m}", 'compact must be a mapping, not the text "10m"; write {every: 10m}'),
    ],
)
def test_columns_and_processor(tmp_path: Path, updates: str, problem: str | None) -> None:
    """A row key that all events share is no second problem of such a table."""
    found = problems(tmp_path, updates)
    assert len(found) == (problem is not None)
    assert all(str(problem) in each for each in found), found


@pytest.mark.parametrize(
    ("master", "store", "problem"),
    [
        ("local[1]", HBASE, NEVER_COMPACTED),
        ("local", HBASE, NEVER_COMPACTED),
        ("local[2]", HBASE, None),
        ("local[*]", HBASE, None),
        ("local[1]", ROCKSDB, None),
    ],
)
def test_compaction_needs_a_task_slot(tmp_path: Path, master: str, store: str, problem: str | None) -> None:
    updates = "{processor: sum, compact: {every: 10m}}"
    assert problems(tmp_path, updates, master=master, store=store) == ([] if problem is None else [problem])
