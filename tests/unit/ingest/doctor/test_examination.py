"""Examinations run in order; those that need a failed one are skipped."""

import pytest

from ingest.api import NotFoundError
from ingest.doctor.examination import Examination, Finding, Found, Outcome, Severity, Skipped, examine, worst


def fail(message="gone", hint=None):
    def run():
        raise NotFoundError(message, hint=hint)

    return run


def found(severity):
    return Found("text", (Finding("any", severity, "message"),))


def run(*examinations):
    return {outcome.check: outcome.result for outcome in examine(examinations)}


def test_result_of_each_examination_is_returned_in_order():
    outcomes = list(examine([Examination("b", "x", lambda: Found("1")), Examination("a", "x", lambda: Skipped("why"))]))
    assert outcomes == [Outcome("b", "x", Found("1")), Outcome("a", "x", Skipped("why"))]
    assert worst(outcomes) is None


def test_error_is_a_finding_with_its_hint():
    (outcome,) = examine([Examination("store", "logs", fail("no store", "create it"), docs="d.md#store")])
    assert outcome.findings == (
        Finding("store", Severity.ERROR, "no store", "logs", hint="create it", docs="d.md#store"),
    )


def test_bug_is_not_a_finding():
    with pytest.raises(ZeroDivisionError):
        list(examine([Examination("a", "", lambda: 1 // 0)]))


def test_what_needs_a_failed_examination_is_skipped():
    results = run(
        Examination("ports", "kafka", fail()),
        Examination("kafka", "p", lambda: Found("1"), needs=(("ports", "kafka"),)),
        Examination("retention", "p", lambda: Found("2"), needs=(("kafka", "p"),)),
        Examination("other", "p", lambda: Found("3"), needs=(("ports", "hbase"),)),
    )
    assert results["kafka"] == results["retention"] == Skipped('check "ports" of kafka failed')
    assert results["other"] == Found("3")


@pytest.mark.parametrize(
    ("severity", "is_skipped"),
    [(Severity.INFO, False), (Severity.WARNING, False), (Severity.ERROR, True), (Severity.CRITICAL, True)],
)
def test_errors_fail_an_examination(severity, is_skipped):
    results = run(Examination("a", "x", lambda: found(severity)), Examination("b", "x", Found, needs=(("a", "x"),)))
    assert isinstance(results["b"], Skipped) == is_skipped


def test_worst_severity():
    def outcome(*severities):
        return Outcome("a", "", Found(findings=tuple(Finding("a", severity, "") for severity in severities)))

    assert worst([outcome(), Outcome("b", "", Skipped("why"))]) is None
    assert worst([outcome(Severity.INFO, Severity.ERROR), outcome(Severity.WARNING)]) is Severity.ERROR


def test_severities_are_ordered():
    order = [Severity.INFO, Severity.WARNING, Severity.ERROR, Severity.CRITICAL]
    assert [[one.reaches(other) for other in order] for one in order] == [
        [True, False, False, False],
        [True, True, False, False],
        [True, True, True, False],
        [True, True, True, True],
    ]
