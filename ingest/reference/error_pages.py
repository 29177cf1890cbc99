"""Pages of error codes: meaning, effect and remedy."""

import inspect
from dataclasses import dataclass, replace

import decorators
from ingest import api
from ingest.api import Disposition, IngestError, NotFoundError
from ingest.config.problems import EXPLANATIONS
from ingest.reference.error_codes import CODES
from ingest.reference.feed_codes import FEED_CODES
from ingest.reference.reasons import DROPS, REMEDIES_OF_REASONS, SKIPS
from ingest.reference.remedies import REMEDIES
from ingest.suggest import did_you_mean

_REACTIONS = {
    Disposition.RETRY: "The pipeline is blocked and retries; nothing is acknowledged in the meantime.",
    Disposition.DIVERT: "The event fails on every attempt; `on_error` determines whether it becomes a dead letter, is "
    "dropped, or stops the pipeline.",
    Disposition.STOP: "The pipeline or command stops; unfinished work is not acknowledged.",
}


@dataclass(frozen=True, slots=True)
class ErrorPage:
    """
    The documentation of an error code.

    Attributes:
        reaction: its effect; "" for problems of a configuration.
        exit_code: exit code of a command that fails with it; None if no command does.
        reasons: what it means as the reason of a drop, or of a dead letter that a replay skips; often both are "".
    """

    code: str
    meaning: str
    reaction: str = ""
    exit_code: int | None = None
    disposition: Disposition | None = None
    reasons: tuple[str, str] = ("", "")

    @property
    def remedy(self) -> str:
        """What to do about it."""
        return REMEDIES.get(self.code) or REMEDIES_OF_REASONS.get(self.code) or f"`attr2hbase describe {self.code}`."


def error_pages() -> list[ErrorPage]:
    """A page for every code, sorted."""
    pages = {kind.value: ErrorPage(kind.value, text, exit_code=2) for kind, text in EXPLANATIONS.items()}
    for error in _classes(IngestError):
        pages[error.code] = _page(error.code, error, (inspect.getdoc(error) or "").partition("\n")[0])
    for code, (raised, meaning) in (CODES | FEED_CODES).items():
        pages[code] = _page(code, raised, meaning)
    for code in DROPS.keys() | SKIPS.keys():
        reasons = DROPS.get(code, ""), SKIPS.get(code, "")
        pages[code] = replace(pages.get(code) or ErrorPage(code, ""), reasons=reasons)
    return [pages[code] for code in sorted(pages)]


def errors_page() -> str:
    """The reference page of all codes."""
    kinds = [
        f"| `{kind.value}` | {_cell(text)} | {_cell(REMEDIES[kind.value])} |" for kind, text in EXPLANATIONS.items()
    ]
    errors = [
        f"| `{page.code}` | {page.disposition.value} | {'' if page.exit_code is None else page.exit_code} | "
        f"{_cell(page.meaning)} | {_cell(page.remedy)} |"
        for page in error_pages()
        if page.disposition is not None
    ]
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
            *kinds,
            "",
            "## While running",
            "",
            (
                "Disposition `divert`: `on_error` determines what happens to the event. `retry`: the batch is retried "
                "until it succeeds. `stop`: the pipeline stops."
            ),
            "",
            "| code | disposition | exit code | meaning | what to do |",
            "|---|---|---|---|---|",
            *errors,
            "",
            "## Reasons of drops",
            "",
            "A `filter` has a reason of its own (`reason`), other decorators that drop an event their name.",
            "",
            "| reason | meaning |",
            "|---|---|",
            *(f"| `{code}` | {_cell(text)} |" for code, text in DROPS.items()),
            "",
            "## Reasons for which a replay of dead letters skips one",
            "",
            "| reason | meaning |",
            "|---|---|",
            *(f"| `{code}` | {_cell(text)} |" for code, text in SKIPS.items()),
            "",
        ]
    )


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def error_page(code: str) -> ErrorPage:
    """
    The page of a code.

    Raises:
        NotFoundError: the code is unknown.
    """
    pages = {page.code: page for page in error_pages()}
    if code not in pages and code in decorators.BUILTIN:
        return ErrorPage(code, "", reasons=(f'The decorator "{code}" has dropped the event.', ""))
    if code not in pages:
        of_user = "a code in capital letters is one of a decorator `fail` of your file" if code.isupper() else ""
        hint = of_user or did_you_mean(code, pages) or "'attr2hbase describe error' lists them"
        raise NotFoundError(f'there is no error "{code}"', hint=hint)
    return pages[code]


def _page(code: str, error: type[IngestError] | Disposition, meaning: str) -> ErrorPage:
    if isinstance(error, Disposition):  # the reason of a blocked pipeline, not an error
        return ErrorPage(code, meaning, _REACTIONS[error], None, error)
    exit_code = None if issubclass(error, api.EventError) else error.exit_code
    return ErrorPage(code, meaning, _REACTIONS[error.disposition], exit_code, error.disposition)


def _classes(error: type[IngestError]) -> list[type[IngestError]]:
    """The error classes of `ingest.api`, without subclasses from other modules."""
    found = [error] if error.__module__ == IngestError.__module__ else []
    for child in error.__subclasses__():
        found += _classes(child)
    return found
