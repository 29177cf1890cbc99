"""`attr2hbase jars`: Spark's connector for Kafka."""

from pathlib import Path
from typing import Annotated

import typer

from ingest.amounts import counted
from ingest.cli.output import Output
from ingest.cli.pipeline_file import command_line, found_file


def fetch(
    out: Output,
    *,
    origin: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="DIR_OR_URL",
            help="A folder or server that has the jars, in place of Maven; http only from this machine, else https.",
        ),
    ] = None,
) -> None:
    """
    Download the jars of Spark's Kafka connector with Maven, once per machine, and verify them.

    Without Maven, `--from` copies them from a folder, an https server, or a Maven repository behind it.

    Example: attr2hbase jars fetch --from /mnt/jars
    """
    from ingest.spark.jars import fetch as fetch_jars

    found = fetch_jars(progress=out.note, origin=origin)
    out.plain({"jars": [str(path) for path in found]})
    for path in found:
        out.line(str(path))
    out.done(f"{counted(len(found), 'jar')} present and verified")
    file = found_file()
    out.next(command_line(file, "validate", "--connect") if Path(file).exists() else "attr2hbase init --template kafka")
