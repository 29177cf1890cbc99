"""
Serializes a plan for the workers, which check that they have its plugins before they unpickle it.

Plugin files beside the pipeline are sent as source text, so workers need no copy of them. An installed plugin must be
installed on every worker machine, because it may include compiled libraries.
"""

import pickle
import platform
import sys
from dataclasses import dataclass
from importlib import metadata

from ingest.api import CatalogError
from ingest.catalog import table_features
from ingest.plan.plan import Plan
from ingest.plugins.loader import PluginFile, class_at


class PluginDiffersError(CatalogError):
    """A worker has another version of a plugin than the driver."""

    code = "plugin_differs"
    remedy = "Install the same version on every worker, then restart."


class PluginMissingError(CatalogError):
    """A worker lacks a plugin that the pipeline uses, or cannot import it."""

    code = "plugin_missing"
    remedy = "Install the plugin on every worker, then restart."


@dataclass(frozen=True, slots=True)
class _Requirement:
    """A component of an installed plugin that a worker must be able to import."""

    name: str
    component: str
    provider: str


def packed(plan: Plan) -> bytes:
    """The plan as bytes, for `unpacked`."""
    of_features = [
        component
        for tables in plan.features.values()
        for planned in tables.values()
        for feature in table_features()
        if feature.name in planned
        for component in feature.components(planned[feature.name])
    ]
    components = (*plan.decorators, *plan.sinks, *plan.stores.values(), *of_features)
    requirements = [
        _Requirement(component.name, component.path, component.provider)
        for component in components
        if component.provider
    ]
    return pickle.dumps((plan.files, requirements, pickle.dumps(plan)))


def unpacked(content: bytes) -> Plan:
    """
    Restore a plan in a worker process.

    Only for bytes from our own driver: unpickling runs code.

    Raises:
        CatalogError: a plugin is missing here, cannot be imported, or has another version than on the driver.
    """
    files: tuple[PluginFile, ...]
    requirements: list[_Requirement]
    files, requirements, pickled_plan = pickle.loads(content)  # noqa: S301 - see above
    for file in files:
        _load(file)
    for requirement in requirements:
        _check(requirement)
    plan: Plan = pickle.loads(pickled_plan)  # noqa: S301 - as above
    return plan


def _load(file: PluginFile) -> None:
    try:
        file.load()
    except CatalogError as error:
        raise _missing(f'plugin "{file.module}.py"', error) from error


def _check(requirement: _Requirement) -> None:
    what = f'"{requirement.name}" is from {requirement.provider} ({requirement.component})'
    try:
        class_at(requirement.component)
    except CatalogError as error:
        raise _missing(what, error) from error
    package, _, version = requirement.provider.rpartition(" ")
    try:
        here = metadata.version(package) if package else version
    except metadata.PackageNotFoundError:  # the modules are importable without package metadata, as with --py-files
        return
    if here != version:
        raise PluginDiffersError(
            f"{what}, but worker {platform.node()} has {package} {here}",
            hint=f"install {package}=={version} for {sys.executable} on every machine with workers",
        )


def _missing(what: str, error: CatalogError) -> CatalogError:
    return PluginMissingError(
        f"{what}, but worker {platform.node()} cannot import it: {error.message}",
        hint=f"install it, with its dependencies, for {sys.executable} on every machine with workers",
    )
