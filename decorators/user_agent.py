"""Parse a user agent into browser, system and device."""

from functools import cache, lru_cache
from typing import ClassVar

from ua_parser import BestAvailableResolver, Domain, Resolver, load_lazy_builtins

from ingest.api import Decorator, Event, Example, Settings, option

_MAX_AGENTS = 10_000  # cached: a few thousand make most of a site's traffic, and each takes less than 2 KiB
_MAX_AGENT_BYTES = 1_024  # that are parsed: real agents are shorter, and the time grows with the length
_PARTS = ("browser", "browser_version", "os", "os_version", "device", "device_brand", "device_model")


class UserAgentSettings(Settings):
    """Options of the user_agent decorator."""

    other_names: ClassVar[None] = None

    source: str | None = option("Attribute to read; the body if left out.", default=None, example="user_agent")
    prefix: str = option(
        "Put before browser, browser_version, os, os_version, device, device_brand and device_model.",
        default="",
        example="2hb_ua:",
    )

    def sets(self) -> frozenset[str]:
        """The attributes of the parts."""
        return frozenset(self.prefix + part for part in _PARTS)


class UserAgent(Decorator[UserAgentSettings]):
    """
    Set attributes from a user agent: browser, system and device.

    Parts that are missing or unknown set nothing. Programs and robots also have a browser name, and robots the device
    `Spider`. Versions have as many parts as the user agent gives, as in `17.1`. Bytes that are not UTF-8 are read as
    \ufffd, the replacement character.

    The first parse of an agent takes one or two milliseconds, so the results of the last 10,000 agents are cached. The
    package `ua-parser-rs`, if installed, is used. Only the first 1,024 bytes of an agent are parsed.

    Source: own design; the regular expressions are those of the ua-parser project (uap-core).
    """

    kind = "user_agent"
    examples = (
        Example(
            "a phone",
            settings="{source: user_agent, prefix: '2hb_ua:'}",
            attributes={
                "user_agent": "Mozilla/5.0 (iPhone; CPU iPhone OS 17_1 like Mac OS X) AppleWebKit/605.1.15 "
                "(KHTML, like Gecko) Version/17.1 Mobile/15E148 Safari/604.1"
            },
            after={
                "2hb_ua:browser": "Mobile Safari",
                "2hb_ua:browser_version": "17.1",
                "2hb_ua:os": "iOS",
                "2hb_ua:os_version": "17.1",
                "2hb_ua:device": "iPhone",
                "2hb_ua:device_brand": "Apple",
                "2hb_ua:device_model": "iPhone",
            },
        ),
        Example("a program", body="curl/8.4.0", after={"browser": "curl", "browser_version": "8.4.0"}),
        Example("an unknown agent", body="-"),
        Example("an absent attribute", settings="{source: user_agent}", error="no_attribute"),
    )

    def __init__(self, settings: UserAgentSettings) -> None:
        super().__init__(settings)
        self._source = settings.source
        self._attributes = lru_cache(_MAX_AGENTS)(self._parsed)
        self._resolve = resolver()

    def decorate(self, event: Event) -> bool:
        """Set the attributes."""
        agent = event.text_of(self._source, "to read a user agent from")
        event.update(self._attributes(agent[:_MAX_AGENT_BYTES]))
        return True

    def _parsed(self, agent: bytes) -> dict[str, bytes]:
        # no lone surrogates: ua-parser-rs and re2 accept only text that can be encoded as UTF-8
        found = self._resolve(agent.decode("utf-8", "replace"), Domain.ALL)
        parts: dict[str, str | None] = {}
        if (browser := found.user_agent) is not None:
            parts["browser"] = browser.family
            parts["browser_version"] = _version(browser.major, browser.minor, browser.patch, browser.patch_minor)
        if (system := found.os) is not None:
            parts["os"] = system.family
            parts["os_version"] = _version(system.major, system.minor, system.patch, system.patch_minor)
        if (device := found.device) is not None:
            parts |= {"device": device.family, "device_brand": device.brand, "device_model": device.model}
        prefix = self.settings.prefix
        return {prefix + name: part.encode() for name, part in parts.items() if part}


@cache
def resolver() -> Resolver:
    """The resolver of this process: it compiles over a thousand regular expressions, each at its first use."""
    return BestAvailableResolver(load_lazy_builtins())


def _version(*parts: str | None) -> str:
    """The version of its parts, up to the first missing one."""
    known = parts[: parts.index(None)] if None in parts else parts
    return ".".join(part for part in known if part)
