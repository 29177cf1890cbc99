"""
A plan on its way to the workers, with what it needs there told before it is opened.

Files beside the pipeline travel as text, so they need not be on any other machine. An installed plugin has to be
installed wherever workers run: it may bring libraries with compiled code, which no text can replace.
"""

import pickle
import platform
import sys
from dataclasses import dataclass
from importlib import metadata

from ingest.api import CatalogError
from ingest.plan.assemble import Plan
from ingest.plugins.loader import PluginFile, class_at


@dataclass(frozen=True, slots=True)
class _Need:
    """A plugin's component and the name of the decorator, sink or store that is one."""

    name: str
    component: str
    provider: str


def packed(plan: Plan) -> bytes:
    """A plan as bytes that `unpacked` takes."""
    parts = (*plan.decorators, *plan.sinks, *plan.stores.values())
    needs = [_Need(part.name, part.path, part.provider) for part in parts if part.provider]
    return pickle.dumps((plan.files, needs, pickle.dumps(plan)))


def unpacked(parcel: bytes) -> Plan:
    """
    The plan again, in another process and perhaps on another machine.

    The bytes must come from our own driver.

    Raises:
        CatalogError: a plugin is not here, cannot be imported here, or is of another version than the driver's.
    """
    files: tuple[PluginFile, ...]
    needs: list[_Need]
    files, needs, content = pickle.loads(parcel)  # noqa: S301 - see above
    for file in files:
        _loaded(file)
    for need in needs:
        _check(need)
    plan: Plan = pickle.loads(content)  # noqa: S301 - as above
    return plan


def _loaded(file: PluginFile) -> None:
    try:
        file.load()
    except CatalogError as error:
        raise _missing(f'plugin "{file.module}.py"', error) from error


def _check(need: _Need) -> None:
    what = f'"{need.name}" is of {need.provider} ({need.component})'
    try:
        class_at(need.component)
    except CatalogError as error:
        raise _missing(what, error) from error
    package, _, version = need.provider.rpartition(" ")
    try:
        here = metadata.version(package) if package else version
    except metadata.PackageNotFoundError:  # its modules are here all the same, as with --py-files
        return
    if here != version:
        raise CatalogError(
            f"{what}, and worker {platform.node()} has {package} {here}",
            code="plugin_differs",
            hint=f"install {package}=={version} for {sys.executable} on every machine with workers",
        )


def _missing(what: str, error: CatalogError) -> CatalogError:
    return CatalogError(
        f"{what}, and worker {platform.node()} cannot import it: {error.message}",
        code="plugin_missing",
        hint=f"install it, with all it needs, for {sys.executable} on every machine with workers",
    )
