"""Translates exceptions of kafka-python into errors of this product."""

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import kafka.errors as kafka
from kafka.errors import KafkaError

from ingest.api import IngestError, NotFoundError, SourceError, SourceUnavailableError

_ACCESS_DENIED: tuple[type[KafkaError], ...] = (
    kafka.AuthorizationError,
    kafka.SaslAuthenticationFailedError,
    kafka.UnsupportedSaslMechanismError,
    kafka.IllegalSaslStateError,
)
_LOGIN_FAILED: tuple[type[KafkaError], ...] = (
    kafka.SaslAuthenticationFailedError,
    kafka.UnsupportedSaslMechanismError,
    kafka.IllegalSaslStateError,
)
_CLIENT_CERTIFICATE_REFUSED = re.compile(r"ALERT_(\w*CERTIFICATE\w*|UNKNOWN_CA|ACCESS_DENIED|HANDSHAKE_FAILURE)")
_MISSING: tuple[type[KafkaError], ...] = (kafka.UnknownTopicOrPartitionError, kafka.InvalidTopicError)
OF_A_RECORD: tuple[type[KafkaError], ...] = (
    kafka.InvalidRecordError,
    kafka.InvalidTimestampError,
    kafka.MessageSizeTooLargeError,
    kafka.RecordListTooLargeError,
)
"""Errors that are the fault of a record; the others are of the topic, the user or an outage."""
_BUSY_GROUP: tuple[type[KafkaError], ...] = (
    kafka.UnknownMemberIdError,
    kafka.IllegalGenerationError,
    kafka.RebalanceInProgressError,
)
_INVALID_USE: tuple[type[KafkaError], ...] = (
    kafka.KafkaConfigurationError,
    kafka.IllegalArgumentError,
    kafka.IllegalStateError,
    kafka.InvalidConfigurationError,
    kafka.InvalidPartitionsError,
    kafka.InvalidReplicationFactorError,
    kafka.InvalidGroupIdError,
    kafka.PolicyViolationError,
    kafka.UnsupportedVersionError,
    kafka.UnsupportedCodecError,
    kafka.UnsupportedCompressionTypeError,
    kafka.UnsupportedForMessageFormatError,
)


_TIMED_OUT: tuple[type[KafkaError], ...] = (kafka.KafkaTimeoutError, kafka.RequestTimedOutError)
_ERROR_NUMBER = re.compile(r"\b([0-9]{1,3}) E[A-Z]+\b")
_IS_IT_THERE = "is a Kafka broker running there, and does `security` match its listener?"


class AccessDeniedError(SourceError):
    """Kafka rejected the user, the password or the operation."""

    code = "access_denied"
    remedy = "Check the user, the password and the ACLs of the topic and group."


class BadRecordError(IngestError):
    """A record is not valid for Kafka, or kafka-python cannot send it: it has neither key nor value."""

    code = "bad_record"
    remedy = "Correct the record in the message; of the sink `kafka`, its options or `when`."


class GroupInUseError(SourceError):
    """Consumers are members of a group, so its offsets cannot be committed, or are no place to start from."""

    code = "group_in_use"
    hint = "stop the other consumers of the group, or give the pipeline a group of its own"


class LoginFailedError(SourceUnavailableError):
    """A Kafka broker rejected the mechanism, the user or the password."""

    code = "login_failed"
    hint = "check mechanism, user and password under `security: {sasl: …}`"


class RecordTimeRefusedError(IngestError):
    """A topic refuses a record because its time is too far from the clock of the broker."""

    code = "record_time_refused"
    hint = "compare the broker's clock; `message.timestamp.type=LogAppendTime` of the topic accepts any time"


class RecordTooLargeError(IngestError):
    """A dead letter, a record of the sink `kafka`, or one to produce, is larger than max.message.bytes of its topic."""

    code = "record_too_large"
    hint = "raise `max.message.bytes` of the topic, or send less in one record"


class TlsFailedError(SourceUnavailableError):
    """A TLS handshake with a Kafka broker failed; the message says why."""

    code = "tls_failed"
    remedy = "Correct `ca_file`, `key_file` or `brokers`, or the certificate of the broker."


