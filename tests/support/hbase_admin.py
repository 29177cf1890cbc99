"""What needs HBase's Java client: move, split and merge regions, flush, grant and revoke, count older versions."""

from pathlib import Path

from tests.support.java_program import JavaProgram
from tests.support.local import HBaseServer

SOURCE = Path(__file__).with_name("HBaseAdmin.java")


class Admin(JavaProgram):
    """
    Runs the commands of HBaseAdmin.java; a response is sent after HBase has executed the command.

    Args:
        server: the running cluster.
    """

    def __init__(self, server: HBaseServer) -> None:
        super().__init__(server.command(str(SOURCE), heap="256m"), server.folder / "admin.log")

    def regions(self, table: str) -> dict[str, str]:
        """Region -> its server."""
        return dict(each.split("@", 1) for each in self.ask("regions", table).split())

    def writes(self, table: str) -> dict[tuple[str, str], int]:
        """Region and its server -> rows written since it was opened."""
        found = (each.replace("=", "@").split("@") for each in self.ask("writes", table).split())
        return {(region, server): int(count) for region, server, count in found}
