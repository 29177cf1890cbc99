"""
Alert rules of Prometheus, evaluated on the text of scrapes.

Implements the part of PromQL that `deploy/prometheus/alerts.yaml` uses; anything else is a `SyntaxError`:

- selectors with `=` and `=~`, also over a range; numbers; `time()`
- `rate` and `increase` of counters, with resets, without extrapolation to the borders of the range; `changes`
- `sum by (…) (…)` and `max by (…) (…)`; `/`, `-`, `>`, `==`, of which a comparison keeps the left side; `and on (…)`

`test_alerts.py` compares the results with those of `promtool`, where that program is installed.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from itertools import pairwise
from typing import Any, TypeAlias

from prometheus_client.parser import text_string_to_metric_families

LOOKBACK_S = 300.0  # as Prometheus' --query.lookback-delta

Labels: TypeAlias = frozenset[tuple[str, str]]
Vector: TypeAlias = dict[Labels, float]
Expression: TypeAlias = Callable[["Scrapes", float], Any]  # a vector, or a number

_TOKEN = re.compile(
    r'\s*(?:("[^"]*")|(\d+(?:\.\d+)?)(?![\w.])|(\[\d+[smh]\])|([a-z_]\w*)|(=~|==|[-/>(){},=]))\s*', re.IGNORECASE
)
_UNITS_S = {"s": 1, "m": 60, "h": 3600}
_NAME = "__name__"


class Scrapes:
    """The scrapes of one target, oldest first."""

    def __init__(self, target: Mapping[str, str]) -> None:
        self._target = dict(target)
        self.times: list[float] = []
        self.series: dict[Labels, dict[float, float]] = {}
        self._of_name: dict[str, list[Labels]] = {}
        self._key = cache(self._key_of)  # every scrape has the same series

    def add(self, at_s: float, text: str | None) -> None:
        """A scrape; None if the target did not answer."""
        self.times.append(at_s)
        self.series[self._key("up")][at_s] = 0.0 if text is None else 1.0
        for line in (text or "").splitlines():
            if not line.startswith("#"):
                series, _, value = line.rpartition(" ")
                self.series[self._key(series)][at_s] = float(value)

    def named(self, name: str) -> Iterable[Labels]:
        """The labels of the series of a metric."""
        return self._of_name.get(name, ())

    def _key_of(self, series: str) -> Labels:
        """The labels of a series, `name{label="value"}`, which is added."""
        name, labels = _name_and_labels(series)
        key = frozenset({**labels, **self._target, _NAME: name}.items())
        self.series[key] = {}
        self._of_name.setdefault(name, []).append(key)
        return key

    def newest(self, at_s: float) -> float | None:
        """Time of the newest scrape that is not too old; a series that it lacks is stale."""
        times = self.between(at_s - LOOKBACK_S, at_s)
        return times[-1] if times else None

    def between(self, begin_s: float, end_s: float) -> list[float]:
        """Times of the scrapes from one time to another."""
        return self.times[bisect_left(self.times, begin_s) : bisect_right(self.times, end_s)]


@cache
def _name_and_labels(series: str) -> tuple[str, Mapping[str, str]]:
    """Of a sample without its value; every service has the same ones."""
    ((sample,),) = (family.samples for family in text_string_to_metric_families(f"{series} 0"))
    return sample.name, sample.labels


def duration_s(text: str) -> float:
    """Seconds of `10m`."""
    return float(text[:-1]) * _UNITS_S[text[-1]]


def firing(rule: Mapping[str, Any], scrapes: Scrapes) -> dict[float, set[Labels]]:
    """For each scrape time the label sets, without the metric's name, for which an alert rule fires."""
    expression = parse(rule["expr"])
    hold_s = duration_s(rule.get("for", "0s"))
    since: dict[Labels, float] = {}
    found = {}
    for at_s in scrapes.times:
        active = {_without_name(labels) for labels in expression(scrapes, at_s)}
        since = {labels: since.get(labels, at_s) for labels in active}
        found[at_s] = {labels for labels, first_s in since.items() if at_s - first_s >= hold_s}
    return found


def parse(text: str) -> Expression:
    """
    An expression as a function of scrapes and a time.

    Raises:
        SyntaxError: it uses something that this module does not implement.
    """
    parser = _Parser(list(_tokens(text)))
    expression = parser.conjunction()
    if parser.tokens:
        raise SyntaxError(f"not implemented: {parser.tokens[0]} in {text}")
    return expression


def _tokens(text: str) -> Iterator[str]:
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise SyntaxError(f"not implemented: {text[at:]}")
        yield match[match.lastindex or 0]
        at = match.end()


