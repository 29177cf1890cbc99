"""
Write the access logs of this example: two files as a web server and logrotate write them, the same on every run.

    python deploy/examples/access-log/generate.py [FOLDER]

Some 5,000 lines of Apache's combined format: ordinary visitors on IPv4 and IPv6, a few with a user name, a load
balancer asking for /healthz, scanners, quotes inside user agents, bytes that are not UTF-8, and fifteen lines that are
broken in ways seen in real logs.
"""

# ruff: noqa: PLR2004 - arbitrary numbers of synthetic traffic

import gzip
import io
import random
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

SEED = 20261120
FIRST = datetime(2026, 11, 20, 0, 0, 0, tzinfo=UTC)
OLD_LINES, NEW_LINES = 3_400, 1_600  # the older file is compressed, as logrotate does

PAGES = (
    *["/"] * 3,
    *["/products", "/products?page=2", "/products/4711", "/products/4711/reviews", "/products/815?ref=mail"],
    *["/cart", "/checkout", "/search?q=winter+boots", "/search?q=caf%C3%A9&sort=price", "/about"],
    *["/blog/2026/11/first-snow", "/static/app.9f31.js", "/static/app.9f31.css", "/static/logo.svg", "/favicon.ico"],
    "/api/v2/stock/815",
)
SCANS = ("/wp-login.php", "/.env", "/phpmyadmin/index.php", "/cgi-bin/luci;stok=/locale", "/../../etc/passwd")
REFERERS = ("-", "-", "-", "https://shop.example/", "https://shop.example/products", "https://search.example/?q=boots")
AGENTS = (
    "Mozilla/5.0 (X11; Linux x86_64; rv:144.0) Gecko/20100101 Firefox/144.0",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148",
    "Mozilla/5.0 (compatible; ExampleBot/2.1; +https://bot.example/)",
    "curl/8.16.0",
    'Mozilla/5.0 (Linux; Android 15; Tablet 10\\" Pro) AppleWebKit/537.36 Chrome/142.0.0.0',
    'ShopApp/3.4 \\"beta\\" (build 118)',
)
USERS = ("maria", "j.doe", "li.wei", "o'neill", "user%40shop.example")
STATUSES = ((200, 86), (304, 6), (301, 3), (404, 3), (500, 1), (503, 1))


class Log:
    """Generates lines in the order of their times."""

    def __init__(self) -> None:
        self._random = random.Random(SEED)  # noqa: S311 - synthetic visitors, not a secret
        self._time = FIRST
        self._visitors = [self._address() for _ in range(140)]

    def line(self) -> bytes:
        """One request, as the server writes it."""
        chance = self._random.random()
        if chance < 0.06:
            return self._health_check()
        if chance < 0.08:
            return self._scan()
        if chance < 0.083:
            return self._entry("198.51.100.77", "-", '"-"', 408, "-", "-", "-")
        client = self._random.choice(self._visitors)
        page = self._random.choice(PAGES)
        is_order = page == "/checkout"
        status = self._weighted(STATUSES)
        size = "-" if status == 304 else str(self._random.randint(180, 64_000))
        is_known = is_order or self._random.random() < 0.04
        user = self._random.choice(USERS) if is_known else "-"
        method, version = "POST" if is_order else "GET", self._random.choice(("1.1", "1.1", "2.0"))
        request = f'"{method} {page} HTTP/{version}"'
        agent = AGENTS[hash_of(client) % len(AGENTS)]
        return self._entry(client, user, request, status, size, self._random.choice(REFERERS), agent)

    def broken(self) -> list[bytes]:
        """Lines that are not valid requests, one or two of each kind."""
        whole = self.line()
        return [
            whole[: len(whole) // 2],
            whole[:-9],
            b"",
            b'\x16\x03\x01\x00\xee\x01\x00\x00\xea\x03\x03\xd4"\x8f\x00\x12',
            self._entry("203.0.113.9", "-", '"GET / HTTP/1.1"', 200, "512", "-", "curl/8.16.0").replace(
                b"20/Nov", b"31/Nov"
            ),
            self._entry("203.0.113.9", "-", '"GET / HTTP/1.1"', 200, "512", "-", "curl/8.16.0").replace(
                b"+0000", b"CET"
            ),
            b"[Fri Nov 20 09:12:44.120331 2026] [core:error] [pid 812] AH00126: Invalid URI in request GET /%zz",
            whole[:60] + self.line(),
            self._entry("192.0.2.44", "-", f'"GET /search?q={"A" * 20_000} HTTP/1.1"', 414, "340", "-", "-"),
            b"\x00" * 64,
        ]

    def _entry(self, client: str, user: str, request: str, status: int, size: str, referer: str, agent: str) -> bytes:
        self._time += timedelta(seconds=self._random.choice((0, 0, 1, 1, 2, 5, 11, 40)))
        stamp = self._time.strftime("%d/%b/%Y:%H:%M:%S +0000")
        return f'{client} - {user} [{stamp}] {request} {status} {size} "{referer}" "{agent}"'.encode()

    def _health_check(self) -> bytes:
        return self._entry("10.0.3.1", "-", '"GET /healthz HTTP/1.1"', 200, "2", "-", "lb-probe/1.4")

    def _scan(self) -> bytes:
        client = self._random.choice(("185.0.2.13", "2001:db8:bad::17"))
        request = f'"GET {self._random.choice(SCANS)} HTTP/1.1"'
        line = self._entry(client, "-", request, self._random.choice((403, 404, 400)), "196", "-", "scan?")
        # some clients send a user agent that is not UTF-8
        return line.replace(b"scan?", b"scan\xe9\xff") if self._random.random() < 0.3 else line

    def _address(self) -> str:
        if self._random.random() < 0.25:
            return f"2001:db8:{self._random.randint(1, 0xFFFF):x}::{self._random.randint(1, 0xFFFF):x}"
        network = self._random.choice(("192.0.2", "198.51.100", "203.0.113"))
        return f"{network}.{self._random.randint(1, 254)}"

    def _weighted(self, choices: tuple[tuple[int, int], ...]) -> int:
        values, weights = zip(*choices, strict=True)
        return int(self._random.choices(values, weights)[0])


def hash_of(text: str) -> int:
    """A number that is the same in every process."""
    return sum(text.encode())


def main(folder: Path) -> None:
    """Write both files."""
    log = Log()
    old = [log.line() for _ in range(OLD_LINES)]
    new = [log.line() for _ in range(NEW_LINES)]
    positions = random.Random(SEED)  # noqa: S311 - as above
    for broken in log.broken():
        new.insert(positions.randrange(len(new)), broken)
    for broken in log.broken()[:5]:
        old.insert(positions.randrange(len(old)), broken)
    folder.mkdir(parents=True, exist_ok=True)
    packed = io.BytesIO()
    with gzip.GzipFile(filename="", fileobj=packed, mode="wb", mtime=0) as file:
        file.write(b"".join(line + b"\n" for line in old))
    (folder / "access.log.1.gz").write_bytes(packed.getvalue())
    (folder / "access.log").write_bytes(b"".join(line + b"\n" for line in new))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "logs")
