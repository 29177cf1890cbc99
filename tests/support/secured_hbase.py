"""HBase that requires Kerberos, with its KDC, and the options of its clients."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType

from ingest.api import StoreError
from sinks.hbase.settings import HBaseSettings
from sinks.hbase.store import HBaseStore
from tests.support.kdc import Kdc
from tests.support.local import HBaseServer, jars

CLIENT = "ingest"
_READY_TIMEOUT_S = 180.0
_CORE_SITE = """\
<configuration>
<property><name>hadoop.security.authentication</name><value>kerberos</value></property>
</configuration>
"""


class SecuredHBase:
    """
    A running KDC, and HBase that accepts only clients with its tickets.

    Args:
        folder: for both; created.
        properties: of HBase; override the defaults.
        version: of HBase; None for that of all other tests.

    Attributes:
        server: HBase, without Thrift servers.
        principal: of clients.
        keytab: of that principal.
    """

    def __init__(
        self, folder: Path, *, properties: Mapping[str, str] = MappingProxyType({}), version: str | None = None
    ) -> None:
        assert find_spec("gssapi"), (
            "this test needs the package gssapi; get it: apt-get install gcc python3-dev libkrb5-dev && "
            ".venv/bin/python -m pip install gssapi"
        )
        self.kdc = Kdc(folder / "kdc")
        self.principal = self.kdc.add(CLIENT)
        self.keytab = self.kdc.keytab(CLIENT, [self.principal])
        of_server = self.kdc.add("hbase/localhost")
        keytab = self.kdc.keytab("hbase", [of_server])
        login = {
            f"hbase.{server}.{option}": value
            for server in ("master", "regionserver")
            for option, value in {"kerberos.principal": of_server, "keytab.file": str(keytab)}.items()
        }
        own = {
            "hbase.security.authentication": "kerberos",
            "hbase.rpc.protection": "privacy,integrity,authentication",
            **login,
            **properties,
        }
        java_options = [
            *jars.SHORT_LIVED,
            f"-Djava.security.krb5.conf={self.kdc.settings}",
            "--add-exports=java.security.jgss/sun.security.krb5=ALL-UNNAMED",
        ]
        self.server = HBaseServer(
            folder / "hbase", properties=own, java_options=java_options, version=version, has_thrift=False
        )

    def settings(self, *, security: Mapping[str, object] = MappingProxyType({}), **kerberos: object) -> HBaseSettings:
        """Options of a store; `kerberos` overrides those of the login."""
        login = {"principal": self.principal, "keytab": str(self.keytab), **kerberos}
        options = {"kerberos": login, **security}
        return HBaseSettings.model_validate(
            {"bootstrap_servers": self.server.bootstrap_servers, "timeout": "60s", "security": options}
        )

    @contextmanager
    def running(self, *, security: Mapping[str, object] = MappingProxyType({})) -> Iterator["SecuredHBase"]:
        """
        Start both, and set the variables of the KDC's clients in this process; stop both at the end.

        Args:
            security: with which HBase answers, besides Kerberos.
        """
        before = {name: os.environ.get(name) for name in self.kdc.environment}
        os.environ |= self.kdc.environment
        try:
            self.kdc.start()
            conf = self.server.folder / "conf"
            conf.mkdir(parents=True)
            (conf / "core-site.xml").write_text(_CORE_SITE)
            self._start_hbase(self.settings(security=security))
            yield self
        finally:
            self.server.stop()
            self.kdc.stop()
            for name, value in before.items():
                os.environ.pop(name)
                if value is not None:
                    os.environ[name] = value

    def restart_hbase(self) -> None:
        """Stop HBase and start it again; without TLS."""
        self.server.stop()
        self._start_hbase(self.settings())

    def _start_hbase(self, settings: HBaseSettings) -> None:
        self.server.start()
        self.server.hbase.wait_until(lambda: _answers(settings), timeout_s=_READY_TIMEOUT_S)


def _answers(settings: HBaseSettings) -> bool:
    store = HBaseStore.of(settings)
    try:
        store.open()
        store.families("hbase:meta")
    except StoreError:
        return False
    finally:
        store.close()
    return True
