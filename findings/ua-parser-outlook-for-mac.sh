#!/usr/bin/env bash
# Outlook for Mac names its system as "Mac OS X Version 10.14.4 (Build 18E226)". The pattern of ua-parser-builtins 202610
# for it has dots that are not escaped, so it goes on to the build number and reads 18E226 as the version 18.2.6: each
# dot matches a digit or a letter. Apple's version is in the same text, and no other system has a version 18.2.6, so a
# report by version of macOS counts versions that do not exist.
#
# Packages: ua-parser==1.0.2 ua-parser-builtins==202610. Seen on 2026-11-29 with Python 3.11.
# Exits with 0 if it is still so, with 1 if it changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check ua-parser==1.0.2 ua-parser-builtins==202610
seen=$("$folder/venv/bin/python" - <<'PYTHON'
"""Print the system that ua-parser finds in the user agents of Outlook and of a browser on the same computer."""
from ua_parser import parse

outlook = "MacOutlook/16.24.0.190414 (Intelx64 Mac OS X Version 10.14.4 (Build 18E226))"
safari = (
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_14_4) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/12.1 "
    "Safari/605.1.15"
)
for name, text in (("Outlook", outlook), ("Safari", safari)):
    os = parse(text).os
    print(f"{name}: {os.family} {os.major}.{os.minor}.{os.patch}")
PYTHON
)
echo "$seen"
[ "$seen" = "Outlook: Mac OS X 18.2.6
Safari: Mac OS X 10.14.4" ]
