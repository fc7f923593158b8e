#!/bin/sh
# release.sh X.Y.Z [--no-tests] - checks a release and writes its archive.
#
# docs/releasing.md has what to do before and afterwards.  Nothing is tagged or pushed.
set -eu
cd "$(dirname "$0")/.."
export LC_ALL=C

version=${1:-}
tests=${2:-}
echo "$version" | grep -Eq '^[0-9]+\.[0-9]+\.[0-9]+$' || {
    echo "usage: scripts/release.sh X.Y.Z [--no-tests]" >&2
    exit 2
}

fail() {
    echo "release: $1" >&2
    exit 1
}

part() {
    sed -nE "s/^#define RELMC_VERSION_$1 +([0-9]+)\$/\1/p" include/relmc.h
}

today=$(date -u +%Y-%m-%d)
header=$(part MAJOR).$(part MINOR).$(part PATCH)
[ "$header" = "$version" ] || fail "include/relmc.h says $header, not $version"
grep -qxF "## [$version] - $today" CHANGELOG.md ||
    fail "CHANGELOG.md has no line '## [$version] - $today'"
grep -qxF "version: $version" CITATION.cff ||
    fail "CITATION.cff has no line 'version: $version'"
grep -qxF "date-released: $today" CITATION.cff ||
    fail "CITATION.cff has no line 'date-released: $today'"
[ -z "$(git tag -l "v$version")" ] || fail "there is a tag v$version already"
[ -z "$(git status --porcelain)" ] || fail "the work tree has changes"

scripts/lint.sh text names words size

abi=tests/abi/librelmc-$(part MAJOR).$(part MINOR).abi
if [ -f "$abi" ]; then
    scripts/abi.sh check
else
    scripts/abi.sh write
    fail "$abi is new: commit it, then run this again"
fi

name=relmc-$version
mkdir -p dist
git archive --format=tar.gz --prefix="$name/" -o "dist/$name.tar.gz" HEAD
if [ "$tests" != --no-tests ]; then
    room=$(mktemp -d)
    trap 'rm -rf "$room"' EXIT
    tar -xzf "dist/$name.tar.gz" -C "$room"
    make -C "$room/$name" check
fi
(cd dist && sha256sum "$name.tar.gz" >"$name.tar.gz.sha256")
cat "dist/$name.tar.gz.sha256"
cat <<MESSAGE
Ready.  Next:
    git tag -a v$version -m 'relmc $version'
    git push origin main v$version
MESSAGE
