"""How old the results in docs/reliability.md are, in lines of the product; a release needs recent ones."""

import math
import re
import subprocess
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from tests.support.ledger.report import FAULTS, MUTANTS, PAGE, lines_of
from tests.support.marked_tables import PRODUCT, ROOT, table_of

LIMIT = 2_000
"""Lines of the product that may have been added or removed since a fault was injected last."""
RENEW = "SEEDS=3 .venv/bin/python -m pytest tests/fault && .venv/bin/python -m tests.support.ledger report"
_COMMIT = re.compile(r"`(\w+\+?)`")


def require_recent(page: Path = PAGE, repository: Path = ROOT, *, limit: int = LIMIT) -> str:
    """
    Check every line of both tables; returns a sentence with the age of the oldest.

    Raises:
        SystemExit: some lines are older than the limit, or their age is not known; with their names and the remedy.
    """
    _require_history(repository)
    ages = cache(lambda commit: changed_since(commit, repository))
    stale: dict[tuple[int | float, str], list[str]] = defaultdict(list)
    found = list(measured(page.read_text()))
    oldest = 0
    for name, commits in found:
        known = {ages(each): each for each in commits if ages(each) is not None}
        lines = min(known, default=None)
        if lines is None:
            stale[math.inf, f"of no commit in this history ({', '.join(commits)})"].append(name)
        elif lines > limit:
            stale[lines, f"{lines:,} lines since {known[lines]}"].append(name)
        else:
            oldest = max(oldest, lines)
    if stale or not found:
        count = sum(map(len, stale.values()))
        listed = [f"  {why}: {'; '.join(names)}" for (_, why), names in sorted(stale.items())]
        raise SystemExit(
            "\n".join([f"{page.name}: {count} of {len(found)} results are too old for a release", *listed])
            + f"\nat most {limit:,} lines of {', '.join(PRODUCT)} may have changed since; measure again, and commit "
            f"the page (remove the lines of faults without a test): {RENEW}"
        )
    return f"{len(found)} results of faults are recent: at most {oldest:,} lines of the product changed since"


def measured(text: str) -> Iterator[tuple[str, Sequence[str]]]:
    """
    Each fault of the page, and the commits of its runs.

    The page tells only together at which commits the deliberate bugs were run, so each of these counts.
    """
    for cells in lines_of(table_of(text, FAULTS)):
        yield f"{cells[0]} ({cells[2]})", _COMMIT.findall(cells[-1])
    bugs, *_ = table_of(text, MUTANTS).split("\n\n")
    for commit in _COMMIT.findall(bugs):
        yield "deliberate bugs", [commit]


def changed_since(commit: str, repository: Path) -> int | None:
    """Lines of the product that changed since a commit; None if it is unknown or had uncommitted changes."""
    done = _git(repository, "diff", "--numstat", "--find-renames", commit, "HEAD", "--", *PRODUCT)
    if done.returncode != 0:
        return None
    counts = (line.split("\t")[:2] for line in done.stdout.splitlines())
    return sum(int(count) for line in counts for count in line if count != "-")  # binary files have no lines


def _require_history(repository: Path) -> None:
    done = _git(repository, "rev-parse", "--is-shallow-repository")
    if done.returncode != 0:
        raise SystemExit(f'"{repository}" is no clone, so the age of the results of faults is not known: use a clone')
    if done.stdout.strip() == "true":
        raise SystemExit(
            f'"{repository}" is a clone without its history, so the age of the results of faults is not known: '
            "git fetch --unshallow (in a workflow: fetch-depth: 0)"
        )


def _git(repository: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["git", *arguments], cwd=repository, capture_output=True, text=True, check=False)
