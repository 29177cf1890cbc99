"""How rarely garbage is collected in the processes of the product."""

import subprocess
import sys

PROGRAM = """
import atexit, gc, sys
atexit.register(lambda: print(len(gc.get_objects())))
from ingest.cli import main
sys.argv = ["ingest", "--version"]
main()
assert gc.get_freeze_count() > 0
print(gc.get_threshold()[0])
"""


def test_a_command_collects_after_fifty_thousand_objects() -> None:
    ended = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)

    assert ended.stdout.split()[-2] == "50000"


def test_a_command_has_no_objects_to_collect_when_it_ends() -> None:
    ended = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)

    assert int(ended.stdout.split()[-1]) < 100
