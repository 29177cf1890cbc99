"""Pages of error codes: meaning, effect and remedy."""

from collections.abc import Iterable
from dataclasses import dataclass

import decorators
from ingest.api import Disposition, NotFoundError
from ingest.reference.declarations import Declaration, declarations, of_plugins
from ingest.suggest import did_you_mean

_REACTIONS = {
    Disposition.RETRY: "The pipeline is blocked and retries; nothing is acknowledged in the meantime.",
    Disposition.DIVERT: "The event fails on every attempt; `on_error` determines whether it becomes a dead letter, is "
    "dropped, or stops the pipeline.",
    Disposition.STOP: "The pipeline or command stops; unfinished work is not acknowledged.",
}

FIRST = (
    *("store_unavailable", "store_busy", "store_refused", "no_table", "unknown_family", "schema", "families_changed"),
    *("source_unavailable", "position_lost", "topic_deleted", "topic_recreated"),
    *("access_denied", "login_failed", "tls_failed", "kerberos_failed", "kdc_unavailable"),
    *("checkpoint", "locked", "error_budget", "integrity", "buckets_differ", "updates_differ", "other_owner"),
    *("disk_full", "disk_denied", "state_unavailable", "jvm_lost", "jvm_unresponsive", "batch_slow", "start_slow"),
    *("config_invalid", "not_found", "not_running", "no_answer"),
    *("no_match", "bad_json", "bad_time", "no_row_key", "row_key_too_long", "decorator_timeout"),
)
"""The forty codes that an operator meets first: servers, rights, state, the machine, and events of an unfit format."""
AREAS = (
    ("Events", ()),
    ("Kafka, files and schemas", ("ingest/kafka", "ingest/service/kafka", "ingest/sources", "ingest/registry")),
    (
        "Stores and tables",
        ("ingest/api/store_errors", "sinks/hbase", "sinks/rocksdb", "sinks/writing", "sinks/scanning", "sinks/owning"),
    ),
    ("Dead letters and replays", ("ingest/dead_letters", "ingest/service/dead_letters", "ingest/service/replay")),
    ("Deferred updates", ("sinks/updates", "sinks/folding", "ingest/service/rewriting")),
    ("Change feeds", ("sinks/feed",)),
    ("Blobs", ("sinks/blobs",)),
    ("Dumps and copies", ("sinks/dumps", "sinks/bootstrap", "ingest/service/dumps")),
    ("Archive", ("sinks/archive", "ingest/service/archive")),
    ("Spark", ("ingest/spark",)),
    ("State and files", ("ingest/durable",)),
    ("Jobs and the endpoint", ("ingest/service/jobs", "ingest/service/endpoint")),
    ("Pipelines, commands and plugins", ("",)),
)
"""Title -> where its codes are declared, the first that fits; those of events are in the first, wherever they are."""


@dataclass(frozen=True, slots=True)
class ErrorPage:
    """
    The documentation of an error code.

    Attributes:
        reaction: its effect; "" for problems of a configuration.
        exit_code: exit code of a command that fails with it; None if no command does.
        reasons: what it means as the reason of a drop, or of a dead letter that a replay skips; often both are "".
        file: that declares it.
    """

    code: str
    meaning: str
    remedy: str
    reaction: str = ""
    exit_code: int | None = None
    disposition: Disposition | None = None
    reasons: tuple[str, str] = ("", "")
    file: str = ""

    @property
    def area(self) -> str:
        """The title of its area."""
        if self.disposition is Disposition.DIVERT:
            return AREAS[0][0]
        return next(title for title, places in AREAS if self.file.startswith(places))


def error_pages(declared: Iterable[Declaration] | None = None) -> list[ErrorPage]:
    """A page for every code of this product, sorted; or for every one of these declarations."""
    by_code: dict[str, list[Declaration]] = {}
    for each in declarations() if declared is None else declared:
        by_code.setdefault(each.code, []).append(each)
    return [_page(code, by_code[code]) for code in sorted(by_code)]


