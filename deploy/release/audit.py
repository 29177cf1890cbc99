"""
Ask the OSV database for known vulnerabilities of the packages and jars of a release.

    python -m deploy.release.audit

Prints each vulnerability; exits with 1 if one is not accepted in accepted.toml, or if one that is accepted there is no
longer reported. Exits with 3 if the database does not answer: no answer is not a pass.

Source: https://google.github.io/osv.dev/post-v1-querybatch/
"""

import argparse
import http.client
import json
import sys
import tomllib
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from deploy.release.contents import contents_of

ROOT = Path(__file__).resolve().parents[2]
DATABASE = "https://api.osv.dev/v1/querybatch"
TIMEOUT_S = 60
NO_ANSWER = 3

Query = Callable[[Mapping[str, Any]], Mapping[str, Any]]
"""Sends one body to the database; returns its answer."""


def main(arguments: list[str]) -> int:
    """Audit the locked packages and the connector jars."""
    parser = argparse.ArgumentParser(description="Known vulnerabilities of the packages and jars of a release.")
    parser.add_argument("--database", default=DATABASE, metavar="URL", help="default: %(default)s")
    url: str = parser.parse_args(arguments).database
    release = contents_of(ROOT, commit="", epoch=0)
    purls = [each.purl for each in (*release.packages, *release.jars)]
    accepted = tomllib.loads((ROOT / "deploy/release/accepted.toml").read_text("utf-8")).get("accepted", {})
    try:
        found = vulnerabilities(purls, lambda body: _post(url, body))
    except (OSError, ValueError, http.client.HTTPException) as error:
        print(f'"{url}" gave no answer, so nothing was audited: {error}', file=sys.stderr)
        return NO_ANSWER
    problems = list(findings(found, accepted))
    for problem in problems:
        print(problem, file=sys.stderr)
    print(f"{len(purls)} packages and jars audited, {len(problems)} findings")
    return 1 if problems else 0


def vulnerabilities(purls: Sequence[str], query: Query) -> dict[str, list[str]]:
    """
    Package URL -> ids of its known vulnerabilities, for those that have any.

    Raises:
        ValueError: the answer does not fit the question.
    """
    found: dict[str, list[str]] = {}
    pending: list[dict[str, Any]] = [{"package": {"purl": purl}} for purl in purls]
    while pending:
        results = query({"queries": pending}).get("results")
        if not isinstance(results, list) or len(results) != len(pending):
            raise ValueError(f"{len(pending)} questions, but the answer has other results")
        further = []
        for asked, result in zip(pending, results, strict=True):
            if ids := [str(each["id"]) for each in result.get("vulns", ())]:
                found.setdefault(asked["package"]["purl"], []).extend(ids)
            if token := result.get("next_page_token"):
                further.append(asked | {"page_token": token})
        pending = further
    return found


def findings(found: Mapping[str, Sequence[str]], accepted: Mapping[str, str]) -> Iterator[str]:
    """
    Vulnerabilities that are not accepted, and accepted ones that are gone.

    Args:
        found: package URL -> ids.
        accepted: id -> why the product is not affected.
    """
    for purl, ids in found.items():
        for each in sorted(set(ids) - accepted.keys()):
            yield f"{purl}: {each}, see https://osv.dev/{each}"
    for each in sorted(accepted.keys() - {one for ids in found.values() for one in ids}):
        yield f"accepted.toml: {each} is no longer reported; remove it"


def _post(url: str, body: Mapping[str, Any]) -> Mapping[str, Any]:
    if not url.startswith(("https://", "http://127.0.0.1:")):
        raise ValueError("the database must be an https URL")
    request = urllib.request.Request(  # noqa: S310 - the scheme is checked above
        url, json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:  # noqa: S310 - as above
        content = json.load(answer)
    if not isinstance(content, dict):
        raise ValueError("the answer is not a JSON object")  # noqa: TRY004 - it is the content that is wrong
    return content


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
