"""Each alert fires on the metrics of its fault, and no alert on those of a healthy service."""

import json
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from ingest.observe.health import Health, State
from ingest.observe.metric_table import BY_NAME, METRICS
from ingest.observe.metrics import Metrics
from ingest.receipt import Counts
from sinks.feed.metrics import METRICS as OF_FEEDS
from sinks.feed.metrics import GroupLag
from sinks.updates.metrics import COMPACTION_INTERVAL, COMPACTION_LAST, Compacted, compacted
from sinks.updates.metrics import METRICS as OF_UPDATES
from tests.support.programs import needs
from tests.support.promql import Labels, Scrapes, firing, parse

ROOT = Path(__file__).resolve().parents[3]
FILE = ROOT / "deploy/prometheus/alerts.yaml"
RULES = {rule["alert"]: rule for group in yaml.safe_load(FILE.read_text())["groups"] for rule in group["rules"]}
RUNBOOK = (ROOT / "docs/operations/runbook.md").read_text(encoding="utf-8")
TARGET = {"job": "attr2hbase", "instance": "ingest-1:9464"}
PIPELINE = "logs"
TABLE = "counters"
COMPACTED_EVERY = 10  # minutes
DUMPED_EVERY = 20  # minutes; a day in a service
MINUTES = 90
LONG_MINUTES = 300  # for the alert on a pause
FAULT_AT = 30  # minute
EVENTS = 60_000  # read in a minute
DUMP_LAST = BY_NAME["attr2hbase_dump_last_success_timestamp_seconds"]


class Simulated:
    """A service whose metrics are scraped once a minute; the attributes are what a fault changes."""

    def __init__(self) -> None:
        self.is_up = True
        self.started_s = 0.0
        self.acknowledges = True
        self.dropped_lines = 0
        self.dead_letters = EVENTS // 1_000
        self.lag = 30_000
        self.batches_every = 1  # minutes
        self.retention_used = 0.0
        self.compacts = True
        self.dumps = True
        self.expiration_used = 0.0
        self.metrics = Metrics([PIPELINE], process=False, dropped_lines=lambda: self.dropped_lines)
        self.health = Health([PIPELINE], on_change=self.metrics.state)
        self.metrics.scheduled(COMPACTION_INTERVAL, COMPACTION_LAST, {TABLE: COMPACTED_EVERY * 60.0}, {TABLE: 0.0})
        self.metrics.scheduled(
            BY_NAME["attr2hbase_dump_interval_seconds"], DUMP_LAST, {TABLE: DUMPED_EVERY * 60.0}, {TABLE: 0.0}
        )
        self.state(State.RUNNING)

    def state(self, state: State) -> None:
        """Change the state of the pipeline; only a running one acknowledges."""
        self.health.change(PIPELINE, state)
        self.acknowledges = state is State.RUNNING

    def scrape(self) -> str:
        """The page with the metrics."""
        return f"{self.metrics.render()[1].decode()}process_start_time_seconds {self.started_s}\n"

    def minute(self, at_s: float) -> None:
        """What the pipeline reports within a minute."""
        self.metrics.triggered(PIPELINE, self.batches_every * 60.0)
        self.metrics.unread(PIPELINE, self.lag, at_s)
        if self.acknowledges and at_s % (self.batches_every * 60) == 0:
            counts = Counts(
                read=EVENTS,
                stored=EVENTS - self.dead_letters,
                dead_lettered_by=Counter({("no_match", "regex"): self.dead_letters}),
                write_calls=10,
            )
            self.metrics.attempted(PIPELINE, counts)
            self.metrics.observe_batch(PIPELINE, counts, seconds=1.0)
            self.metrics.acknowledged(PIPELINE, at_s, int(at_s * 1000))
        if self.compacts and at_s % (COMPACTED_EVERY * 60) == 0:
            self.metrics.record(*compacted(TABLE, Compacted(3, 60, EVENTS, EVENTS, EVENTS, 0, 20.0, at_s)))
        if self.dumps and at_s % (DUMPED_EVERY * 60) == 0:
            self.metrics.record((DUMP_LAST, (TABLE,), at_s))
        self.metrics.replace(OF_FEEDS, {(TABLE, "search"): GroupLag(60.0, self.expiration_used, 0)})
        self.metrics.lag(PIPELINE, "web", 0, self.lag if self.acknowledges else self.lag + EVENTS)
        self.metrics.lag(PIPELINE, "web", 1, 10)
        self.metrics.retention(PIPELINE, {("web", 0): self.retention_used, ("web", 1): 0.0})


