"""
Events through a pipeline without Spark and without a store: behind `explain` and `test`.

The same decoder, chain and mappers as in the service, so what is shown here is what happens there. The batch time is
the time the event comes in with.
"""

from ingest.trial.expected import Difference, differences
from ingest.trial.inputs import BadInputError, inputs_of
from ingest.trial.pipeline import CaseResult, Trial
from ingest.trial.shown import Line, Output

__all__ = ["BadInputError", "CaseResult", "Difference", "Line", "Output", "Trial", "differences", "inputs_of"]
