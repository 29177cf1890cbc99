"""The page of a service in a real browser: what it shows, its buttons, and that no event can become markup."""

import base64
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ingest.observe.activity import Activity
from ingest.observe.health import Health, State
from ingest.observe.metrics import Metrics
from ingest.observe.results import JvmMemory
from ingest.receipt import SOURCE, ComponentKey, ComponentType, Counts, Figures
from ingest.service.control import Control, Phase, ReloadStatus
from ingest.service.endpoint.http import HttpEndpoint
from ingest.service.job_kinds import job_of
from ingest.service.jobs.scheduler import Jobs
from ingest.service.pauses import Pauses
from tests.support.browser import CSS, DESKTOP, LINK, PHONE, XPATH, browser, problems_of
from tests.support.call_times import timed
from tests.support.endpoint import TOKEN, pages
from tests.support.programs import needs

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

pytestmark = needs("chromedriver")

WAIT_S = 20.0
FILTER, PARSE = (ComponentType.DECORATOR, "filter"), (ComponentType.DECORATOR, "parse")
LOGS = (ComponentType.SINK, "logs")
PICTURES = os.environ.get("PICTURES")
"""Folder into which the pictures of the documents are written."""
BROKEN_WORDS = """
    return [...document.querySelectorAll("#errors td, #dead-letters td, #jobs td, #partitions td")]
        .filter((cell) => !cell.children.length && /^\\w+$/.test(cell.textContent)).filter((cell) => {
            const text = document.createRange();
            text.selectNodeContents(cell);
            return text.getClientRects().length > 1;
        }).map((cell) => cell.textContent);
"""
"""Cells of one word that is broken over several lines."""
SCRIPT = "<script>window.hacked = true</script><img src=x onerror='window.hacked = true'>"


class Service:
    """
    The endpoint of a service without Spark; its activity and health are set by the tests.

    Attributes:
        address: of the endpoint.
        pauses: what the commands have paused.
        control: of the pipelines and reloads.
        components: the figures of each micro-batch.
    """

    def __init__(self, folder: Path, names: list[str]) -> None:
        self.now_s = 1_000_000.0
        self.activity = Activity(clock=lambda: self.now_s)
        self.health = Health(names)
        self.pauses = Pauses(folder / "paused")
        self.jobs = Jobs(Metrics(process=False))
        self.components: dict[ComponentKey, Figures] = {}
        self.control = Control(self.pauses, names, file="/etc/attr2hbase/pipeline.yaml")
        self.pages = pages(self.health, activity=self.activity, control=self.control, jobs=self.jobs)
        self.endpoint = HttpEndpoint("127.0.0.1:0", self.pages, None)
        self.endpoint.start()
        self.address = self.endpoint.url.removeprefix("http://")
        for name in names:
            self.health.change(name, State.RUNNING)

    def batches(self, reads: dict[str, int], *failed: tuple[str, str]) -> None:
        """An hour of micro-batches, one each half a minute; each has dead letters with these codes and components."""
        for number in range(120):
            self.now_s += 30
            for name, read in reads.items():
                counts = Counts(records=read, read=read, stored=read, dead_lettered_by=Counter(failed))
                counts.components = {each: replace(figures) for each, figures in self.components.items()}
                self.activity.durable(name, number, 1_308_748_686_000, counts, 0.25 + number % 7 / 10)
                self.activity.lag(name, "web", 0, number)

    def restart(self) -> None:
        """Listen again at the address of the endpoint that has ended."""
        self.endpoint = HttpEndpoint(self.address, self.pages, None)
        self.endpoint.start()


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    made = Service(tmp_path, ["access", "orders", "ticks"])
    yield made
    made.endpoint.stop()


