"""The chance that can be repeated: the generator of java.util.Random, a linear congruence of 48 bits."""

_MULTIPLIER, _INCREMENT, _MASK = 0x5DEECE66D, 0xB, (1 << 48) - 1
_STEPS_A_DRAW = 2  # a double is made of 26 and of 27 bits, a step of the generator each


def state_at(seed: int, draws: int = 0) -> int:
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


def draw(state: int) -> tuple[int, float]:
    """The next state, and what `nextDouble` gives: at least 0, and less than 1."""
    state = (state * _MULTIPLIER + _INCREMENT) & _MASK
    high = state >> 22
    state = (state * _MULTIPLIER + _INCREMENT) & _MASK
    return state, ((high << 27) + (state >> 21)) * 2.0**-53
