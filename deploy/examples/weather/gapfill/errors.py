"""The errors of the example; scripts print them as one line and end with their exit code."""

import re
import sys
from collections.abc import Callable, Sequence
from typing import ClassVar

from pyspark.errors import PySparkException

from ingest.api import IngestError

_RAISED = re.compile(r"^(?:\w+\.)*\w+Error: (.+)$", re.MULTILINE)


class WeatherError(Exception):
    """
    The root of all errors of the example.

    Attributes:
        code: a word that stays the same when the message changes.
        exit_code: of the script.
    """

    code: ClassVar[str] = "failed"
    exit_code: ClassVar[int] = 1


class TooManyStationsError(WeatherError):
    """There are more pairs of stations than the script may compare."""

    code = "too_many_stations"
    exit_code = 2


class NotEnoughPairsError(WeatherError):
    """A line cannot be fitted to so few pairs."""

    code = "not_enough_pairs"
    exit_code = 3


class NoMeasurementsError(WeatherError):
    """The table has no measurement that could be used."""

    code = "no_measurements"
    exit_code = 3


class TooManyRejectedError(WeatherError):
    """More than half of the measurements are not usable."""

    code = "too_many_rejected"
    exit_code = 5


def run(main: Callable[[Sequence[str]], None]) -> int:
    """Run a script with the arguments of the command line; returns its exit code."""
    try:
        main(sys.argv[1:])
    except (WeatherError, IngestError) as error:
        print(f"error: {error.code}: {error}", file=sys.stderr)
        return error.exit_code
    except PySparkException as error:
        # a table is read in a process of Spark, which reports the traceback of the error there
        raised = _RAISED.findall(str(error))
        if not raised:
            raise
        print(f"error: {WeatherError.code}: {raised[-1]}", file=sys.stderr)
        return WeatherError.exit_code
    return 0
