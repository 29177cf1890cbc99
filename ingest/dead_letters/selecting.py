"""What commands say of the options that select dead letters."""

from collections.abc import Iterable, Mapping, Sequence

from ingest.amounts import counted, counts_of


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
