#!/usr/bin/env bash
# kafka-python 3.0.12 documents send_buffer_bytes and receive_buffer_bytes (SO_SNDBUF, SO_RCVBUF) for its consumer,
# producer and admin client, accepts them, and never sets them on a socket; socket_options does. So a program that
# wants to see early that a link is slow, or needs large buffers for a distant broker, must use socket_options.
#
# Packages: kafka-python==3.0.12. Seen on 2026-11-29 with Python 3.11.
# Exits with 0 if it is still so, with 1 if it changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check kafka-python==3.0.12
"$folder/venv/bin/python" - <<'PYTHON'
import logging
import os
import socket

from kafka import KafkaConsumer
from kafka.errors import KafkaError

logging.disable(logging.CRITICAL)
asked: list[int] = []

class Socket(socket.socket):
    """Notes the buffers that a client asks for."""

    def setsockopt(self, level, option, *value):
        if level == socket.SOL_SOCKET and option in (socket.SO_SNDBUF, socket.SO_RCVBUF):
            asked.append(option)
        return super().setsockopt(level, option, *value)

listening = socket.create_server(("127.0.0.1", 0))
socket.socket = Socket

def buffers_of(**options) -> list[int]:
    """Connect to a port that never answers, and return the buffers that the client asked for."""
    asked.clear()
    port = listening.getsockname()[1]
    try:
        KafkaConsumer(bootstrap_servers=f"127.0.0.1:{port}", bootstrap_timeout_ms=1000, **options)
    except KafkaError:
        pass
    return sorted(set(asked))

by_name = buffers_of(send_buffer_bytes=65536, receive_buffer_bytes=65536)
by_option = buffers_of(
    socket_options=[
        (socket.SOL_SOCKET, socket.SO_SNDBUF, 65536),
        (socket.SOL_SOCKET, socket.SO_RCVBUF, 65536),
    ]
)
print("set by send_buffer_bytes and receive_buffer_bytes:", len(by_name), "of 2")
print("set by socket_options:", len(by_option), "of 2", flush=True)

os._exit(0 if (len(by_name), len(by_option)) == (0, 2) else 1)
PYTHON
