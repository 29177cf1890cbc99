#!/usr/bin/env bash
# A header of a Kafka record may have the value null, and Java's clients write it. kafka-python 3.0.12 reads it as None,
# and its encoder of record batches writes None, but KafkaProducer.send refuses it: "All headers items must be (str,
# bytes) tuples". So a program that reads records and produces them again, such as a mirror or a queue of dead letters,
# works until the first null. Replaced by b"", the header is another one.
#
# Packages: kafka-python==3.0.12. Seen on 2026-11-29 with Python 3.11.
# Exits with 0 if it is still so, with 1 if it changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check kafka-python==3.0.12
seen=$("$folder/venv/bin/python" - 2>/dev/null <<'PYTHON'
"""Print what becomes of a null and of an empty header: read from a record batch, and given to a producer."""
from kafka import KafkaProducer
from kafka.errors import KafkaTimeoutError
from kafka.record.memory_records import MemoryRecords, MemoryRecordsBuilder

headers = [("null", None), ("empty", b"")]
builder = MemoryRecordsBuilder(magic=2, compression_type=0, batch_size=1_000)
builder.append(timestamp=1, key=None, value=b"v", headers=headers)
builder.close()
(record,) = MemoryRecords(builder.buffer()).next_batch()
print("read:", *record.headers)

# no broker is needed: the headers are checked first
producer = KafkaProducer(bootstrap_servers="127.0.0.1:1", api_version=(2, 6), max_block_ms=100)
for header in headers:
    try:
        producer.send("topic", value=b"v", headers=[header])
    except TypeError as error:
        print(f"sent {header}: {error}")
    except KafkaTimeoutError:
        print(f"sent {header}: accepted, and waits for a broker")
producer.close(timeout=1)
PYTHON
)
echo "$seen"
[ "$seen" = "read: ('null', None) ('empty', b'')
sent ('null', None): All headers items must be (str, bytes) tuples
sent ('empty', b''): accepted, and waits for a broker" ]
