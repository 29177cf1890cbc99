"""A KDC of MIT Kerberos for tests, with principals and keytabs."""

import socket
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests.support.local import ServerProcess, free_ports
from tests.support.programs import path_of

REALM = "EXAMPLE.ORG"
_PROGRAMS = {
    "krb5kdc": "krb5-kdc",
    "kdb5_util": "krb5-kdc",
    "kadmin.local": "krb5-admin-server",
    "kinit": "krb5-user",
}
"""Program -> package of Debian."""
_START_S = 20.0
_CLIENTS = """\
[libdefaults]
  default_realm = {realm}
  dns_lookup_kdc = false
  dns_lookup_realm = false
  dns_canonicalize_hostname = false
  rdns = false
  udp_preference_limit = 1
  # s; by default servers accept tickets for five minutes after they have expired
  clockskew = 5
[realms]
  {realm} = {{
    kdc = 127.0.0.1:{port}
  }}
"""
_SERVER = """\
[kdcdefaults]
  kdc_listen = 127.0.0.1:{port}
  kdc_tcp_listen = 127.0.0.1:{port}
[realms]
  {realm} = {{
    database_name = {folder}/principal
    key_stash_file = {folder}/stash
    acl_file = {folder}/kadm5.acl
    supported_enctypes = aes256-cts-hmac-sha1-96:normal
  }}
[logging]
  kdc = FILE:{folder}/requests.log
"""


class Kdc:
    """
    A KDC with its database in a folder, which is created.

    Attributes:
        environment: variables of its clients.
        settings: krb5.conf of its clients.
        requests: its log.
    """

    def __init__(self, folder: Path) -> None:
        missing = sorted({package for program, package in _PROGRAMS.items() if path_of(program) is None})
        assert not missing, f"this test needs a KDC; get it: apt-get install {' '.join(missing)}"
        folder.mkdir(parents=True)
        self.folder = folder
        self._port = free_ports(1)[0]
        self._process = ServerProcess("kdc", folder)
        self.settings = folder / "krb5.conf"
        self.requests = folder / "requests.log"
        values = {"realm": REALM, "port": self._port, "folder": folder}
        self.settings.write_text(_CLIENTS.format(**values))
        (folder / "kdc.conf").write_text(_SERVER.format(**values))
        self.environment = {"KRB5_CONFIG": str(self.settings), "KRB5_KDC_PROFILE": str(folder / "kdc.conf")}
        self._run("kdb5_util", "create", "-s", "-P", "master", "-r", REALM)

    def add(self, name: str, *, max_life_s: int = 36_000) -> str:
        """A new principal with random keys; returns its name with the realm."""
        principal = f"{name}@{REALM}"
        self._admin(f'add_principal -randkey -maxlife "{max_life_s} seconds" {principal}')
        return principal

    def change_keys(self, principal: str) -> None:
        """New random keys, so that keytabs do not have the current ones."""
        self._admin(f"change_password -randkey {principal}")

    def keytab(self, name: str, principals: Sequence[str]) -> Path:
        """A new file with the current keys of principals."""
        file = self.folder / f"{name}.keytab"
        self._admin(f"ktadd -norandkey -keytab {file} {' '.join(principals)}")
        file.chmod(0o600)
        return file

    def kinit(self, principal: str, keytab: Path, cache: Path, *, life_s: int = 36_000) -> None:
        """Write a ticket cache as a user does."""
        self._run("kinit", "-c", str(cache), "-k", "-t", str(keytab), "-l", f"{life_s}s", principal)

    def start(self) -> None:
        """Start it, if it does not run; returns when it is ready."""
        if self._process.pid is None:
            self._process.start([_program("krb5kdc"), "-n"], env=self.environment)
            self._process.wait_until(self._listens, timeout_s=_START_S)

    def stop(self) -> None:
        """Stop it; its database stays."""
        self._process.stop()

    def tickets(self, principal: str) -> int:
        """How often it has issued a first ticket to a principal."""
        lines = self.requests.read_text().splitlines() if self.requests.exists() else []
        return sum("AS_REQ" in line and "ISSUE" in line and f" {principal} for " in line for line in lines)

    def _listens(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self._port), timeout=1).close()
        except OSError:
            return False
        return True

    def _admin(self, command: str) -> None:
        self._run("kadmin.local", "-r", REALM, "-q", command)

    def _run(self, program: str, *arguments: str) -> None:
        done = subprocess.run(
            ["env", *(f"{name}={value}" for name, value in self.environment.items()), _program(program), *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert " while " not in done.stderr, done.stderr  # kadmin.local has exit code 0 after an error


def _program(program: str) -> str:
    found = path_of(program)
    assert found is not None
    return found
