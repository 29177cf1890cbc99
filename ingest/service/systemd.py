"""
Reports the state of the service to systemd, for units of `Type=notify`.

Source of the protocol: sd_notify(3). A message is a datagram of `NAME=VALUE` lines to the Unix socket in NOTIFY_SOCKET.
"""

import contextlib
import os
import socket
import time
from collections.abc import Callable, Mapping

SEND_S = 1.0  # longest wait for a full socket; a pipeline must not wait for systemd

_SOCKET, _WATCHDOG, _WATCHDOG_PID = "NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"


class ServiceManager:
    """
    Sends the state of this process to systemd; does nothing if another program started it.

    An error of the socket is ignored: systemd applies its own timeouts.

    Args:
        address: of the socket, a path or `@` with an abstract name; None without systemd.
        watchdog_s: systemd kills the service if it receives no ping for this long after `ready`; None for no watchdog.
        clock: monotonic, seconds.
    """

    def __init__(
        self,
        address: str | None = None,
        watchdog_s: float | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._address = address
        self._interval_s = None if watchdog_s is None else watchdog_s / 3
        self._clock = clock
        self._next_s = 0.0

    @classmethod
    def of_environment(cls, environment: Mapping[str, str], pid: int | None = None) -> "ServiceManager":
        """The service manager that the environment names, with a watchdog if it is for this process."""
        address = environment.get(_SOCKET) or None
        limit_us = environment.get(_WATCHDOG, "")
        is_ours = environment.get(_WATCHDOG_PID, str(pid or os.getpid())) == str(pid or os.getpid())
        is_given = limit_us.isascii() and limit_us.isdecimal() and int(limit_us) > 0
        return cls(address, int(limit_us) / 1_000_000 if is_given and is_ours else None)

    @classmethod
    def is_in(cls, environment: Mapping[str, str]) -> bool:
        """Whether the environment names a service manager, which starts a service again that has failed."""
        return bool(environment.get(_SOCKET))

    def ready(self) -> None:
        """
        The start is complete: Spark runs, the endpoint serves, and the start of every pipeline has begun.

        A pipeline that then waits for a store is `blocked`; that is not a failed start of the service.
        """
        self._send("READY=1")

    def alive(self) -> None:
        """Send a keep-alive ping; may be called often, as it sends three in the watchdog's interval."""
        if self._interval_s is not None and self._clock() >= self._next_s:
            self._next_s = self._clock() + self._interval_s
            self._send("WATCHDOG=1")

    def stopping(self) -> None:
        """The service stops."""
        self._send("STOPPING=1")

    def _send(self, message: str) -> None:
        if self._address is None:
            return
        address = "\0" + self._address[1:] if self._address.startswith("@") else self._address
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
            sender.settimeout(SEND_S)
            sender.sendto(message.encode(), address)
