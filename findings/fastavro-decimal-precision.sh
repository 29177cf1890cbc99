#!/usr/bin/env bash
# fastavro 1.13.1 rounds a decimal whose digits exceed the precision of its schema while it reads: with precision 4 and
# scale 2 the stored number 12345 is read as 123.4, without an error or a warning. Its writer refuses the same number,
# so such data comes from another language: Java's reader of Avro gives 123.45. A consumer that compares sums across
# languages finds the difference late.
#
# Packages: fastavro==1.13.1. Seen on 2026-11-29 with Python 3.11.
# Exits with 0 if it is still so, with 1 if it changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check fastavro==1.13.1
"$folder/venv/bin/python" - <<'PYTHON'
import sys
from decimal import Decimal
from io import BytesIO

from fastavro import schemaless_reader, schemaless_writer

PLAIN = {"type": "bytes"}
MONEY = PLAIN | {"logicalType": "decimal", "precision": 4, "scale": 2}

content = BytesIO()
schemaless_writer(content, PLAIN, (12345).to_bytes(2, "big"))  # as another language writes 123.45
read = schemaless_reader(BytesIO(content.getvalue()), MONEY, None)
print("12345 of decimal(4, 2) is read as:", read)

try:
    schemaless_writer(BytesIO(), MONEY, Decimal("123.45"))
    is_refused = False
except ValueError as error:
    is_refused = True
    print("the writer refuses it:", error)

sys.exit(0 if (read, is_refused) == (Decimal("123.4"), True) else 1)
PYTHON
