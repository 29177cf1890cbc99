"""Let a share of the events pass, chosen by chance that can be repeated."""

from ingest.api import Decorator, Event, Example, Settings, option

# the generator of java.util.Random: a linear congruence of 48 bits
_MULTIPLIER, _INCREMENT, _MASK = 0x5DEECE66D, 0xB, (1 << 48) - 1
_STEPS_A_DRAW = 2  # a double is made of 26 and of 27 bits, a step of the generator each


class ProbSamplerSettings(Settings):
    """Options of the prob_sampler decorator."""

    p: float = option("Share of the events that pass.", example=0.1, ge=0.0, le=1.0, strict=False)
    seed: int = option("Chooses among the series of decisions.", default=0, example=1337, ge=-(1 << 63), lt=1 << 63)


class ProbSampler(Decorator[ProbSamplerSettings]):
    """
    Let events pass with a probability; drop the others.

    A record with offset k meets the k-th decision of java.util.Random with the same seed, in every partition. So a
    micro-batch that runs again, and a dead letter that is replayed, meet the same decision.

    Source: Flume decorator `probSampler`, whose default seed was the time; the generator as documented for
    java.util.Random.
    """

    kind = "prob_sampler"
    examples = (
        Example("one in ten: not the first", settings="{p: 0.1, seed: 1337}", body="event 0", dropped=True),
        Example("but the thirteenth", settings="{p: 0.1, seed: 1337}", body="event 12", offset=12),
        Example("all", settings="{p: 1}", body="any"),
    )

    def __init__(self, settings: ProbSamplerSettings) -> None:
        super().__init__(settings)
        self._p = settings.p
        self._offset = 0
        self._state = _state_at(settings.seed, 0)

    def decorate(self, event: Event) -> bool:
        """Draw for its record."""
        offset = event.origin.offset
        # most records come one after the other, and the next draw is at hand
        state = self._state if offset == self._offset else _state_at(self.settings.seed, offset)
        state = (state * _MULTIPLIER + _INCREMENT) & _MASK
        high = state >> 22
        state = (state * _MULTIPLIER + _INCREMENT) & _MASK
        self._offset, self._state = offset + 1, state
        return ((high << 27) + (state >> 21)) * 2.0**-53 < self._p


def _state_at(seed: int, draws: int) -> int:
    """The generator's state after so many draws: a step is x * a + b, and so are any number of them together."""
    factor, term = 1, 0
    step_factor, step_term = _MULTIPLIER, _INCREMENT
    steps = draws * _STEPS_A_DRAW
    while steps:
        if steps & 1:
            factor, term = factor * step_factor & _MASK, (term * step_factor + step_term) & _MASK
        step_factor, step_term = step_factor * step_factor & _MASK, (step_factor + 1) * step_term & _MASK
        steps >>= 1
    return ((seed ^ _MULTIPLIER) * factor + term) & _MASK
