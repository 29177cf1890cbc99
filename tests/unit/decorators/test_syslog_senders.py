"""Syslog as senders write it: times, hosts and structured data that RFC 3164 and RFC 5424 do not have."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decorators.syslog import Syslog
from decorators.syslog.messages import FILE, PLAIN, PLAIN_LINE, RFC3164
from ingest.api import DecorateError
from ingest.testing.events import event_of, settings_of

NEAR = int(datetime(2026, 11, 21, tzinfo=UTC).timestamp()) * 1000
SYNCED, COUNTER = "data.timeQuality.isSynced", "data.meta.sequenceId"


def ms(*parts):
    return int(datetime(*parts, tzinfo=UTC).timestamp() * 1000)


AT = ms(2026, 11, 20, 8, 15, 1)
AT_115 = AT + 115
IN_1987 = ms(1987, 8, 24, 5, 34)


def read(body, settings="{}", near_ms=NEAR):
    event = event_of(body, timestamp_ms=near_ms)
    assert Syslog(settings_of(Syslog.settings_class(), settings)).decorate(event) is True
    found = {name: value.decode() for name, value in event.attributes.items()}
    for name in ("facility", "severity", "time"):
        found.pop(name, None)
    return found, event.timestamp_ms


@pytest.mark.parametrize(
    ("body", "expected", "time"),
    [
        # rsyslog's RSYSLOG_ForwardFormat, VMware ESXi, Docker, proxies
        ("<13>2026-11-20T09:15:01.115+01:00 web1 app[7]: x", {"host": "web1", "app": "app", "pid": "7"}, AT_115),
        ("<14>2026-11-20T08:15:01.115Z esx1.test vmkernel: x", {"host": "esx1.test", "app": "vmkernel"}, AT_115),
        ("<27>2026-11-20T08:15:01Z 1f0a9b web/app.1[12]: x", {"host": "1f0a9b", "app": "web/app.1", "pid": "12"}, AT),
        ("<134>2026-11-20 08:15:01 px1 nss: x", {"host": "px1", "app": "nss"}, AT),
        ("<134>2026-11-20 08:15:01,115 px1 nss: x", {"host": "px1", "app": "nss"}, AT_115),
        ("<134>2026-11-20 09:15:01 +01:00 px1 nss: x", {"host": "px1", "app": "nss"}, AT),
        ("<13>2026-11-20T08:15:01.115000999Z su: x", {"app": "su"}, AT_115),
        ("<13>2026-11-20T03:15:01.115-0500 web1 x", {"host": "web1"}, AT_115),
        # a fraction, an unpadded day, a year, a zone, a name of the day, capitals
        ("<13>Nov 20 08:15:01.115 web1 app: x", {"host": "web1", "app": "app"}, AT_115),
        ("<13>Nov 20 08:15:01.115999 web1 app: x", {"host": "web1", "app": "app"}, AT_115),
        ("<181> Sep 8 18:11:57 ISE-1 x", {"host": "ISE-1"}, ms(2026, 9, 8, 18, 11, 57)),
        ("<181>Sep  8 18:11:57 ise2 CISE: x", {"host": "ise2", "app": "CISE"}, ms(2026, 9, 8, 18, 11, 57)),
        ("<165>Nov 20 08:15:01.115 2026 r1 mgd[41]: x", {"host": "r1", "app": "mgd", "pid": "41"}, AT_115),
        ("<189>Nov 20 08:15:01 2024 h3c x", {"host": "h3c"}, ms(2024, 11, 20, 8, 15, 1)),
        ("<189>NOV 20 08:15:01 10.1.1.1-1 TRAPMGR[7]: x", {"host": "10.1.1.1-1", "app": "TRAPMGR", "pid": "7"}, AT),
        ("<13>Fri Nov 20 08:15:01 2026 web1 x", {"host": "web1"}, AT),
        ("<13>Nov 20 09:15:01 +01:00 web1 app: x", {"host": "web1", "app": "app"}, AT),
        ("<13>Nov 20 08:15:01 GMT web1 app: x", {"host": "web1", "app": "app"}, AT),
        ("<13>Nov 20 08:15:01 CEST web1 x", {"host": "web1"}, AT),
        ("<13>Nov 20 08:15:01 Z 192.0.2.5 x", {"host": "192.0.2.5"}, AT),
        # Cisco IOS and IOS XE
        ("<189>83: *Nov 20 08:15:01: %A-5-B: x", {COUNTER: "83", SYNCED: "0"}, AT),
        ("<189>88: .Nov 20 2026 08:15:01.115 UTC: %A-5-B: x", {COUNTER: "88", SYNCED: "0"}, AT_115),
        ("<190>1550: r1: Nov 20 2026 08:15:01.115 UTC: %A-6-B: x", {COUNTER: "1550", "host": "r1"}, AT_115),
        ("<188>179: r1: Nov 20 08:15:01.115 NewYork: %A-4-B: x", {COUNTER: "179", "host": "r1"}, AT_115),
        ("<190>421: 417: Nov 20 08:15:01: %A-6-B: x", {COUNTER: "421"}, AT),
        ("<45>91: r-02: 008944: Nov 20 08:15:01.115: %A-5-B: x", {COUNTER: "91", "host": "r-02"}, AT_115),
        ("<189>: r1.example.com: Nov 20 08:15:01: %A-5-B: x", {"host": "r1.example.com"}, AT),
        ("<189>7: 2001:db8::1: Nov 20 08:15:01: %A-5-B: x", {COUNTER: "7", "host": "2001:db8::1"}, AT),
        # Cisco IOS XR, NX-OS, a wireless controller
        (
            "<189>42: RP/0/RSP0/CPU0:Nov 20 08:15:01.115 UTC: ifmgr[204]: %A-3-B : x",
            {COUNTER: "42", "app": "ifmgr", "pid": "204"},
            AT_115,
        ),
        ("<189>42: xr1 RP/0/0/CPU0:Nov 20 08:15:01.115 : x", {COUNTER: "42", "host": "xr1"}, AT_115),
        ("<187>: 2026 Nov 20 08:15:01 GMT: %A-3-B: x", {}, AT),
        ("<189>sw2: 2026 Nov 20 08:15:01.115 UTC: %A-5-B: x", {"host": "sw2"}, AT_115),
        ("<189>sw2 : 2026 Nov 20 08:15:01 CET: %A-5-B: x", {"host": "sw2"}, AT),
        ("<190>2026 Nov 20 08:15:01 sw3 %A-6-B: x", {"host": "sw3"}, AT),
        ("<189>Nov 20 08:15:01 sw1: %A-5-B: x", {"host": "sw1"}, AT),
        ("<188>wlc1: *spamApTask0: Nov 20 08:15:01.115: %A-4-B: x", {"host": "wlc1"}, AT_115),
        # Cisco ASA and FTD
        ("<166>Nov 20 2026 08:15:01: %ASA-6-3: x", {}, AT),
        ("<166>:Nov 20 2026 08:15:01 UTC: %ASA-session-6-3: x", {}, AT),
        ("<166>Nov 20 2026 08:15:01 fw1 : %ASA-6-3: x", {"host": "fw1"}, AT),
        ("<166>Nov 20 2026 08:15:01 localhost: %ASA-6-3: x", {"host": "localhost"}, AT),
        ("<166>Nov 20 2026 08:15:01 EST: %ASA-6-3: x", {}, AT),
        ("<166>2026-11-20T08:15:01Z firepower : %FTD-6-1: x", {"host": "firepower"}, AT),
        ("<113>2026-11-20T08:15:01Z firepower  %FTD-1-4: x", {"host": "firepower"}, AT),
        ("<164>2026-11-20T08:15:01Z : %FTD-4-1: x", {}, AT),
        # Huawei and Cisco Meraki
        ("<188>Nov 20 2026 08:15:01 HUAWEI %%01HWCM/5/EXIT(l)[1]:x", {"host": "HUAWEI"}, AT),
        ("<188>Nov 20 2026 10:15:01+02:00 core-1 %%01IFNET/4/UP: x", {"host": "core-1"}, AT),
        ("<188>2026-11-20 08:15:01 ac1 %%01WLAN/4/STA: x", {"host": "ac1"}, AT),
        ("<188>Nov 20 2026 08:15:01.115 DST ac1 %%01X: x", {"host": "ac1"}, AT_115),
        ("<134>1 1795162501.115705328 MX84 urls src=192.0.2.1 dst=192.0.2.2 x", {"host": "MX84"}, AT_115),
        # no host
        ("<134>Nov 20 08:15:01 filterlog[12]: x", {"app": "filterlog", "pid": "12"}, AT),
        ("<13>Nov 20 08:15:01 vendor=Websense x", {}, AT),
        ('<13>Nov 20 08:15:01 {"a":1} x', {}, AT),
        ("<13>Nov 20 08:15:01 last message repeated 3 times x", {}, AT),
        ("<13>Nov 20 08:15:01 %LINK-I-Up: x", {}, AT),
        ("<13>Nov 20 08:15:01 Message forwarded from aix1: su[9]: x", {"host": "aix1", "app": "su", "pid": "9"}, AT),
        ("<13>Nov 20 08:15:01", {}, AT),
        # the examples of RFC 3164, 5.4; the order of date(1)
        ("<165>Aug 24 05:34:00 CST 1987 m myproc[10]: x", {"host": "m", "app": "myproc", "pid": "10"}, IN_1987),
        ("<0>1990 Oct 22 10:52:01 TZ-6 a.example.org x", {"host": "a.example.org"}, ms(1990, 10, 22, 10, 52, 1)),
        ("<13>Fri Nov 20 08:15:01 UTC 2026 web1 x", {"host": "web1"}, AT),
        # names of offsets (Cisco's `clock timezone GMT+1 1`), a summer time, H3C's fraction
        ("<13>Nov 20 16:15:01 UTC+8 web1 app[1]: x", {"host": "web1", "app": "app", "pid": "1"}, AT),
        ("<189>99: Nov 20 09:15:01.115 GMT+1: %A-5-B: x", {COUNTER: "99"}, AT_115),
        ("<189>99: Nov 20 08:15:01.115 MET-DST: %A-5-B: x", {COUNTER: "99"}, AT_115),
        ("<188>Nov 20 2026 09:15:01+01:00 DST AR1 %%01X: x", {"host": "AR1"}, AT),
        ("<188>Nov 20 08:15:01:115 2026 H3C %%10IFNET/3/PHY_UPDOWN: x", {"host": "H3C"}, AT_115),
        # Cisco UCM: a clock of 12 hours; a line card of a uBR; the codes of a wireless controller; Viptela
        ("<189>8103: Nov 20 2026 08:15:01 AM.115 UTC :  %UC-5-E: x", {COUNTER: "8103"}, AT_115),
        ("<189>8103: Nov 20 2026 08:15:01 PM.115 UTC : %UC-5-E: x", {COUNTER: "8103"}, AT_115 + 12 * 3_600_000),
        ("<187>34: CLC 6/0: Nov 20 08:15:01.115 EST: %PKI-3-X: x", {COUNTER: "34"}, AT_115),
        ("<188>wlc1: *apfTask: Nov 20 08:15:01.115: #DTL-3-OSARP_DEL: x", {"host": "wlc1"}, AT_115),
        ("<190>Nov 20 08:15:01 SYSMGR[919]: %Viptela-v1-6-X: x", {"app": "SYSMGR", "pid": "919"}, AT),
        # Cisco Meeting Server: facility and severity by name; a Sophos UTM
        ("<13>Nov 20 08:15:01 user.info cms1 authp: x", {"host": "cms1", "app": "authp"}, AT),
        ("<30>2026:11:20-08:15:01 utm1 ulogd[77]: x", {"host": "utm1", "app": "ulogd", "pid": "77"}, AT),
        # NetScaler and NetApp: brackets in place of the host
        ("<14>Nov 20 08:15:01 [289]: AAA Message : x", {}, AT),
        ("<14>Nov 20 08:15:01 [c1:secd.conn.auth.failure:error]: x", {}, AT),
        # a header of RFC 5424 that ends after the host
        ("<14>1 2026-11-20T08:15:01Z web1 x", {"host": "web1"}, AT),
    ],
)  # fmt: skip
def test_header_of_a_sender(body, expected, time):
    found, timestamp_ms = read(body)
    message = found.pop("message")
    assert (found, timestamp_ms) == (expected, time)
    assert body.endswith(message)
    assert message == "x" or message[:1] in {"%", "l", "v", "{", "u", "", "1", "#", "["}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("<164>Nov 20 08:15:01 fw2 : %FTD-4-106023: Deny udp", "%FTD-4-106023: Deny udp"),
        ("<189>Nov 20 08:15:01 sw1 %SYS-5-CONFIG_I: vty0", "%SYS-5-CONFIG_I: vty0"),
        ("<189>Nov 20 08:15:01 r1 82: Nov 20 08:15:00.872: %SYS-5-X: y", "82: Nov 20 08:15:00.872: %SYS-5-X: y"),
        ('<13>Nov 20 08:15:01 web1 {"a":1}', '{"a":1}'),
        ("<13>Nov 20 08:15:01 web1 -- MARK --", "-- MARK --"),
        ("<134>Nov 20 08:15:01 CEF:0|V|P P|1|600|User|3|src=192.0.2.1", "CEF:0|V|P P|1|600|User|3|src=192.0.2.1"),
        ("<134>Nov 20 08:15:01 dsm1 CEF:0|V|P P|1|6|User|3|a=b", "CEF:0|V|P P|1|6|User|3|a=b"),
        ("<189>Nov 20 08:15:01 fg1 CEF: 0|Fortinet|Fortigate|v6.0|x|y|3|", "CEF: 0|Fortinet|Fortigate|v6.0|x|y|3|"),
        ("<134>Nov 20 08:15:01.115 h1 LEEF:2.0|V|P|1|E|^|src=192.0.2.0^x", "LEEF:2.0|V|P|1|E|^|src=192.0.2.0^x"),
        ("<14>Nov 20 08:15:01 pa 1,2026/11/20 08:15:01,00", "1,2026/11/20 08:15:01,00"),
    ],
)
def test_text_that_is_no_app_stays_in_the_message(body, message):
    found, _ = read(body)
    assert ("app" in found, found["message"]) == (False, message)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("<38>User logged into the appliance. User: bob.", "User logged into the appliance. User: bob."),
        ('<189>date=2026-11-20 time=08:15:01 devname="FG"', 'date=2026-11-20 time=08:15:01 devname="FG"'),
        ('<134>{"count": 1}', '{"count": 1}'),
        ("<166>%ASA-6-302013: Built outbound", "%ASA-6-302013: Built outbound"),
        ("<14>disk1: 5% used", "disk1: 5% used"),
        ("<13>2 disks failed", "2 disks failed"),
        ("<13>", ""),
        ("30 <13>it works\n", "it works"),
    ],
)
def test_priority_and_text_only(body, message):
    assert read(body) == ({"message": message}, NEAR)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("<189>82: 00:20:10: %SYS-5-CONFIG_I: x", {COUNTER: "82", "message": "00:20:10: %SYS-5-CONFIG_I: x"}),
        ("<165>74: R1: 0074: 2y10w: %A-5-B: x", {COUNTER: "74", "host": "R1", "message": "2y10w: %A-5-B: x"}),
        ("<190>12: some-host: %SYS-5-RESTART: x", {COUNTER: "12", "host": "some-host", "message": "%SYS-5-RESTART: x"}),
        ("<166>fw1 : %ASA-6-302013: x", {"host": "fw1", "message": "%ASA-6-302013: x"}),
    ],
)
def test_cisco_without_a_time(body, expected):
    """IOS with `no service timestamps` or `service timestamps uptime`; syslog-ng 4.8's cisco-parser reads the host."""
    assert read(body) == (expected, NEAR)


