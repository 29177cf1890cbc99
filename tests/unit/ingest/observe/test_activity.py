"""Recent activity of pipelines."""

from collections import Counter

from ingest.api import BusyWait
from ingest.observe.activity import BUCKET_S, MAX_ERRORS, MAX_MESSAGE_CHARS, MAX_RETENTIONS, RATE_S, Activity
from ingest.observe.results import JvmMemory
from ingest.receipt import SOURCE, ComponentKey, ComponentType, Counts, Figures
from tests.support.call_times import timed


class Times:
    """A clock that a test sets."""

    now = 1_000.0

    def __call__(self) -> float:
        return self.now


def counts(stored: int, **dead: int) -> Counts:
    failed = Counter({(code, "regex"): events for code, events in dead.items()})
    return Counts(read=stored + failed.total(), stored=stored, dead_lettered_by=failed)


def test_totals_add_up_over_batches():
    activity = Activity()
    activity.durable("p", 0, 5, counts(10), 0.5)
    activity.durable("p", 1, 6, counts(20, decode=2), 0.25)
    found = activity.of("p")
    assert found["totals"] == {"batches": 2, "read": 32, "stored": 30, "dropped": 0, "dead_lettered": 2}
    assert found["dead_letters"] == {"decode": 2}
    assert (found["batch"]["id"], found["batch"]["time_ms"], found["batch"]["seconds"]) == (1, 6, 0.25)


def test_totals_of_a_pipeline_that_is_removed_and_added_again_go_on():
    activity = Activity()
    activity.durable("p", 0, 5, counts(10, decode=2), 0.5)
    activity.failed("p", "store_unavailable", "away")
    activity.remove("p")
    found = activity.of("p")
    assert (found["totals"]["stored"], found["dead_letters"], found["errors"], found["batch"]) == (
        10,
        {"decode": 2},
        [],
        None,
    )


def test_rates_are_those_of_the_last_minute():
    times = Times()
    activity = Activity(clock=times)
    activity.durable("p", 0, 0, counts(6_000), 1.0)
    times.now += 10
    assert activity.of("p")["rates"]["stored_per_s"] == 600.0
    times.now += RATE_S
    activity.durable("p", 1, 0, counts(120), 1.0)
    assert activity.of("p")["rates"] == {"read_per_s": 2.0, "stored_per_s": 2.0}
    times.now += RATE_S + 1
    assert activity.of("p")["rates"]["stored_per_s"] == 0.0


def test_errors_are_masked_and_bounded():
    activity = Activity(mask=lambda text: text.replace("hunter2", "***"))
    for number in range(MAX_ERRORS + 5):
        activity.failed("p", "store_unavailable", f"hunter2 {number}" + "x" * 5_000)
    errors = activity.of("p")["errors"]
    assert len(errors) == MAX_ERRORS
    assert errors[-1]["message"].startswith(f"*** {MAX_ERRORS + 4}")
    assert len(errors[-1]["message"]) == MAX_MESSAGE_CHARS


def test_codes_of_dead_letters_are_bounded():
    activity = Activity()
    activity.durable("p", 0, 0, counts(0, **{f"code{number}": 1 for number in range(50)}), 0.1)
    found = activity.of("p")["dead_letters"]
    assert len(found) == MAX_ERRORS + 1
    assert found["other"] == 50 - MAX_ERRORS


def test_dead_letters_have_their_components_the_newest_first():
    activity = Activity(mask=lambda text: text.replace("regex", "***"))
    activity.durable("p", 0, 5, counts(0, no_match=2), 0.1)
    activity.durable("p", 1, 6, counts(0, decode=1), 0.1)
    assert [tuple(each.values()) for each in activity.of("p")["dead_lettered_by"]] == [
        ("decode", "***", 1, 6),
        ("no_match", "***", 2, 5),
    ]
    activity.durable("p", 2, 7, counts(0, no_match=3), 0.1)
    activity.remove("p")
    first = activity.of("p")["dead_lettered_by"][0]
    assert first == {"error": "no_match", "component": "***", "events": 5, "batch_time_ms": 7}
    activity.durable("p", 3, 8, counts(0, **{f"code{number}": 1 for number in range(50)}), 0.1)
    assert len(activity.of("p")["dead_lettered_by"]) == MAX_ERRORS


def test_dead_letters_of_many_components_keep_the_most_frequent_and_the_newest():
    activity = Activity()
    activity.durable("p", 0, 0, counts(0, many=1_000, few=1), 0.1)
    for number in range(50):
        activity.durable("p", 1, 1 + number, counts(0, **{f"code{number}": 2}), 0.1)
    found = {each["error"]: each["events"] for each in activity.of("p")["dead_lettered_by"]}
    assert len(found) == MAX_ERRORS
    assert (found["many"], found["code49"], found.get("few")) == (1_000, 2, None)


