"""
Options of a connection to a Kafka cluster and its security; nothing here imports a client.

No option takes free text for the client's login modules: they are built from fields, because a login module named in a
configuration file can run code. For the same reason only listed client options are allowed.

Source: CVE-2023-25194, CVE-2024-31141 and CVE-2025-27817 of Kafka's own clients.
"""

import re
from base64 import b64decode
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, model_validator
from pydantic_core import PydanticCustomError

from ingest.api import LifecycleError, Model, Secret, option
from ingest.api.files import check_private_key
from ingest.formats.addresses import is_this_machine

_BROKER = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?):([0-9]{1,5})")
_MAX_PORT = 65_535
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_ENCRYPTED_KEY = re.compile("-----BEGIN ENCRYPTED PRIVATE KEY-----([^-]+)-----END")
_PBES2 = bytes.fromhex("06092a864886f70d01050d")  # the object identifier 1.2.840.113549.1.5.13
_LOGIN = "org.apache.kafka.common.security"

ClientOption = Literal[
    "check.crcs",
    "client.dns.lookup",
    "client.id",
    "client.rack",
    "connections.max.idle.ms",
    "default.api.timeout.ms",
    "fetch.max.bytes",
    "fetch.max.wait.ms",
    "fetch.min.bytes",
    "heartbeat.interval.ms",
    "max.partition.fetch.bytes",
    "max.poll.records",
    "metadata.max.age.ms",
    "receive.buffer.bytes",
    "reconnect.backoff.max.ms",
    "reconnect.backoff.ms",
    "request.timeout.ms",
    "retry.backoff.max.ms",
    "retry.backoff.ms",
    "send.buffer.bytes",
    "session.timeout.ms",
    "socket.connection.setup.timeout.max.ms",
    "socket.connection.setup.timeout.ms",
]
"""Client options that change speed and timeouts, but neither security nor which records are read."""


class Mechanism(StrEnum):
    """How a client authenticates."""

    PLAIN = "plain"
    SCRAM_SHA_256 = "scram_sha_256"
    SCRAM_SHA_512 = "scram_sha_512"
    GSSAPI = "gssapi"
    OAUTHBEARER = "oauthbearer"

    @property
    def wire_name(self) -> str:
        """Kafka's name of the mechanism."""
        return self.value.upper().replace("_", "-")


class Compression(StrEnum):
    """How a producer compresses its record batches: by the codecs that the libraries of this product have."""

    NONE = "none"
    GZIP = "gzip"
    ZSTD = "zstd"


def _joined(value: object) -> object:
    """Brokers as text with commas, from a list too; a number becomes text, so that it gets the message of a broker."""
    if type(value) is int:
        return str(value)
    if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        return ",".join(value)
    return value


def _brokers(text: str) -> str:
    brokers = [broker.strip() for broker in text.split(",")]
    for broker in brokers:
        match = _BROKER.fullmatch(broker)
        if match is None or not 0 < int(match[3]) <= _MAX_PORT:
            raise PydanticCustomError(
                "wrong_type", '"{broker}" is not a broker; write HOST:PORT, several with commas', {"broker": broker}
            )
    return ",".join(brokers)


Brokers = Annotated[str, BeforeValidator(_joined, json_schema_input_type=str | list[str]), AfterValidator(_brokers)]
"""`host:port`, several separated by commas or as a list."""


def _number_as_text(value: object) -> object:
    """People write client options as numbers; Kafka expects text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int) else value


ClientValue = Annotated[str, BeforeValidator(_number_as_text, json_schema_input_type=str | int | bool)]


class TlsSettings(Model):
    """TLS; the broker's certificate and host name are always checked."""

    ca_file: str | None = option(
        "PEM file with the certificates to trust; the system's when left out.", default=None, example="/etc/ssl/ca.pem"
    )
    key_file: str | None = option(
        "PEM file with the client's private key (PKCS#8) and certificate chain, readable by its owner alone.",
        default=None,
        example="/etc/ssl/client.pem",
    )
    key_password: Secret | None = option(
        "Password of the private key.", default=None, example="${secret:kafka_key_password}"
    )

    @model_validator(mode="after")
    def _key_is_kept_safe(self) -> "TlsSettings":
        check_private_key(self.key_file, "key_file")
        if self.key_file is not None and _is_unreadable_for_java(self.key_file):
            raise PydanticCustomError(
                "conflict",
                'Java cannot decrypt the private key in "{path}", which is encrypted with PBES2; store it without a '
                "password, or convert it with 'openssl pkcs8 -topk8 -v1 PBE-SHA1-3DES'",
                {"path": self.key_file, "option": "key_file"},
            )
        return self


