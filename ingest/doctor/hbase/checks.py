"""The checks of a region server, in order, each with the inputs that it needs."""

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from ingest.doctor.examination import Examination, Finding, Found, Skipped
from ingest.doctor.hbase import metrics_checks, settings_checks
from ingest.doctor.hbase.findings import docs_of
from ingest.doctor.hbase.inputs import UNKNOWN, Inputs, MissingInputError
from ingest.doctor.hbase.jmx import MissingMetricError


@dataclass(frozen=True, slots=True)
class Check:
    """
    One check.

    Attributes:
        id: as the guide lists it.
        find: its problems. Its parameters are inputs by their names; without one that has no default it is skipped.
    """

    id: str
    find: Callable[..., Iterator[Finding]]


CHECKS = (
    Check("M1", settings_checks.heap_left),
    Check("M2", settings_checks.memstore_size),
    Check("M3", settings_checks.old_names),
    Check("M4", settings_checks.lower_limit),
    Check("M5", settings_checks.log_capacity),
    Check("M6", settings_checks.long_replay),
    Check("M7", settings_checks.regions),
    Check("M8", settings_checks.region_block),
    Check("M9", settings_checks.cushion),
    Check("M10", settings_checks.files_per_hour),
    Check("M11", settings_checks.families),
    Check("M12", settings_checks.compression),
    Check("M13", metrics_checks.memstores),
    Check("M14", metrics_checks.queues),
    Check("M15", metrics_checks.blocked_writes),
    Check("M16", metrics_checks.log_files),
    Check("M17", metrics_checks.store_files),
    Check("M18", metrics_checks.writes_without_log),
    Check("M19", settings_checks.calls_in_memory),
    Check("version", settings_checks.version),
)


def examinations(inputs: Inputs) -> Iterator[Examination]:
    """The checks, to be run with these inputs."""
    for check in CHECKS:
        yield Examination(check.id, "", partial(_run, check, inputs), docs=docs_of(check.id))


def _run(check: Check, inputs: Inputs) -> Found | Skipped:
    arguments = {}
    for name, parameter in inspect.signature(check.find).parameters.items():
        value = getattr(inputs, name)
        if value is None and parameter.default is inspect.Parameter.empty:
            return Skipped(UNKNOWN[name])
        arguments[name] = value
    try:
        return Found(findings=tuple(check.find(**arguments)))
    except MissingInputError as error:
        return Skipped(UNKNOWN[str(error)])
    except MissingMetricError as error:
        return Skipped(f"the server does not report {error}")