class _Parser:
    """Recursive descent; each method reads one level of precedence, the weakest first."""

    def __init__(self, tokens: list[str]) -> None:
        self.tokens = tokens

    def conjunction(self) -> Expression:
        left = self.comparison()
        while self._skip("and"):
            self._expect("on")
            left = _and(left, self._names(), self.comparison())
        return left

    def comparison(self) -> Expression:
        left = self.difference()
        while (sign := self._next_of(">", "==")) is not None:
            left = _compared(left, sign, self.difference())
        return left

    def difference(self) -> Expression:
        left = self.quotient()
        while self._skip("-"):
            left = _calculated(left, lambda a, b: a - b, self.quotient())
        return left

    def quotient(self) -> Expression:
        left = self.operand()
        while self._skip("/"):
            left = _calculated(left, _divided, self.operand())
        return left

    def operand(self) -> Expression:
        word = self.tokens.pop(0)
        if word == "(":
            inside = self.conjunction()
            self._expect(")")
            return inside
        if word[0].isdigit():
            return lambda _scrapes, _at_s: float(word)
        if word == "time":
            self._expect("(", ")")
            return lambda _scrapes, at_s: at_s
        if word in {"sum", "max"}:
            self._expect("by")
            return _aggregated(self._names(), sum if word == "sum" else max, self.operand())
        if word in _OVER_RANGES:
            self._expect("(")
            name, matchers = self.tokens.pop(0), self._matchers()
            range_s = duration_s(self.tokens.pop(0)[1:-1])
            self._expect(")")
            return _over_range(name, matchers, range_s, *_OVER_RANGES[word])
        if re.fullmatch(r"[a-z_]\w*", word):
            return _selected(word, self._matchers())
        raise SyntaxError(f"not implemented: {word}")

    def _matchers(self) -> dict[str, re.Pattern[str]]:
        found = {}
        if self._skip("{"):
            while not self._skip("}"):
                name, sign = self.tokens.pop(0), self.tokens.pop(0)
                text = self.tokens.pop(0)[1:-1]
                found[name] = re.compile({"=": re.escape(text), "=~": text}[sign])
                self._skip(",")
        return found

    def _names(self) -> tuple[str, ...]:
        self._expect("(")
        names = []
        while not self._skip(")"):
            names.append(self.tokens.pop(0))
            self._skip(",")
        return tuple(names)

    def _skip(self, token: str) -> bool:
        return self._next_of(token) is not None

    def _next_of(self, *tokens: str) -> str | None:
        return self.tokens.pop(0) if self.tokens and self.tokens[0] in tokens else None

    def _expect(self, *tokens: str) -> None:
        for token in tokens:
            if not self._skip(token):
                raise SyntaxError(f"expected {token} before {self.tokens}")


def _matching(scrapes: Scrapes, name: str, matchers: Mapping[str, re.Pattern[str]]) -> Iterator[Labels]:
    for labels in scrapes.named(name):
        values = dict(labels)
        if all(each.fullmatch(values.get(key, "")) for key, each in matchers.items()):
            yield labels


def _selected(name: str, matchers: Mapping[str, re.Pattern[str]]) -> Expression:
    def evaluate(scrapes: Scrapes, at_s: float) -> Vector:
        newest = scrapes.newest(at_s)
        found = {labels: scrapes.series[labels].get(newest) for labels in _matching(scrapes, name, matchers)}
        return {labels: value for labels, value in found.items() if value is not None}

    return evaluate


Points: TypeAlias = list[tuple[float, float]]


def _increase(points: Points) -> float:
    return sum(new - old if new >= old else new for (_, old), (_, new) in pairwise(points))


def _rate(points: Points) -> float:
    return _increase(points) / (points[-1][0] - points[0][0])


def _changes(points: Points) -> float:
    return float(sum(new != old for (_, old), (_, new) in pairwise(points)))


_OVER_RANGES: Mapping[str, tuple[Callable[[Points], float], int]] = {
    "rate": (_rate, 2),
    "increase": (_increase, 2),
    "changes": (_changes, 1),
}
"""Function -> its value for the points of a series, and the fewest points for which it has one."""


def _over_range(
    name: str, matchers: Mapping[str, re.Pattern[str]], range_s: float, of: Callable[[Points], float], fewest: int
) -> Expression:
    def evaluate(scrapes: Scrapes, at_s: float) -> Vector:
        found = {}
        window = scrapes.between(at_s - range_s, at_s)
        for labels in _matching(scrapes, name, matchers):
            series = scrapes.series[labels]
            points = [(t, series[t]) for t in window if t in series]
            if len(points) >= fewest:
                found[_without_name(labels)] = of(points)
        return found

    return evaluate


def _aggregated(names: tuple[str, ...], combine: Callable[[Iterable[float]], float], inside: Expression) -> Expression:
    def evaluate(scrapes: Scrapes, at_s: float) -> Vector:
        groups: dict[Labels, list[float]] = {}
        for labels, value in inside(scrapes, at_s).items():
            groups.setdefault(_only(labels, names), []).append(value)
        return {labels: combine(values) for labels, values in groups.items()}

    return evaluate


def _and(left: Expression, names: tuple[str, ...], right: Expression) -> Expression:
    def evaluate(scrapes: Scrapes, at_s: float) -> Vector:
        kept = {_only(labels, names) for labels in right(scrapes, at_s)}
        return {labels: value for labels, value in left(scrapes, at_s).items() if _only(labels, names) in kept}

    return evaluate


def _compared(left: Expression, sign: str, right: Expression) -> Expression:
    def evaluate(scrapes: Scrapes, at_s: float) -> Vector:
        limit = right(scrapes, at_s)
        vector = left(scrapes, at_s)
        return {labels: value for labels, value in vector.items() if (value > limit if sign == ">" else value == limit)}

    return evaluate


def _calculated(left: Expression, operation: Callable[[float, float], float], right: Expression) -> Expression:
    def evaluate(scrapes: Scrapes, at_s: float) -> Vector:
        a, b = left(scrapes, at_s), right(scrapes, at_s)
        if isinstance(a, float):
            return {_without_name(labels): operation(a, value) for labels, value in b.items()}
        divisors = {_without_name(labels): value for labels, value in b.items()}
        found = {_without_name(labels): value for labels, value in a.items()}
        return {labels: operation(value, divisors[labels]) for labels, value in found.items() if labels in divisors}

    return evaluate


def _divided(a: float, b: float) -> float:
    if b:
        return a / b
    return float("nan") if a == 0 else float("inf")


def _only(labels: Labels, names: tuple[str, ...]) -> Labels:
    return frozenset((name, value) for name, value in labels if name in names)


def _without_name(labels: Labels) -> Labels:
    return frozenset((name, value) for name, value in labels if name != _NAME)
