"""Each error of kafka-python is translated into one of ours."""

import inspect

import kafka.errors
import pytest

from ingest.api import Disposition, IngestError, NotFoundError, SourceError, SourceUnavailableError
from ingest.kafka.errors import (
    AccessDeniedError,
    BadRecordError,
    GroupInUseError,
    RecordTimeRefusedError,
    RecordTooLargeError,
    translated,
    translating,
    unreachable,
)

_EVERY = [
    kind
    for _, kind in inspect.getmembers(kafka.errors, inspect.isclass)
    if issubclass(kind, kafka.errors.KafkaError) and kind is not kafka.errors.LogTruncationError
]


@pytest.mark.parametrize(
    ("error", "kind", "code"),
    [
        (kafka.errors.KafkaTimeoutError("t"), SourceUnavailableError, "source_unavailable"),
        (kafka.errors.KafkaConnectionError("c"), SourceUnavailableError, "source_unavailable"),
        (kafka.errors.NotLeaderForPartitionError(), SourceUnavailableError, "source_unavailable"),
        (kafka.errors.NotEnoughReplicasError(), SourceUnavailableError, "source_unavailable"),
        (kafka.errors.UnknownTopicOrPartitionError(), NotFoundError, "not_found"),
        (kafka.errors.InvalidTopicError(), NotFoundError, "not_found"),
        (kafka.errors.TopicAuthorizationFailedError(), AccessDeniedError, "access_denied"),
        (kafka.errors.GroupAuthorizationFailedError(), AccessDeniedError, "access_denied"),
        (kafka.errors.SaslAuthenticationFailedError(), AccessDeniedError, "access_denied"),
        (kafka.errors.MessageSizeTooLargeError("m"), RecordTooLargeError, "record_too_large"),
        (kafka.errors.RecordListTooLargeError("m"), RecordTooLargeError, "record_too_large"),
        (kafka.errors.InvalidTimestampError("m"), RecordTimeRefusedError, "record_time_refused"),
        (kafka.errors.InvalidRecordError("m"), BadRecordError, "bad_record"),
        (kafka.errors.UnsupportedForMessageFormatError("m"), SourceError, "source"),
        (kafka.errors.UnsupportedCompressionTypeError("m"), SourceError, "source"),
        (kafka.errors.UnknownMemberIdError(), GroupInUseError, "group_in_use"),
        (kafka.errors.KafkaConfigurationError("x"), SourceError, "source"),
    ],
)
def test_type_and_code_of_translated_errors(error, kind, code):
    ours = translated(error, "reading")
    assert (type(ours), ours.code) == (kind, code)


@pytest.mark.parametrize("kind", _EVERY, ids=lambda kind: kind.__name__)
def test_every_error_has_a_translation_that_names_the_operation(kind):
    ours = translated(kind(), 'reading topic "t"')
    assert isinstance(ours, IngestError)
    assert ours.message.startswith('reading topic "t" failed: ')
    assert ours.disposition in (Disposition.RETRY, Disposition.STOP)


def test_message_has_the_name_of_the_error_without_its_suffix():
    assert translated(kafka.errors.KafkaTimeoutError("late"), "x").message == "x failed: KafkaTimeout: late"
    assert translated(kafka.errors.NodeNotReadyError(), "x").message == "x failed: NodeNotReady"


def test_partition_without_a_leader_is_reported_in_words():
    error = translated(kafka.errors.UnknownBrokerIdError(-1), 'reading offsets of "t"')
    assert error.message == 'reading offsets of "t" failed: a partition has no leader'
    assert error.hint == "are all brokers of the cluster running?"


def test_original_error_is_the_cause():
    cause = kafka.errors.KafkaConnectionError("gone")
    with pytest.raises(SourceUnavailableError) as caught, translating("x"):
        raise cause
    assert caught.value.__cause__ is cause


def test_error_of_a_file_is_translated():
    with pytest.raises(SourceUnavailableError, match="x failed: no file"), translating("x"):
        raise FileNotFoundError("no file")


def test_own_errors_are_not_translated():
    with pytest.raises(NotFoundError, match="ours"), translating("x"):
        raise NotFoundError("ours")


@pytest.mark.parametrize(
    ("reason", "code", "hint"),
    [
        (None, "source_unavailable", "is a Kafka broker running there"),
        (
            kafka.errors.KafkaConnectionError("111 ECONNREFUSED"),
            "source_unavailable",
            "is a Kafka broker running there",
        ),
        (kafka.errors.SaslAuthenticationFailedError("invalid credentials"), "login_failed", "sasl"),
        (kafka.errors.UnsupportedSaslMechanismError("no"), "login_failed", "sasl"),
        (kafka.errors.KafkaConnectionError("[SSL: CERTIFICATE_VERIFY_FAILED] mismatch"), "tls_failed", "check ca_file"),
        (kafka.errors.KafkaConnectionError("[SSL: TLSV13_ALERT_CERTIFICATE_REQUIRED]"), "tls_failed", "check key_file"),
        (kafka.errors.KafkaConnectionError("[SSL: SSLV3_ALERT_BAD_CERTIFICATE]"), "tls_failed", "check key_file"),
        (kafka.errors.KafkaConnectionError("[SSL: TLSV1_ALERT_UNKNOWN_CA]"), "tls_failed", "check key_file"),
    ],
)
def test_unreachable_cluster_has_the_code_of_its_reason(reason, code, hint):
    error = unreachable("connecting failed", reason)
    assert (error.code, error.disposition) == (code, Disposition.RETRY)
    assert hint in (error.hint or "")
    assert error.message.startswith("connecting failed" if reason is None else "connecting failed: ")


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        (kafka.errors.KafkaConnectionError("111 ECONNREFUSED"), "connection refused"),
        (kafka.errors.KafkaConnectionError("[SSL: TLSV1_ALERT_UNKNOWN_CA]"), "[SSL: TLSV1_ALERT_UNKNOWN_CA]"),
        (kafka.errors.KafkaTimeoutError("Unable to bootstrap from ['k:1']"), "no answer in time"),
        (kafka.errors.RequestTimedOutError(), "no answer in time"),
        (kafka.errors.KafkaConnectionError("Connection timed out"), "no answer in time"),
    ],
)
def test_reason_of_an_unreachable_cluster_is_in_words(reason, words):
    assert unreachable("connecting failed", reason).message == f"connecting failed: {words}"
