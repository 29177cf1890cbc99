"""`ingest jars`: Spark's connector for Kafka."""

from ingest.amounts import counted
from ingest.cli.output import Output


def fetch(out: Output) -> None:
    """
    Download the jars of Spark's Kafka connector with Maven, once per machine, and verify them.

    Example: ingest jars fetch
    """
    from ingest.spark.jars import fetch as fetch_jars

    found = fetch_jars(progress=out.note)
    if out.is_json:
        out.json({"jars": [str(path) for path in found]})
        return
    for path in found:
        out.line(str(path))
    out.done(f"{counted(len(found), 'jar')} present and verified")
    out.next("ingest init --template kafka")
