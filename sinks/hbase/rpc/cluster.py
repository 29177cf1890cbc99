"""
The servers of a cluster: connections to them, and who has the meta table and who is the active master.

Source: Registry.proto. Masters (since HBase 2.3) and region servers (since 2.5) have the service ClientMetaService,
which says where the meta table is and which master is active. So a client needs the address of one of them, and no
ZooKeeper.
"""

import contextlib
import ssl
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

from ingest.api import LifecycleError, StoreRefusedError
from ingest.formats.addresses import is_this_machine
from ingest.server_kinds import HBASE, server_instead
from sinks.hbase.errors import unavailable_because
from sinks.hbase.protobuf import Message, WireError
from sinks.hbase.rpc.connection import Answer, Connection
from sinks.hbase.rpc.errors import ConnectionLostError, CredentialsError, LoginError, RemoteError
from sinks.hbase.rpc.sasl import Login, Logins
from sinks.hbase.rpc.stream import Address

_REGISTRY = "ClientMetaService"
_MAX_PORT = 65535
_REGISTRY_S = 5.0
"""Maximum wait for one server's answer, which it has in memory; then the next server is called."""
_MIN_REGISTRY_S = 1.0
"""Of this wait, if the time that is left has to do for many servers."""
_OLD_SERVER = (
    "do the addresses of `bootstrap_servers` belong to masters (HBase 2.3 or newer) or region servers (2.5 or newer)? "
    "Older clusters are reached through a Thrift server. Do they require TLS or Kerberos?"
)


class Coordinates(ABC):
    """Says where servers are, in place of the servers of the cluster."""

    @abstractmethod
    def meta(self, wait_s: float) -> Address:
        """
        The server with the meta table.

        Raises:
            StoreUnavailableError: it is not known within this time.
        """

    @abstractmethod
    def master(self, wait_s: float) -> Address:
        """The active master; raises as `meta`."""


