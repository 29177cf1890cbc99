"""The Kubernetes manifests: confinement, probes, volumes, and the pipeline of the example."""

import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from werkzeug.test import Client

from ingest.catalog import Catalog
from ingest.config import load
from ingest.config.model import Configuration
from ingest.observe.health import Health
from tests.support.endpoint import pages
from tests.support.programs import needs, path_of

FOLDER = Path(__file__).resolve().parents[3] / "deploy/kubernetes"
STATE = "/var/lib/attr2hbase"
USER = 10001
LABEL = {"app.kubernetes.io/name": "attr2hbase"}


@cache
def objects() -> dict[str, dict[str, Any]]:
    """Kind -> object, of the base."""
    names = yaml.safe_load((FOLDER / "base/kustomization.yaml").read_text())["resources"]
    found = [yaml.safe_load((FOLDER / "base" / name).read_text()) for name in names]
    return {each["kind"]: each for each in found}


def pod() -> dict[str, Any]:
    return dict(objects()["StatefulSet"]["spec"]["template"]["spec"])


def containers() -> list[dict[str, Any]]:
    """The containers of the pod, with the Thrift server."""
    sidecar = yaml.safe_load((FOLDER / "thrift/sidecar.yaml").read_text())
    return [*pod()["containers"], *sidecar["spec"]["template"]["spec"]["initContainers"]]


@pytest.fixture
def configuration(tmp_path: Path) -> Configuration:
    """The pipeline file of the example, with a folder of secrets that exists here."""
    text = (FOLDER / "example/pipeline.yaml").read_text()
    (tmp_path / "kafka_password").write_text("secret")
    file = tmp_path / "pipeline.yaml"
    file.write_text(text.replace("/run/secrets/attr2hbase", str(tmp_path)))
    return load(file, env={}, lookup=Catalog())


def test_folders_of_kustomize_name_files_that_exist():
    for file in FOLDER.glob("*/kustomization.yaml"):
        content = yaml.safe_load(file.read_text())
        named = [*content.get("resources", []), *content.get("components", [])]
        named += [patch["path"] for patch in content.get("patches", [])]
        named += [name for each in content.get("configMapGenerator", []) for name in each["files"]]
        for name in named:
            assert (file.parent / name).exists(), f"{file}: {name}"


class TestConfinement:
    """What the level "restricted" of the pod security standards requires, and a read-only root."""

    def test_pod_runs_as_the_user_of_the_image(self):
        security = pod()["securityContext"]
        assert security["runAsNonRoot"] is True
        assert {security[name] for name in ("runAsUser", "runAsGroup", "fsGroup")} == {USER}
        assert security["seccompProfile"] == {"type": "RuntimeDefault"}
        assert f"USER {USER}:{USER}" in (FOLDER.parent / "docker/Dockerfile").read_text()

    def test_containers_have_no_rights(self):
        for container in containers():
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }

    def test_pod_uses_nothing_of_its_node(self):
        assert {key for volume in pod()["volumes"] for key in volume} == {"name", "configMap", "secret", "emptyDir"}
        assert pod().keys() & {"hostNetwork", "hostPID", "hostIPC"} == set()
        assert [port for each in containers() for port in each.get("ports", []) if "hostPort" in port] == []

    def test_memory_is_limited_to_what_is_requested(self):
        for container in containers():
            resources = container["resources"]
            assert resources["limits"]["memory"] == resources["requests"]["memory"]

    def test_pod_has_no_token(self):
        assert pod()["automountServiceAccountToken"] is False
        assert objects()["ServiceAccount"]["automountServiceAccountToken"] is False

    def test_namespace_enforces_the_standard(self):
        labels = yaml.safe_load((FOLDER / "example/namespace.yaml").read_text())["metadata"]["labels"]
        assert labels["pod-security.kubernetes.io/enforce"] == "restricted"

    def test_only_prometheus_may_connect(self):
        policy = objects()["NetworkPolicy"]["spec"]
        assert policy["policyTypes"] == ["Ingress", "Egress"]
        (rule,) = policy["ingress"]
        assert [port["port"] for port in rule["ports"]] == [9464]
        assert rule["from"]


