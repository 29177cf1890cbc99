#!/usr/bin/env bash
# PySpark keeps a file for each job whose function is large.
#
# A function that pickles to more than 1 MiB (spark.broadcast.UDFCompressionThreshold) is not sent with the job: PySpark
# makes a broadcast of it, anew for each job, also if the function is the same. The broadcast is never destroyed, so its
# file stays in spark.local.dir until the session ends. A session that runs one such job for each micro-batch fills the
# disk. A broadcast that the caller makes once, and destroys, leaves one file and then none.
#
# Seen with pyspark 4.2.0 and Python 3.11, Java 17, 2026-11-29. Needs python3.11, Java 17 and the package index of pip.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3.11 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet pyspark==4.2.0
mkdir "$folder/local"
cat > "$folder/jobs.py" <<'PYTHON'
import os
import sys
from functools import partial
from pathlib import Path

from pyspark import SparkConf, SparkContext

local, blob, jobs = Path(sys.argv[1]), os.urandom(2 << 20), 5
conf = SparkConf().setMaster("local[1]").set("spark.local.dir", str(local)).set("spark.ui.enabled", "false")
context = SparkContext(conf=conf)


def files():
    found = [path.stat().st_size for path in local.rglob("pyspark-*/*") if path.is_file()]
    return len(found), sum(found)


def size(content, _number):
    return len(getattr(content, "value", content))


def run(content):
    for _ in range(jobs):
        assert context.parallelize([1], 1).map(partial(size, content)).collect() == [len(blob)]


before = files()
run(blob)
leaked = files()
broadcast = context.broadcast(blob)
run(broadcast)
once = files()
broadcast.destroy()
after = files()
context.stop()
print(f"before: {before}, after {jobs} jobs with a function of 2 MiB: {leaked} (files, bytes)")
print(f"after {jobs} jobs with one broadcast: {once}, after it was destroyed: {after}")
sys.exit(0 if leaked[0] - before[0] == jobs and once[0] - leaked[0] == 1 and after == leaked else 1)
PYTHON
PYSPARK_PYTHON="$folder/venv/bin/python" "$folder/venv/bin/python" "$folder/jobs.py" "$folder/local" 2>"$folder/stderr" || {
  code=$?
  tail -5 "$folder/stderr"
  echo "the behaviour has changed"
  exit "$code"
}
