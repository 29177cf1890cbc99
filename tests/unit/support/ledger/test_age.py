"""A release is refused while the results of faults are older than some thousand lines of the product."""

import subprocess
from pathlib import Path

import pytest

from tests.support.ledger.age import RENEW, changed_since, require_recent

PAGE = """# Title
<!-- faults: begin -->
2 runs, 150 events, 0 lost that were not predicted to be; the last run on 2026-01-02.

| fault | proof | store | sent | stored | dead-lettered | dropped | redelivered | lost | corrupt | seeds | commit |
|---|---|---|--:|--:|--:|--:|--:|--:|--:|---|---|
| F05 reset | 12 resets; a\\|b | hbase | 150 | 180 | 8 | 12 | 16 | 0 | 0 | 7, 8 | {first} |
| F11 moved | 3 regions | rocksdb | 150 | 180 | 8 | 12 | 16 | 0 | 0 | 7, 8 | {second} |
<!-- faults: end -->
<!-- mutants: begin -->
Measured on 2026-01-02 at {bugs}.

| deliberate bug | store | lost | corrupt | broken rules |
|---|---|--:|--:|---|
| swallows `abc` | rocksdb | 1 | 0 | conservation |
<!-- mutants: end -->
"""


class Repository:
    """A clone with two commits of the product after the first: of ten lines, and of three."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self.git("init", "--quiet")
        product = folder / "ingest"
        product.mkdir()
        (product / "old.py").write_text("".join(f"line {number}\n" for number in range(10)))
        self.first = self.commit()
        (folder / "sinks").mkdir()
        (product / "old.py").rename(folder / "sinks" / "moved.py")
        (product / "new.py").write_text("x\n" * 10)
        (folder / "docs").write_text("x\n" * 1_000)
        self.second = self.commit()
        (product / "new.py").write_text("x\n" * 8 + "y\n")
        (product / "binary").write_bytes(b"\0" * 100)
        self.third = self.commit()

    def git(self, *arguments: str) -> str:
        named = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
        done = subprocess.run(["git", *named, *arguments], cwd=self.folder, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    def commit(self) -> str:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "m")
        return self.git("rev-parse", "--short=10", "HEAD")

    def page(self, first: str, second: str, bugs: str) -> Path:
        page = self.folder.parent / "page.md"
        page.write_text(PAGE.format(first=first, second=second, bugs=bugs))
        return page


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "repository")


def test_changed_lines_are_those_of_the_product(repository: Repository) -> None:
    found = [changed_since(each, repository.folder) for each in (repository.first, repository.second, repository.third)]
    assert found == [9, 3, 0]  # a moved file has no changed lines, a binary one no lines


def test_recent_results_pass_and_the_newest_run_of_a_fault_counts(repository: Repository) -> None:
    page = repository.page(
        f"`{repository.first}`, `{repository.second}`", f"`{repository.third}`", f"`{repository.second}`"
    )
    assert require_recent(page, repository.folder, limit=3) == (
        "3 results of faults are recent: at most 3 lines of the product changed since"
    )


def test_old_results_are_named_with_the_remedy(repository: Repository) -> None:
    old = f"`{repository.first}`"
    page = repository.page(old, f"`{repository.third}`, {old}", f"`{repository.third}`, {old}")
    with pytest.raises(SystemExit) as caught:
        require_recent(page, repository.folder, limit=8)
    message = str(caught.value).splitlines()
    assert message[0] == "page.md: 2 of 4 results are too old for a release"
    assert message[1] == f"  9 lines since {repository.first}: F05 reset (hbase); deliberate bugs"
    assert "at most 8 lines" in message[2]
    assert message[2].endswith(RENEW)


@pytest.mark.parametrize("commit", ["`0123456789`", "`unknown`", "`{third}+`", ""])
def test_result_of_no_known_commit_is_too_old(repository: Repository, commit: str) -> None:
    page = repository.page(commit.format(third=repository.third), f"`{repository.third}`", f"`{repository.third}`")
    with pytest.raises(SystemExit, match=r"of no commit in this history \(.*\): F05 reset \(hbase\)"):
        require_recent(page, repository.folder)


def test_clone_without_history_says_how_to_get_it(repository: Repository, tmp_path: Path) -> None:
    shallow = tmp_path / "shallow"
    repository.git("clone", "--quiet", "--depth=1", f"file://{repository.folder}", str(shallow))
    page = repository.page(*[f"`{repository.third}`"] * 3)
    with pytest.raises(SystemExit, match="fetch --unshallow"):
        require_recent(page, shallow)


def test_source_archive_says_to_use_a_clone(repository: Repository, tmp_path: Path) -> None:
    page = repository.page(*[f"`{repository.third}`"] * 3)
    with pytest.raises(SystemExit, match="is no clone"):
        require_recent(page, tmp_path)


def test_page_without_results_is_refused(repository: Repository) -> None:
    page = repository.page("", "", "")
    page.write_text("".join(line for line in page.read_text().splitlines(keepends=True) if not line.startswith("| F")))
    with pytest.raises(SystemExit, match="0 of 0 results are too old"):
        require_recent(page, repository.folder)
