"""A Flume 1 agent from Kafka into HBase, as a properties file, and an event for it."""

import re

BASE = """\
a.sources = r
a.channels = c
a.sinks = k
a.sources.r.type = org.apache.flume.source.kafka.KafkaSource
a.sources.r.kafka.bootstrap.servers = localhost:9092
a.sources.r.kafka.topics = web
a.sources.r.channels = c
a.channels.c.type = memory
a.sinks.k.type = hbase2
a.sinks.k.channel = c
a.sinks.k.table = t
a.sinks.k.columnFamily = cf
"""
REGEX = """\
a.sinks.k.serializer = org.apache.flume.sink.hbase2.RegexHBase2EventSerializer
a.sinks.k.serializer.regex = (\\\\S+) (.*)
a.sinks.k.serializer.colNames = ROW_KEY,rest
a.sinks.k.serializer.rowKeyIndex = 0
"""
DEPOSIT = REGEX + "a.sinks.k.serializer.depositHeaders = true\n"
EVENT = {"body": "r1 text", "topic": "web", "partition": 3, "offset": 7, "timestamp_ms": 5, "key": "k"}


def interceptor(**options: str) -> str:
    """The agent with an interceptor with these options."""
    lines = [f"a.sources.r.interceptors.i.{name.replace('__', '.')} = {value}" for name, value in options.items()]
    return BASE + DEPOSIT + "\n".join(["a.sources.r.interceptors = i", *lines]) + "\n"


def changed(text: str, name: str, value: str) -> str:
    """The text with a changed or an added property."""
    line = f"{name} = {value}\n"
    found = re.sub(rf"^{re.escape(name)} = .*\n", lambda _: line, text, flags=re.MULTILINE)
    return found if found != text else text + line