def test_maximum_rate_is_that_of_the_newest_build():
    activity = Activity()
    assert activity.of("p")["max_rate"] is None
    activity.limited("p", 100)
    assert activity.of("p")["max_rate"] == 100
    activity.limited("p", None)
    assert activity.of("p")["max_rate"] is None


def test_throttle_is_that_of_now_and_busy_answers_add_up():
    activity = Activity()
    assert activity.of("p")["throttle"] == {"ratio": 1.0, "busy_answers": 0, "busy_wait_s": 0.0}
    activity.throttled("p", lambda: 0.12345)
    activity.attempted("p", Counts(busy=2))
    activity.attempted("p", Counts(busy=3, busy_waits=[BusyWait("store_busy", 0.25), BusyWait("store_busy", 1.0)]))
    assert activity.of("p")["throttle"] == {"ratio": 0.123, "busy_answers": 5, "busy_wait_s": 1.25}


def test_used_retention_shows_the_partitions_that_used_most():
    activity = Activity()
    assert activity.of("p")["retention"] is None
    activity.retention("p", {("t", 0): (0.0, 3600.0)})
    assert activity.of("p")["retention"] == {"used": 0.0, "partitions": []}
    used = {("t", number): (number / 100, None) for number in range(MAX_RETENTIONS)}
    activity.retention("p", used | {("u", 0): (0.5, 1800.4), ("u", 1): (0.6, 1440.0)})
    found = activity.of("p")["retention"]
    assert found["used"] == 0.6
    assert [each["used"] for each in found["partitions"]] == [0.6, 0.5, *(n / 100 for n in range(9, 1, -1))]
    assert found["partitions"][1] == {"topic": "u", "partition": 0, "used": 0.5, "remaining_s": 1800}


def test_lag_is_summed_over_partitions():
    activity = Activity()
    assert activity.of("p")["lag"] is None
    activity.lag("p", "t", 1, 5)
    activity.lag("p", "t", 0, 2)
    activity.lag("p", "t", 1, 3)
    assert activity.of("p")["lag"] == {
        "records": 5,
        "partitions": [{"topic": "t", "partition": 0, "records": 2}, {"topic": "t", "partition": 1, "records": 3}],
    }


PARSE: ComponentKey = (ComponentType.DECORATOR, "parse")
SINK: ComponentKey = (ComponentType.SINK, "attr2hbase")


def test_components_have_totals_and_the_rates_of_the_last_minute():
    times = Times()
    activity = Activity(clock=times, mask=lambda text: text.replace("parse", "***"))
    activity.built("p", {SOURCE: "kafka", PARSE: "regex", SINK: "attr2hbase"})
    assert [each["received"] for each in activity.of("p")["components"]] == [0, 0, 0]
    activity.durable("p", 0, 0, Counts(components={PARSE: Figures(60, 60)}), 1.0)
    times.now += RATE_S + 1
    figures = {SOURCE: Figures(120, 120, 0, 0, timed(20, 20_000)), PARSE: Figures(120, 90, 6, 24, timed(20, 60_000))}
    activity.durable("p", 1, 0, Counts(components=figures), 1.0)
    source, parse, sink = activity.of("p")["components"]
    assert parse == {
        "type": "decorator",
        "name": "***",
        "kind": "regex",
        "received": 180,
        "sent": 150,
        "dropped": 6,
        "failed": 24,
        "recent": {"received": 120, "sent": 90, "dropped": 6, "failed": 24},
        "rates": {"received_per_s": 2.0, "sent_per_s": 1.5, "dropped_per_s": 0.1, "failed_per_s": 0.4},
        "microseconds": 3.0,
        "time_share": 0.75,
    }
    assert (source["name"], source["kind"], source["time_share"]) == ("source", "kafka", 0.25)
    assert (sink["microseconds"], sink["time_share"]) == (None, None)


def shares(activity: Activity) -> list[float | None]:
    return [each["time_share"] for each in activity.of("p")["components"]]


def test_components_that_a_reload_has_removed_are_not_shown_and_have_no_share():
    activity = Activity()
    activity.built("p", {SOURCE: "kafka", PARSE: "regex"})
    figures = {each: Figures(40, 40, 0, 0, timed(20, 100)) for each in (SOURCE, PARSE)}
    activity.durable("p", 0, 0, Counts(components=figures), 1.0)
    assert shares(activity) == [0.5, 0.5]
    activity.built("p", {SOURCE: "kafka", SINK: "hbase"})
    assert [(each["name"], each["received"]) for each in activity.of("p")["components"]] == [
        ("source", 40),
        ("attr2hbase", 0),
    ]
    assert shares(activity) == [1.0, None]