@pytest.fixture
def busy(service: Service) -> Service:
    """One pipeline runs, with a decorator that is slow and in which events fail; one is blocked; one has failed."""
    kinds = {SOURCE: "kafka", FILTER: "filter", PARSE: "regex", LOGS: "attr2hbase"}
    service.activity.built("access", kinds)
    service.components = {
        SOURCE: Figures(3_000, 3_000, times=timed(100, 300_000)),
        FILTER: Figures(3_000, 2_700, dropped=300, times=timed(100, 100_000)),
        PARSE: Figures(2_700, 2_430, failed=270, times=timed(100, 2_400_000)),
        LOGS: Figures(2_430, 2_430, times=timed(100, 300_000)),
    }
    service.batches({"access": 3_000, "orders": 900, "ticks": 60}, ("no_match", "parse"))
    service.health.change("orders", State.BLOCKED, "store_unavailable: no region server answers at hbase-1:16020")
    service.activity.failed("orders", "store_unavailable", "no region server answers at hbase-1:16020")
    service.health.change("ticks", State.FAILED, "checkpoint_ahead: the offsets are gone")
    service.activity.jvm(JvmMemory(300 << 20, 1 << 30, 1.5))
    service.jobs.submit(job_of("compaction", {"table": "counters"}))
    failed = {"ticks": "checkpoint_ahead: the offsets are gone"}
    service.control.reload_status = ReloadStatus(Phase.DONE, 1_308_748_686_000, ("access",), failed=failed, id=1)
    return service


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[Chrome]":
    with browser(tmp_path_factory.mktemp("browser")) as driver:
        yield driver


class Page:
    """What a user sees and does."""

    def __init__(self, opened: "Chrome", url: str, path: str = "/") -> None:
        self.opened = opened
        opened.get("about:blank")  # else a change of the fragment alone loads nothing
        problems_of(opened)  # of a page whose service has ended
        opened.get(f"{url}{path}")

    def text(self, selector: str = "body") -> str:
        """The visible text of an element."""
        return self.opened.find_element(CSS, selector).text

    def wait_for(self, text: str, selector: str = "body") -> None:
        """Until an element shows a text; if "", none."""
        from selenium.common.exceptions import TimeoutException
        from selenium.webdriver.support.ui import WebDriverWait

        try:
            WebDriverWait(self.opened, WAIT_S, 0.05).until(
                lambda _driver: text in self.text(selector) if text else not self.text(selector)
            )
        except TimeoutException:
            pytest.fail(f"no {text!r} in {selector}: {self.text(selector)!r}")

    def press(self, label: str) -> None:
        """Click on a button."""
        self.opened.find_element(XPATH, f"//button[normalize-space()='{label}']").click()

    def picture(self, file: Path) -> None:
        """Write what is seen down to the partitions."""
        bottom = self.opened.execute_script("return document.getElementById('partitions').getBoundingClientRect().top")
        self.opened.set_window_size(1100, 1400)
        clip = {"x": 0, "y": 0, "width": 1100, "height": bottom - 40, "scale": 1.5}
        taken = self.opened.execute_cdp_cmd("Page.captureScreenshot", {"format": "png", "clip": clip})
        file.write_bytes(base64.b64decode(taken["data"]))
        self.opened.set_window_size(*DESKTOP)

    def use_token(self, token: str) -> None:
        """Enter the control token."""
        self.opened.find_element(CSS, "#token input").send_keys(token)
        self.press("Use")


def test_pipelines_with_their_figures_and_the_worst_of_them_in_detail(busy: Service, opened: "Chrome") -> None:
    page = Page(opened, busy.endpoint.url)
    page.wait_for("3 pipelines: 1 running, 1 blocked, 1 failed")
    page.wait_for("ticks", "#detail-title")
    opened.find_element(LINK, "orders").click()
    page.wait_for("orders", "#detail-title")
    page.wait_for("no region server answers", "#reason")
    page.wait_for("no_match parse 120 2011-06-22 13:18:06 UTC", "#dead-letters")
    page.wait_for("list --pipeline orders --component parse --code no_match --since 2011-06-22T13:18:06.000Z")
    page.wait_for("attr2hbase tap orders --failed", "#dead-letters")
    page.wait_for("store_unavailable", "#errors")
    page.wait_for("web 0 119", "#partitions")
    page.wait_for("at most 30", "#plots")
    assert len(opened.find_elements(CSS, "#plots svg path")) == 3
    opened.find_element(LINK, "access").click()
    page.wait_for("at most 100", "#plots")
    page.wait_for("810 (9 %) events failed in the last minute", "#pipelines")
    page.wait_for("compaction counters waiting", "#jobs")
    page.wait_for("Memory: driver ", "#memory")
    page.wait_for("heap of Spark's JVM 300 MiB of 1,024 MiB, 1.5 s of garbage collection", "#memory")
    assert problems_of(opened) == []


