"""
Events through a pipeline without Spark and without a store: behind `explain` and `test`.

The same task and the same loop as in the service, over stores in memory that have the declared tables: what is shown
here is what happens there. The batch time is shown as the time the event comes in with.
"""

from ingest.dry_run.expected import Difference, differences
from ingest.dry_run.inputs import BadInputError, inputs_of
from ingest.dry_run.pipeline import CaseResult, DryRun
from ingest.dry_run.shown import Line, Output

__all__ = ["BadInputError", "CaseResult", "Difference", "DryRun", "Line", "Output", "differences", "inputs_of"]