Fault = Callable[[Simulated, int], None]
"""Called each minute of a fault, with the minutes since it began."""


def never_acknowledges(service: Simulated, _minute: int) -> None:
    service.acknowledges = False


def waits_for_its_interval(service: Simulated, _minute: int) -> None:
    """An hour; its records do not count as a backlog that grows."""
    service.batches_every, service.dead_letters = 60, 0


def falls_behind(service: Simulated, minute: int) -> None:
    service.lag = EVENTS * (minute + 1)


def nears_the_retention(service: Simulated, minute: int) -> None:
    service.retention_used = 0.4 + minute / 100


def writes_dead_letters(service: Simulated, _minute: int) -> None:
    service.dead_letters = EVENTS // 50


def cannot_publish(service: Simulated, _minute: int) -> None:
    service.metrics.dead_letter_publish_failed(PIPELINE)


def cannot_commit(service: Simulated, _minute: int) -> None:
    service.metrics.group_commit_failed(PIPELINE)


def once(fault: Fault) -> Fault:
    """The fault in its first minute only."""
    return lambda service, minute: fault(service, minute) if minute == 0 else None


def drops_lines(service: Simulated, _minute: int) -> None:
    service.dropped_lines += 500


def compacts_no_more(service: Simulated, _minute: int) -> None:
    service.compacts = False


def dumps_no_more(service: Simulated, _minute: int) -> None:
    service.dumps = False


def reads_no_feed(service: Simulated, minute: int) -> None:
    service.expiration_used = min(1.0, 0.5 + minute / 100)


def is_down(service: Simulated, _minute: int) -> None:
    service.is_up = False


def restarts(service: Simulated, minute: int) -> None:
    """Its only pipeline fails soon after each start."""
    service.is_up = minute % 2 == 0
    service.started_s = 60.0 * minute
    service.state(State.STARTING)


def in_state(state: State) -> Fault:
    return lambda service, _minute: service.state(state)


FAULTS: Mapping[str, tuple[str, Fault]] = {
    "the process has ended": ("Attr2hbaseDown", is_down),
    "the process ends after each start": ("Attr2hbaseRestarts", restarts),
    "failed": ("Attr2hbasePipelineFailed", in_state(State.FAILED)),
    "blocked": ("Attr2hbasePipelineBlocked", in_state(State.BLOCKED)),
    "backing off": ("Attr2hbasePipelineBlocked", in_state(State.BACKING_OFF)),
    "blocked and backing off in turn": (
        "Attr2hbasePipelineBlocked",
        lambda service, minute: service.state((State.BLOCKED, State.BACKING_OFF)[minute % 2]),
    ),
    "paused": ("Attr2hbasePipelinePaused", in_state(State.PAUSED)),
    "a start that hangs": ("Attr2hbasePipelineNotRunning", in_state(State.STARTING)),
    "a stop that hangs": ("Attr2hbasePipelineNotRunning", in_state(State.STOPPING)),
    "stopped": ("Attr2hbasePipelineNotRunning", in_state(State.STOPPED)),
    "no acknowledgement": ("Attr2hbaseNoAcknowledgement", never_acknowledges),
    "old records unread": ("Attr2hbaseRetentionNear", nears_the_retention),
    "more records than it reads": ("Attr2hbasePipelineBehind", falls_behind),
    "2 % dead letters": ("Attr2hbaseDeadLetters", writes_dead_letters),
    "dead letters not writable": ("Attr2hbaseDeadLetterPublishFailures", cannot_publish),
    "no right on the group": ("Attr2hbaseGroupCommitFailures", cannot_commit),
    "stderr not read": ("Attr2hbaseLogLinesDropped", drops_lines),
    "compactions fail": ("Attr2hbaseCompactionBehind", compacts_no_more),
    "dumps fail": ("Attr2hbaseDumpOld", dumps_no_more),
    "a consumer group that stands still": ("Attr2hbaseFeedExpirationNear", reads_no_feed),
}


TRANSIENT: Mapping[str, Fault] = {
    "one failed publication": once(cannot_publish),
    "one failed commit": once(cannot_commit),
    "blocked for five minutes": lambda service, minute: service.state(State.BLOCKED if minute < 5 else State.RUNNING),
    "a restart of two minutes": lambda service, minute: setattr(service, "is_up", minute >= 2),
    "old records that are read again": lambda service, minute: setattr(
        service, "retention_used", 0.6 if minute < 4 else 0
    ),
    "a consumer group that catches up": lambda service, minute: setattr(
        service, "expiration_used", 0.8 if minute < 4 else 0.1
    ),
    "two compactions that fail": lambda service, minute: setattr(service, "compacts", minute > 2 * COMPACTED_EVERY),
    "an hourly trigger": waits_for_its_interval,
    "a lag that is read again": lambda service, minute: setattr(service, "lag", EVENTS * max(1, 15 - minute)),
}


