"""docs/tour.md: its commands run in their order, and print what it shows."""

from pathlib import Path

import pytest

from ingest.spark.jars import fetch
from tests.support.commands import ANY_PORT
from tests.support.consoles import Consoles
from tests.support.environments import ROOT
from tests.support.servers import HBase, Kafka

TOUR = (ROOT / "docs" / "tour.md").read_text("utf-8")
FILES = ("```console\n$ attr2hbase test\n", "```console\n$ attr2hbase table apply\n")
"""What follows the two calls of `attr2hbase init`."""


@pytest.mark.slow
@pytest.mark.one_protocol("the template of the page uses Thrift")
def test_commands_print_what_is_shown(tmp_path: Path, kafka: Kafka, hbase: HBase) -> None:
    fetch()
    servers = {"KAFKA": kafka.brokers, "HBASE": hbase.host, "HBASE_PORT": str(hbase.port)}
    first, second = map(TOUR.index, FILES)
    with Consoles(tmp_path, servers) as consoles:
        for number, part in enumerate((TOUR[:first], TOUR[first:second], TOUR[second:])):
            if number:
                with (consoles.folder() / "pipeline.yaml").open("a") as file:
                    file.write(ANY_PORT)
            assert consoles.repeated(part) == part