def test_chain_marks_what_is_slow_and_what_fails(busy: Service, opened: "Chrome") -> None:
    page = Page(opened, busy.endpoint.url, "/#access")
    page.wait_for("at most 100", "#plots")
    shown = opened.execute_script(
        "return [...document.querySelectorAll('#chain li')].map((each) => "
        "[each.innerText, [...each.querySelectorAll('.slow, .failed')].map((mark) => mark.innerText)])"
    )
    assert [text.splitlines()[0] for text, _ in shown] == ["kafka source", "filter", "regex parse", "attr2hbase logs"]
    assert "900 (10 %)" in shown[1][0]
    assert [marks for _, marks in shown] == [[], [], ["810 (10 %)", "77 %"], []]
    if PICTURES:
        page.picture(Path(PICTURES) / "page.png")


def test_address_without_a_name_shows_the_pipelines(service: Service, opened: "Chrome") -> None:
    page = Page(opened, service.endpoint.url, "/#100%")
    page.wait_for("3 pipelines: 3 running")
    page.wait_for("access", "#detail-title")
    page.wait_for("Reads /etc/attr2hbase/pipeline.yaml; started", "#service")
    page.wait_for("The file was not reloaded since the start", "#newest-reload")


def test_it_updates_itself_stays_at_the_pipeline_that_the_user_sees_and_survives_a_restart(
    service: Service, opened: "Chrome"
) -> None:
    page = Page(opened, service.endpoint.url)
    page.wait_for("3 pipelines: 3 running")
    page.wait_for("access", "#detail-title")
    service.health.change("ticks", State.FAILED, "checkpoint_ahead: the offsets are gone")
    page.wait_for("2 running, 1 failed")
    assert page.text("#detail-title") == "access"
    service.endpoint.stop()
    page.wait_for("The service has not answered", "#connection")
    service.restart()
    page.wait_for("", "#connection")
    service.health.change("orders", State.PAUSED)
    service.health.remove("access")
    page.wait_for("1 paused, 1 failed")
    page.wait_for("The service has no pipeline access", "#detail-title")
    assert "Pause" not in page.text("#detail")
    problems_of(opened)  # of the time without a service


def test_newest_reload_and_what_it_has_changed(service: Service, opened: "Chrome") -> None:
    at_ms = 1_308_748_686_000
    changes = {"changed": ("access",), "removed": ("orders", "ticks")}
    service.control.reload_status = ReloadStatus(Phase.DONE, at_ms, **changes, failed={"access": "no topic"}, id=3)
    page = Page(opened, service.endpoint.url)
    page.wait_for("Newest reload, 2011-06-22 13:18:06 UTC: done", "#newest-reload")
    page.wait_for("changed: access; removed: orders, ticks", "#newest-reload")
    page.wait_for("access could not be built: no topic", "#newest-reload")
    rows = {"added": 0, "removed": 2, "changed": 1}
    differences = ({"pipeline": "access", "events": 1_000, "differs": True, "rows": rows},)
    refused = {"reason": "the check has found differences", "hint": "reload", "differences": differences}
    service.control.reload_status = ReloadStatus(Phase.REFUSED, at_ms, id=4, **refused)  # type: ignore[arg-type]
    page = Page(opened, service.endpoint.url)
    page.wait_for("Check of access with 1,000 events; rows: 0 added, 2 removed, 1 changed", "#newest-reload")
    page.wait_for("The service keeps the old file: the check has found differences; reload", "#newest-reload")
    assert problems_of(opened) == []


def test_pause_needs_the_token(service: Service, opened: "Chrome") -> None:
    page = Page(opened, service.endpoint.url, "/#orders")
    page.wait_for("orders", "#detail-title")
    page.use_token("größer")
    page.wait_for("A token has printable ASCII characters", "#answer")
    page.use_token("of another service")
    page.press("Pause orders")
    page.wait_for("The token is missing or wrong", "#answer")
    assert not service.pauses.is_set("orders")
    page.use_token(TOKEN)
    page.press("Pause orders")
    page.wait_for("orders: pause accepted", "#answer")
    assert service.pauses.is_set("orders")
    page.press("Resume orders")
    page.wait_for("orders: resume accepted", "#answer")
    assert not service.pauses.is_set("orders")
    problems_of(opened)  # of the refused command