HEAD = "<134>1 2026-11-20T08:15:01Z h a 7 -"


@pytest.mark.parametrize(
    ("rest", "expected"),
    [
        (" at=info method=GET", {"message": "at=info method=GET"}),
        (" - at=info", {"message": "at=info"}),
        ("  at=info", {"message": "at=info"}),
        (" -", {}),
        ("", {}),
        (' [a@1 b="c" ] x', {"data.a@1.b": "c", "message": "x"}),
        (' [ a@1 b="c"  d="e" ][f@1] x', {"data.a@1.b": "c", "data.a@1.d": "e", "message": "x"}),
        (' [a@1 b="c"]', {"data.a@1.b": "c"}),
        (' [a@1 b="c"]x', {"data.a@1.b": "c", "message": "x"}),
        (' [a@1 b="c]d"] x', {"data.a@1.b": "c]d", "message": "x"}),
        (' [a@1 b="c"][d: e] x', {"data.a@1.b": "c", "message": "[d: e] x"}),
        (' [action:"Accept"; flags:"4"; policy="a\\]"]', {"message": '[action:"Accept"; flags:"4"; policy="a\\]"]'}),
        (' [a@1 b="c] x', {"message": '[a@1 b="c] x'}),
        (" [] x", {"message": "[] x"}),
        (' {"a": [1]}', {"message": '{"a": [1]}'}),
    ],
)
def test_structured_data_that_is_not_exact(rest, expected):
    for form in ("auto", "rfc5424"):
        assert read(HEAD + rest, f"{{form: {form}}}") == ({"host": "h", "app": "a", "pid": "7"} | expected, AT)


