#!/usr/bin/env bash
# A rich 15.0.0 Console whose output is captured, so that it prints nothing, still flushes the file that it was given.
# If that file is a pipe whose reader has ended, as with `| head`, and other text waits in its buffer, the flush fails,
# and the console raises SystemExit(1) without a message. A handler of BrokenPipeError in the program is never reached.
# Where PYTHONUNBUFFERED is set, as on many servers of continuous integration, no text waits, and the write itself fails.
#
# Packages: rich==15.0.0. Seen on 2026-11-29 with Python 3.11.
# Exits with 0 if it is still so, with 1 if it changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check rich==15.0.0
cat >"$folder/table.py" <<'PYTHON'
"""Write a line to stdout, whose reader has ended, then capture another one with rich; say on stderr what happens."""
import sys
from rich.console import Console

try:
    print("a line")
    console = Console(file=sys.stdout)
    with console.capture() as captured:
        console.print("a table")
    text = f"captured {captured.get()!r}"
except BrokenPipeError:
    text = "BrokenPipeError"
except SystemExit as end:
    text = f"SystemExit({end.code})"
sys.stderr.write(f"{text}\n")
PYTHON
seen=$("$folder/venv/bin/python" - "$folder/table.py" <<'PYTHON'
import os, subprocess, sys

for unbuffered in ("", "1"):
    reader, writer = os.pipe()
    os.close(reader)
    environment = os.environ | {"PYTHONUNBUFFERED": unbuffered}
    done = subprocess.run([sys.executable, sys.argv[1]], stdout=writer, stderr=subprocess.PIPE, env=environment, text=True)
    os.close(writer)
    print(f"PYTHONUNBUFFERED={unbuffered or 'unset'}: {done.stderr.splitlines()[0]}")
PYTHON
)
echo "$seen"
[ "$seen" = "PYTHONUNBUFFERED=unset: SystemExit(1)
PYTHONUNBUFFERED=1: BrokenPipeError" ]
