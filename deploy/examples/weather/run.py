"""
Run the whole example: generate the measurements, store them, fill the gaps, find the influencers.

    python run.py

A second run finds the measurements in the table, and stores the same estimates again.
"""

import argparse
import shlex
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parent
COMMANDS = (
    ("python", "generate.py"),
    ("attr2hbase", "run", "--once", "pipeline.yaml"),
    ("python", "fill.py", "--report", "data/report.json"),
    ("python", "influencers.py", "--geojson", "data/influencers.geojson", "--map", "data/influencers.svg"),
    ("attr2hbase", "scan", "measurements", "--columns", "filled", "--limit", "2"),
)


def main() -> int:
    """Run the commands in the folder of the example until one fails; returns its exit code, or 0."""
    argparse.ArgumentParser(description="Generate, store, fill, and find influencers.").parse_args()
    programs = {"python": sys.executable, "attr2hbase": str(Path(sys.executable).with_name("attr2hbase"))}
    for name, *arguments in COMMANDS:
        print(f"\n$ {shlex.join([name, *arguments])}", flush=True)
        code = subprocess.run([programs[name], *arguments], cwd=FOLDER, check=False).returncode
        if code:
            return code
    return 0


if __name__ == "__main__":
    sys.exit(main())
