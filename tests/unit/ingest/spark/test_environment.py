"""The packed environment: its files, its launchers, and when it is packed again."""

import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from ingest.api import ConfigError, ConflictError, IngestError
from ingest.spark.environment import Environment, environment, pack


def distribution(site: Path, name: str, files: dict[str, str], *, more: tuple[str, ...] = ()) -> None:
    """Install a package into a folder, as pip does."""
    information = f"{name.replace('-', '_')}-1.0.dist-info"
    files = {**files, f"{information}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"}
    for path, content in files.items():
        file = site / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
    record = f"{information}/RECORD"
    lines = [f"{path},," for path in (*files, *more, record)]
    (site / record).write_text("\n".join(lines) + "\n")


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder with three packages."""
    folder = tmp_path / "prefix" / "lib" / "site-packages"
    origin = json.dumps({"url": f"file://{tmp_path}/wheels/some-1.0.whl"})
    files = {
        "some/__init__.py": "WHERE = __file__\n",
        "some/data.txt": "data",
        "some.pth": str(tmp_path),
        "some-1.0.dist-info/direct_url.json": origin,
        "some/__pycache__/__init__.pyc": str(tmp_path),
        "../../bin/some": f"#!{tmp_path}/bin/python\n",
    }
    distribution(folder, "some", files, more=("some/missing.txt",))
    distribution(folder, "pyspark", {"pyspark/__init__.py": ""})
    distribution(folder, "py4j", {"py4j/__init__.py": ""})
    return folder


@pytest.fixture
def script(tmp_path: Path) -> Path:
    file = tmp_path / "script.py"
    file.write_text("print('submitted')\n")
    return file


@pytest.fixture
def jar(tmp_path: Path) -> Path:
    file = tmp_path / "one.jar"
    file.write_bytes(b"jar")
    return file


@pytest.fixture
def content(site: Path, script: Path, jar: Path) -> Environment:
    return environment([jar], script, search=[str(site)])


def unpacked(archive: Path, folder: Path) -> Path:
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
    return folder


def run(folder: Path, *command: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    """Run a command with PATH only."""
    path = os.pathsep.join([str(Path(sys._base_executable).parent), os.environ["PATH"]])
    return subprocess.run(
        command, cwd=folder, env={"PATH": path, **variables}, capture_output=True, text=True, check=False
    )


def test_files_are_the_portable_ones_of_each_package(content: Environment) -> None:
    own = ("lib/ingest/", "lib/decorators/", "lib/sinks/", "lib/pyspark_attr2hbase/")
    found = [name for name in content.files if not name.startswith(own)]
    assert sorted(found) == [
        "jars/spark/one.jar",
        "lib/some-1.0.dist-info/METADATA",
        "lib/some-1.0.dist-info/RECORD",
        "lib/some/__init__.py",
        "lib/some/data.txt",
        "share/attr2hbase/script.py",
    ]
    assert {"lib/ingest/__init__.py", "lib/ingest/spark/jars.toml", "lib/sinks/hbase/store.py"} <= content.files.keys()


def test_manifest_names_what_differs_between_archives(content: Environment) -> None:
    assert content.manifest["packages"] == {"some": "1.0"}
    assert content.manifest["python"] == f"{sys.version_info.major}.{sys.version_info.minor}"
    assert content.manifest.keys() == {"python", "platform", "packages", "product", "jars"}


def test_interpreter_of_the_archive_imports_its_packages(content: Environment, tmp_path: Path) -> None:
    assert pack(tmp_path / "env.tar.gz", content)
    folder = unpacked(tmp_path / "env.tar.gz", tmp_path / "node" / "environment")
    code = "import ingest, some, sys; print(some.WHERE, ingest.__file__, sys.argv[1])"
    done = run(folder.parent, "./environment/bin/python", "-c", code, "an argument")
    assert (done.returncode, done.stderr) == (0, "")
    lib = folder.resolve() / "lib"
    assert done.stdout == f"{lib}/some/__init__.py {lib}/ingest/__init__.py an argument\n"


def test_packages_of_the_machine_are_not_visible(content: Environment, tmp_path: Path) -> None:
    pack(tmp_path / "env.tar.gz", content)
    folder = unpacked(tmp_path / "env.tar.gz", tmp_path / "environment")
    code = "import sys; print([each for each in sys.path if each.endswith('-packages')])"
    assert run(tmp_path, f"{folder}/bin/python", "-c", code).stdout == "[]\n"


def test_packages_of_spark_come_first(content: Environment, tmp_path: Path) -> None:
    pack(tmp_path / "env.tar.gz", content)
    folder = unpacked(tmp_path / "env.tar.gz", tmp_path / "environment")
    (tmp_path / "spark").mkdir()
    (tmp_path / "spark" / "some.py").write_text("WHERE = 'spark'")
    done = run(tmp_path, f"{folder}/bin/python", "-c", "import some; print(some.WHERE)", PYTHONPATH="spark")
    assert done.stdout == "spark\n"


def test_missing_python_is_named(content: Environment, tmp_path: Path) -> None:
    pack(tmp_path / "env.tar.gz", content)
    folder = unpacked(tmp_path / "env.tar.gz", tmp_path / "environment")
    done = run(tmp_path, f"{folder}/bin/python", "-V", ATTR2HBASE_PYTHON="/nowhere/python")
    assert (done.returncode, "there is no /nowhere/python; install Python 3." in done.stderr) == (127, True)


def test_archive_has_no_path_of_this_machine(content: Environment, tmp_path: Path) -> None:
    pack(tmp_path / "env.tar.gz", content)
    with tarfile.open(tmp_path / "env.tar.gz") as packed:
        for member in packed:
            assert (member.uid, member.gid, member.uname, member.mtime) == (0, 0, "", 0)
            file = packed.extractfile(member)
            assert file is not None
            text = file.read()
            for path in (tmp_path, Path(sys.prefix), Path.home()):
                assert str(path).encode() not in text, member.name


def test_archive_is_packed_again_only_if_something_changed(
    content: Environment, site: Path, script: Path, jar: Path, tmp_path: Path
) -> None:
    archive = tmp_path / "env.tar.gz"
    assert pack(archive, content)
    first = archive.read_bytes()
    assert not pack(archive, environment([jar], script, search=[str(site)]))
    archive.unlink()
    assert pack(archive, content)
    assert archive.read_bytes() == first

    distribution(site, "other", {"other.py": ""})
    assert pack(archive, environment([jar], script, search=[str(site)]))
    for file in (jar, script):
        file.write_bytes(b"newer")
        assert pack(archive, environment([jar], script, search=[str(site)]))
    assert sorted(tmp_path.glob("*env*")) == [archive]


@pytest.mark.parametrize("text", [b"", b"notes"])
def test_other_file_is_not_replaced(content: Environment, tmp_path: Path, text: bytes) -> None:
    file = tmp_path / "notes"
    file.write_bytes(text)
    with pytest.raises(ConflictError, match="is not an archive of attr2hbase"):
        pack(file, content)
    assert file.read_bytes() == text


def test_foreign_archive_is_not_replaced(content: Environment, tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "backup.tar.gz", "w:gz") as archive:
        archive.addfile(tarfile.TarInfo("a"))
    with pytest.raises(ConflictError):
        pack(tmp_path / "backup.tar.gz", content)


def test_folder_that_does_not_exist_is_reported(content: Environment, tmp_path: Path) -> None:
    with pytest.raises(IngestError, match="No such file or directory"):
        pack(tmp_path / "missing" / "env.tar.gz", content)


def test_editable_package_is_refused(site: Path, script: Path) -> None:
    (site / "some-1.0.dist-info" / "direct_url.json").write_text('{"url": "file:///x", "dir_info": {"editable": true}}')
    with pytest.raises(ConfigError, match='"some" is installed in editable mode'):
        environment([], script, search=[str(site)])


def test_package_without_a_list_of_files_is_refused(site: Path, script: Path) -> None:
    (site / "some-1.0.dist-info" / "RECORD").unlink()
    with pytest.raises(ConfigError, match="has no list of its files"):
        environment([], script, search=[str(site)])


def test_unpacked_archive_is_up_to_date_with_itself(content: Environment, script: Path, tmp_path: Path) -> None:
    archive = tmp_path / "env.tar.gz"
    pack(archive, content)
    folder = unpacked(archive, tmp_path / "environment")
    again = environment([folder / "jars" / "spark" / "one.jar"], script, search=[str(folder / "lib")])
    assert again.manifest == content.manifest
