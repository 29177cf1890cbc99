"""What commands say of the options that select dead letters."""

from collections.abc import Iterable, Mapping, Sequence

from ingest.amounts import counted, counts_of
from ingest.suggest import did_you_mean


def filters(
    codes: Iterable[str] | None,
    components: Iterable[str] | None = None,
    *,
    since: str | None = None,
    until: str | None = None,
    positions: Iterable[str] | None = None,
) -> list[str]:
    """The positions and options that select dead letters, as they were given."""
    times = {"--since": since, "--until": until}
    return [
        *(positions or ()),
        *(f"--code {each}" for each in codes or ()),
        *(f"--component {each}" for each in components or ()),
        *(f"{name} {time}" for name, time in times.items() if time is not None),
    ]


def none_selected(seen: Mapping[str, int], options: Sequence[str], advice: str = "") -> str:
    """
    Says that dead letters exist and none of them is selected: an empty result would look as if no event had failed.

    Args:
        seen: code -> number of all dead letters.
        options: that select, as `filters`.
        advice: what else to try.
    """
    existing = f"{counted(sum(seen.values()), 'dead letter')} ({counts_of(seen)})"
    given = f" by {' '.join(options)}" if options else ""
    return f"none of {existing} is selected{given}{advice}"


def unknown(option: str, given: Iterable[str] | None, seen: Mapping[str, int]) -> list[str]:
    """
    A note for each value of an option that no dead letter has, such as one with a typing error.

    Args:
        option: `code` or `component`.
        given: its values.
        seen: value -> number of all dead letters.
    """
    notes = []
    for value in given or ():
        if value not in seen:
            advice = did_you_mean(value, seen) or f"there is {', '.join(sorted(seen))}"
            notes.append(f'no dead letter has the {option} "{value}": {advice}')
    return notes
