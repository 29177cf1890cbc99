"""Repeatable random numbers: the generator of java.util.Random, a linear congruence of 48 bits."""

_MULTIPLIER, _INCREMENT, _MASK = 0x5DEECE66D, 0xB, (1 << 48) - 1
_STEPS_A_DRAW = 2  # a double consists of 26 and 27 bits, each from one iteration of the generator


def state_at(seed: int, draws: int = 0) -> int:
    """The generator's state after `draws` draws: an iteration is x * a + b, and so is any number of iterations."""
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
    """The next state, and the result of `nextDouble`: at least 0, and less than 1."""
    state = (state * _MULTIPLIER + _INCREMENT) & _MASK
    high = state >> 22
    state = (state * _MULTIPLIER + _INCREMENT) & _MASK
    return state, ((high << 27) + (state >> 21)) * 2.0**-53
