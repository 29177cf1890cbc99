#!/usr/bin/env bash
# Builds the site of the documents into dist/site; with a version, commits it to the branch gh-pages of this clone,
# beside the other versions, as the latest one. The programs are installed into data/site, checked by hash.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

export NO_MKDOCS_2_WARNING=1  # an announcement, printed in each run
[ -x data/site/bin/python ] || .venv/bin/uv venv --quiet data/site
.venv/bin/uv pip sync --quiet --python data/site/bin/python --require-hashes deploy/site/requirements.lock
if [ $# -eq 0 ]; then
    data/site/bin/mkdocs --quiet build -f deploy/site/mkdocs.yml
    echo "dist/site/index.html"
else
    PATH=$PWD/data/site/bin:$PATH mike deploy -F deploy/site/mkdocs.yml --update-aliases "$1" latest
    PATH=$PWD/data/site/bin:$PATH mike set-default -F deploy/site/mkdocs.yml latest
fi
