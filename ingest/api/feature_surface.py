"""What users see of a table feature beside its option: commands, jobs, metrics; data alone, so that it is cheap."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple


class FunctionWord(NamedTuple):
    """
    A command that is a function.

    Attributes:
        summary: a line about it.
        place: import path of the function, `module:function`; or `module.function` of `ingest.cli`.
    """

    summary: str
    place: str


class JobWord(NamedTuple):
    """
    The command of a job.

    Attributes:
        summary: a line about it.
        kind: of the job, as in a request.
    """

    summary: str
    kind: str


class GroupWord(NamedTuple):
    """
    Commands behind a word.

    Attributes:
        summary: a line about it.
        words: word -> its command.
        admin: its commands behind `admin`, if any.
    """

    summary: str
    words: "Mapping[str, Word]"
    admin: "GroupWord | None" = None


Word = FunctionWord | JobWord | GroupWord


class FeatureSurface(NamedTuple):
    """
    `SURFACE` in the `__init__.py` of the folder of a feature; the feature itself is not imported.

    Attributes:
        commands: heading of the help page of all commands -> word -> its command.
        jobs: kind of job -> import path of its class, an `ingest.service.jobs.job.Job`.
        watches: import paths of what measures something while a service runs; a context manager, constructed with a
            function that returns what the pipelines share (`ingest.service.shared.Shared`), and the metrics.
        metrics: import path of a tuple of `ingest.api.metric.Metric`; "" for none.
        undeclared: name of the feature, if no table is written without it whose record has a property of this name ->
            import path of a function from the name of the table to the StoreError of writers that leave it out.
    """

    commands: Mapping[str, Mapping[str, Word]] = MappingProxyType({})
    jobs: Mapping[str, str] = MappingProxyType({})
    watches: Sequence[str] = ()
    metrics: str = ""
    undeclared: Mapping[str, str] = MappingProxyType({})