@pytest.mark.parametrize(
    ("rest", "expected"),
    [
        # CyberArk, QRadar's LEEF, Prisma SD-WAN, Symantec DLP, JSON of applications: the header ends after the host
        ('CEF:0|C-A|Vault|9.20|7|Logon|5|act="Logon" suser=ann fname= dvc=', {}),
        ("LEEF:1.0|Palo Alto Networks|PAN-OS Syslog Integration|8.1.8|allow|cat=TRAFFIC", {}),
        ('Name="N/A" User="N/A" File="x y" Blocked="Passed"', {}),
        ('app {"a": 1, "b": 2, "c": 3}', {}),
        ("a=1 b=2 c=3", {}),
        ('log: HOST="ion7" TIME="10:44" MSG="x y"', {"app": "log", "message": 'HOST="ion7" TIME="10:44" MSG="x y"'}),
        # with structured data each word is of the header, as RFC 5424, 6 says
        ('KES|11.0 - X=1 [e@1 p="x"] y', {"app": "KES|11.0", "msgid": "X=1", "data.e@1.p": "x", "message": "y"}),
        ("PulseSecure: - - - ive | x", {"app": "PulseSecure:", "message": "ive | x"}),
    ],
)
def test_words_of_a_message_are_not_of_the_header_of_rfc5424(rest, expected):
    expected = {"host": "h", "message": rest} | expected
    for time in ("2026-11-20T08:15:01Z", "2026-11-20 08:15:01"):
        assert read(f"<5>1 {time} h {rest}") == (expected, AT)


