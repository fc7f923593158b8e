#!/bin/sh
# check_library.sh exports|needed|globals FILE [NODE] - looks into the built library.
#
#   exports   the shared library shows relmc_* with the symbol version NODE, and
#             nothing else
#   needed    it asks for libc and libm and nothing else
#   globals   the static library has no variable that can change; but one of each
#             thread in bridgestan.c: Stan's print hook gets a text and no context
set -eu
export LC_ALL=C

what=$1
file=$2
[ -s "$file" ] || {
    echo "check_library: no file $file"
    exit 1
}

case $what in
exports)
    node=${3:?exports needs the symbol version}
    shown=$(nm -D --defined-only "$file" | awk '$2 != "A" {print $NF}')
    strange=$(echo "$shown" | grep -v "^relmc_[a-z0-9_]*@@$node\$" || true)
    message="exported, but not as relmc_...@@$node:"
    [ -n "$shown" ] || strange="(nothing is exported at all)"
    ;;
needed)
    # libpthread, libdl: before glibc 2.34.
    strange=$(readelf -dW "$file" |
        sed -n 's/.*(NEEDED).*\[\(.*\)\].*/\1/p' |
        grep -vE '^(libc|libm|libpthread|libdl|ld-linux[a-z0-9-]*|ld64)\.so(\.[0-9]+)*$' ||
        true)
    message="needed beside libc and libm:"
    ;;
globals)
    # A writable section with something in it.  .data.rel.ro holds constants
    # with addresses in them: written by the loader, then read-only.
    sections=$(readelf -SW "$file" | awk '
        /^File: / { file = $2 }
        /^ *\[ *[0-9]+\]/ {
            sub(/^ *\[ *[0-9]+\] */, "")
            name = $1; size = $5; flags = $7
            if (flags ~ /W/ && flags ~ /A/ && size !~ /^0+$/ &&
                name !~ /^\.data\.rel\.ro/) {
                print file, name
            }
        }')
    common=$(readelf -sW "$file" 2>/dev/null | awk '
        /^File: / { file = $2 } $7 == "COM" { print file, $8, "(common)" }')
    strange=$(printf '%s\n%s\n' "$sections" "$common" |
        sed '/^$/d; /(bridgestan\.c\.o) \.tbss$/d')
    message="variables that can change:"
    if [ -n "$strange" ]; then
        strange="$strange
$(objdump -t "$file" | awk '
    /:     file format/ { file = $1 }
    / O / && $0 ~ /\.(data|bss|tdata|tbss)/ && $0 !~ /\.data\.rel\.ro/ {
        print file, $NF
    }')"
    fi
    ;;
*)
    echo "usage: check_library.sh exports|needed|globals FILE [NODE]" >&2
    exit 2
    ;;
esac

if [ -n "$strange" ]; then
    echo "$file: $message"
    echo "$strange"
    exit 1
fi
