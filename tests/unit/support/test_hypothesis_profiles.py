"""A property that has failed once fails in the next run, too."""

from hypothesis import settings
from hypothesis.database import DirectoryBasedExampleDatabase


def test_quick_run_has_the_same_examples_every_time() -> None:
    assert settings.get_profile("quick").derandomize


def test_thorough_run_keeps_examples_that_failed(pytestconfig) -> None:
    profile = settings.get_profile("thorough")
    assert (profile.derandomize, profile.print_blob) == (False, True)
    assert profile.database == DirectoryBasedExampleDatabase(pytestconfig.rootpath / ".hypothesis" / "examples")