def test_empty_fields_of_rfc5424_are_absent():
    assert read("<134>1 2026-11-20T08:15:01Z  a  - - x") == ({"app": "a", "message": "x"}, AT)


def test_time_of_rfc5424_without_a_zone_uses_the_option():
    assert read("<1>1 2026-11-20T09:15:01 h a - - - x", "{zone: Europe/Berlin}")[1] == AT


@pytest.mark.parametrize(
    "body",
    [
        "61 <158>1 2026-11-20T08:15:01+00:00 h a - - - x",
        "31 <158>Nov 20 08:15:01 h a: x",
        "40 <158>2026-11-20T08:15:01Z h a: x\r\n",
        "<158>Nov 20 08:15:01 h a: x\0",
    ],
)
def test_frames_of_rfc6587(body):
    assert read(body) == ({"host": "h", "app": "a", "message": "x"}, AT)


@pytest.mark.parametrize(
    ("settings", "body", "message"),
    [
        ("{}", "it works", "it has no <PRI> at column 1"),
        ("{}", "<1234>x", "it has no <PRI> at column 1"),
        ("{}", "<192>x", "<192> at column 1 is not a priority"),
        ("{}", "7 <192>x", "<192> at column 3 is not a priority"),
        ("{}", "<13>Feb 30 10:00:00 h m", '"Feb 30 10:00:00" at column 5'),
        ("{}", "<13>Okt 20 10:00:00 h m", '"Okt 20 10:00:00" at column 5'),
        ("{}", "<189>12: *Nov 31 10:00:00: %A-5-B: x", '"Nov 31 10:00:00" at column 11'),
        ("{}", "<13>2026-13-01 10:00:00 h m", '"2026-13-01 10:00:00" at column 5'),
        ("{}", "<13>1 2026-13-01T10:00:00Z h a p m - x", '"2026-13-01T10:00:00Z" at column 7'),
        ("{form: rfc5424}", "<13>Nov 20 10:00:00 h m", "no version 1 at column 5"),
        ("{form: rfc5424}", "<13>1 2026-11-20T08:15:01Z h a", "no APP-NAME at column 30"),
        ("{form: rfc5424}", "x", "no <PRI> at column 1"),
        ("{form: rfc3164}", HEAD + " - x", "it is one of RFC 5424"),
        ("{form: file}", "web1 x", "no time at column 1"),
    ],
)
def test_an_error_names_its_column(settings, body, message):
    with pytest.raises(DecorateError) as caught:
        read(body, settings)
    assert message in str(caught.value)