class SaslSettings(Model):
    """SASL: which fields are needed depends on the mechanism."""

    mechanism: Mechanism = option(
        "plain, scram_sha_256, scram_sha_512, gssapi or oauthbearer.", example="scram_sha_512", strict=False
    )
    username: str | None = option("User of plain and scram.", default=None, example="ingest")
    password: Secret | None = option("Password of plain and scram.", default=None, example="${secret:kafka_password}")
    principal: str | None = option("Kerberos principal of gssapi.", default=None, example="ingest/h1@EXAMPLE.ORG")
    keytab: str | None = option(
        "Keytab of the principal, readable by its owner alone.", default=None, example="/etc/ingest.keytab"
    )
    service_name: str = option("Kerberos service name of the brokers.", default="kafka")
    token_url: str | None = option(
        "Where oauthbearer gets its tokens.", default=None, example="https://login.example.org/token"
    )
    client_id: str | None = option("Client of oauthbearer.", default=None, example="ingest")
    client_secret: Secret | None = option(
        "Secret of that client.", default=None, example="${secret:kafka_client_secret}"
    )
    scope: str | None = option("Scope that oauthbearer requests.", default=None, example="kafka")

    @model_validator(mode="after")
    def _is_complete(self) -> "SaslSettings":
        needed = {
            Mechanism.GSSAPI: ("principal", "keytab"),
            Mechanism.OAUTHBEARER: ("token_url", "client_id", "client_secret"),
        }.get(self.mechanism, ("username", "password"))
        for name in needed:
            if getattr(self, name) is None:
                raise PydanticCustomError(
                    "missing_field", '{mechanism} needs "{name}"', {"mechanism": self.mechanism.value, "name": name}
                )
        for name in ("username", "principal", "keytab", "service_name", "token_url", "client_id", "scope"):
            value = getattr(self, name)
            if value is not None and _CONTROL.search(value):
                raise PydanticCustomError("wrong_type", '"{name}" contains a control character', {"name": name})
        return self

    @model_validator(mode="after")
    def _keytab_is_kept_safe(self) -> "SaslSettings":
        check_private_key(self.keytab, "keytab", "the keys")
        return self

    def login(self) -> str:
        """The client's login module with its options, quoted; contains the secret."""
        match self.mechanism:
            case Mechanism.GSSAPI:
                module = "com.sun.security.auth.module.Krb5LoginModule"
                options = {"keyTab": self.keytab, "principal": self.principal, "useKeyTab": "true", "storeKey": "true"}
            case Mechanism.OAUTHBEARER:
                module = f"{_LOGIN}.oauthbearer.OAuthBearerLoginModule"
                options = {
                    "clientId": self.client_id,
                    "clientSecret": revealed(self.client_secret),
                    "scope": self.scope,
                }
            case _:
                name = "plain.PlainLoginModule" if self.mechanism is Mechanism.PLAIN else "scram.ScramLoginModule"
                module = f"{_LOGIN}.{name}"
                options = {"username": self.username, "password": revealed(self.password)}
        fields = "".join(f' {name}="{_escaped(value)}"' for name, value in options.items() if value is not None)
        return f"{module} required{fields};"


