"""The release workflow: pinned actions, few rights, existing targets, the versions of the support matrix."""

import re
from pathlib import Path

import pytest
import yaml

from ingest.doctor.versions import MATRIX, dotted

ROOT = Path(__file__).resolve().parents[3]
TEXT = (ROOT / ".github/workflows/release.yml").read_text("utf-8")
JOBS = yaml.safe_load(TEXT)["jobs"]
STEPS = [step for job in JOBS.values() for step in job["steps"]]


def test_actions_are_pinned_to_commits_with_their_version():
    used = re.findall(r"uses: (.+)", TEXT)
    assert len(used) == sum("uses" in step for step in STEPS)
    assert [each for each in used if not re.fullmatch(r"actions/[a-z-]+@[0-9a-f]{40}  # v\d+\.\d+\.\d+", each)] == []
    commits = {tuple(each.split("  # ")) for each in used}
    assert len(commits) == len({each.partition("@")[0] for each in used})


def test_rights_are_those_of_each_job():
    assert yaml.safe_load(TEXT)["permissions"] == {}
    rights = {(name, *right) for name, job in JOBS.items() for right in job["permissions"].items()}
    written = {(name, right) for name, right, level in rights if level == "write"}
    assert written == {("build", "id-token"), ("build", "attestations"), ("publish", "contents")}
    assert all(job["timeout-minutes"] <= 90 for job in JOBS.values())


def test_nothing_is_published_without_tests_and_two_builds():
    assert JOBS["publish"]["needs"] == "build"
    assert JOBS["build"]["needs"] == ["test", "test-python"]
    assert "cmp first dist/SHA256SUMS" in TEXT


@pytest.mark.parametrize("run", [step["run"] for step in STEPS if "make " in step.get("run", "")])
def test_targets_of_make_exist(run):
    targets = set(re.findall(r"^([a-z-]+):.*##", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    called = {target for line in re.findall(r"make ([a-z -]+)", run) for target in line.split()}
    assert called
    assert called - targets == set()


def test_versions_are_those_of_the_support_matrix():
    used = {step["with"]["python-version"] for step in STEPS if "setup-python" in step.get("uses", "")}
    used |= set(JOBS["test-python"]["strategy"]["matrix"]["python"])
    minors = range(MATRIX["python"].oldest[1], MATRIX["python"].newest[1] + 1)
    assert {f"3.{minor}" for minor in minors} == {each for each in used if "{" not in each}
    java = {step["with"]["java-version"] for step in STEPS if "setup-java" in step.get("uses", "")}
    assert java == {dotted(MATRIX["java"].newest)}
