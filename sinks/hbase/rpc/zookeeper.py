"""
Where the meta table and the active master are, as a cluster's ZooKeeper says.

For clusters whose configuration names only ZooKeeper, as most do. Each look-up has a session of its own, since there
are few: a connection asks for a server only after it has moved.

Source: MetaTableLocator, MasterAddressTracker, RecoverableZooKeeper and ZooKeeper.proto of HBase 2. The content of a
znode is the byte 0xFF, the length of the writer's name in four bytes, this name, the text `PBUF`, and a message.
"""

import logging
from collections.abc import Sequence
from contextlib import suppress

from kazoo.client import KazooClient
from kazoo.exceptions import KazooException, NoNodeError
from kazoo.handlers.threading import KazooTimeoutError

from ingest.api import StoreUnavailableError
from sinks.hbase.protobuf import Message, WireError
from sinks.hbase.rpc.cluster import Coordinates, server_address
from sinks.hbase.rpc.stream import Address

_MAGIC = b"\xff"
_PBUF = b"PBUF"
_LENGTH_BYTES = 4
_SESSION_S = 10.0
_MIN_WAIT_S, _MAX_WAIT_S = 0.1, 10.0
_HINT = "check `zookeeper` of the store, or `hbase.zookeeper.quorum` and `zookeeper.znode.parent` of its `site`"

_silent = logging.getLogger("attr2hbase.kazoo")  # kazoo logs each lost connection; our error has the reason
_silent.addHandler(logging.NullHandler())
_silent.propagate = False


class ZooKeeper(Coordinates):
    """
    The ZooKeeper of a cluster.

    Args:
        servers: of the quorum; one that answers is enough.
        znode: of the cluster.
    """

    def __init__(self, servers: Sequence[Address], znode: str) -> None:
        self._servers = ",".join(f"[{each.host}]:{each.port}" if ":" in each.host else str(each) for each in servers)
        self._znode = znode

    def meta(self, wait_s: float) -> Address:
        """The server with the meta table."""
        return self._server("meta-region-server", "the meta table", wait_s)

    def master(self, wait_s: float) -> Address:
        """The active master."""
        return self._server("master", "an active master", wait_s)

    def _server(self, name: str, what: str, wait_s: float) -> Address:
        """The server in a MetaRegionServer or a Master: 1 of both."""
        path = f"{self._znode}/{name}"
        client = KazooClient(self._servers, timeout=_SESSION_S, read_only=True, logger=_silent)
        try:
            client.start(min(max(wait_s, _MIN_WAIT_S), _MAX_WAIT_S))
            content, _ = client.get(path)
            return server_address(Message(message_of(content)).message(1))
        except NoNodeError as error:
            raise self._none(what, f'there is no znode "{path}"') from error
        except WireError as error:
            raise self._none(what, f'the znode "{path}" cannot be read: {error}') from error
        except (KazooException, KazooTimeoutError, OSError) as error:
            raise self._none(what, f"{type(error).__name__} {error}".strip()) from error
        finally:
            with suppress(KazooException, OSError):
                client.stop()
            with suppress(KazooException, OSError):
                client.close()

    def _none(self, what: str, reason: str) -> StoreUnavailableError:
        return StoreUnavailableError(
            f'ZooKeeper at "{self._servers}" does not say where {what} is: {reason}', hint=_HINT
        )


def message_of(content: bytes) -> bytes:
    """
    The message in the content of a znode.

    Raises:
        WireError: there is none.
    """
    start = len(_MAGIC) + _LENGTH_BYTES
    if content[:1] != _MAGIC or len(content) < start:
        raise WireError("it does not begin with HBase's header")
    at = start + int.from_bytes(content[len(_MAGIC) : start], "big")
    if content[at : at + len(_PBUF)] != _PBUF:
        raise WireError("it has no message of Protocol Buffers")
    return content[at + len(_PBUF) :]
