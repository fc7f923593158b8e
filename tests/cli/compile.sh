#!/bin/sh
# compile.sh RELMC CACHE - relmc compile: messages, the cache, missing tools.
#
# CACHE is a folder that is kept, so that Stan's headers are compiled once.
# Skipped without R's rstan or a C++ compiler.
set -eu
. "$(dirname "$0")/support.sh"

mkdir -p "$2"
RELMC_CACHE=$(cd "$2" && pwd)
export RELMC_CACHE
real_path=$PATH

# ---- without a compiler --------------------------------------------------------

run 2 compile
says err 'MODEL is missing'
run 3 compile missing.stan
says err 'relmc: cannot read missing.stan'
[ "$(wc -l <err)" -eq 1 ] || fail 'one line'
printf 'model { }\n' >empty.stan
mkdir nothing
with "PATH=$folder/nothing RELMC_CACHE=$folder/cache1" 3 compile empty.stan
says err 'a C++ compiler is needed to compile Stan programs'
says err 'apt-get install --no-install-recommends g++ r-cran-rstan'
printf '#include "none.stan"\nmodel { }\n' >lost.stan
run 3 compile lost.stan
says err 'lost.stan:1: cannot find "none.stan"'
printf '#include self.stan\n' >self.stan
run 3 compile self.stan
says err 'self.stan:1: more than 20 files include each other'
with "RELMC_CACHE=/dev/null/x" 4 compile empty.stan
says err 'cannot write to the cache /dev/null/x'
ok 'missing files, missing compiler'

# ---- with compiler and stanc -----------------------------------------------------

skip() {
    echo "$1: the rest is skipped"
    exit 77
}
command -v clang++ >/dev/null || command -v g++ >/dev/null ||
    skip 'no C++ compiler'
command -v Rscript >/dev/null || skip 'no R'
Rscript --vanilla -e 'q(status = !nzchar(system.file(package = "rstan")))' ||
    skip 'no rstan'

# tools NAME...: makes a folder with these programs and those that they need.
tools() {
    rm -rf bin
    mkdir bin
    for name in sh uname sed "$@"; do
        path=$(PATH=$real_path command -v "$name") || continue
        ln -s "$path" "bin/$name"
    done
}
tools clang++ g++
with "PATH=$folder/bin RELMC_CACHE=$folder/cache1" 3 compile empty.stan
says err 'R with its package rstan is needed'
says err 'apt-get install'
run 3 compile empty.stan --cxx no-such-compiler
says err '--cxx no-such-compiler: no such program'
run 3 compile empty.stan --stanc no-such-stanc
says err '--stanc no-such-stanc: no such program'
run 3 compile empty.stan --stan-headers "$folder"
says err 'there is no stan/version.hpp'
ok 'missing tools'

# broken NAME PLACE REASON < program: the error names this place and reason.
broken() {
    cat >"$1.stan"
    run 3 compile "$1.stan"
    is_empty out
    sed -n 1p err | grep -qF -e "relmc: $1.stan:$2: " ||
        fail "$1: the place should be $2"
    sed -n 1p err | grep -qF -e "$3" || fail "$1: the reason should be $3"
    [ ! -e "$1.so" ] || fail "$1: a library is left"
}
broken syntax 4:3 'expected ";"' <<'END'
parameters { real mu; }
model {
  mu ~ normal(0, 1)
  target += 3;
}
END
broken function 3:24 'foo_bar not found' <<'END'
parameters { real mu; }
model {
  target += foo_bar(mu);
}
END
says err '--stanc and --stan-headers take a newer Stan'
broken type 5:3 'Base type mismatch in assignment' <<'END'
parameters { real mu; }
model {
  array[2] int j;
  int k;
  k = mu;
}
END
says err '    5 |   k = mu;'
broken name 4:17 'Variable "y" does not exist' <<'END'
parameters { real mu; }
model {
  real x
    = mu + 1 + y;
}
END
printf 'real half(real x) {\n  return x / z;\n}\n' >half.stan
printf 'functions {\n#include "half.stan"\n}\nmodel { }\n' >outer.stan
run 3 compile outer.stan
says err 'relmc: half.stan:2:'
set -- "$RELMC_CACHE"/work.*
[ ! -e "$1" ] || fail 'files of a failed compilation are left'
ok 'broken programs'

# ---- compile, once ----------------------------------------------------------------

