"""Files for TLS, SASL and Kerberos: what `validate` says about missing ones."""

from pathlib import Path

import pytest

from ingest.catalog import Catalog
from ingest.config import load
from ingest.config.model import Configuration
from ingest.doctor.pipelines.local_files import warnings_of

FILE = """
version: 1
service: {http: {listen: "127.0.0.1:0", tls: {certificate: CERTIFICATE, key: ./missing/http.key}}}
stores:
  logs:
    hbase:
      bootstrap_servers: "h1:16000"
      security: {tls: {ca_file: ./missing/hbase-ca.pem, key_file: CERTIFICATE}}
pipelines:
  p:
    source:
      kafka:
        brokers: "k1:9092"
        topics: [t]
        security:
          tls: {ca_file: ./missing/kafka-ca.pem}
          sasl: {mechanism: gssapi, principal: "ingest/h1@EXAMPLE.ORG", keytab: /missing/ingest.keytab}
    decorators: [{value: {attribute: 2hb_, value: "%{offset}"}}]
    sinks: [{attr2hbase: {table: events, write_body: "f:body"}}]
"""


@pytest.fixture
def configuration(tmp_path: Path) -> Configuration:
    existing = tmp_path / "existing.pem"
    existing.write_text("")
    existing.chmod(0o600)
    file = tmp_path / "p.yaml"
    file.write_text(FILE.replace("CERTIFICATE", str(existing)))
    return load(str(file), env={}, lookup=Catalog())


def test_each_missing_file_is_a_warning_at_its_place(configuration):
    found = sorted(warnings_of(configuration), key=lambda each: each.location)
    assert [each.message.removesuffix(" on this machine: No such file or directory") for each in found] == [
        'cannot read "./missing/http.key"',
        'cannot read "./missing/hbase-ca.pem"',
        'cannot read "./missing/kafka-ca.pem"',
        'cannot read "/missing/ingest.keytab"',
    ]
    assert [each.location.line for each in found] == [3, 8, 16, 17]
    assert "relative to the current folder" in found[0].hint
    assert "relative" not in found[3].hint
