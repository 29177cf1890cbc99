"""
The software bill of materials of a release, as CycloneDX JSON.

Source: https://cyclonedx.org/docs/1.6/json/
"""

import json
import uuid
from datetime import UTC, datetime
from typing import Any

from deploy.release.contents import ConnectorJar, Contents
from deploy.release.lock import PROJECT, Package

_NAMESPACE = uuid.uuid5(uuid.NAMESPACE_URL, "pkg:pypi/attr2hbase")
_MARKER = "attr2hbase:environment-marker"  # for which environments a package is; CycloneDX has no field for it


def sbom_of(release: Contents) -> str:
    """
    The document; the same release has the same one.

    A Python package has the hashes of all its files, those of the lock, at its distribution; a jar has its own.
    """
    own = f"pkg:pypi/{PROJECT}@{release.version}"
    components = [
        *(_python(package, release.licences[package.purl]) for package in release.packages),
        *(_jar(jar, release.licences[jar.purl]) for jar in release.jars),
    ]
    document: dict[str, Any] = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "timestamp": datetime.fromtimestamp(release.epoch, UTC).isoformat().replace("+00:00", "Z"),
            "lifecycles": [{"phase": "build"}],
            "component": {
                "type": "application",
                "bom-ref": own,
                "name": PROJECT,
                "version": release.version,
                "purl": own,
                "licenses": [{"expression": "Apache-2.0"}],
                "properties": [{"name": "attr2hbase:commit", "value": release.commit}],
            },
        },
        "components": components,
        "dependencies": _dependencies(release, own),
    }
    serial = uuid.uuid5(_NAMESPACE, json.dumps(document, sort_keys=True))
    return json.dumps(document | {"serialNumber": f"urn:uuid:{serial}"}, indent=1) + "\n"


def _python(package: Package, licence: str) -> dict[str, Any]:
    component = {
        "type": "library",
        "bom-ref": package.purl,
        "name": package.name,
        "version": package.version,
        "purl": package.purl,
        "licenses": [{"expression": licence}],
        "externalReferences": [
            {
                "type": "distribution",
                "url": f"https://pypi.org/project/{package.name}/{package.version}/#files",
                "hashes": [_sha256(each) for each in package.hashes],
            }
        ],
    }
    return component | ({"properties": [{"name": _MARKER, "value": package.marker}]} if package.marker else {})


def _jar(jar: ConnectorJar, licence: str) -> dict[str, Any]:
    return {
        "type": "library",
        "bom-ref": jar.purl,
        "group": jar.group,
        "name": jar.artifact,
        "version": jar.version,
        "purl": jar.purl,
        "hashes": [_sha256(jar.sha256)],
        "licenses": [{"expression": licence}],
        "externalReferences": [{"type": "distribution", "url": jar.url}],
    }


def _sha256(content: str) -> dict[str, str]:
    return {"alg": "SHA-256", "content": content}


def _dependencies(release: Contents, own: str) -> list[dict[str, Any]]:
    depends: dict[str, list[str]] = {own: [jar.purl for jar in release.jars]}
    by_name: dict[str, list[str]] = {PROJECT: [own]}
    for package in release.packages:
        by_name.setdefault(package.name, []).append(package.purl)
        depends[package.purl] = []
    for package in release.packages:
        for name in package.required_by:
            for purl in by_name.get(name, ()):  # not those of packages for development
                depends[purl].append(package.purl)
    return [{"ref": ref, "dependsOn": sorted(needed)} for ref, needed in depends.items()]
