#!/bin/sh
# readme.sh TOOL README - the example of the tool prints what README.md shows, but for
# times and the order of the two streams.
set -eu
. "$(dirname "$0")/support.sh"
page=$2

sed -n '/^\$ relmc sample banana/,/^```$/p' "$page" | sed '$d' >block
words=$(sed -n '1s/^\$ relmc //p' block)
[ "$words" ] || fail 'README.md has no example of sample'
sed 1d block | grep -v ' draws in ' | sort >expected
# shellcheck disable=SC2086 # words
run 0 $words
cat out err | grep -v ' draws in ' | sort >got
diff expected got || fail 'README.md shows another output'
ok 'the first example'