def _page(code: str, declared: Iterable[Declaration]) -> ErrorPage:
    """The page of a code, which may be declared as an error, as the reason of a drop, and as the reason of a skip."""
    by_kind = {each.of: each for each in declared}
    drop, skip = by_kind.get("drop_reason"), by_kind.get("SkipReason")
    error = by_kind.get("") or by_kind.get("blocked_reason") or by_kind.get("Kind")
    dropped = drop.meaning if drop else error.dropped if error else ""
    reasons = dropped, skip.meaning if skip else ""
    if error is None:
        return ErrorPage(code, "", next(each.remedy for each in (drop, skip) if each), reasons=reasons)
    if error.of == "Kind":
        return ErrorPage(code, error.meaning, error.remedy, exit_code=2, reasons=reasons)
    disposition = error.disposition or Disposition.RETRY  # of a blocked pipeline
    reaction = _REACTIONS[disposition]
    return ErrorPage(code, error.meaning, error.remedy, reaction, error.exit_code, disposition, reasons, error.file)


def errors_page() -> str:
    """The reference page of all codes."""
    kinds = [each for each in declarations() if each.of == "Kind"]
    pages = error_pages()
    running = {page.code: page for page in pages if page.disposition is not None}
    return "\n".join(
        [
            "# Errors",
            "",
            "## Problems of a configuration",
            "",
            "All problems are printed at once, as `file:line:column: kind: message`, with exit code 2.",
            "",
            "A warning does not prevent a pipeline from running; `attr2hbase validate --strict` treats it as an error.",
            "",
            "| kind | meaning | what to do |",
            "|---|---|---|",
            *(_row(f"`{kind.code}`", kind.meaning, kind.remedy) for kind in kinds),
            "",
            "## While running",
            "",
            (
                "Disposition `divert`: `on_error` determines what happens to the event. `retry`: the batch is retried "
                "until it succeeds. `stop`: the pipeline stops."
            ),
            "",
            "### Met first",
            "",
            *_table(running[code] for code in FIRST),
            *(
                line
                for title, _ in AREAS
                for line in (
                    f"### {title}",
                    "",
                    *_table(page for page in running.values() if page.area == title and page.code not in FIRST),
                )
            ),
            "## Reasons of drops",
            "",
            "A `filter` has a reason of its own (`reason`), other decorators that drop an event their name.",
            "",
            "| reason | meaning |",
            "|---|---|",
            *(_row(f"`{page.code}`", page.reasons[0]) for page in pages if page.reasons[0]),
            "",
            "## Reasons for which a replay of dead letters skips one",
            "",
            "| reason | meaning |",
            "|---|---|",
            *(_row(f"`{page.code}`", page.reasons[1]) for page in pages if page.reasons[1]),
            "",
        ]
    )


def _table(pages: Iterable[ErrorPage]) -> Iterable[str]:
    rows = [
        _row(f"`{each.code}`", each.disposition and each.disposition.value, each.exit_code, each.meaning, each.remedy)
        for each in pages
    ]
    return ["| code | disposition | exit code | meaning | what to do |", "|---|---|---|---|---|", *rows, ""]


def _row(*cells: object) -> str:
    texts = ("" if cell is None else " ".join(str(cell).split()).replace("|", "\\|") for cell in cells)
    return f"| {' | '.join(texts)} |"


def error_page(code: str) -> ErrorPage:
    """
    The page of a code of this product or of an installed plugin.

    Raises:
        NotFoundError: the code is unknown.
    """
    pages = {page.code: page for page in error_pages()}
    if code not in pages:
        pages = {page.code: page for page in error_pages(of_plugins())}
    if code not in pages and code in decorators.BUILTIN:
        return ErrorPage(
            code, "", f"`attr2hbase describe {code}`.", reasons=(f'The decorator "{code}" has dropped the event.', "")
        )
    if code not in pages:
        of_user = "a code in capital letters is one of a decorator `fail` of your file" if code.isupper() else ""
        hint = of_user or did_you_mean(code, pages) or "'attr2hbase describe error' lists them"
        raise NotFoundError(f'there is no error "{code}"', hint=hint)
    return pages[code]
