"""The README's figures are compared with the committed benchmark run."""

import json

import pytest

from deploy.checks.figures import ROOT, findings

README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGE = (ROOT / "docs/performance.md").read_text(encoding="utf-8")
RESULT = json.loads((ROOT / "docs/bench/latest.json").read_text(encoding="utf-8"))


def test_committed_files_have_the_same_figures():
    assert list(findings(README, PAGE, RESULT)) == []


@pytest.mark.parametrize("figure", ["73,001", "32,642", "32,822", "49,218", "0.38", "1.07", "432,600"])
def test_changed_figure_in_the_readme_is_found(figure):
    (finding,) = findings(README.replace(figure, f"1{figure}"), PAGE, RESULT)
    assert finding.startswith(f"README.md: 1{figure} for ")
    assert finding.endswith(f"; the committed run has {figure}")


def test_figures_of_an_earlier_run_are_found():
    found = list(findings(README, PAGE, RESULT | {"chain_of_four_per_s": 450_396.2}))
    assert found == [
        "README.md: 432,600 for chain_of_four_per_s; the committed run has 450,396",
        "docs/performance.md: no 450,396 for chain_of_four_per_s; run 'make bench'",
    ]


def test_missing_and_unknown_figures_are_found():
    missing, unknown = findings(README.replace("decorates", "handles"), PAGE, RESULT)
    assert missing.startswith("README.md: no figure for chain_of_four_per_s: 432,600;")
    assert unknown.startswith("README.md: 432,600 belongs to no known measurement;")
