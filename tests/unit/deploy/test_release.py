"""The lock, the SBOM and NOTICE of a release."""

import json
import re
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest

from deploy.release.contents import ConnectorJar, Contents, contents_of
from deploy.release.lock import PROJECT, installed_by_users, packages_of, requirements_of
from deploy.release.notice import notice_of
from deploy.release.sbom import sbom_of

ROOT = Path(__file__).resolve().parents[3]
A, B, C = ("a" * 64, "b" * 64, "c" * 64)
LOCK = f"""direct==1.0 \\
    --hash=sha256:{A} \\
    --hash=sha256:{B}
    # via attr2hbase (pyproject.toml)
indirect==2.0 ; sys_platform == 'win32' \\
    --hash=sha256:{C}
    # via
    #   direct
    #   tool
tool==3.0 \\
    --hash=sha256:{A}
    # via attr2hbase (pyproject.toml:dev)
"""
JAR = ConnectorJar("org.example", "connector_2.13", "4.2.0", C)


def release(**changes):
    packages = tuple(installed_by_users(packages_of(LOCK)))
    licences = {package.purl: "MIT" for package in packages} | {JAR.purl: "Apache-2.0"}
    given = {"version": "0.2.0", "packages": packages, "jars": (JAR,), "licences": licences, "commit": "e" * 40}
    return Contents(**given | {"epoch": 1_790_000_000} | changes)


@pytest.fixture(scope="module")
def own():
    return contents_of(ROOT, "e" * 40, 1_790_000_000)


def test_entries_of_a_lock_are_read():
    direct, indirect, tool = packages_of(LOCK)
    assert (direct.name, direct.version, direct.marker, direct.hashes) == ("direct", "1.0", "", (A, B))
    assert (indirect.marker, indirect.required_by) == ("sys_platform == 'win32'", {"direct", "tool"})
    assert (direct.required_by, tool.required_by) == ({PROJECT}, {"attr2hbase (pyproject.toml:dev)"})


@pytest.mark.parametrize(
    "entry", ["direct==1.0\n    # via x\n", "direct==1.0 \\\n    # via x\n", "direct @ file:///x\n"]
)
def test_entry_without_version_or_hash_is_refused(entry):
    with pytest.raises(ValueError, match="no version or no hash: direct"):
        packages_of(entry)


def test_packages_for_development_are_not_installed_by_users():
    assert [package.name for package in installed_by_users(packages_of(LOCK))] == ["direct", "indirect"]


def test_requirements_are_the_entries_of_the_lock():
    assert requirements_of(packages_of(LOCK)) == LOCK
    assert packages_of(requirements_of(installed_by_users(packages_of(LOCK)))) == list(release().packages)


def test_sbom_lists_packages_and_jars_with_hashes():
    document = json.loads(sbom_of(release()))
    python, _, jar = document["components"]
    assert document["metadata"]["timestamp"] == "2026-09-21T14:13:20Z"
    assert python["purl"] == "pkg:pypi/direct@1.0"
    assert [each["content"] for each in python["externalReferences"][0]["hashes"]] == [A, B]
    assert jar["purl"] == "pkg:maven/org.example/connector_2.13@4.2.0"
    assert jar["hashes"] == [{"alg": "SHA-256", "content": C}]
    assert jar["externalReferences"][0]["url"] == (
        "https://repo1.maven.org/maven2/org/example/connector_2.13/4.2.0/connector_2.13-4.2.0.jar"
    )


def test_sbom_has_the_dependencies():
    assert {each["ref"]: each["dependsOn"] for each in json.loads(sbom_of(release()))["dependencies"]} == {
        "pkg:pypi/attr2hbase@0.2.0": ["pkg:maven/org.example/connector_2.13@4.2.0", "pkg:pypi/direct@1.0"],
        "pkg:pypi/direct@1.0": ["pkg:pypi/indirect@2.0"],
        "pkg:pypi/indirect@2.0": [],
    }


def test_serial_number_of_an_sbom_follows_its_content():
    numbers = [json.loads(sbom_of(each))["serialNumber"] for each in (release(), release(), release(version="0.2.1"))]
    assert numbers[0] == numbers[1] != numbers[2]
    assert re.fullmatch(r"urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", numbers[0])


def test_references_of_the_sbom_are_unique_and_exist(own):
    document = json.loads(sbom_of(own))
    references = [each["bom-ref"] for each in (document["metadata"]["component"], *document["components"])]
    assert len(references) == len(set(references)) == len(own.packages) + len(own.jars) + 1
    assert [each["ref"] for each in document["dependencies"] if each["ref"] not in references] == []
    needed = {ref for each in document["dependencies"] for ref in each["dependsOn"]}
    own_reference = references[0]
    assert set(references) - needed == {own_reference}


def test_every_requirement_of_the_project_is_in_the_release(own):
    import tomllib

    required = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["dependencies"]
    names = {re.match(r"[a-z0-9-]+", text)[0] for text in required}
    assert names - {package.name for package in own.packages} == set()
    assert names == {package.name for package in own.packages if PROJECT in package.required_by}


def test_licences_are_those_that_packages_declare(own):
    differing = {}
    for package in own.packages:
        try:
            declared = distribution(package.name).metadata.get("License-Expression")
        except PackageNotFoundError:  # for another system
            continue
        if declared not in (None, own.licences[package.purl]):
            differing[package.name] = declared
    assert differing == {}


def test_notice_lists_each_licence(own):
    head, *lines = notice_of(own).splitlines()
    assert head == f"attr2hbase {own.version}"
    listed = {tuple(line.split(maxsplit=2)) for line in lines if line.startswith("  ")}
    packages = {(package.name, package.version, own.licences[package.purl]) for package in own.packages}
    assert packages - listed == set()
    assert "  org.apache.kafka:kafka-clients:3.9.2                         Apache-2.0" in lines


def test_package_without_a_licence_is_refused(tmp_path):
    for name in ("pyproject.toml", "ingest/spark/jars.toml", "deploy/release/licences.toml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    entries = (ROOT / "requirements.lock").read_text("utf-8").replace("\nsix==", "\nseven==")
    (tmp_path / "requirements.lock").write_text(entries, "utf-8")
    with pytest.raises(ValueError, match='"seven" has no licence, "six" is not used'):
        contents_of(tmp_path, "e" * 40, 0)
