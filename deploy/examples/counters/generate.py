"""
Write the access logs of this example: three days as logrotate writes them, the same on every run.

    python deploy/examples/counters/generate.py [FOLDER]

Some 1,200 lines a day of Apache's combined format, more by day than by night: visitors who come from other sites, some
with a user name, a load balancer asking for /healthz, errors, and one broken line a day.
"""

# ruff: noqa: PLR2004 - arbitrary numbers of synthetic traffic

import gzip
import io
import math
import random
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

SEED = 20261120
FIRST_DAY = datetime(2026, 11, 20, tzinfo=UTC)
DAYS = 3
MOST_A_MINUTE = 1.8  # mean at the busiest time of the day

PAGES = {"/": 30, "/products": 22, "/products/4711": 12, "/products/815": 9, "/cart": 8, "/checkout": 4, "/about": 3}
REFERERS = {
    "-": 55,
    "https://shop.example/": 25,
    "https://search.example/?q=boots": 14,
    "https://news.example/shoes": 6,
}
STATUSES = {200: 88, 304: 6, 404: 4, 500: 2}
USERS = ("maria", "j.doe", "li.wei")
AGENTS = ("Mozilla/5.0 (X11; Linux x86_64; rv:144.0) Gecko/20100101 Firefox/144.0", "ShopApp/3.4", "curl/8.16.0")


class Log:
    """Generates the lines of one day after the other."""

    def __init__(self) -> None:
        self._random = random.Random(SEED)  # noqa: S311 - synthetic visitors, not a secret
        self._hosts = [f"192.0.2.{number}" for number in range(10, 90)]

    def day(self, day: datetime) -> list[bytes]:
        """The lines of a day in the order of their times; the last one is cut off."""
        lines = []
        for minute in range(24 * 60):
            start = day + timedelta(minutes=minute)
            if minute % 15 == 0:
                lines.append(self._line(start, "10.0.3.1", "-", "/healthz", 200, "-"))
            lines += [self._visit(start + timedelta(seconds=second)) for second in self._seconds(minute)]
        return [*lines, lines[-1][:60]]

    def _seconds(self, minute: int) -> list[int]:
        """The seconds at which requests come in a minute of the day."""
        mean = MOST_A_MINUTE * (0.5 - 0.45 * math.cos(2 * math.pi * (minute - 120) / 1440))
        return sorted(self._random.randrange(60) for _ in range(12) if self._random.random() < mean / 12)

    def _visit(self, time: datetime) -> bytes:
        page = self._one_of(PAGES)
        user = self._random.choice(USERS) if page == "/checkout" else "-"
        status = self._one_of(STATUSES)
        return self._line(time, self._random.choice(self._hosts), user, page, status, self._one_of(REFERERS))

    def _line(self, time: datetime, host: str, user: str, page: str, status: int, referer: str) -> bytes:
        stamp = time.strftime("%d/%b/%Y:%H:%M:%S +0000")
        size = "-" if status == 304 else str(self._random.randint(180, 9_000))
        agent = self._random.choice(AGENTS)
        return f'{host} - {user} [{stamp}] "GET {page} HTTP/1.1" {status} {size} "{referer}" "{agent}"'.encode()

    def _one_of(self, weights: dict[T, int]) -> T:
        return self._random.choices(list(weights), list(weights.values()))[0]


def main(folder: Path) -> None:
    """Write a file for each day."""
    log = Log()
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(DAYS):
        day = FIRST_DAY + timedelta(days=number)
        packed = io.BytesIO()
        with gzip.GzipFile(filename="", fileobj=packed, mode="wb", mtime=0) as file:
            file.write(b"".join(line + b"\n" for line in log.day(day)))
        (folder / f"access-{day:%Y-%m-%d}.log.gz").write_bytes(packed.getvalue())


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "logs")
