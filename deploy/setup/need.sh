#!/usr/bin/env bash
# Checks that a program is installed. If it is missing, prints one line with the way to install it, and exits with 3.
#   need.sh python | java | jdk | maven
set -uo pipefail

missing() {
    echo "missing: $1" >&2
    exit 3
}

python_of() {
    for name in "${PYTHON:-python3}" python3.13 python3.12 python3.11; do
        if "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            command -v "$name"
            return
        fi
    done
    return 1
}

case "${1:-}" in
python)
    found=$(python_of) || missing "Python 3.11 or newer; get it: apt-get install python3 python3-venv (or choose another one: PYTHON=/path/to/python3 make setup)"
    "$found" -c 'import ensurepip, venv' 2>/dev/null || missing "the venv module of $found; get it: apt-get install python3-venv"
    echo "$found"
    ;;
java)
    java="${JAVA_HOME:+$JAVA_HOME/bin/}java"
    version=$("$java" -version 2>&1 | sed -nE 's/.* version "([0-9]+).*/\1/p' | head -n 1)
    [ -n "$version" ] || missing "Java 17 ($java does not run); get it: apt-get install openjdk-17-jre-headless"
    [ "$version" -ge 17 ] || missing "Java 17 ($java is version $version); get it: apt-get install openjdk-17-jre-headless, and set JAVA_HOME to it"
    ;;
jdk)
    modules=$("${JAVA_HOME:+$JAVA_HOME/bin/}java" --list-modules 2>/dev/null)
    [[ "$modules" == *jdk.compiler@* ]] ||
        missing "a JDK: tests run small Java programs from source; get it: apt-get install openjdk-17-jdk-headless"
    ;;
maven)
    mvn --version >/dev/null 2>&1 || missing "Maven, which fetches the jars of Kafka and HBase; get it: apt-get install maven"
    ;;
*)
    echo "usage: need.sh python|java|jdk|maven" >&2
    exit 2
    ;;
esac
