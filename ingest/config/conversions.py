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
    for other in earlier:
        if not other.settings.writes_binary:
            continue
        prefix = other.settings.other_names
        if name := next(filter(decorator.settings.replaces_text, sorted(other.settings.sets())), None):
            message = (
                f'the pattern matches "{name}", which the {other.kind} on line {_line(other)} has already converted'
            )
        elif prefix and decorator.settings.replaces_text(f"{prefix}x"):
            message = (
                f'the pattern matches names that start with "{prefix}", whose numbers the {other.kind} on line '
                f"{_line(other)} has already converted"
            )
        else:
            continue
        hint = "its bytes may look like text: convert each value once"
        binding.warning(Kind.DOUBTFUL, decorator.place("pattern"), message, hint)


def _line(component: Component[Settings]) -> int:
    return component.location.line