class TestOperation:
    def test_one_replica_that_no_second_pod_replaces(self):
        assert objects()["StatefulSet"]["spec"]["replicas"] == 1
        (claim,) = objects()["StatefulSet"]["spec"]["volumeClaimTemplates"]
        assert claim["spec"]["accessModes"] == ["ReadWriteOncePod"]

    def test_drain_of_a_node_is_possible(self):
        assert objects()["PodDisruptionBudget"]["spec"]["maxUnavailable"] == 1

    def test_objects_select_the_pod(self):
        assert objects()["StatefulSet"]["spec"]["template"]["metadata"]["labels"] == LABEL
        assert objects()["StatefulSet"]["spec"]["selector"]["matchLabels"] == LABEL
        assert objects()["Service"]["spec"]["selector"] == LABEL
        assert objects()["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"] == LABEL
        assert objects()["NetworkPolicy"]["spec"]["podSelector"]["matchLabels"] == LABEL

    @pytest.mark.parametrize(
        ("probe", "path"), [("startupProbe", "/livez"), ("livenessProbe", "/livez"), ("readinessProbe", "/readyz")]
    )
    def test_probes_are_pages_of_the_service(self, probe, path):
        (container,) = pod()["containers"]
        assert container[probe]["httpGet"] == {"path": path, "port": "http"}
        # the kubelet connects by the address of the pod
        answer = Client(pages(Health(["p"]))).get(path, headers={"Host": "10.1.2.3:9464"})
        assert answer.status_code in {200, 503}
        assert answer.text.startswith(("live", "not ready"))

    def test_mounted_volumes_exist(self):
        sidecar = yaml.safe_load((FOLDER / "thrift/sidecar.yaml").read_text())["spec"]["template"]["spec"]
        volumes = {each["name"] for each in [*pod()["volumes"], *sidecar["volumes"]]} | {"state"}
        assert {mount["name"] for each in containers() for mount in each["volumeMounts"]} == volumes

    def test_only_state_and_temporary_files_are_writable(self):
        (container,) = pod()["containers"]
        writable = [mount["mountPath"] for mount in container["volumeMounts"] if not mount.get("readOnly")]
        assert writable == [STATE, "/tmp"]


class TestPipeline:
    """The pipeline of the example fits the manifests."""

    def test_ports_and_times(self, configuration):
        (container,) = pod()["containers"]
        port = container["ports"][0]["containerPort"]
        assert configuration.service.http.listen == f"0.0.0.0:{port}"
        assert pod()["terminationGracePeriodSeconds"] >= configuration.service.stop_timeout + 30

    def test_state_is_on_the_volume(self, configuration):
        # relative to the working directory of the image
        assert not Path(configuration.local_dir).is_absolute()
        assert f"WORKDIR {STATE}" in (FOLDER.parent / "docker/Dockerfile").read_text()

    def test_connections_between_pods_are_encrypted(self, configuration):
        assert configuration.pipelines["ticks"].source.settings.security.tls is not None
        assert configuration.stores["hbase"].settings.host == "localhost"


@needs("kubectl")
def test_kustomize_builds_the_example():
    done = subprocess.run(
        [str(path_of("kubectl")), "kustomize", str(FOLDER / "example")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    built = list(yaml.safe_load_all(done.stdout))
    assert {each["metadata"].get("namespace", "attr2hbase") for each in built} == {"attr2hbase"}
    (stateful_set,) = [each for each in built if each["kind"] == "StatefulSet"]
    images = [each["image"] for each in stateful_set["spec"]["template"]["spec"]["containers"]]
    assert images == ["registry.example.org/attr2hbase:0.1.0"]
