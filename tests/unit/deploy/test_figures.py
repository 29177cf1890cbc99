"""The README's figures are compared with the committed benchmark run."""

import json

import pytest

from deploy.checks.figures import FIGURES, ROOT, findings, shown

README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGE = (ROOT / "docs/performance.md").read_text(encoding="utf-8")
RESULT = json.loads((ROOT / "docs/bench/latest.json").read_text(encoding="utf-8"))
SHOWN = [shown(RESULT, path) for path in FIGURES.values()]
CHAIN = shown(RESULT, ("chain_of_four_per_s",))


def test_committed_files_have_the_same_figures():
    assert list(findings(README, PAGE, RESULT)) == []


@pytest.mark.parametrize("figure", SHOWN)
def test_changed_figure_in_the_readme_is_found(figure):
    (finding,) = findings(README.replace(figure, f"1{figure}"), PAGE, RESULT)
    assert finding.startswith(f"README.md: 1{figure} for ")
    assert finding.endswith(f"; the committed run has {figure}")


def test_figures_of_an_earlier_run_are_found():
    found = list(findings(README, PAGE, RESULT | {"chain_of_four_per_s": 450_396.2}))
    assert found == [
        f"README.md: {CHAIN} for chain_of_four_per_s; the committed run has 450,396",
        "docs/performance.md: no 450,396 for chain_of_four_per_s; run 'make bench-page'",
    ]


def test_missing_and_unknown_figures_are_found():
    missing, unknown = findings(README.replace("decorates", "handles"), PAGE, RESULT)
    assert missing.startswith(f"README.md: no figure for chain_of_four_per_s: {CHAIN};")
    assert unknown.startswith(f"README.md: {CHAIN} belongs to no known measurement;")
