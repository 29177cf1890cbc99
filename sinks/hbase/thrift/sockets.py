"""The socket under a Thrift connection."""

from thriftpy2.transport import TSocket, TTransportException

from sinks.hbase.tcp import MAX_ANSWER_BYTES, abort, connected, is_quiet


class Socket(TSocket):
    """
    Connects to any address of a host, IPv4 or IPv6; thriftpy2's socket tries only the first IPv4 address.

    The name is resolved at every open, so a server that moved is found again.

    Args:
        timeout_s: maximum wait for an answer; the wait for a connection is shorter.
    """

    def __init__(self, host: str, port: int, timeout_s: float) -> None:
        timeout_ms = max(1, int(timeout_s * 1000))
        super().__init__(host=host, port=port, socket_timeout=timeout_ms, connect_timeout=timeout_ms)  # type: ignore[no-untyped-call]
        self._address = host, port, timeout_s
        self._answer_bytes = 0

    def open(self) -> None:
        """
        Connect.

        Raises:
            TTransportException: no address accepts a connection.
        """
        try:
            self.sock = connected(*self._address)
        except OSError as error:
            raise TTransportException(
                type=TTransportException.NOT_OPEN, message=f"no connection to {self.host}:{self.port}: {error}"
            ) from error
        self.sock.settimeout(self.socket_timeout)

    def write(self, buf: bytes) -> None:
        """Send a call; what arrives until the next one is its answer."""
        self._answer_bytes = 0
        super().write(buf)  # type: ignore[no-untyped-call]

    def read(self, sz: int) -> bytes:
        """
        Some of the next bytes.

        The Thrift library would allocate as many bytes as a server announces, so this limits them.

        Args:
            sz: maximum number; a length that the server announced, or the length of a buffer.

        Raises:
            TTransportException: the connection has ended, or the answer is too large.
            OSError: the connection broke, or nothing arrived in time.
        """
        if sz > MAX_ANSWER_BYTES or self._answer_bytes > MAX_ANSWER_BYTES:
            raise TTransportException(message=f"an answer has more than {MAX_ANSWER_BYTES >> 20} MiB")
        received: bytes = super().read(sz)  # type: ignore[no-untyped-call]
        self._answer_bytes += len(received)
        return received

    @property
    def is_quiet(self) -> bool:
        """Whether nothing has arrived since the last answer: neither a late answer nor the end of the connection."""
        return self.sock is not None and is_quiet(self.sock)

    def abort(self) -> None:
        """Close the connection and discard unsent bytes."""
        if self.sock is not None:
            abort(self.sock)
            self.sock = None