def scraped(fault: Fault = lambda _service, _minute: None, minutes: int = MINUTES) -> Scrapes:
    """The scrapes of a service that is healthy until a fault begins."""
    service, scrapes = Simulated(), Scrapes(TARGET)
    for minute in range(minutes):
        service.minute(minute * 60.0)
        if minute >= FAULT_AT:
            fault(service, minute - FAULT_AT)
            scrapes.add(minute * 60.0, service.scrape() if service.is_up else None)
        else:
            scrapes.add(minute * 60.0, healthy()[minute])
    return scrapes


@cache
def healthy() -> list[str]:
    """The pages until a fault begins: to write one takes most of the time of these tests."""
    service, pages = Simulated(), []
    for minute in range(FAULT_AT):
        service.minute(minute * 60.0)
        pages.append(service.scrape())
    return pages


def alerts(scrapes: Scrapes) -> dict[float, dict[str, set[Labels]]]:
    """Scrape time -> alert that fires -> its label sets."""
    found = {name: firing(rule, scrapes) for name, rule in RULES.items()}
    return {at_s: {name: found[name][at_s] for name in RULES if found[name][at_s]} for at_s in scrapes.times}


@cache
def simulated(name: str = "none") -> tuple[Scrapes, dict[float, dict[str, set[Labels]]]]:
    """The scrapes of a service with a fault of the tables above, and the alerts."""
    effects = {each: effect for each, (_, effect) in FAULTS.items()} | TRANSIENT
    scrapes = scraped(effects[name], minutes_of(name)) if name != "none" else scraped()
    return scrapes, alerts(scrapes)


def minutes_of(fault: str) -> int:
    """How long the service with a fault is scraped."""
    return LONG_MINUTES if fault == "paused" else MINUTES


class TestRules:
    def test_no_alert_fires_on_a_healthy_service(self):
        assert {at_s: names for at_s, names in simulated()[1].items() if names} == {}

    @pytest.mark.parametrize("fault", FAULTS)
    def test_alert_fires_on_its_fault_alone(self, fault):
        alert, _ = FAULTS[fault]
        found = simulated(fault)[1]
        assert [at_s for at_s, names in found.items() if names and at_s < FAULT_AT * 60] == []
        assert set().union(*(names.keys() for names in found.values())) == {alert}
        (labels,) = found[(minutes_of(fault) - 1) * 60.0][alert]
        assert dict(labels) | TARGET == dict(labels)
        if alert in {"Attr2hbaseCompactionBehind", "Attr2hbaseDumpOld", "Attr2hbaseFeedExpirationNear"}:
            assert dict(labels)["table"] == TABLE
        elif alert not in {"Attr2hbaseDown", "Attr2hbaseRestarts", "Attr2hbaseLogLinesDropped"}:
            assert dict(labels)["pipeline"] == PIPELINE

    @pytest.mark.parametrize("fault", TRANSIENT)
    def test_no_alert_fires_on_a_fault_that_ends_by_itself(self, fault):
        assert {at_s: names for at_s, names in simulated(fault)[1].items() if names} == {}

    def test_each_alert_has_a_fault(self):
        assert {alert for alert, _ in FAULTS.values()} == RULES.keys()

    def test_each_state_but_running_has_an_alert(self):
        covered = set()
        for rule in RULES.values():
            for states in re.findall(r'\{state=~?"([a-z_|]+)"\}\)? == 1\s*$', rule["expr"]):
                if "and on" not in rule["expr"]:
                    covered |= set(states.split("|"))
        assert covered == {state.value for state in State} - {State.RUNNING.value}

    def test_alerts_use_metrics_of_the_product(self):
        known = {metric.name for metric in (*METRICS, *OF_FEEDS, *OF_UPDATES)}
        used = set().union(*(re.findall(r"\bingest_\w+", rule["expr"]) for rule in RULES.values()))
        assert used - known == set()

    @pytest.mark.parametrize("name", RULES)
    def test_alert_names_what_to_do(self, name):
        rule = RULES[name]
        assert rule["labels"]["severity"] in {"page", "ticket"}
        assert rule["annotations"].keys() == {"summary", "action", "runbook"}
        assert rule["annotations"]["runbook"] == f"docs/operations/runbook.md#{name.lower()}"


