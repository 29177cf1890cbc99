"""What only HBase's own Java client can do to it: move, split and merge regions, flush, grant and revoke."""

from pathlib import Path

from tests.support.java_program import JavaProgram
from tests.support.local import HBaseServer

SOURCE = Path(__file__).with_name("HBaseAdmin.java")


class Admin(JavaProgram):
    """
    Takes the commands of HBaseAdmin.java; the answer comes once HBase has carried one out.

    Args:
        server: the cluster, up and running.
    """

    def __init__(self, server: HBaseServer) -> None:
        super().__init__(server.command(str(SOURCE), heap="256m"), server.folder / "admin.log")

    def regions(self, table: str) -> dict[str, str]:
        """Region -> the server it is on."""
        return dict(each.split("@", 1) for each in self.ask("regions", table).split())