def test_component_of_the_same_name_and_another_kind_begins_anew():
    activity = Activity()
    activity.built("p", {SOURCE: "kafka", PARSE: "regex"})
    figures = {each: Figures(40, 40, 0, 0, timed(20, 100)) for each in (SOURCE, PARSE)}
    activity.durable("p", 0, 0, Counts(components=figures), 1.0)
    activity.built("p", {SOURCE: "kafka", PARSE: "json"})
    source, parse = activity.of("p")["components"]
    assert (source["received"], parse["received"], parse["recent"]["received"], parse["microseconds"]) == (
        40,
        0,
        0,
        None,
    )
    assert figures[PARSE].received == 40


def test_share_of_time_is_that_of_the_timed_calls_however_many_events_a_component_received():
    activity = Activity()
    # a fan-out whose condition excludes nine of ten events: they are received, and no calls
    figures = {
        SOURCE: Figures(10_000, 10_000, 0, 0, timed(200, 30_000)),
        PARSE: Figures(10_000, 10_000, 0, 0, timed(20, 10_000)),
    }
    activity.durable("p", 0, 0, Counts(components=figures), 1.0)
    assert shares(activity) == [0.75, 0.25]


def test_time_is_not_known_from_a_few_calls():
    activity = Activity()
    figures = {
        SOURCE: Figures(10_000, 10_000, 0, 0, timed(80, 800)),
        PARSE: Figures(10_000, 10_000, 0, 0, timed(19, 10_000)),
    }
    activity.durable("p", 0, 0, Counts(components=figures), 1.0)
    assert shares(activity) == [0.074, None]
    assert [each["microseconds"] for each in activity.of("p")["components"]] == [0.01, None]


def test_time_of_a_component_is_not_that_of_its_slowest_call():
    activity = Activity()
    slow = timed(40, 200_000)
    slow.add(50_000_000)  # such as the call that connects to the store
    activity.durable("p", 0, 0, Counts(components={PARSE: Figures(41, 41, times=slow)}), 1.0)
    activity.durable("p", 1, 0, Counts(components={SINK: Figures(41, 41, times=timed(41, 205_000))}), 1.0)
    assert shares(activity) == [0.5, 0.5]
    assert activity.of("p")["components"][0]["microseconds"] == 5.0


def test_window_of_short_batches_has_a_few_dozen_numbers():
    times = Times()
    activity = Activity(clock=times)
    for number in range(1_000):
        times.now += 0.1
        activity.durable("p", number, 0, counts(6), 0.1)
    found = activity._pipelines["p"].newest
    assert len(found) <= RATE_S / BUCKET_S + 1
    assert 58.0 <= activity.of("p")["rates"]["stored_per_s"] <= 62.0


def test_memory_is_that_of_the_driver_and_of_the_jvm():
    activity = Activity()
    assert activity.memory()["jvm"] is None
    activity.jvm(JvmMemory(10, 20, 0.5))
    found = activity.memory()
    assert found["jvm"] == {"heap_used_bytes": 10, "heap_max_bytes": 20, "gc_seconds": 0.5}
    assert found["driver_bytes"] > 1 << 20
    assert activity.of("p")["worker_bytes"] is None


def test_pipeline_is_behind_with_more_unread_records_than_two_micro_batches():
    activity = Activity()
    assert activity.is_behind("p")  # not known
    activity.lag("p", "t", 0, 100)
    assert activity.is_behind("p")
    activity.durable("p", 0, 5, Counts(records=50), 0.5)
    assert not activity.is_behind("p")
    activity.lag("p", "t", 1, 1)
    assert activity.is_behind("p")
    activity.lag_unknown("p")
    assert activity.is_behind("p")


def test_bulk_loads_add_up_with_the_mode_of_the_last_batch():
    activity = Activity()
    assert activity.of("p")["bulk_load"] == []
    loaded = Counts()
    loaded.counted.update({("bulk_load_rows", "t"): 5, ("bulk_load_files", "t"): 2, ("blobs_stored", "t"): 1})
    loaded.counted["bulk_load_seconds", "t"] += 0.25  # type: ignore[assignment] - amounts of seconds
    for number in range(2):
        activity.durable("p", number, 5, loaded, 0.5)
    amounts = {"table": "t", "rows": 10, "files": 4, "seconds": 0.5, "refused": 0, "unstaged": 0}
    assert activity.of("p")["bulk_load"] == [amounts | {"mode": "files"}]
    activity.durable("p", 2, 5, Counts(), 0.5)
    assert activity.of("p")["bulk_load"] == [amounts | {"mode": "calls"}]
