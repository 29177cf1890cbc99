"""`attr2hbase test`: the tests of a pipeline file."""

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer

from ingest.amounts import counted
from ingest.cli.command import FileArgument
from ingest.cli.junit import junit_of
from ingest.cli.loading import loaded, to_run
from ingest.cli.output import Output
from ingest.cli.pipeline_file import command_line
from ingest.cli.updating import shown_path, update_tests
from ingest.config.model import Configuration
from ingest.dry_run import CaseResult, Difference, DryRun
from ingest.dry_run.update import has_no_expectation
from ingest.plan.assemble import plan_of


def test(
    out: Output,
    file: FileArgument,
    *,
    junit: Annotated[Path | None, typer.Option(metavar="FILE", help="Also write the results as JUnit XML.")] = None,  # noqa: PT028 - a command, no test of ours
    update: Annotated[
        bool,
        typer.Option(
            "--update",
            help="First write the actual results into `expect` of tests that fail or expect nothing yet; the rest of "
            "the file is unchanged.",
        ),
    ] = False,  # noqa: PT028 - a command, no test of ours
) -> None:
    """
    Run the tests of a pipeline file, from raw record to final cells; exit code 1 when one fails.

    Example: attr2hbase test --junit report.xml

    Example: attr2hbase test --update
    """
    updated: list[dict[str, object]] = []
    if update:
        updated = update_tests(out, file, partial(results_of, out))
    results, configuration = results_of(out, file)
    failed = sum(not result.passed for result in results)
    if junit is not None:
        hide = configuration.masks.hide
        cases = [
            (hide(result.case.name), result.case.pipeline, [hide(line) for line in difference_lines(result)])
            for result in results
        ]
        junit.write_bytes(junit_of(file, cases))
    if out.is_json:
        about = {"updated": updated} if update else {}
        tests = [_plain(result) for result in results]
        out.json({"passed": len(results) - failed, "failed": failed, "tests": tests} | about)
    else:
        _show(out, file, configuration, results)
    if failed:
        raise typer.Exit(1)


def results_of(out: Output, file: str) -> tuple[list[CaseResult], Configuration]:
    """Run the tests of a file."""
    configuration, catalog = loaded(out, file)
    tested = dict.fromkeys(case.pipeline for case in configuration.tests)
    tables = configuration.tables.values()
    dry_runs = {name: DryRun(plan_of(configuration, configuration.pipelines[name], catalog), tables) for name in tested}
    return [dry_runs[case.pipeline].test(case) for case in configuration.tests], configuration


def difference_lines(result: CaseResult) -> list[str]:
    """A line for each difference, with its place in the file."""
    return [f"{_where(result, difference)}: {_difference(difference)}" for difference in result.differences]


def _show(out: Output, file: str, configuration: Configuration, results: list[CaseResult]) -> None:

    failed = sum(not result.passed for result in results)
    for result in results:
        status = ("passed  ", "green") if result.passed else ("FAILED  ", "red")
        about = "  (`expect` is empty: nothing is compared)" if has_no_expectation(result) else ""
        out.parts(status, (result.case.name, ""), (about, "yellow"))
        for line in () if result.passed else (*difference_lines(result), *_error_lines(result)):
            out.line(f"  {line}")
    if not results:
        out.note(f'"{file}" has no tests', "yellow")
    elif failed:
        out.note(f"{failed} of {counted(len(results), 'test')} failed", "red")
        out.next(command_line(file, "explain"))
        return
    else:
        out.done(f"{counted(len(results), 'test')} passed")
    out.next(to_run(file, configuration))


def _where(result: CaseResult, difference: Difference) -> str:
    """The place in the file of the deepest part of the difference's path that is written there."""
    case = result.case
    path = ("expect", *difference.path)
    for length in range(len(path), 0, -1):
        if path[:length] in case.locations:
            return str(case.locations[path[:length]])
    return str(case.location)


def _difference(difference: Difference) -> str:
    path = shown_path(difference.path)
    if difference.expected is None:
        return f"{path}: nothing expected, got {_value(difference.actual)}"
    if difference.actual is None:
        return f"{path}: expected {_value(difference.expected)}, got nothing"
    return f"{path}: expected {_value(difference.expected)}, got {_value(difference.actual)}"


def _value(value: object) -> str:

    return orjson.dumps(value).decode()


def _error_lines(result: CaseResult) -> list[str]:
    """A line for each error of an event, which may be the reason of the differences."""
    lines = []
    for output in result.outputs:
        found: Any = output.line
        errors = [(each["sink"], each) for each in found.get("refusals", ())]
        if not errors and found["error"] is not None:
            errors = [(found["error"]["decorator"], found["error"])]
        lines += [f"input {found['input']}: {name}: {each['code']}: {each['message']}" for name, each in errors]
    return lines


def _plain(result: CaseResult) -> dict[str, object]:
    return {
        "name": result.case.name,
        "pipeline": result.case.pipeline,
        "passed": result.passed,
        "differences": [
            {
                "where": _where(result, difference),
                "path": list(difference.path),
                "expected": difference.expected,
                "actual": difference.actual,
            }
            for difference in result.differences
        ],
    }
