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
install() { .venv/bin/python -m pip install --quiet --no-deps --no-compile --require-hashes -r "$1"; }
# Spark is half of the work of pip, which uses one core: it is installed beside the rest
lines_of_spark() { awk -v wanted="$1" '/^[a-z]/ { is_spark = /^(pyspark|py4j)==/ } is_spark + 0 == wanted' requirements.lock; }
install <(lines_of_spark 1) &
spark=$!
install <(lines_of_spark 0)
wait "$spark"
.venv/bin/python -m pip install --quiet --no-deps --no-build-isolation -e .
# all but the tests of packages, on all cores; with PYTHONDONTWRITEBYTECODE, each start would compile the product again
.venv/bin/python -m compileall -q -j 0 -x '/tests/' .venv/lib ingest decorators sinks
echo "ready: .venv/bin/attr2hbase"
