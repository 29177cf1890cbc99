"""
Runs events through a pipeline without Spark and without its stores, for `explain`, `test` and `keys analyse`.

The task and the loop are the service's; the stores are in memory and have the declared tables. A put with the
batch time is shown with the event's original timestamp.
"""

from ingest.dry_run.expected import Difference, differences
from ingest.dry_run.inputs import BadInputError, InputLines, given_of_record
from ingest.dry_run.pipeline import CaseResult, DryRun
from ingest.dry_run.shown import Output
from ingest.formats.event_json import Line

__all__ = [
    "BadInputError",
    "CaseResult",
    "Difference",
    "DryRun",
    "InputLines",
    "Line",
    "Output",
    "differences",
    "given_of_record",
]
