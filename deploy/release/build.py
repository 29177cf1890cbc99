"""
Build a release from the last commit: wheel, source archive, locked requirements, SBOM, NOTICE and checksums.

    python -m deploy.release.build                into ./dist
    python -m deploy.release.build --to FOLDER

The same commit gives the same bytes: files come from git, times from the commit. Changes that are not committed are
not part of the build.
"""

import argparse
import hashlib
import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from deploy.release.contents import contents_of
from deploy.release.lock import PROJECT, requirements_of
from deploy.release.notice import notice_of
from deploy.release.sbom import sbom_of

ROOT = Path(__file__).resolve().parents[2]
_READABLE = 0o644


def main(arguments: list[str]) -> int:
    """Build into a folder, and print the files; earlier builds in the folder are removed."""
    parser = argparse.ArgumentParser(description="Build a release from the last commit.")
    parser.add_argument("--to", type=Path, default=ROOT / "dist", metavar="FOLDER", help="default: dist")
    folder: Path = parser.parse_args(arguments).to
    if _git("status", "--porcelain"):
        print("note: changes that are not committed are not part of the build", file=sys.stderr)
    with tempfile.TemporaryDirectory() as temporary:
        tree, built = Path(temporary, "tree"), Path(temporary, "dist")
        _export(tree)
        _build(tree, built)
        folder.mkdir(parents=True, exist_ok=True)
        for old in (*folder.glob(f"{PROJECT}-*"), folder / "NOTICE", folder / "SHA256SUMS"):
            old.unlink(missing_ok=True)
        for path in sorted(built.iterdir()):
            shutil.move(path, folder / path.name)
            print(folder / path.name)
    return 0


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


def _export(tree: Path) -> None:
    """Write the files of the last commit to a folder."""
    command = ["git", "archive", "--format=tar", "HEAD"]
    archived = subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout  # some megabytes
    with tarfile.open(fileobj=io.BytesIO(archived)) as archive:
        archive.extractall(tree, filter="data")


def _build(tree: Path, built: Path) -> None:
    release = contents_of(tree, _git("rev-parse", "HEAD"), int(_git("log", "-1", "--format=%ct")))
    notice = notice_of(release)
    (tree / "NOTICE").write_text(notice, "utf-8")  # the wheel and the source archive contain it
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", built],
        cwd=tree,
        env=os.environ | {"SOURCE_DATE_EPOCH": str(release.epoch)},
        check=True,
        stdout=subprocess.DEVNULL,
    )
    name = f"{PROJECT}-{release.version}"
    (built / "NOTICE").write_text(notice, "utf-8")
    (built / f"{name}.cdx.json").write_text(sbom_of(release), "utf-8")
    (built / f"{name}.requirements.txt").write_text(requirements_of(release.packages), "utf-8")
    sums = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in sorted(built.iterdir())]
    (built / "SHA256SUMS").write_text("".join(sums), "utf-8")
    for path in built.iterdir():
        path.chmod(_READABLE)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
