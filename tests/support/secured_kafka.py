"""A Kafka broker with listeners for TLS and SCRAM, and the options of its clients."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kafka.admin import ScramMechanism, UserScramCredentialUpsertion

from tests.support.authority import Authority
from tests.support.local import KafkaServer, jars
from tests.support.servers import Kafka

USER = "ingest"
SECRETS = {"login": 'pa"ss\\w=rd', "key": "k3y", "wrong": "wr0ng"}
"""Name -> value of the secrets that the options name."""
SCRAM, MUTUAL, FOREIGN = "SCRAM", "MUTUAL", "FOREIGN"
_LISTENERS = {SCRAM: "SASL_SSL", MUTUAL: "SSL", FOREIGN: "SSL"}


@dataclass(frozen=True)
class SecuredKafka:
    """
    A running broker with three listeners besides the one in the clear.

    `SCRAM` requires a user and a password, `MUTUAL` a client certificate. The certificate of `FOREIGN` is that of
    another host.
    """

    kafka: Kafka
    authority: Authority
    other_authority: Authority
    client_key: Path

    @classmethod
    def started(cls, folder: Path) -> "SecuredKafka":
        """Start a broker in a folder, with a user."""
        authority = Authority(folder / "authority")
        certificates = {
            SCRAM: authority.issue("broker"),
            MUTUAL: authority.issue("broker-for-certificates"),
            FOREIGN: authority.issue("elsewhere", hosts=["elsewhere.example"]),
        }
        client = authority.issue("client", encrypted_with=SECRETS["key"])
        properties = {
            "listener.name.mutual.ssl.client.auth": "required",
            "listener.name.scram.sasl.enabled.mechanisms": "SCRAM-SHA-512",
            "listener.name.scram.scram-sha-512.sasl.jaas.config": (
                "org.apache.kafka.common.security.scram.ScramLoginModule required;"
            ),
        }
        for name, certificate in certificates.items():
            for store, file in (("keystore", certificate), ("truststore", authority.certificate)):
                properties[f"listener.name.{name.lower()}.ssl.{store}.type"] = "PEM"
                properties[f"listener.name.{name.lower()}.ssl.{store}.location"] = str(file)
        server = KafkaServer(
            folder / "kafka", properties=properties, java_options=jars.SHORT_LIVED, listeners=_LISTENERS
        )
        kafka = Kafka(folder, server=server)
        kafka.start()
        with kafka.admin() as admin:
            user = UserScramCredentialUpsertion(USER, ScramMechanism.SCRAM_SHA_512, SECRETS["login"], iterations=4096)
            assert admin.alter_user_scram_credentials([user]) == {USER: None}
        return cls(kafka, authority, Authority(folder / "other", "Other Authority"), client)

    def brokers(self, listener: str) -> str:
        """HOST:PORT of a listener."""
        return f"127.0.0.1:{self.kafka.server.port_of(listener)}"

    def scram(self, name: str = "login", **tls: Any) -> dict[str, Any]:
        """Options of a connection with a user and the password of this name."""
        sasl = {"mechanism": "scram_sha_512", "username": USER, "password": f"${{secret:{name}}}"}
        return {"brokers": self.brokers(SCRAM), "security": {"tls": self._trusting(tls), "sasl": sasl}}

    def mutual(self, **tls: Any) -> dict[str, Any]:
        """Options of a connection with a client certificate."""
        client = {"key_file": str(self.client_key), "key_password": "${secret:key}"}
        return self.without_certificate() | {"security": {"tls": self._trusting(client | tls)}}

    def without_certificate(self) -> dict[str, Any]:
        """Options of a connection to the listener that requires a client certificate, without one."""
        return {"brokers": self.brokers(MUTUAL), "security": {"tls": self._trusting({})}}

    def foreign(self) -> dict[str, Any]:
        """Options of a connection to the listener with the certificate of another host."""
        return {"brokers": self.brokers(FOREIGN), "security": {"tls": self._trusting({})}}

    def _trusting(self, tls: dict[str, Any]) -> dict[str, Any]:
        return {"ca_file": str(self.authority.certificate)} | tls
