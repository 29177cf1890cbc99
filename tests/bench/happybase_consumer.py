"""The program that a Python user writes: kafka-python, a regex, a batch of happybase, and a commit after it."""

import re
import sys

import happybase
from kafka import KafkaConsumer

brokers, topic, group, port, table_name, pattern, columns = sys.argv[1:]
split = re.compile(pattern).match
names = columns.split(",")
consumer = KafkaConsumer(
    topic, bootstrap_servers=brokers, group_id=group, auto_offset_reset="earliest", enable_auto_commit=False,
    max_poll_records=5000,
)  # fmt: skip
table = happybase.Connection("127.0.0.1", int(port)).table(table_name)
while True:
    polled = consumer.poll(timeout_ms=1000)
    with table.batch(batch_size=1000) as batch:
        for record in (record for records in polled.values() for record in records):
            if found := split(record.value.decode()):
                batch.put(
                    f"{record.topic}:{record.partition}:{record.offset}", dict(zip(names, found.groups(), strict=True))
                )
    if polled:
        consumer.commit()
