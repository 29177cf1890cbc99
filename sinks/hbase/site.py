"""
The options of a store that the cluster's own files give: hbase-site.xml, and core-site.xml beside it.

They are those that HBase's Java client reads: where the cluster is, and how it protects its connections.

Source: HConstants, SecurityConstants, X509Util, AuthUtil, RpcConnectionRegistry, MasterRegistry and ZKConfig of HBase.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic_core import PydanticCustomError

from ingest.api import IngestError
from ingest.api.settings import DerivedOption
from ingest.formats.hadoop_site import Properties, Property, expanded, read_site

_HBASE, _CORE = "hbase-site.xml", "core-site.xml"
_HINT = "site takes the folder of hbase-site.xml, as in /etc/hbase/conf, or the file"
_BOOTSTRAP, _MASTERS, _QUORUM = "hbase.client.bootstrap.servers", "hbase.masters", "hbase.zookeeper.quorum"
_REGISTRY = "hbase.client.registry.impl"
_ZOOKEEPER_PORT, _MASTER_PORT = "2181", "16000"
_TRUSTED, _OWN = "hbase.rpc.tls.truststore", "hbase.rpc.tls.keystore"
_PEM, _PEM_ENDING = "PEM", ".pem"
_TLS = "tls"
_SERVERS = ("bootstrap_servers", "zookeeper")
_HOST = "_HOST"
_QOPS = {"privacy": "auth-conf", "integrity": "auth-int", "authentication": "auth"}
"""A word of `hbase.rpc.protection` -> our option, the strongest first."""

Options = Mapping[str, Any]


class Site:
    """
    What the files give.

    Args:
        site: the folder, or hbase-site.xml.

    Attributes:
        options: in the order of the reference.
        unusable: path of an option that the files name -> why its value cannot be used.

    Raises:
        PydanticCustomError: a file cannot be read.
    """

    def __init__(self, site: str) -> None:
        self._properties = _properties(site)
        self.unusable: dict[tuple[str, ...], str] = {}
        self.options = [*self._servers(), *self._tls(), *self._kerberos()]

    def below(self, options: Options) -> tuple[dict[str, Any], tuple[DerivedOption, ...]]:
        """The options of a pipeline file with those of the files below them; and the latter that are in force."""
        is_elsewhere = any(name in options for name in _SERVERS)
        used = [
            each
            for each in self.options
            if not (is_elsewhere and each.path[0] in _SERVERS) and _at(options, each.path) is None
        ]
        found: dict[str, Any] = {}
        for path, value, _ in used:
            part = found
            for name in path[:-1]:
                part = part.setdefault(name, {})
            part[path[-1]] = value
        return _merged(found, options), tuple(used)

    def refusal(self, options: Options) -> str | None:
        """Why a value of the files cannot be used that a pipeline file does not replace; None if all can."""
        return next((why for path, why in self.unusable.items() if _at(options, path) is None), None)

    def _servers(self) -> list[DerivedOption]:
        """Masters or region servers for the registry of HBase's native RPC; else ZooKeeper, which has the master."""
        uses_zookeeper = "ZK" in self._text(_REGISTRY).rpartition(".")[2]
        for name in () if uses_zookeeper else (_BOOTSTRAP, _MASTERS):
            if name in self._properties:
                port = self._text("hbase.master.port") or _MASTER_PORT
                return [self._derived(("bootstrap_servers",), _with_port(self._text(name), port), name)]
        if _QUORUM not in self._properties:
            return []
        port = self._text("hbase.zookeeper.property.clientPort") or _ZOOKEEPER_PORT
        found = [self._derived(("zookeeper", "quorum"), _with_port(self._text(_QUORUM), port), _QUORUM)]
        if "zookeeper.znode.parent" in self._properties:
            found.append(self._as_it_is(("zookeeper", "znode"), "zookeeper.znode.parent"))
        return found

    def _tls(self) -> list[DerivedOption]:
        """The certificates, if they are PEM files: Python cannot read Java's."""
        enabled = "hbase.client.netty.tls.enabled"
        if self._text(enabled).lower() != "true":
            return []
        found = []
        for store, option in ((_TRUSTED, "ca_file"), (_OWN, "key_file")):
            location = f"{store}.location"
            if location not in self._properties:
                continue
            path = ("security", _TLS, option)
            file = self._text(location)
            if self._text(f"{store}.type").upper() == _PEM or file.lower().endswith(_PEM_ENDING):
                found.append(self._as_it_is(path, location))
            else:
                place = self._properties[location].place
                self.unusable[path] = (
                    f'{place}: "{file}" is no PEM file, which Python needs; convert it, and write '
                    f"security: {{tls: {{{option}: FILE.pem}}}}"
                )
        return found or [self._derived(("security", _TLS), {}, enabled)]

    def _kerberos(self) -> list[DerivedOption]:
        name = "hbase.security.authentication"
        name = name if name in self._properties else "hadoop.security.authentication"
        if self._text(name).lower() != "kerberos":
            return []
        found = [
            self._as_it_is(("security", "kerberos", option), each)
            for option, each in (
                ("principal", "hbase.client.keytab.principal"),
                ("keytab", "hbase.client.keytab.file"),
                ("server_principal", "hbase.regionserver.kerberos.principal"),
                ("master_principal", "hbase.master.kerberos.principal"),
            )
            # a client's principal names no server, so nothing can replace _HOST in it
            if each in self._properties and not (option == "principal" and _HOST in self._text(each))
        ]
        protection = "hbase.rpc.protection"
        words = [each.strip().lower() for each in self._text(protection).split(",")]
        qop = next((ours for theirs, ours in _QOPS.items() if theirs in words), "auth")  # HBase's default
        place = protection if protection in self._properties else name
        return [*found, self._derived(("security", "kerberos", "qop"), qop, place)]

    def _text(self, name: str) -> str:
        found = self._properties.get(name)
        return "" if found is None else found.value.strip()

    def _as_it_is(self, path: tuple[str, ...], name: str) -> DerivedOption:
        return self._derived(path, self._text(name), name)

    def _derived(self, path: tuple[str, ...], value: str | dict[str, str], name: str) -> DerivedOption:
        return DerivedOption(path, value, self._properties[name].place)


