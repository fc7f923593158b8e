#!/bin/sh
# data.sh TOOL SHARED - relmc data describes files, finds and imports sets, and reports
# errors in bad ones.  SHARED may have published sets.
set -eu
shared=${2-}
case $shared in
'' | /*) ;;
*) shared=$PWD/$shared ;;
esac
. "$(dirname "$0")/support.sh"
HOME=$folder/home
export HOME
unset XDG_DATA_HOME XDG_CACHE_HOME
"$relmc" version >about
has_gzip() {
    grep -q '^gzip *zlib' about && command -v gzip >/dev/null 2>&1
}

# one_line TEXT...: stderr is one line with these texts.
one_line() {
    [ "$(wc -l <err)" -eq 1 ] || fail 'not one line'
    for text in "$@"; do
        says err "$text"
    done
    is_empty out
}

# ---- files ------------------------------------------------------------------

printf 'a,b,colour,y\n1,5,red,no\n2,5,blue,yes\n4,5,red,yes\n' >t.csv
run 0 data t.csv
says out 't.csv: CSV, 3 rows, 4 columns and a response'
says out 'response y: 2 classes: no (1), yes (2)'
says out 'colour=blue'
says out '1 column is constant'
grep -Eq '^a +1 +4 +2\.33333 +1\.52753' out || fail 'numbers of a'
grep -Eq '^b .* constant$' out || fail 'b is constant'
is_empty err
run 0 data t.csv --response a
says out 'response a: numbers from 1 to 4'
run 0 data t.csv --response 2 --task classes
says out 'response b: 1 class: 5 (3)'
run 2 data t.csv --response z
one_line 'has no column "z"'
printf 'a,b,a\n1,5,3\n2,5,4\n' >twins.csv
run 2 data twins.csv --response a
one_line 'twins.csv has two columns "a": give the number of one, 1 or 3'
run 0 data twins.csv --response 3
run 0 data twins.csv --response b
run 2 data t.csv --task strange
run 3 data t.csv --header no
one_line 't.csv:2: column 1: "1" is a number, but line 1 has text there'
if has_python; then
    run 0 data t.csv --json
    python3 - out <<'END' || fail 'data --json'
import json, sys
d = json.load(open(sys.argv[1]))
assert d["n_rows"] == 3 and d["n_columns"] == 4 and d["format"] == "CSV"
assert d["classes"] == [{"label": "no", "count": 1}, {"label": "yes", "count": 2}]
b = d["columns"][1]
assert b["name"] == "b" and b["is_constant"] is True and b["min"] == 5
END
fi
ok 'describes a table'

printf '\0\0\010\003\0\0\0\002\0\0\0\001\0\0\0\002\001\002\003\004' \
    >train-images-idx3-ubyte
printf '\0\0\010\001\0\0\0\002\007\001' >train-labels-idx1-ubyte
run 0 data train-images-idx3-ubyte
says out 'IDX, 2 rows, 2 columns'
says out '7 (1)'
mkdir elsewhere
cp train-images-idx3-ubyte elsewhere/images
run 3 data elsewhere/images
one_line 'the labels are missing: --labels FILE'
run 0 data elsewhere/images --labels train-labels-idx1-ubyte
if has_gzip; then
    gzip train-images-idx3-ubyte
    run 0 data train-images-idx3-ubyte.gz
    says out 'IDX, 2 rows'
    gzip train-labels-idx1-ubyte
    run 0 data train-images-idx3-ubyte.gz
    gzip -k t.csv
    run 0 data t.csv.gz
    says out 'CSV, 3 rows'
    head -c 50 t.csv.gz >cut.csv.gz
    run 3 data cut.csv.gz
    one_line 'cut.csv.gz: the gzip data end at byte 50' 'truncated'
fi
ok 'images with labels, gzip'

# ---- bad files --------------------------------------------------------------

run 4 data missing.csv
one_line 'no file and no data set "missing.csv"'
run 4 data pimaa
one_line 'did you mean "pima"?'
mkdir -p some.csv
run 4 data some.csv
one_line 'it is a folder'
run 4 data t.csv --labels nowhere.npy
one_line 'cannot read nowhere.npy'
: >empty.csv
run 3 data empty.csv
one_line 'empty.csv is empty'
printf 'a,b\n1,2\n3\n' >ragged.csv
run 3 data ragged.csv
one_line 'relmc data: ragged.csv:3: 1 fields, but the first line has 2'
printf 'a,b\n1,2\n3,4\noops,5\n' >text.csv
run 3 data text.csv
one_line 'text.csv:4: column a: "oops" is not a number'
printf 'a,b\n1,2\n3,nan\n' >nan.csv
run 3 data nan.csv
one_line 'nan.csv:3: column b: "nan" is not a finite number'
printf 'not an array' >bad.npy
run 3 data bad.npy
one_line 'bad.npy: wrong magic number: starts with 6e 6f 74 20'
printf '\0\0\010\003\0\0\0\002\0\0\0\001\0\0\0\002\001\002\003' >short
printf '\0\0\010\001\0\0\0\003\007\001\001' >three
printf '\0\0\010\001\0\0\0\002\007\001' >two
run 3 data short --labels two
one_line 'short ends after 19 of the 20 bytes that its header promises'
printf '\004' >>short
run 3 data short --labels three
one_line 'three has 3 labels, but there are 2 observations'
printf '\0\0\016\002\177\377\377\377\177\377\377\377' >huge
run 3 data huge --labels two
one_line 'huge: 2147483647 x 2147483647 numbers need 3.69e+10 GB of memory' \
    'GB are free'
chmod 000 t.csv
if ! cat t.csv >/dev/null 2>&1; then
    run 4 data t.csv
    one_line 'cannot read t.csv: Permission denied'
fi
ok 'bad files: one line each'

# ---- published sets, by name ------------------------------------------------

run 0 data
says out 'mnist     not here'
cp out list
run 0 data --list
cmp -s out list || fail '--list is what no argument does'
run 3 data pima
says err 'the data set pima is not here, and relmc downloads nothing'
says err 'then: relmc data pima --from pima.csv'
run 3 data mnist
says err 'train-images-idx3-ubyte.gz'
says err 'then: relmc data mnist --from FOLDER'
run 3 data mnist-test
says err 'the data set mnist is not here'
run 4 data pima --from nowhere
one_line 'there is no pima.csv (or .gz) in nowhere'
run 3 data mnist --from .
one_line 'in .'
run 2 data t.csv --from .
one_line '--from imports a set with a name'
printf 'a,b\n1,2\n' >pima.csv
run 3 data pima --from pima.csv --dir sets
one_line 'pima.csv is not the right pima.csv: its SHA-256 is'
run 3 data pima --from . --dir sets
[ ! -e sets/pima ] || fail 'something was left behind'
printf 'x' >plain
run 4 data pima --from pima.csv --dir plain
one_line 'cannot make the folder plain/pima'
mkdir -p own
cp pima.csv own
with "RELMC_DATA=$folder/own" 3 data pima
one_line 'is not the right pima.csv'
ok 'sets: missing, and not what they should be'

if [ -n "$shared" ] && [ -r "$shared/pima.csv" ]; then
    run 0 data pima --from "$shared/pima.csv"
    says out "ok    $HOME/.local/share/relmc/pima/pima.csv"
    run 0 data pima
    says out 'pima: 1 file, SHA-256 as it should be'
    [ "$(find home -type f | wc -l)" -eq 1 ] || fail 'more than one file'
    with "RELMC_DATA=$shared" 0 data --list
    says out "$shared  "
    run 0 data "$shared/pima.csv" --task classes
    says out '2 classes: 0 (500), 1 (268)'
    ok 'pima'
fi
if [ -n "$shared" ] && [ -r "$shared/mnist" ] && has_gzip; then
    run 0 data mnist --from "$shared/mnist" --dir sets
    says out 'mnist: 4 files, SHA-256 as it should be'
    [ "$(find sets -name '*-ubyte' | wc -l)" -eq 4 ] || fail 'four files'
    with "RELMC_DATA=$folder/sets" 0 data mnist-test
    says out '10000 rows, 784 columns'
    says out '0 (980), 1 (1135)'
    printf '\377' | dd of=sets/mnist/t10k-images-idx3-ubyte bs=1 seek=5000 \
        conv=notrunc 2>/dev/null
    with "RELMC_DATA=$folder/sets" 3 data mnist
    says err 'is not the right t10k-images-idx3-ubyte'
    ok 'mnist'
fi