cat >good.stan <<'END'
functions {
#include "twice.stan"
}
data {
  int<lower=0> N;
  array[N] real y;
  array[N, 2] int<lower=0> k;
  matrix[0, 3] none;
}
parameters {
  array[2] simplex[3] s;
  real mu, nu;
}
model {
  array[2] real half = {0.5, 0.5};
  y ~ normal(twice(mu) * half[1], 1);
  nu ~ normal(0, 1);
  real late = mu, later = 1e6;
  if (late > later)
    reject("too far");
  target += sum(half) * 0;
}
generated quantities {
  array[2, 2] real z;
  for (i in 1:2)
    for (j in 1:2)
      z[i, j] = 10 * i + j;
  int last = 7;
}
END
cat >twice.stan <<'END'
real twice(real x) {
  return 2 * x;
}
END
rm -f "$RELMC_CACHE"/good-*.so
run 0 compile good.stan -o one.so &
first=$!
# Two at a time: the second waits and uses the library of the first.
"$relmc" compile good.stan -o two.so 2>two.err || fail 'second of two'
wait $first || fail 'first of two'
cmp one.so two.so || fail 'two libraries'
[ "$(grep -c '^compiled in' two.err err | grep -c ':1$')" -eq 1 ] ||
    fail 'one of the two should compile'
set -- "$RELMC_CACHE"/good-*
[ $# -eq 1 ] || fail 'one library is kept, and no lock'
ok 'two compilations at a time'

start=$(date +%s%N)
run 0 compile good.stan -q
[ $((($(date +%s%N) - start) / 1000000)) -lt 1000 ] || fail 'a hit is quick'
is_empty err
cmp good.so one.so || fail 'from the cache'
mkdir elsewhere
cp good.stan twice.stan elsewhere
run 0 compile elsewhere/good.stan
grep -q compiling err && fail 'the folder does not matter'
ok 'the cache'

# ---- the library ------------------------------------------------------------------

data='{"N": 2, "y": [1, 2], "k": [[1, 2], [3, 4]], "none": []}'
echo "$data" >data.json
run 0 sample good.so --data data.json --seed 1 --warmup 100 --samples 50 \
    --chains 1 -q -o fit
grep '^lp__' fit_1.csv | tr , '\n' | grep -v '__$' | tr '\n' ' ' >names
echo 's.1.1 s.2.1 s.1.2 s.2.2 s.1.3 s.2.3 mu nu z.1.1 z.2.1 z.1.2 z.2.2 last ' |
    tr -d '\n' | cmp - names || fail 'names, first index fastest'
grep -v '^#' fit_1.csv | sed -n 2p | grep -q ',11,21,12,22,7$' ||
    fail 'generated quantities, first index fastest'

# refused TEXT JSON: these data are an error.
refused() {
    echo "$2" >bad.json
    run 3 sample good.so --data bad.json -q -o bad
    says err "$1"
    [ "$(wc -l <err)" -eq 1 ] || fail 'one line'
}
refused 'y is missing' '{"N": 2, "k": [[1, 2], [3, 4]]}'
refused 'y is declared with size [2], and size [3] is given' \
    '{"N": 2, "y": [1, 2, 3], "k": [[1, 2], [3, 4]]}'
refused 'N is declared int' '{"N": 2.5}'
refused 'N is declared a single number, and size [1] is given' '{"N": [2]}'
refused '"k" is not rectangular' \
    '{"N": 2, "y": [1, 2], "k": [[1, 2], [3]]}'
refused 'is -3, but must be greater than or equal to 0' '{"N": 2, "y": [1, 2], "k": [[1, 2], [-3, 4]]}'
refused 'JSON, line 1, column 9: expected , or }' '{"N": 2 "y": 3}'
refused '"N" is there twice' '{"N": 2, "N": 2}'
refused "(in 'good.stan' at line 5)" '{"N": -1}'
ok 'names and data'

# A changed include is compiled again.
printf 'real twice(real x) {\n  return 2 * y;\n}\n' >twice.stan
run 3 compile good.stan
says err 'relmc: twice.stan:2:'
ok 'includes count'

mkdir other
printf 'mine' >other/mine.txt
cp one.so other/good-0123456789abcdef.so
mkdir other/head-0123456789abcdef
printf 'x' >other/head-0123456789abcdef/shim.o
run 0 compile --cache-clean --cache other
says err 'removed 2 files'
[ "$(ls other)" = mine.txt ] || fail 'only what is ours'
ok 'cleaning'
