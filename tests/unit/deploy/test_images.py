"""The Dockerfiles and the compose file."""

import re
import subprocess
from itertools import chain
from pathlib import Path

import pytest
import yaml

from ingest.catalog import Catalog
from ingest.config import load
from tests.support.programs import needs, path_of
from tests.support.promql import duration_s

ROOT = Path(__file__).resolve().parents[3]
DOCKER = ROOT / "deploy/docker"
FILES = [DOCKER / "Dockerfile", DOCKER / "hbase/Dockerfile"]
COMPOSE = yaml.safe_load((DOCKER / "compose.yaml").read_text())
HTTP_PORT = "9464"

Instruction = tuple[str, str]


def stages(file: Path) -> list[list[Instruction]]:
    """The instructions of each stage."""
    text = re.sub(r"^\s*#.*\n", "", file.read_text(), flags=re.MULTILINE).replace("\\\n", " ")
    found: list[list[Instruction]] = []
    for line in filter(str.strip, text.splitlines()):
        name, _, rest = line.partition(" ")
        if name == "FROM":
            found.append([])
        found[-1].append((name, " ".join(rest.split())))
    return found


def test_image_can_log_in_with_kerberos():
    build, last = stages(DOCKER / "Dockerfile")
    assert ("COPY", "deploy/docker/kerberos.lock /build/") in build
    assert any(name == "RUN" and rest.endswith("/build/kerberos.lock") for name, rest in build)
    assert re.match(r"[\s\S]*^gssapi==", (DOCKER / "kerberos.lock").read_text(), re.MULTILINE)
    assert any(name == "RUN" and " libgssapi-krb5-2 " in rest for name, rest in last)


@pytest.mark.parametrize("file", FILES, ids=str)
class TestDockerfile:
    def test_processes_run_as_a_user_without_rights(self, file):
        users = [rest for name, rest in stages(file)[-1] if name == "USER"]
        assert users == ["10001:10001"]

    def test_image_has_no_tools_of_its_build(self, file):
        installed = " ".join(rest for name, rest in stages(file)[-1] if name == "RUN")
        assert not re.search(r"\b(maven|mvn|pip|gcc|curl|wget)\b", installed)

    def test_nothing_is_downloaded_without_a_check(self, file):
        for name, rest in chain.from_iterable(stages(file)):
            assert name != "ADD"
            assert not re.search(r"\b(curl|wget)\b", rest)
            if " install " in rest and "pip" in rest:
                assert "--require-hashes" in rest or "--no-index" in rest

    def test_copied_files_exist_and_are_sent_to_the_builder(self, file):
        allowed = file.with_name("Dockerfile.dockerignore").read_text().splitlines()
        assert allowed[0] == "*"
        copied = [
            rest.split()[:-1]
            for name, rest in chain.from_iterable(stages(file))
            if name == "COPY" and "--from" not in rest
        ]
        sources = {source for each in copied for source in each}
        assert sources == {line.removeprefix("!") for line in allowed[1:]}
        for source in sources - {"dist/*.whl", "dist/*.requirements.txt"}:
            assert (ROOT / source).is_file(), source

    @needs("hadolint")
    def test_linter_has_no_findings(self, file):
        done = subprocess.run([str(path_of("hadolint")), str(file)], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout


class TestCompose:
    def test_service_is_confined(self):
        service = COMPOSE["services"]["attr2hbase"]
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
        # Spark's codecs load their libraries from /tmp
        assert all("exec" in each for each in service["tmpfs"])

    def test_ports_are_published_on_the_loopback_only(self):
        ports = [port for service in COMPOSE["services"].values() for port in service.get("ports", [])]
        assert ports == [f"127.0.0.1:{HTTP_PORT}:{HTTP_PORT}"]

    def test_mounted_files_and_volumes_exist(self):
        for name, service in COMPOSE["services"].items():
            for volume in service.get("volumes", []):
                source = volume.partition(":")[0]
                exists = (DOCKER / source).is_file() if source.startswith(".") else source in COMPOSE["volumes"]
                assert exists, f"{name}: {source}"
            if "build" in service:
                assert (DOCKER / service["build"]["context"]).resolve() == ROOT
                assert (ROOT / service["build"]["dockerfile"]).is_file()

    def test_pipeline_names_the_services(self):
        configuration = load(DOCKER / "pipeline.yaml", env={}, lookup=Catalog())
        assert configuration.service.http.listen.endswith(f":{HTTP_PORT}")
        assert configuration.stores["hbase"].settings.host in COMPOSE["services"]
        source = configuration.pipelines["ticks"].source.settings
        assert source.brokers.partition(":")[0] in COMPOSE["services"]
        assert source.topics[0] in COMPOSE["services"]["topic"]["command"]

    def test_stop_is_longer_than_that_of_the_service(self):
        stop_s = load(DOCKER / "pipeline.yaml", env={}, lookup=Catalog()).service.stop_timeout
        assert duration_s(COMPOSE["services"]["attr2hbase"]["stop_grace_period"]) >= stop_s + 30
