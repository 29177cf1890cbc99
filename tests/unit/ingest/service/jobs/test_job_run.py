"""What a job leaves to the pipelines."""

from types import SimpleNamespace

import pytest

from ingest.service.jobs.job_run import MAX_WAIT_S, JobContext, JobRun, Progress
from tests.support.waits import Waits


@pytest.mark.parametrize(
    ("worked_s", "busy_s", "rest_s"),
    [
        (4.0, 0.0, 0.0),  # no pipeline has records
        (4.0, 1.0, 1.0),
        (4.0, 4.0, 4.0),
        (4.0, 9.0, 4.0),  # three pipelines
        (7_200.0, 7_200.0, MAX_WAIT_S),  # a store was unavailable
        (4.0, -5.0, 0.0),  # a pipeline was removed
    ],
)
def test_job_rests_as_long_as_pipelines_worked(worked_s: float, busy_s: float, rest_s: float):
    now, busy, waits = [100.0], [50.0], Waits()
    context = JobContext(SimpleNamespace(), None, 2, lambda: busy[0])
    run = JobRun(context, 1, waits, lambda _progress: None, clock=lambda: now[0])
    with run.new_slice():
        now[0] += worked_s
        busy[0] += busy_s
    assert waits.seconds == [rest_s]


def test_slice_that_fails_does_not_rest():
    waits = Waits()
    run = JobRun(JobContext(SimpleNamespace(), None, 2), 1, waits, lambda _progress: None)
    with pytest.raises(RuntimeError), run.new_slice():
        raise RuntimeError
    assert waits.seconds == []


@pytest.mark.parametrize(("progress", "ratio"), [(Progress(), 0.0), (Progress(1, 4), 0.25), (Progress(4, 4), 1.0)])
def test_progress_is_a_fraction(progress: Progress, ratio: float):
    assert progress.ratio == ratio