def test_refused_job_says_why(service: Service, opened: "Chrome") -> None:
    page = Page(opened, service.endpoint.url)
    page.wait_for("No job waits", "#no-jobs")
    page.use_token(TOKEN)
    opened.find_element(CSS, "summary").click()
    content = opened.find_element(CSS, "#job textarea")
    content.clear()
    content.send_keys('{"tabel": "t"}')
    page.press("Start")
    page.wait_for("is missing", "#answer")
    problems_of(opened)


def test_text_of_events_is_no_markup(tmp_path: Path, opened: "Chrome") -> None:
    service = Service(tmp_path, [SCRIPT])
    service.activity.built(SCRIPT, {(ComponentType.DECORATOR, SCRIPT): SCRIPT})
    try:
        service.batches({SCRIPT: 10}, (SCRIPT, SCRIPT))
        service.control.reload_status = ReloadStatus(Phase.REFUSED, 1, reason=SCRIPT, hint=SCRIPT, id=1)
        service.activity.lag(SCRIPT, SCRIPT, 0, 5)
        service.activity.failed(SCRIPT, SCRIPT, SCRIPT)
        service.health.change(SCRIPT, State.BLOCKED, SCRIPT)
        page = Page(opened, service.endpoint.url)
        for part in ("pipelines", "detail-title", "reason", "dead-letters", "errors", "partitions", "chain"):
            page.wait_for(SCRIPT, f"#{part}")
        page.wait_for(SCRIPT, "#newest-reload")
        assert opened.execute_script("return window.hacked") is None
        assert problems_of(opened) == []
    finally:
        service.endpoint.stop()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_everybody_can_read_and_use_it(busy: Service, opened: "Chrome", scheme: str, size: tuple[int, int]) -> None:
    from axe_core_python.selenium import Axe

    media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    screen = {"width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": size == PHONE}
    opened.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    opened.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    try:
        for name in ("access", "orders"):
            page = Page(opened, busy.endpoint.url, f"/#{name}")
            page.wait_for("at most", "#plots")
            page.wait_for("Cancel", "#jobs")
            found = Axe().run(opened)["violations"]
            assert [(each["id"], each["impact"], each["nodes"][0]["html"]) for each in found] == []
            width = opened.execute_script("return document.documentElement.scrollWidth")
            assert width <= size[0]
            assert opened.execute_script(BROKEN_WORDS) == []
    finally:
        opened.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        opened.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_keyboard_reaches_every_button(busy: Service, opened: "Chrome") -> None:
    page = Page(opened, busy.endpoint.url, "/#orders")
    page.wait_for("Cancel", "#jobs")
    page.wait_for("Pause orders", "#detail")
    reached = []
    for _ in range(30):
        opened.switch_to.active_element.send_keys("\ue004")  # Tab
        reached.append(opened.switch_to.active_element.text)
    pipeline = {f"{command} orders" for command in ("Pause", "Resume", "Flush", "Replay dead letters of")}
    assert {"access", "orders", "ticks", "Cancel", "Start a job", "Reload the file", "Use"} | pipeline <= set(reached)


def test_fifty_pipelines_are_rendered_at_once(tmp_path: Path, opened: "Chrome") -> None:
    names = [f"pipeline-{number:02}" for number in range(50)]
    service = Service(tmp_path, names)
    for name in names:
        service.activity.built(name, dict.fromkeys([SOURCE, PARSE, LOGS], "kind"))
    service.batches(dict.fromkeys(names, 3_000), ("no_match", "parse"))
    try:
        page = Page(opened, service.endpoint.url)
        page.wait_for("50 pipelines: 50 running")
        page.wait_for("at most 100", "#plots")
        assert len(opened.find_elements(CSS, "#pipelines tbody svg path")) == len(names)
    finally:
        service.endpoint.stop()
