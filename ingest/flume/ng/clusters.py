"""
HBase clusters that sinks of Flume 1 wrote to: each is a store.

Source: HBase2Sink of Flume 1.11: `zookeeperQuorum` and `znodeParent` go before what the hbase-site.xml of the agent
says; with `kerberosPrincipal` and `kerberosKeytab` it logs in.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from ingest.config import Place
from ingest.flume.ng.properties import Options
from ingest.flume.pipelines.document import Component
from ingest.flume.pipelines.stores import FIRST_STORE, NOTHING_NEEDED, OF_TABLES, hbase_store

_NO_PART_OF_A_NAME = re.compile(r"[^a-z0-9]+")
_MAX_HOST_CHARS = 60  # in the name of a store
_OF_SITE = "site"
_KERBEROS = ("kerberosPrincipal", "kerberosKeytab")
_UNREACHABLE = "the cluster demands Kerberos, which the Thrift connection of this store does not support"
_GATEWAY = (
    "run an HBase Thrift server that logs in itself (hbase.thrift.kerberos.principal, hbase.thrift.keytab.file), leave "
    "hbase.thrift.security.qop unset, and let only this service reach its port"
)
_Key = tuple[frozenset[str], str]


@dataclass(slots=True)
class _Cluster:
    """
    One of them.

    Attributes:
        words: which one it is.
        is_of_site: the file says nothing of it.
        agents: with sinks that write to it.
        has_kerberos: Flume logged in to it with Kerberos.
    """

    name: str
    words: str
    is_of_site: bool
    place: Place
    agents: set[str] = field(default_factory=set)
    has_kerberos: bool = False


class Clusters:
    """The clusters of one file."""

    def __init__(self) -> None:
        self._known: dict[_Key, _Cluster] = {}

    @property
    def stores(self) -> Mapping[str, Component]:
        """The store of each, by its name."""
        known = self._known.values()
        return {
            each.name: hbase_store(
                each.name,
                OF_TABLES if each.is_of_site and len(known) == 1 else each.words,
                each.place,
                f"{_UNREACHABLE}: {_GATEWAY}" if each.has_kerberos else NOTHING_NEEDED,
            )
            for each in known
        }

    def of(self, options: Options, agent: str) -> tuple[str, str]:
        """The name of the store that a sink writes to, and which cluster it stands for, in words."""
        quorum, node = options.raw("zookeeperQuorum"), options.raw("znodeParent")
        servers = [server for part in quorum.split(",") if (server := part.strip())]
        key = (frozenset(server.lower() for server in servers), node)
        if key not in self._known:
            words = f"at {','.join(servers)}" if servers else "that hbase-site.xml names"
            words += f", under {node}" if node else ""
            place = options.original.place(options.at("zookeeperQuorum" if servers else "type"))
            self._known[key] = _Cluster(self._name(servers), words, not servers and not node, place)
        found = self._known[key]
        if not servers and found.agents and agent not in found.agents:
            others = ", ".join(sorted(found.agents))
            message = f'agent {agent} has an hbase-site.xml of its own, as {others} has; here they share "{found.name}"'
            options.warn("type", message, "where those name different clusters, give each a store")
        found.agents.add(agent)
        logins = [name for name in _KERBEROS if options.raw(name)]
        if logins:
            found.has_kerberos = True
            options.warn(logins[0], _UNREACHABLE, _GATEWAY)
        return found.name, found.words

    def _name(self, servers: list[str]) -> str:
        """A name that no other cluster has."""
        if not self._known:
            return FIRST_STORE
        host = servers[0].partition(":")[0].lower() if servers else _OF_SITE
        words = _NO_PART_OF_A_NAME.sub("-", host)[:_MAX_HOST_CHARS].strip("-")
        base = f"{FIRST_STORE}-{words}" if words else FIRST_STORE
        taken = {each.name for each in self._known.values()}
        names = [base, *(f"{base}-{number}" for number in range(2, len(taken) + 2))]
        return next(name for name in names if name not in taken)
