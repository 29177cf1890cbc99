#!/usr/bin/env bash
# thriftpy2 0.7.1 reads a list whose elements have another type than its IDL says as an empty list, and a field of
# another type as None, without an error. The bytes are consumed, so the rest of the message is read as usual. A server
# whose IDL has changed a type therefore looks like a server without rows.
#
# Packages: thriftpy2==0.7.1. Seen on 2026-11-29 with Python 3.11.
# Exits with 0 if it is still so, with 1 if it changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check thriftpy2==0.7.1
"$folder/venv/bin/python" - "$folder" <<'PYTHON'
import sys
from pathlib import Path

import thriftpy2
from thriftpy2.utils import deserialize, serialize

folder = Path(sys.argv[1])

def answer_of(name: str, rows: str, count: str) -> type:
    """The struct of an answer with rows of one type and a count of another."""
    path = folder / f"{name}.thrift"
    path.write_text(f"struct Answer {{ 1: list<{rows}> rows, 2: {count} count, 3: string note }}\n")
    return thriftpy2.load(str(path), module_name=f"{name}_thrift").Answer

written, expected = answer_of("server", "i64", "i64"), answer_of("client", "string", "i32")
read = deserialize(expected(), serialize(written(rows=[1, 2, 3], count=3, note="n")))
print("written: rows=[1, 2, 3] count=3 note=n")
print(f"read:    rows={read.rows} count={read.count} note={read.note}")

sys.exit(0 if (read.rows, read.count, read.note) == ([], None, "n") else 1)
PYTHON