def test_only_lines_of_a_file_have_no_priority():
    line = "2026-11-20 08:15:01.115 UTC fw2 : %FTD-4-1: x"
    assert read(line, "{form: file}") == ({"host": "fw2", "message": "%FTD-4-1: x"}, AT_115)
    with pytest.raises(DecorateError) as caught:
        read(line)
    assert caught.value.hint == "for lines of a file, set `form: file`"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        # BusyBox 1.36's syslogd (Alpine), OpenWrt's logread
        ("Nov 20 08:15:01 alpine daemon.warn dnsmasq[77]: x", ("daemon", "warning", "alpine", "dnsmasq")),
        ("Nov 20 08:15:01 alpine authpriv.info sshd[77]: x", ("authpriv", "info", "alpine", "sshd")),
        ("Fri Nov 20 08:15:01 2026 daemon.err dnsmasq[77]: x", ("daemon", "err", None, "dnsmasq")),
        ("Fri Nov 20 08:15:01 2026 user.panic root: x", ("user", "emerg", None, "root")),
        ("Nov 20 08:15:01 mail.info.example su: x", (None, None, "mail.info.example", "su")),
    ],
)
def test_a_line_of_a_file_may_name_facility_and_severity(line, expected):
    event = event_of(line, timestamp_ms=NEAR)
    Syslog(settings_of(Syslog.settings_class(), "{form: file}")).decorate(event)
    found = [event.attributes.get(name) for name in ("facility", "severity", "host", "app")]
    assert tuple(value and value.decode() for value in found) == expected
    assert event.attributes["message"] == b"x"


