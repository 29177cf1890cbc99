"""Which examples property tests try; also where `CI` is set, for which Hypothesis has defaults of its own."""

from hypothesis import settings


def test_quick_runs_repeat_their_examples_and_thorough_ones_are_random() -> None:
    quick, thorough = map(settings.get_profile, ("quick", "thorough"))
    assert (quick.derandomize, thorough.derandomize) == (True, False)
    assert thorough.database is not None