class SecuritySettings(Model):
    """Security of a connection to Kafka; without TLS only to this machine, unless `insecure: true`."""

    tls: TlsSettings | None = option(
        "TLS; `{}` trusts the system's certificates.", default=None, example={"ca_file": "/etc/ssl/ca.pem"}
    )
    sasl: SaslSettings | None = option(
        "Authentication.", default=None, example={"mechanism": "scram_sha_512", "username": "ingest"}
    )
    insecure: bool = option(
        "True allows brokers, and a `token_url`, on other machines without TLS.",
        default=False,
    )

    @model_validator(mode="after")
    def _client_secret_is_protected(self) -> "SecuritySettings":
        if self.sasl is None or self.sasl.token_url is None:
            return self
        url = urlsplit(self.sasl.token_url)
        about = {"url": self.sasl.token_url, "option": "sasl"}
        if url.scheme not in ("https", "http") or not url.hostname:
            raise PydanticCustomError("wrong_type", 'token_url "{url}" is not a URL; write https://HOST/PATH', about)
        if url.scheme == "http" and not self.insecure and not is_this_machine(url.hostname):
            raise PydanticCustomError(
                "conflict",
                'token_url "{url}" is on another machine and there is no TLS, so the client secret is sent in the '
                "clear; write https://, or add security: {insecure: true} if the network is trusted",
                about,
            )
        return self

    @property
    def protocol(self) -> str:
        """Kafka's security protocol."""
        if self.sasl is None:
            return "PLAINTEXT" if self.tls is None else "SSL"
        return "SASL_PLAINTEXT" if self.tls is None else "SASL_SSL"

    def java_options(self) -> dict[str, str]:
        """Options of the Java client, without any prefix; they contain secrets."""
        options = {"security.protocol": self.protocol}
        if self.tls is not None:
            options["ssl.endpoint.identification.algorithm"] = "https"
            if self.tls.ca_file is not None:
                options |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": self.tls.ca_file}
            if self.tls.key_file is not None:
                options |= {"ssl.keystore.type": "PEM", "ssl.keystore.location": self.tls.key_file}
            if self.tls.key_password is not None:
                options["ssl.key.password"] = revealed(self.tls.key_password)
        if self.sasl is not None:
            options |= {"sasl.mechanism": self.sasl.mechanism.wire_name, "sasl.jaas.config": self.sasl.login()}
            if self.sasl.mechanism is Mechanism.GSSAPI:
                options["sasl.kerberos.service.name"] = self.sasl.service_name
            if self.sasl.token_url is not None:
                options["sasl.oauthbearer.token.endpoint.url"] = self.sasl.token_url
                options["sasl.login.callback.handler.class"] = f"{_LOGIN}.oauthbearer.OAuthBearerLoginCallbackHandler"
        return options

    def java_properties(self) -> dict[str, str]:
        """System properties that the JVM needs: the only URL that tokens may come from."""
        if self.sasl is None or self.sasl.token_url is None:
            return {}
        return {"org.apache.kafka.sasl.oauthbearer.allowed.urls": self.sasl.token_url}

    def python_options(self) -> dict[str, Any]:
        """Options of kafka-python; they contain secrets. The caller adds the token provider for oauthbearer."""
        options: dict[str, Any] = {"security_protocol": self.protocol}
        if self.tls is not None:
            options |= {"ssl_check_hostname": True, "ssl_cafile": self.tls.ca_file, "ssl_certfile": self.tls.key_file}
            if self.tls.key_password is not None:
                options["ssl_password"] = revealed(self.tls.key_password)
        if self.sasl is not None:
            options["sasl_mechanism"] = self.sasl.mechanism.wire_name
            match self.sasl.mechanism:
                case Mechanism.GSSAPI:
                    options["sasl_kerberos_service_name"] = self.sasl.service_name
                    options["sasl_kerberos_name"] = self.sasl.principal
                case Mechanism.OAUTHBEARER:
                    pass
                case _:
                    options["sasl_plain_username"] = self.sasl.username
                    options["sasl_plain_password"] = revealed(self.sasl.password)
        return options


