"""A certificate authority for tests, with the command `openssl`."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

_NEW_KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
_SOME_DAYS = ["-days", "3"]
_CONFIGURATION = """\
[req]
distinguished_name = name
[name]
"""


class Authority:
    """
    Issues certificates.

    Args:
        folder: for its files; created.
        name: of the authority.
    """

    def __init__(self, folder: Path, name: str = "Test Authority") -> None:
        folder.mkdir(parents=True)
        self._folder = folder
        self._configuration = folder / "openssl.cnf"  # that of the machine may add extensions
        self._configuration.write_text(_CONFIGURATION)
        self._key = folder / "authority.key"
        self.certificate = folder / "authority.pem"
        """PEM file with the certificate of the authority."""
        self._request(
            *("-nodes", "-subj", f"/CN={name}", "-keyout", self._key, "-out", self.certificate),
            *("-addext", "basicConstraints=critical,CA:true", "-addext", "keyUsage=critical,keyCertSign"),
        )

    def issue(
        self, name: str, *, hosts: Sequence[str] = ("localhost", "127.0.0.1"), encrypted_with: str | None = None
    ) -> Path:
        """
        A new key (PKCS#8) with its certificate and that of the authority, in one PEM file that only its owner can read.

        Args:
            name: of the file, and the common name.
            hosts: names and addresses for which the certificate is valid.
            encrypted_with: password of the key; None for a key that is not encrypted.
        """
        key, certificate, both = (self._folder / f"{name}.{suffix}" for suffix in ("key", "crt", "pem"))
        alternatives = ",".join(f"{'IP' if host[:1].isdigit() else 'DNS'}:{host}" for host in hosts)
        self._request(
            *(
                "-CA",
                self.certificate,
                "-CAkey",
                self._key,
                "-subj",
                f"/CN={name}",
                "-keyout",
                key,
                "-out",
                certificate,
            ),
            *("-addext", "basicConstraints=critical,CA:false", "-addext", f"subjectAltName={alternatives}"),
            "-nodes",
        )
        if encrypted_with is not None:
            plain, key = key, key.with_suffix(".encrypted")
            # the encryption that Java can read too
            self._openssl(
                *("pkcs8", "-topk8", "-v1", "PBE-SHA1-3DES", "-in", plain, "-out", key),
                *("-passout", f"pass:{encrypted_with}"),
            )
        both.write_text(key.read_text() + certificate.read_text() + self.certificate.read_text())
        both.chmod(0o600)
        return both

    def _request(self, *arguments: str | Path) -> None:
        self._openssl("req", "-x509", "-config", self._configuration, *_NEW_KEY, *_SOME_DAYS, *arguments)

    def _openssl(self, *arguments: str | Path) -> None:
        done = subprocess.run(
            ["openssl", *map(str, arguments)], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
