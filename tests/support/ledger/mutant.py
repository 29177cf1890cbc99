"""`python -m tests.support.ledger.mutant NAME run pipeline.yaml`: `ingest` with one deliberate bug."""

import os
import sys
import tempfile
from pathlib import Path

from tests.support.ledger.mutants.catalogue import MUTANTS, environment


def main(arguments: list[str]) -> None:
    """Replace this process by `ingest` with a mutant."""
    if not arguments or arguments[0] not in MUTANTS:
        lines = (f"  {name:22} {mutant.about}" for name, mutant in MUTANTS.items())
        raise SystemExit("\n".join(["mutants:", *lines]))
    proof = Path(tempfile.gettempdir()) / f"ledger-mutant-{os.getpid()}"
    command = [sys.executable, "-m", "ingest", *arguments[1:]]
    os.execve(sys.executable, command, {**os.environ, **environment(arguments[0], proof)})  # noqa: S606 - no shell wanted


if __name__ == "__main__":
    main(sys.argv[1:])