def _properties(site: str) -> Properties:
    """The properties of both files; those of hbase-site.xml win."""
    path = Path(site)
    file = path / _HBASE if path.is_dir() else path
    try:
        core = file.with_name(_CORE)
        beside = read_site(str(core), hint=_HINT) if core.is_file() else {}
        found = {**beside, **read_site(str(file), hint=_HINT)}
    except IngestError as error:
        raise PydanticCustomError(
            "unknown_reference", "{problem}", {"problem": error.message, "hint": error.hint or "", "option": "site"}
        ) from error
    values = expanded({name: each.value for name, each in found.items()})
    return {name: Property(values[name], each.place, each.is_default) for name, each in found.items()}


def _with_port(hosts: str, port: str) -> str:
    """`host:port` of each, with commas."""
    found = (each.strip() for each in hosts.split(","))
    return ",".join(each if _has_port(each) else f"{each}:{port}" for each in found if each)


def _has_port(host: str) -> bool:
    """Whether an address has a port; an IPv6 address has it after the bracket."""
    return host.rpartition(":")[2].isdecimal() and (host.count(":") == 1 or host.startswith("["))


def _at(options: Options, path: tuple[str, ...]) -> Any:
    """The value at a path; None if there is none."""
    found: Any = options
    for name in path:
        found = found.get(name) if isinstance(found, Mapping) else None
    return found


def _merged(below: Options, above: Options) -> dict[str, Any]:
    both = dict(below)
    for name, value in above.items():
        lower = both.get(name)
        both[name] = _merged(lower, value) if isinstance(lower, dict) and isinstance(value, dict) else value
    return both