@pytest.mark.parametrize(
    ("near", "expected"),
    [
        ((2025, 3, 1), (2024, 2, 29)),
        ((2025, 12, 31), (2024, 2, 29)),
        ((2026, 3, 2), (2028, 2, 29)),
        ((2027, 1, 1), (2028, 2, 29)),
        ((2026, 2, 28), (2024, 2, 29)),
        ((2099, 6, 1), (2096, 2, 29)),
        ((1900, 1, 1), (1896, 2, 29)),
        ((1900, 12, 1), (1904, 2, 29)),
    ],
)
def test_29_february_is_in_the_nearest_leap_year(near, expected):
    assert read("<13>Feb 29 00:00:00 h x", near_ms=ms(*near))[1] == ms(*expected)


@pytest.mark.parametrize(
    ("line", "near", "expected", "rest"),
    [
        (
            "Feb 29 00:09:01 mail-2 CRON[27153]: (root) CMD (  [ -x /usr/lib/php/sessionclean ])",
            (2021, 3, 8, 11, 14),
            (2020, 2, 29, 0, 9, 1),
            {"host": "mail-2", "app": "CRON", "pid": "27153"},
        ),
        (
            "Feb 29 00:00:01 hostname dhcpd[12345]: DHCPREQUEST for 192.0.2.1 from af:fe:af:fe:af:fe via eth0",
            (2023, 11, 3),
            (2024, 2, 29, 0, 0, 1),
            {"host": "hostname", "app": "dhcpd", "pid": "12345"},
        ),
        (
            "Feb 29 13:57:14.324429 arc-switch1029 INFO ansible-command: Invoked with x",
            (2020, 3, 2),
            (2020, 2, 29, 13, 57, 14, 324000),
            {"host": "arc-switch1029"},
        ),
        (
            "Feb 29 00:30:00 +02:00 ip-192-0-2-1 aws[4321]: 2020-02-29 00:00:02,402 - WARNING",
            (2024, 2, 28, 22, 31),
            (2024, 2, 28, 22, 30),
            {"host": "ip-192-0-2-1", "app": "aws", "pid": "4321"},
        ),
    ],
)
def test_29_february_of_real_logs(line, near, expected, rest):
    """A server of mail, a DHCP server, a switch with SONiC, an agent with an offset."""
    found, timestamp_ms = read(line, "{form: file}", ms(*near))
    assert line.endswith(found.pop("message"))
    assert (found, timestamp_ms) == (rest, ms(*expected))


