"""
Start, stop and look at a local Kafka and HBase, without containers.

    python deploy/local/services.py start                 both, in ./data/services
    python deploy/local/services.py start kafka --dir X   one of them, elsewhere
    python deploy/local/services.py status --output json
    python deploy/local/services.py stop

The servers listen on 127.0.0.1 alone, on free ports chosen at the first start and kept in the folder. `stop` ends what
was started in that folder and nothing else; the data stays until the folder is removed.
"""

import argparse
import json
import sys
from pathlib import Path

from local_servers.errors import ServerError
from local_servers.hbase import HBaseServer
from local_servers.kafka import KafkaServer

SERVERS: dict[str, type[KafkaServer] | type[HBaseServer]] = {"kafka": KafkaServer, "hbase": HBaseServer}


def main(arguments: list[str]) -> int:
    """Run one action; 1 when a server could not be started, or is not running when asked for its status."""
    parser = argparse.ArgumentParser(description="Kafka and HBase on this machine, without containers.")
    parser.add_argument("action", choices=("start", "stop", "status"))
    parser.add_argument("servers", nargs="*", metavar="kafka|hbase", help="which ones; both when left out")
    parser.add_argument("--dir", type=Path, default=Path("data/services"), help="folder of their data (%(default)s)")
    parser.add_argument("--output", choices=("text", "json"), default="text")
    given = parser.parse_args(arguments)
    names = given.servers or list(SERVERS)
    unknown = [name for name in names if name not in SERVERS]
    if unknown:
        parser.error(f'no server "{unknown[0]}"; choose from {", ".join(SERVERS)}')
    servers = [SERVERS[name](given.dir.resolve() / name) for name in names]
    try:
        if given.action == "start":
            start(servers)
        elif given.action == "stop":
            for server in servers:
                server.stop()
    except ServerError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    show(servers, given.output)
    return 1 if given.action == "status" and not all(server.is_running for server in servers) else 0


def start(servers: list[KafkaServer | HBaseServer]) -> None:
    """Start all, then wait for all; if one fails, none that this call started stays behind."""
    new = [server for server in servers if not server.is_running]
    try:
        # the slowest to come up first
        for server in sorted(servers, key=lambda one: one.name != HBaseServer.name):
            server.start()
        for server in servers:
            server.wait()
    except BaseException:
        for server in new:
            server.stop()
        raise


def show(servers: list[KafkaServer | HBaseServer], output: str) -> None:
    """Print what is running, and where."""
    states = {
        server.name: {"running": server.is_running, "folder": str(server.folder)}
        | (server.endpoints if server.is_running else {})
        for server in servers
    }
    if output == "json":
        print(json.dumps(states))
        return
    for name, state in states.items():
        where = " ".join(f"{key}={value}" for key, value in state.items() if key not in {"running", "folder"})
        print(f"{name:6} {'running  ' + where if state['running'] else 'stopped'}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
