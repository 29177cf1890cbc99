"""Static checks of decorators that replace the values of all attributes whose names match a pattern."""

from collections.abc import Sequence

from ingest.api import Settings
from ingest.config.components import Binding
from ingest.config.model import Component
from ingest.config.partial import PartialPipeline
from ingest.config.problems import Kind


def check_conversions(pipeline: PartialPipeline, binding: Binding) -> None:
    """Warn of patterns that match a row key, or values that are already in binary form."""
    decorators = [each for each in pipeline.decorators if isinstance(each.settings, Settings)]
    keys = {prefix for sink in pipeline.sinks if (prefix := sink.settings.cell_prefix) is not None}
    for index, decorator in enumerate(decorators):
        _check_keys(decorator, sorted(keys), decorators[:index], binding)
        _check_encoded(decorator, decorators[:index], binding)


def _check_keys(
    decorator: Component[Settings], keys: Sequence[str], earlier: Sequence[Component[Settings]], binding: Binding
) -> None:
    for key in keys:
        maker = next((each for each in reversed(earlier) if key in each.settings.sets()), None)
        if maker is not None and decorator.settings.replaces_text(key):
            message = f'the pattern also matches "{key}", the row key that the {maker.kind} on line {_line(maker)} sets'
            hint = f"set the row key after this {decorator.kind}, or exclude it from the pattern"
            binding.warning(Kind.DOUBTFUL, decorator.place("pattern"), message, hint)


def _check_encoded(decorator: Component[Settings], earlier: Sequence[Component[Settings]], binding: Binding) -> None:
    """A value that is converted twice is not restored by reading it once."""
    for index, other in enumerate(earlier):
        if not other.settings.writes_binary:
            continue
        prefixes = [other.settings.other_names or "", *other.settings.further_prefixes]
        if name := next(filter(decorator.settings.replaces_text, sorted(other.settings.sets())), None):
            message = (
                f'the pattern matches "{name}", which the {other.kind} on line {_line(other)} has already converted'
            )
        elif prefix := next((each for each in prefixes if each and decorator.settings.replaces_text(f"{each}x")), None):
            message = (
                f'the pattern matches names that start with "{prefix}", whose numbers the {other.kind} on line '
                f"{_line(other)} has already converted"
            )
        elif name := _matched_by_both(decorator, other, earlier[:index]):
            message = (
                f'the pattern matches names such as "{name}", which the {other.kind} on line {_line(other)} has '
                "already converted"
            )
        else:
            continue
        hint = "its bytes may look like text: convert each value once"
        binding.warning(Kind.DOUBTFUL, decorator.place("pattern"), message, hint)


def _matched_by_both(
    decorator: Component[Settings], other: Component[Settings], before: Sequence[Component[Settings]]
) -> str | None:
    """
    A name that both patterns match, of those that are set before and those built from the patterns.

    Conditions that differ may exclude each other, so such decorators have none.
    """
    later, first = decorator.settings, other.settings
    if later.when and first.when and later.when != first.when:
        return None
    names = sorted({name for each in before for name in each.settings.sets()})
    starts = sorted({each.settings.other_names or "" for each in before})
    literals = dict.fromkeys([*first.pattern_literals, *later.pattern_literals])
    built = [start + end for start in (*starts, *literals) for end in ("x", *literals)]
    whole = [each for each in literals if each[-1].isalnum()]
    candidates = [*names, *whole, *built, *literals]
    return next((name for name in candidates if first.writes_binary_to(name) and later.replaces_text(name)), None)


def _line(component: Component[Settings]) -> int:
    return component.location.line