WORDS = st.text(st.sampled_from("abzAZ019._-/:[]% \tUTC"), max_size=12) | st.sampled_from(["CEF", "user.info b"])


@given(
    st.sampled_from(["web1 ", "UTC ", "2026 ", "last ", "a.b-c ", "user.info ", "GMT-3 ", "AM ", "AM.5 ", "UTC", ""]),
    WORDS,
    st.sampled_from([": ", "[7]: ", " ", ":", ": %A-1-B: "]),
)
def test_the_fast_expression_reads_what_the_general_one_reads(host, app, end):
    line = f"Nov 20 08:15:01 {host}{app}{end}x".encode()
    names = ("time", "host", "app", "pid", "message")
    for fast, general in (
        (PLAIN.fullmatch(b"<34>" + line), RFC3164.fullmatch(b"<34>" + line)),
        (PLAIN_LINE.fullmatch(line), FILE.fullmatch(line)),
    ):
        assert general is not None
        assert fast is None or general.group(*names) == fast.group(*names)


@pytest.mark.parametrize("rest", [b"web1 su[42]: x", b"su[42]: x", b"kernel: out of memory"])
def test_the_fast_expression_reads_what_most_daemons_write(rest):
    assert PLAIN.fullmatch(b"<34>Nov 20 08:15:01 " + rest)
    assert PLAIN_LINE.fullmatch(b"Nov 20 08:15:01 " + rest)
