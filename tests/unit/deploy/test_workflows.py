"""The workflows: pinned actions, few rights, existing targets, all tests, the versions of the support matrix."""

import re
from fnmatch import fnmatch
from pathlib import Path

import pytest
import yaml

from ingest.doctor.versions import MATRIX, dotted

ROOT = Path(__file__).resolve().parents[3]
FOLDER = ROOT / ".github/workflows"
TEXTS = {name: (FOLDER / f"{name}.yml").read_text("utf-8") for name in ("release", "slow")}
JOBS = yaml.safe_load(TEXTS["release"])["jobs"]
SLOW_JOBS = yaml.safe_load(TEXTS["slow"])["jobs"]
STEPS = [step for job in (*JOBS.values(), *SLOW_JOBS.values()) for step in job.get("steps", [])]
SHARDS = SLOW_JOBS["tests"]["strategy"]["matrix"]["include"]
TARGETS = set(re.findall(r"^([a-z-]+):.*##", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))


def test_actions_are_pinned_to_commits_with_their_version():
    used = [each for text in TEXTS.values() for each in re.findall(r"uses: ([^.].+)", text)]
    assert len(used) == sum("uses" in step for step in STEPS)
    pinned = r"(actions/[a-z-]+|pypa/gh-action-pypi-publish)@[0-9a-f]{40}  # v\d+\.\d+\.\d+"
    assert [each for each in used if not re.fullmatch(pinned, each)] == []
    commits = {tuple(each.split("  # ")) for each in used}
    assert len(commits) == len({each.partition("@")[0] for each in used})


def test_rights_are_those_of_each_job():
    assert [yaml.safe_load(text)["permissions"] for text in TEXTS.values()] == [{}, {}]
    assert {right for job in SLOW_JOBS.values() for right in job["permissions"].items()} == {("contents", "read")}
    rights = {(name, *right) for name, job in JOBS.items() for right in job["permissions"].items()}
    written = {(name, right) for name, right, level in rights if level == "write"}
    assert written == {
        ("build", "id-token"),
        ("build", "attestations"),
        ("publish", "contents"),
        ("pypi", "id-token"),
        ("site", "contents"),
    }
    assert all(job["timeout-minutes"] <= 90 for job in JOBS.values() if "steps" in job)
    assert all(job["timeout-minutes"] < 360 for job in SLOW_JOBS.values())


def test_nothing_is_published_without_tests_and_two_builds():
    assert {name for name, job in JOBS.items() if job.get("environment") == "release"} == {"publish", "pypi", "image"}
    assert [JOBS[name]["needs"] for name in ("publish", "pypi", "image")] == ["build"] * 3
    assert JOBS["build"]["needs"] == ["test", "test-python", "slow"]
    assert JOBS["slow"]["uses"] == "./.github/workflows/slow.yml"
    assert "cmp first dist/SHA256SUMS" in TEXTS["release"]


def test_tokens_of_the_registry_are_no_arguments():
    (step,) = (step for step in JOBS["image"]["steps"] if "docker login" in step.get("run", ""))
    assert "secrets." not in step["run"]
    assert step["run"].count("--password-stdin") == step["run"].count(" login ") == 2


def test_slow_tests_run_every_week_and_make_the_table_of_faults():
    triggers = yaml.safe_load(TEXTS["slow"])[True]  # YAML 1.1 takes `on` for a boolean
    assert [len(each["cron"].split()) for each in triggers["schedule"]] == [5]
    assert "workflow_call" in triggers
    assert SLOW_JOBS["report"]["needs"] == "tests"
    runs = [step.get("run", "") for step in SLOW_JOBS["report"]["steps"]]
    report, age = (
        next(at for at, run in enumerate(runs) if run.endswith(f"ledger {name}")) for name in ("report", "age")
    )
    assert report < age


@pytest.mark.parametrize("job", [*JOBS.values(), *SLOW_JOBS.values()], ids=[*JOBS, *SLOW_JOBS])
def test_history_is_there_where_the_age_of_results_is_asked(job):
    steps = job.get("steps", [])
    if any("make release" in step.get("run", "") or "ledger age" in step.get("run", "") for step in steps):
        (checkout,) = (step for step in steps if "actions/checkout@" in step.get("uses", ""))
        assert checkout["with"]["fetch-depth"] == 0


def test_each_test_file_is_in_one_shard_of_the_slow_tests():
    patterns = [shard["tests"].split() for shard in SHARDS if shard["make"] == "test-slow"]
    files = {
        str(file.relative_to(ROOT)): "slow" in file.read_text("utf-8") for file in (ROOT / "tests").rglob("test_*.py")
    }

    def is_in(file, wanted):
        return any(fnmatch(file, each if each.endswith(".py") else f"{each}/*") for each in wanted)

    missed = {file: count for file in files if (count := sum(is_in(file, each) for each in patterns)) != 1}
    assert missed == {}
    without = [each for each in patterns if not any(is_slow and is_in(file, each) for file, is_slow in files.items())]
    assert without == []


@pytest.mark.parametrize("run", [step["run"] for step in STEPS if re.search(r"make [a-z]", step.get("run", ""))])
def test_targets_of_make_exist(run):
    called = {target for line in re.findall(r"make ([a-z -]+)", run) for target in line.split()}
    assert called
    assert called - TARGETS == set()


def test_targets_of_the_slow_tests_exist():
    assert {shard["make"] for shard in SHARDS} <= TARGETS


def test_versions_are_those_of_the_support_matrix():
    used = {step["with"]["python-version"] for step in STEPS if "setup-python" in step.get("uses", "")}
    used |= set(JOBS["test-python"]["strategy"]["matrix"]["python"])
    minors = range(MATRIX["python"].oldest[1], MATRIX["python"].newest[1] + 1)
    assert {f"3.{minor}" for minor in minors} == {each for each in used if "{" not in each}
    java = {step["with"]["java-version"] for step in STEPS if "setup-java" in step.get("uses", "")}
    assert java == {dotted(MATRIX["java"].newest)}