class Cluster:
    """
    Connections to the servers of a cluster; called by one thread.

    Args:
        bootstrap: masters or region servers; one that answers is enough.
        coordinates: asked in their place.
        may_leave_machine: whether servers on other machines may be connected to without TLS.
        tls: returns the context for TLS; None for connections without it.
        logins: with Kerberos; None for connections without authentication.
        clock: in seconds; deadlines are times of it.
    """

    def __init__(
        self,
        bootstrap: Sequence[Address],
        *,
        may_leave_machine: bool,
        coordinates: Coordinates | None = None,
        tls: Callable[[], ssl.SSLContext] | None = None,
        logins: Logins | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._bootstrap = tuple(bootstrap)
        self._coordinates = coordinates
        self._may_leave_machine = may_leave_machine
        self._new_tls = tls
        self._tls: ssl.SSLContext | None = None
        self._logins = logins
        self._clock = clock
        self._connections: dict[tuple[Address, str], Connection] = {}
        self._meta: Address | None = None
        self._master: Address | None = None
        self._seen: dict[Address, None] = {}
        self._last_registry: Address | None = None
        self._is_open = False

    def open(self) -> None:
        """
        Allow connections; they are made when they are needed.

        Raises:
            StoreError: the files for TLS cannot be used.
            CredentialsError: there is no ticket of Kerberos.
            StoreUnavailableError: no KDC answers.
        """
        self._tls = None if self._new_tls is None else self._new_tls()
        if self._logins is not None:
            self._logins.check()
        self._is_open = True

    def close(self) -> None:
        """Close all connections; may be called twice or without open."""
        self._is_open = False
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()
        self._meta = self._master = None

    def connection(self, address: Address, service: str, deadline_s: float) -> Connection:
        """
        A connection to a server, which can be used.

        Raises:
            ConnectionLostError: the server cannot be reached.
            StoreRefusedError: it is on another machine, which the settings do not allow.
            LoginError: it refuses the login with Kerberos, or there is no ticket.
            StoreUnavailableError: no KDC answers.
        """
        if not self._is_open:
            raise LifecycleError("the connection to HBase is used before open or after close")
        found = self._connections.get((address, service))
        if found is not None and found.is_usable:
            return found
        if self._tls is None and not self._may_leave_machine and not is_this_machine(address.host):
            self._meta = self._master = None  # they may have moved before the next call
            raise StoreRefusedError(
                f"the server {address} of the cluster is on another machine, and the connection is not encrypted",
                hint="encrypt it with security: {tls: {}} of the store, or `qop: auth-conf` of its Kerberos; or add "
                "{insecure: true} if the network is trusted",
            )
        if found is not None:
            found.close()
            del self._connections[address, service]
        try:
            connection = self._opened(address, service, deadline_s)
        except ConnectionLostError:
            self._seen.pop(address, None)
            raise
        self._connections[address, service] = connection
        self._seen[address] = None
        return connection

    def _opened(self, address: Address, service: str, deadline_s: float) -> Connection:
        """A new connection, with the first login that the server accepts."""
        if self._logins is None:
            return self._opened_with(None, address, service, deadline_s)
        *others, last = self._logins.at(address, service)
        for login in others:
            with contextlib.suppress(LoginError):
                return self._opened_with(login, address, service, deadline_s)
        return self._opened_with(last, address, service, deadline_s)

    def _opened_with(self, login: Login | None, address: Address, service: str, deadline_s: float) -> Connection:
        connection = Connection(address, service, tls=self._tls, login=login, clock=self._clock)
        connection.open(deadline_s)
        return connection

    def call(self, address: Address, service: str, method: str, parameter: bytes, deadline_s: float) -> Answer:
        """
        The answer of a server to a call.

        Raises:
            RemoteError: it answered with an exception.
            ConnectionLostError: there is no answer.
        """
        return self.connection(address, service, deadline_s).call(method, parameter, deadline_s)

    def meta(self, deadline_s: float) -> Address:
        """
        The region server with the meta table.

        Raises:
            StoreUnavailableError: no server says, or no KDC answers.
            LoginError: servers refuse the login with Kerberos, or there is no ticket.
        """
        if self._meta is None:
            self._meta = (
                self._registered("GetMetaRegionLocations", "the meta table", deadline_s, _meta_server)
                if self._coordinates is None
                else self._coordinates.meta(deadline_s - self._clock())
            )
        return self._meta

    def master(self, deadline_s: float) -> Address:
        """
        The active master.

        Raises:
            StoreUnavailableError: no server says.
        """
        if self._master is None:
            self._master = (
                self._registered("GetActiveMaster", "an active master", deadline_s, _master_server)
                if self._coordinates is None
                else self._coordinates.master(deadline_s - self._clock())
            )
        return self._master

    def forget_meta(self) -> None:
        """Find the meta table anew before its next use."""
        self._meta = None

    def forget_master(self) -> None:
        """Find the active master anew before its next use."""
        self._master = None

    def _registered(
        self, method: str, what: str, deadline_s: float, name: Callable[[Message], Message | None]
    ) -> Address:
        """The server whose name is in the answer of the first server that has one."""
        problems: list[str] = []
        hints: set[str | None] = set()
        refusal: LoginError | None = None
        lost: list[Address] = []
        has_none = False
        last = () if self._last_registry is None else (self._last_registry,)
        waiting = list(dict.fromkeys((*last, *self._bootstrap, *self._seen)))
        while waiting:
            now_s = self._clock()
            limit_s = min(max((deadline_s - now_s) / len(waiting), _MIN_REGISTRY_S), _REGISTRY_S)
            address = waiting.pop(0)
            try:
                answer = self.call(address, _REGISTRY, method, b"", min(deadline_s, now_s + limit_s))
                found = name(Message(answer.message))
                server = None if found is None else server_address(found)
            except CredentialsError:
                raise
            except LoginError as error:
                refusal = error
                problems.append(error.message)
                continue
            except (ConnectionLostError, RemoteError, WireError, StoreRefusedError) as error:
                problems.append(str(error))
                hint = error.hint if isinstance(error, ConnectionLostError) else None
                hints.add(hint)
                if hint is None and isinstance(error, ConnectionLostError):
                    lost.append(address)
                continue
            if server is not None:
                self._last_registry = address
                return server
            problems.append(f"{address} has no answer")
            hints.add(None)
            has_none = True
        reasons = "; ".join(problems)
        message = f"no server of the cluster says where {what} is: {reasons}"
        if refusal is not None:
            raise LoginError(message, hint=refusal.hint) from refusal
        hint = hints.pop() if len(hints) == 1 else None
        # at the first contact only: later the addresses are known to be right
        first = [each for each in lost if self._last_registry is None and each in self._bootstrap]
        if hint is None and (instead := server_instead(HBASE, first)) is not None:
            hint = f"{instead}; write addresses of masters or region servers into `bootstrap_servers`"
        unavailable = unavailable_because(message, reasons, hint=hint or _OLD_SERVER)
        unavailable.is_starting |= has_none  # a server answers before it knows them
        raise unavailable


def _meta_server(answer: Message) -> Message | None:
    """
    The ServerName in a GetMetaRegionLocationsResponse.

    The meta table may have replicas, each with a location. Those other than replica 0 may lag, and a server does not
    accept them under the region's name.
    """
    # RegionLocation 1: region_info 1, server_name 2; replica_id 7 of RegionInfo
    return next((each.message(2) for each in answer.messages(1) if not each.message(1).number(7)), None)


def _master_server(answer: Message) -> Message | None:
    """The ServerName in a GetActiveMasterResponse: server_name 1."""
    return answer.message(1) if answer.has(1) else None


def server_address(name: Message) -> Address:
    """
    The address in a ServerName (HBase.proto): host 1, port 2.

    Raises:
        WireError: it is none.
    """
    found = Address(name.text(1), name.number(2))
    if not found.host or not 0 < found.port <= _MAX_PORT:
        raise WireError(f"{found} is not the address of a server")
    return found
