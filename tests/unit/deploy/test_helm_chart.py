"""The Helm chart renders the manifests of Kustomize; `helm` itself is needed by the slow tests alone."""

import json
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from ingest.catalog import Catalog
from ingest.config import load
from tests.support.marked_tables import ROOT
from tests.support.programs import needs, path_of

CHART = ROOT / "deploy/helm/attr2hbase"
BASE = ROOT / "deploy/kubernetes/base"
EXAMPLE = ROOT / "deploy/kubernetes/example"
THRIFT = ["--set", "thrift.enabled=true", "--set-file", f"thrift.hbaseSite={EXAMPLE / 'hbase-site.xml'}"]
PIPELINE = ["--set-file", f"pipeline={EXAMPLE / 'pipeline.yaml'}"]


def helm(*arguments: str) -> subprocess.CompletedProcess[str]:
    # a helm that `go install` has compiled renders for a Kubernetes of long ago, unless it is told
    return subprocess.run(
        [str(path_of("helm")), *arguments, "--kube-version=1.29.0"], capture_output=True, text=True, check=False
    )


def rendered(*arguments: str) -> dict[tuple[str, str], dict[str, Any]]:
    """Kind and name -> object."""
    done = helm("template", "attr2hbase", str(CHART), *arguments)
    assert done.returncode == 0, done.stderr
    found = [each for each in yaml.safe_load_all(done.stdout) if each]
    return {(each["kind"], each["metadata"]["name"]): each for each in found}


def test_chart_has_the_version_of_the_project():
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert chart["version"] == chart["appVersion"] == project["version"]
    assert chart["description"] in project["description"].replace(": rows whose columns come from the data", "")


@pytest.mark.slow
@needs("helm")
class TestRendered:
    def test_defaults_are_the_base_of_kustomize(self):
        found = rendered(*PIPELINE)
        names = yaml.safe_load((BASE / "kustomization.yaml").read_text())["resources"]
        base = {
            (each["kind"], each["metadata"]["name"]): each
            for each in (yaml.safe_load((BASE / name).read_text()) for name in names)
        }
        version = yaml.safe_load((CHART / "Chart.yaml").read_text())["version"]
        template = found["StatefulSet", "attr2hbase"]["spec"]["template"]
        template["metadata"].pop("annotations")
        assert template["spec"]["containers"][0].pop("image") == f"attr2hbase:{version}"
        base["StatefulSet", "attr2hbase"]["spec"]["template"]["spec"]["containers"][0].pop("image")
        config = found.pop(("ConfigMap", "attr2hbase-pipeline"))
        assert found == base
        assert config["data"] == {"pipeline.yaml": (EXAMPLE / "pipeline.yaml").read_text()}

    def test_thrift_server_is_the_component_of_kustomize(self):
        pod = rendered(*PIPELINE, *THRIFT)["StatefulSet", "attr2hbase"]["spec"]["template"]["spec"]
        sidecar = yaml.safe_load((EXAMPLE.parent / "thrift/sidecar.yaml").read_text())["spec"]["template"]["spec"]
        [container], [expected] = pod["initContainers"], sidecar["initContainers"]
        assert container | {"image": expected["image"]} == expected
        assert [each for each in pod["volumes"] if each in sidecar["volumes"]] == sidecar["volumes"]

    def test_two_releases_share_no_name(self):
        done = helm("template", "orders", str(CHART), *PIPELINE, *THRIFT, "--set", "serviceMonitor.enabled=true")
        objects = [each for each in yaml.safe_load_all(done.stdout) if each]
        assert {each["metadata"]["name"].startswith("orders-attr2hbase") for each in objects} == {True}

    def test_changed_pipeline_replaces_the_pod(self):
        one, other = (
            rendered("--set", f"pipeline={text}")["StatefulSet", "attr2hbase"]["spec"]["template"]["metadata"][
                "annotations"
            ]
            for text in ("version: 1", "version: 2")
        )
        assert one != other

    def test_missing_pipeline_says_what_to_set(self):
        done = helm("template", "attr2hbase", str(CHART))
        assert done.returncode != 0
        assert "--set-file pipeline=pipeline.yaml" in done.stderr

    def test_options_reach_their_objects(self):
        values = {
            "image": {"tag": "1.2.3", "pullPolicy": "Always"},
            "existingPipeline": "mine",
            "secret": "of-vault",
            "imagePullSecrets": [{"name": "registry"}],
            "env": [{"name": "HBASE", "value": "hbase-1"}],
            "state": {"storageClassName": "fast", "size": "1Gi"},
            "networkPolicy": {"enabled": False},
            "nodeSelector": {"disk": "ssd"},
            "tolerations": [{"key": "a"}],
            "affinity": {"nodeAffinity": {}},
            "serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}},
        }
        found = rendered(
            *[each for key, value in values.items() for each in ("--set-json", f"{key}={json.dumps(value)}")]
        )
        stateful_set = found["StatefulSet", "attr2hbase"]["spec"]
        pod = stateful_set["template"]["spec"]
        assert (pod["containers"][0]["image"], pod["containers"][0]["imagePullPolicy"]) == (
            "attr2hbase:1.2.3",
            "Always",
        )
        assert pod["containers"][0]["env"] == values["env"]
        assert {name: pod[name] for name in ("imagePullSecrets", "nodeSelector", "tolerations", "affinity")} == {
            name: values[name] for name in ("imagePullSecrets", "nodeSelector", "tolerations", "affinity")
        }
        volumes = {each["name"]: each for each in pod["volumes"]}
        assert volumes["pipeline"]["configMap"] == {"name": "mine"}
        assert volumes["secrets"]["secret"]["secretName"] == "of-vault"
        claim = stateful_set["volumeClaimTemplates"][0]["spec"]
        assert (claim["storageClassName"], claim["resources"]["requests"]["storage"]) == ("fast", "1Gi")
        assert ("NetworkPolicy", "attr2hbase") not in found
        assert not any(kind == "ConfigMap" for kind, _ in found)
        assert found["ServiceMonitor", "attr2hbase"]["metadata"]["labels"]["release"] == "prometheus"

    def test_chart_has_no_findings(self):
        done = helm("lint", "--strict", str(CHART), *PIPELINE)
        assert done.returncode == 0, done.stdout

    def test_pipeline_of_the_chart_is_a_valid_file(self, tmp_path: Path):
        text = rendered(*PIPELINE)["ConfigMap", "attr2hbase-pipeline"]["data"]["pipeline.yaml"]
        (tmp_path / "kafka_password").write_text("secret")
        (tmp_path / "pipeline.yaml").write_text(text.replace("/run/secrets/attr2hbase", str(tmp_path)))
        assert list(load(tmp_path / "pipeline.yaml", env={}, lookup=Catalog()).pipelines) == ["ticks"]
