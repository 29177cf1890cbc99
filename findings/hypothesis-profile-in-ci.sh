#!/usr/bin/env bash
# Hypothesis 6.170.15: where the variable CI is set (GitHub sets it), a profile that a program registers is based on
# Hypothesis' own profile "ci". So it has derandomize=True unless it says otherwise, also if it passes a database of
# failed examples: nothing reports that, and every run tries the same examples. Written in one call,
# settings(derandomize=True, database=...) is refused as invalid. A profile for random examples must say
# derandomize=False.
#
# Packages: hypothesis==6.170.15. Seen on 2026-11-29 with Python 3.11.
# Exits with 0 if it is still so, with 1 if it changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check hypothesis==6.170.15
cat >"$folder/seen.py" <<'PYTHON'
"""Print whether two runs of a failing property try the same examples, and whether the database keeps the failure."""
import sys
import tempfile
from pathlib import Path

from hypothesis import given, settings, strategies
from hypothesis.database import DirectoryBasedExampleDatabase

folder = Path(tempfile.mkdtemp(dir=sys.argv[1]))
settings.register_profile("nightly", max_examples=200, database=DirectoryBasedExampleDatabase(folder))
settings.load_profile("nightly")

def tried() -> list[int]:
    seen: list[int] = []

    @given(strategies.integers())
    def property_of(number: int) -> None:
        seen.append(number)

    property_of()
    return seen

@given(strategies.integers())
def fails(number: int) -> None:
    assert number < 1000

same = tried() == tried()
try:
    fails()
except AssertionError:
    pass
print("same examples" if same else "other examples", "kept" if any(folder.rglob("*")) else "not kept")
PYTHON
with_ci=$(CI=true "$folder/venv/bin/python" "$folder/seen.py" "$folder" 2>/dev/null)
without=$(env -u CI -u GITHUB_ACTIONS "$folder/venv/bin/python" "$folder/seen.py" "$folder" 2>/dev/null)
refused=$("$folder/venv/bin/python" - 2>&1 <<'PYTHON' || true
from hypothesis import settings
from hypothesis.database import InMemoryExampleDatabase
settings(derandomize=True, database=InMemoryExampleDatabase())
PYTHON
)
echo "with CI: $with_ci"
echo "without: $without"
echo "in one call: ${refused##*$'\n'}"
[ "$with_ci" = "same examples kept" ] && [ "$without" = "other examples kept" ] && [[ "$refused" == *InvalidArgument* ]]