@contextmanager
def translating(what: str) -> Iterator[None]:
    """
    Translate the exceptions of kafka-python in the block.

    Args:
        what: the operation with its names, as in `reading topic "ticks"`; the message starts with it.

    Raises:
        NotFoundError: there is no such topic or partition.
        SourceUnavailableError: the cluster cannot be reached or did not answer in time.
        SourceError: the cluster refused the request: code `access_denied`, `group_in_use` or `source`.
        IngestError: a record is too large, code `record_too_large`, has a time that the broker does not accept, code
            `record_time_refused`, or cannot be sent as it is, code `bad_record`.
    """
    try:
        yield
    except KafkaError as error:
        raise translated(error, what) from error
    except RuntimeError as error:  # raised for libraries that are not installed
        raise SourceError(f"{what} failed: {error}") from error
    except OSError as error:  # files of certificates and keys
        raise SourceUnavailableError(f"{what} failed: {error}") from error


def translated(error: KafkaError, what: str) -> IngestError:
    """The corresponding error of this product; raise it `from error`."""
    message, hint = f"{what} failed: {_message(error)}", None
    match error:
        case _ if isinstance(error, _ACCESS_DENIED):
            return AccessDeniedError(message, hint="check user, password and the user's permissions in the cluster")
        case _ if isinstance(error, _MISSING):
            return NotFoundError(message, hint="check the name of the topic")
        case _ if isinstance(error, OF_A_RECORD):
            return _of_a_record(error, message)
        case _ if isinstance(error, _BUSY_GROUP):
            return GroupInUseError(message)
        case _ if isinstance(error, _INVALID_USE):
            return SourceError(message)
        case kafka.UnknownBrokerIdError():  # kafka-python requests node -1 for a partition without a leader
            message, hint = f"{what} failed: a partition has no leader", "are all brokers of the cluster running?"
    # the others too are transient, or visible in the metric of retries: disconnects, timeouts, leader changes
    return SourceUnavailableError(message, hint=hint)


def _of_a_record(error: KafkaError, message: str) -> IngestError:
    match error:
        case kafka.InvalidRecordError():
            return BadRecordError(message)
        case kafka.InvalidTimestampError():
            return RecordTimeRefusedError(message)
        case _:
            return RecordTooLargeError(message)


def unreachable(
    message: str, reason: BaseException | None, instead: Callable[[], str | None] = lambda: None
) -> SourceUnavailableError:
    """
    The error if no broker of the list accepts the client; the cause may be temporary, so a pipeline retries.

    Args:
        message: what failed.
        reason: why the last attempt failed, if it is known.
        instead: what another server is that answers at one of the addresses.
    """
    if reason is None:
        return _not_kafka(message, instead())
    text = str(reason)
    message = f"{message}: {_in_words(reason)}"
    if isinstance(reason, _LOGIN_FAILED):
        return LoginFailedError(message)
    if "CERTIFICATE_VERIFY_FAILED" in text:
        return TlsFailedError(
            message,
            hint="check ca_file under security: {tls: …}; the broker's certificate must have the host of `brokers`",
        )
    if _CLIENT_CERTIFICATE_REFUSED.search(text):
        return TlsFailedError(
            message,
            hint="the broker refuses the client's certificate: check key_file under security: {tls: …}",
        )
    return _not_kafka(message, instead())


def timed_out(error: BaseException | None) -> bool:
    """Whether the error says that a time is over, and not why; kafka-python has no class for a connection's time."""
    if isinstance(error, kafka.KafkaConnectionError):
        return bool(error.args[:1] == ("Connection timed out",))
    return isinstance(error, _TIMED_OUT)


def _not_kafka(message: str, instead: str | None) -> SourceUnavailableError:
    hint = _IS_IT_THERE if instead is None else f"{instead}; write addresses of Kafka brokers into `brokers`"
    return SourceUnavailableError(message, hint=hint)


def _in_words(reason: BaseException) -> str:
    """The reason without names of Python's classes and of error numbers."""
    if timed_out(reason):
        return "no answer in time"
    text = ", ".join(map(str, reason.args)) if isinstance(reason, kafka.KafkaConnectionError) else str(reason)
    return _ERROR_NUMBER.sub(lambda found: os.strerror(int(found[1])).lower(), text)


def _message(error: KafkaError) -> str:
    name = type(error).__name__.removesuffix("Error")
    words = ", ".join(str(word) for word in error.args if word is not None)
    if not words:
        words = str(getattr(error, "description", None) or "")
    return f"{name}: {words}" if words else name