class TestRunbook:
    def test_each_alert_has_an_entry_and_each_entry_an_alert(self):
        headings = re.findall(r"^### (Attr2hbase\w+)$", RUNBOOK, re.MULTILINE)
        assert headings == list(RULES)

    @pytest.mark.parametrize("name", RULES)
    def test_entry_says_symptom_meaning_commands_and_end(self, name):
        entry = RUNBOOK.partition(f"### {name}\n")[2].partition("\n### ")[0]
        for part in ("**Symptom.**", "**Meaning.**", "**Look at.**", "**End it.**", "```"):
            assert part in entry, part


class TestEvaluator:
    @pytest.mark.parametrize(
        "text", ["avg by (a) (x)", "x offset 5m", "x or y", "x{a!='b'}", "quantile_over_time(0.5, x[5m])", "x * 2"]
    )
    def test_what_it_does_not_implement_is_refused(self, text):
        with pytest.raises((SyntaxError, KeyError)):
            parse(text)

    def test_counter_reset_counts_from_zero(self):
        scrapes = Scrapes({})
        for minute, value in enumerate((0, 100, 30, 40)):
            scrapes.add(minute * 60.0, f"x_total {value}\n")
        assert parse("increase(x_total[3m])")(scrapes, 180.0) == {frozenset(): 140.0}
        assert parse("rate(x_total[3m])")(scrapes, 180.0) == {frozenset(): pytest.approx(140 / 180)}

    def test_series_that_is_no_longer_scraped_is_stale(self):
        scrapes = Scrapes({})
        scrapes.add(0.0, "x 1\n")
        scrapes.add(60.0, None)
        assert parse("x")(scrapes, 0.0) != {}
        assert parse("x")(scrapes, 60.0) == {}


needs_promtool = needs("promtool")


def promtool(*arguments: str, cwd: Path) -> None:
    done = subprocess.run(["promtool", *arguments], cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@needs_promtool
class TestSameAsPrometheus:
    """The results above are those of Prometheus' own evaluation of the same scrapes."""

    def test_rules_are_valid(self, tmp_path):
        shutil.copy(FILE, tmp_path)
        promtool("check", "rules", "--lint-fatal", "alerts.yaml", cwd=tmp_path)

    def test_scrape_configuration_is_valid(self, tmp_path):
        shutil.copy(FILE, tmp_path)
        shutil.copy(FILE.with_name("scrape.yaml"), tmp_path)
        promtool("check", "config", "scrape.yaml", cwd=tmp_path)

    @pytest.mark.parametrize("fault", ["none", *FAULTS, *TRANSIENT])
    def test_same_alerts_at_each_minute(self, fault, tmp_path):
        shutil.copy(FILE, tmp_path)
        scrapes, found = simulated(fault)
        cases = [
            {"eval_time": f"{at_s:.0f}s", "alertname": name, "exp_alerts": [expected(name, one) for one in labels]}
            for at_s in scrapes.times
            for name, labels in {name: found[at_s].get(name, set()) for name in RULES}.items()
        ]
        test = {"interval": "1m", "input_series": series(scrapes), "alert_rule_test": cases}
        content = {"rule_files": ["alerts.yaml"], "evaluation_interval": "1m", "tests": [test]}
        (tmp_path / "test.yaml").write_text(json.dumps(content))
        promtool("test", "rules", "test.yaml", cwd=tmp_path)


def series(scrapes: Scrapes) -> list[dict[str, str]]:
    """The scrapes in the notation of promtool."""
    found = []
    for labels, points in scrapes.series.items():
        having = dict(labels)
        name = having.pop("__name__")
        inside = ",".join(f'{key}="{value}"' for key, value in having.items())
        values = " ".join(str(points[at_s]) if at_s in points else "stale" for at_s in scrapes.times)
        found.append({"series": f"{name}{{{inside}}}", "values": values.replace("inf", "Inf")})
    return found


def expected(name: str, labels: Labels) -> dict[str, Any]:
    """An alert in the notation of promtool."""
    values = dict(labels)
    annotations = {
        key: re.sub(r"\{\{ \$labels\.(\w+) \}\}", lambda match: values[match[1]], text)
        for key, text in RULES[name]["annotations"].items()
    }
    return {"exp_labels": values | RULES[name]["labels"], "exp_annotations": annotations}
