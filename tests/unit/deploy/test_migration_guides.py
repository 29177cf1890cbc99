"""The configurations of other tools, and the pipelines that replace them, in docs/guides/coming-from-*.md."""

import json
import re
from pathlib import Path

import pytest
import yaml

from tests.support.guides import run_tests

ROOT = Path(__file__).resolve().parents[3]
TOOLS = {"kafka-connect": "Kafka Connect", "vector": "Vector", "logstash": "Logstash"}


def guide(tool: str) -> str:
    return (ROOT / f"docs/guides/coming-from-{tool}.md").read_text(encoding="utf-8")


def pipeline(tool: str) -> str:
    [found] = re.findall(rf"^```yaml\n# pipeline of {TOOLS[tool]}\n(.*?)^```", guide(tool), re.MULTILINE | re.DOTALL)
    return str(found)


def replaced(tool: str) -> tuple[list[str], str]:
    """Topics and consumer group of the configuration that the pipeline replaces."""
    if tool == "kafka-connect":
        content = json.loads(guide(tool).partition("```json\n")[2].partition("```")[0])
        return [content["config"]["topics"]], f"connect-{content['name']}"
    if tool == "vector":
        [source] = yaml.safe_load(guide(tool).partition("```yaml\n")[2].partition("```")[0])["sources"].values()
        return source["topics"], source["group_id"]
    text = guide(tool).partition("```ruby\n")[2].partition("```")[0]
    return re.findall(r'topics => \["(.*)"\]', text), re.findall(r'group_id => "(.*)"', text)[0]


@pytest.mark.parametrize("tool", TOOLS)
def test_pipeline_passes_its_tests(tool: str, tmp_path: Path):
    done = run_tests(pipeline(tool), tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("tool", TOOLS)
def test_pipeline_continues_where_the_other_tool_stopped(tool: str):
    [found] = yaml.safe_load(pipeline(tool))["pipelines"].values()
    kafka = found["source"]["kafka"]
    assert (kafka["topics"], kafka["group"]) == replaced(tool)
    assert "attr2hbase run --start-from group" in guide(tool)
    assert f"`{kafka['group']}`" in guide(tool)
