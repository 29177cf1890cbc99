"""
Start and stop Kafka and HBase on this machine, without containers, and show their status.

    python deploy/local/services.py start                 both, in ./data/services
    python deploy/local/services.py start kafka --dir X   one of them, elsewhere
    python deploy/local/services.py status --output json
    python deploy/local/services.py start --hbase-version 2.5.8 --kafka-version 4.4.0
    python deploy/local/services.py stop

The servers listen only on 127.0.0.1, on free ports that are chosen at the first start and stored in the folder. `stop`
ends only servers that were started in that folder. Their data stays until the folder is removed.
"""

import argparse
import json
import sys
from pathlib import Path

from local_servers import versions
from local_servers.errors import ServerError
from local_servers.hbase import HBaseServer
from local_servers.kafka import KafkaServer

SERVERS: dict[str, type[KafkaServer] | type[HBaseServer]] = {"kafka": KafkaServer, "hbase": HBaseServer}


def main(arguments: list[str]) -> int:
    """Run one action; returns 1 if a server cannot be started, or if `status` finds one that does not run."""
    parser = argparse.ArgumentParser(description="Kafka and HBase on this machine, without containers.")
    parser.add_argument("action", choices=("start", "stop", "status"))
    parser.add_argument("servers", nargs="*", metavar="kafka|hbase", help="default: both")
    parser.add_argument("--dir", type=Path, default=Path("data/services"), help="folder of their data (%(default)s)")
    parser.add_argument("--output", choices=("text", "json"), default="text")
    for name in SERVERS:
        parser.add_argument(
            f"--{name}-version",
            metavar="VERSION",
            help=f"to start; default: the variable {versions.variable(name)}, else {versions.default(name)}",
        )
    options = parser.parse_args(arguments)
    names = options.servers or list(SERVERS)
    unknown = [name for name in names if name not in SERVERS]
    if unknown:
        parser.error(f'no server "{unknown[0]}"; choose from {", ".join(SERVERS)}')
    try:
        servers = [
            SERVERS[name](options.dir.resolve() / name, version=getattr(options, f"{name}_version")) for name in names
        ]
        if options.action == "start":
            start(servers)
        elif options.action == "stop":
            for server in servers:
                server.stop()
    except ServerError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    show(servers, options.output)
    if options.action == "start" and options.output == "text":
        print("next:", *exports(servers), sep="\n  ")
    return 1 if options.action == "status" and not all(server.is_running for server in servers) else 0


def start(servers: list[KafkaServer | HBaseServer]) -> None:
    """Start all, then wait for all; if one fails, stop those that this call started."""
    new = [server for server in servers if not server.is_running]
    try:
        # the slowest first
        for server in sorted(servers, key=lambda one: one.name != HBaseServer.name):
            server.start()
        for server in servers:
            server.wait()
    except BaseException:
        for server in new:
            server.stop()
        raise


def show(servers: list[KafkaServer | HBaseServer], output: str) -> None:
    """Print which servers run, and their addresses."""
    states = {
        server.name: {
            "running": server.is_running,
            "folder": str(server.folder),
            "version": versions.of_data(server.folder),
        }
        | (server.endpoints if server.is_running else {})
        for server in servers
    }
    if output == "json":
        print(json.dumps(states))
        return
    for name, state in states.items():
        where = " ".join(f"{key}={value}" for key, value in state.items() if key not in {"running", "folder"})
        print(f"{name:6} {'running  ' + where if state['running'] else 'stopped'}")


def exports(servers: list[KafkaServer | HBaseServer]) -> list[str]:
    """Shell commands that set the variables of the templates of `attr2hbase init` to addresses of running servers."""
    commands = []
    for server in servers:
        if not server.is_running:
            continue
        if server.name == KafkaServer.name:
            commands.append(f"export KAFKA={server.endpoints['brokers']}")
        else:
            host, _, port = server.endpoints["thrift"].rpartition(":")
            commands.append(f"export HBASE={host} HBASE_PORT={port}")
            commands.append(f"export HBASE_SERVERS={server.endpoints['bootstrap_servers']}")
    return commands


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
