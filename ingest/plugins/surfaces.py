"""The surfaces of the table features that a registry lists."""

from collections.abc import Iterable
from importlib import import_module
from typing import Any

from ingest.api.feature_surface import FeatureSurface
from ingest.api.metric import Metric


def surfaces_of(features: Iterable[str]) -> tuple[FeatureSurface, ...]:
    """The surfaces of features, by the import paths of their classes; a folder without one has none."""
    packages = (import_module(path.partition(":")[0].rpartition(".")[0]) for path in features)
    return tuple(getattr(package, "SURFACE", FeatureSurface()) for package in packages)


def metrics_of(surfaces: Iterable[FeatureSurface]) -> tuple[Metric, ...]:
    """The metrics of all of them."""
    return tuple(metric for surface in surfaces if surface.metrics for metric in at(surface.metrics))


def at(path: str) -> Any:
    """What is at an import path of the product, `module:name`."""
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)
