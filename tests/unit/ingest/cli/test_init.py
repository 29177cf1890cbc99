import re

import pytest

from ingest.cli.init import Template


@pytest.mark.parametrize("template", list(Template))
def test_every_template_is_a_pipeline_that_passes_its_tests(ingest, folder, template):
    result = ingest("init", "here", "--template", template.value)
    assert (result.code, result.out.splitlines()[0]) == (0, "here/pipeline.yaml")
    assert "next: cd here\n      attr2hbase test\n" in result.err
    assert ingest("validate", "--strict", "here/pipeline.yaml").code == 0
    assert ingest("test", "here/pipeline.yaml").code == 0
    assert ingest("explain", "here/pipeline.yaml", "--events", "here/events.jsonl").code == 0


def test_templates_that_read_kafka_share_neither_group_nor_topic(ingest, folder):
    used = []
    for template in ("kafka", "hbase"):
        ingest("init", template, "--template", template)
        text = (folder / template / "pipeline.yaml").read_text()
        used += re.findall(r"^pipelines:\n  (\S+):$|topics: \[(\S+)\]", text, re.MULTILINE)
    assert len(set(used)) == len(used) == 4


def test_existing_files_are_never_overwritten(ingest, folder):
    (folder / "events.jsonl").write_text("mine")
    result = ingest("init")
    assert (result.code, result.out) == (4, "")
    assert '"events.jsonl" exists' in result.err
    assert [path.name for path in folder.iterdir()] == ["events.jsonl"]
    assert (folder / "events.jsonl").read_text() == "mine"


def test_files_are_listed_as_json(ingest, folder):
    assert ingest("init", "--output", "json").json == {
        "template": "files",
        "files": ["pipeline.yaml", "events.jsonl", "ticks/monday.txt", "ticks/tuesday.txt"],
    }


def test_sample_events_of_the_files_template_have_all_outcomes(ingest, pipeline):
    outcomes = [
        line["outcome"]
        for line in ingest("explain", "pipeline.yaml", "--events", "events.jsonl", "--output", "json").lines
    ]
    assert outcomes == ["kept", "dropped", "failed"]
