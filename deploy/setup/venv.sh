#!/usr/bin/env bash
# Creates or updates .venv: the locked dependencies, checked by hash, and this project in editable mode.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

python=$(deploy/setup/need.sh python)
if ! .venv/bin/python -c '' 2>/dev/null; then
    echo "creating .venv with $("$python" --version)"
    "$python" -m venv --clear .venv
fi
export PIP_DISABLE_PIP_VERSION_CHECK=1
echo "installing the locked dependencies (about 600 MB of packages the first time, most of it Spark)"
.venv/bin/python -m pip install --quiet --require-hashes -r requirements.lock
.venv/bin/python -m pip install --quiet --no-deps --no-build-isolation -e .
echo "ready: .venv/bin/ingest"
