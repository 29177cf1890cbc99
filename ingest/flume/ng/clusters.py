"""
The HBase clusters of Flume 1 sinks, each of which becomes a store.

Source: HBase2Sink of Flume 1.11: `zookeeperQuorum` and `znodeParent` override the hbase-site.xml of the agent;
`kerberosPrincipal` and `kerberosKeytab` enable Kerberos.
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
_UNREACHABLE = "the cluster requires Kerberos, which the Thrift connection of this store does not support"
_DIRECT = (
    "for HBase's native RPC, give the store bootstrap_servers and security: {kerberos: {principal: …, keytab: …}} in "
    "place of host and port"
)
_Key = tuple[frozenset[str], str]


@dataclass(slots=True)
class _Cluster:
    """
    A cluster.

    Attributes:
        words: its description, for messages.
        is_of_site: whether only hbase-site.xml names it.
        agents: agents with sinks that write to it.
        has_kerberos: whether Flume used Kerberos for it.
    """

    name: str
    words: str
    is_of_site: bool
    place: Place
    agents: set[str] = field(default_factory=set)
    has_kerberos: bool = False


class Clusters:
    """The clusters of a file."""

    def __init__(self) -> None:
        self._known: dict[_Key, _Cluster] = {}

    @property
    def stores(self) -> Mapping[str, Component]:
        """The stores by name."""
        known = self._known.values()
        return {
            each.name: hbase_store(
                each.name,
                OF_TABLES if each.is_of_site and len(known) == 1 else each.words,
                each.place,
                f"{_UNREACHABLE}: {_DIRECT}" if each.has_kerberos else NOTHING_NEEDED,
            )
            for each in known
        }

    def of(self, options: Options, agent: str) -> tuple[str, str]:
        """The name of a sink's store, and the description of its cluster."""
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
            message = f'agent {agent} has its own hbase-site.xml, like {others}; here they share "{found.name}"'
            options.warn("type", message, "if these are different clusters, declare a store for each")
        found.agents.add(agent)
        logins = [name for name in _KERBEROS if options.raw(name)]
        if logins:
            found.has_kerberos = True
            options.warn(logins[0], _UNREACHABLE, _DIRECT)
        return found.name, found.words

    def _name(self, servers: list[str]) -> str:
        """A unique name for a cluster."""
        if not self._known:
            return FIRST_STORE
        host = servers[0].partition(":")[0].lower() if servers else _OF_SITE
        words = _NO_PART_OF_A_NAME.sub("-", host)[:_MAX_HOST_CHARS].strip("-")
        base = f"{FIRST_STORE}-{words}" if words else FIRST_STORE
        used = {each.name for each in self._known.values()}
        names = [base, *(f"{base}-{number}" for number in range(2, len(used) + 2))]
        return next(name for name in names if name not in used)
