"""The result of a built-in mapper: one mutation, or none."""

from collections.abc import Sequence

from sinks.mapping.mapper import Mapped, Skipped


def only(mapped: Sequence[Mapped] | Skipped) -> Mapped | Skipped:
    """The only mutation, with its table."""
    if isinstance(mapped, Skipped):
        return mapped
    (mutation,) = mapped
    return mutation