class KafkaConnection(Model):
    """A cluster and how to connect to it."""

    brokers: Brokers = option("Some brokers of the cluster, `host:port` each.", example="localhost:9092")
    security: SecuritySettings = option("TLS and SASL.", default={}, example={"tls": {}})
    options: dict[ClientOption, ClientValue] = option(
        "Options of the client that reads events; only those that change speed and timeouts are allowed.",
        default={},
        example={"fetch.max.bytes": 52428800},
    )

    @model_validator(mode="after")
    def _is_protected(self) -> "KafkaConnection":
        check_protected(self.brokers, self.security)
        return self

    @property
    def broker_list(self) -> list[str]:
        """Each broker as `host:port`."""
        return self.brokers.split(",")

    def java_options(self) -> dict[str, str]:
        """Options of the Java client, without any prefix; they contain secrets."""
        options = {str(name): value for name, value in self.options.items()}
        options["bootstrap.servers"] = self.brokers
        return options | self.security.java_options()

    def python_options(self) -> dict[str, Any]:
        """Options of every client of kafka-python; they contain secrets."""
        return {"bootstrap_servers": self.broker_list} | self.security.python_options()


class KafkaTopic(Model):
    """A topic that is written; options of its cluster that are left out are those of the pipeline's source."""

    topic: str = option("Topic to which they are written.", example="ticks-dead", pattern=r"^[A-Za-z0-9._-]{1,249}$")
    brokers: Brokers | None = option("Brokers of the topic's cluster.", default=None, example="localhost:9092")
    security: SecuritySettings | None = option(
        "Connection security of that cluster.", default=None, example={"tls": {}}
    )

    @model_validator(mode="after")
    def _is_protected(self) -> Self:
        if self.brokers is not None:
            check_protected(self.brokers, self.security or SecuritySettings())
        return self

    def connection(self) -> KafkaConnection:
        """The connection to the topic's cluster; `brokers` is filled in once the configuration is resolved."""
        if self.brokers is None:
            raise LifecycleError("a topic has no brokers before the configuration is resolved")
        return KafkaConnection(brokers=self.brokers, security=self.security or SecuritySettings())


def connection_of(settings: Model) -> KafkaConnection | None:
    """The cluster that a component with these options connects to; None if it connects to none."""
    return settings if isinstance(settings, KafkaConnection) else None


def topic_of(settings: Model) -> KafkaTopic | None:
    """The topic that a component with these options writes; None if it writes none."""
    return settings if isinstance(settings, KafkaTopic) else None


_LOCAL_HOSTS = ("127.0.0.1", "[::1]")


def has_common_broker(brokers: str, others: str) -> bool:
    """Whether two lists name the same broker; "localhost", 127.0.0.1 and [::1] are one host."""
    return not {_address(broker) for broker in brokers.split(",")}.isdisjoint(map(_address, others.split(",")))


def _address(broker: str) -> tuple[str, str]:
    host, _, port = broker.rpartition(":")
    return "localhost" if host in _LOCAL_HOSTS else host.lower(), port


def check_protected(brokers: str, security: SecuritySettings) -> None:
    """
    Refuse an unencrypted connection over a network.

    Raises:
        PydanticCustomError: a broker is on another machine, without TLS and without `insecure: true`.
    """
    if security.tls is not None or security.insecure:
        return
    for broker in brokers.split(","):
        if not is_this_machine(broker.rpartition(":")[0]):
            raise PydanticCustomError(
                "conflict",
                'broker "{broker}" is on another machine and there is no TLS; '
                "add security: {tls: {}}, or {insecure: true} if the network is trusted",
                {"broker": broker, "option": "brokers"},
            )


def _is_unreadable_for_java(key_file: str) -> bool:
    """
    Whether a key is encrypted as OpenSSL does by default, which Kafka's Java client cannot decrypt: it only retries.

    Source: RFC 8018, A.4; Java's bug JDK-8231581.
    """
    try:
        match = _ENCRYPTED_KEY.search(Path(key_file).read_text(encoding="ascii"))
        return match is not None and _PBES2 in b64decode(match[1])
    except (OSError, ValueError):
        return False  # the client reports it


def revealed(secret: Secret | None) -> str:
    """The text of a secret; "" if it is left out."""
    return "" if secret is None else secret.get_secret_value()


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"')
