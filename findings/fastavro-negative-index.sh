#!/usr/bin/env bash
# fastavro 1.13.1 reads a negative index of an enum or a union as Python's lists do, from the end: a consumer gets the
# last symbol, or the value of another branch, in place of an error. Avro's indexes are zero-based, so such bytes are of
# another schema. It also reads an int of more than 32 bits as a number, and each byte but 0 as true.
#
# Packages: fastavro==1.13.1. Seen on 2026-11-30 with Python 3.11.
# Exits with 0 if it is still so, with 1 if it changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check fastavro==1.13.1
"$folder/venv/bin/python" - <<'PYTHON'
import sys
from io import BytesIO

from fastavro import parse_schema, schemaless_reader

CASES = [
    ("index -1 of an enum of A, B and C", {"type": "enum", "name": "E", "symbols": ["A", "B", "C"]}, b"\x01", "C"),
    ("index -1 of a union of null and string", ["null", "string"], b"\x01\x02a", "a"),
    ("index -2 of a union of null and string", ["null", "string"], b"\x03", None),
    ("an int of 2**32", "int", b"\x80\x80\x80\x80\x20", 2**32),
    ("a boolean of the byte 7", "boolean", b"\x07", True),
]
is_same = True
for name, kind, data, seen in CASES:
    schema = parse_schema({"type": "record", "name": "R", "fields": [{"name": "x", "type": kind}]})
    try:
        read = schemaless_reader(BytesIO(data), schema, None)["x"]
        is_same &= read == seen
    except (ValueError, LookupError, EOFError) as error:
        read, is_same = f"an error: {error!r}", False
    print(f"{name} is read as: {read!r}")
sys.exit(0 if is_same else 1)
PYTHON
