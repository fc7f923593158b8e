#!/bin/sh
# reader.sh - files of CmdStan and of relmc are read, other files are refused.
set -eu
. "$(dirname "$0")/support.sh"

# config [SAVE_WARMUP [THIN]]: the lines of CmdStan before the header.
config() {
    cat <<END
# stan_version_major = 2
# stan_version_minor = 36
# model = eight_model
# method = sample (Default)
#   sample
#     num_samples = 4
#     num_warmup = 6 (Default)
#     save_warmup = ${1-false (Default)}
#     thin = ${2-1 (Default)}
#     adapt
#       engaged = true (Default)
#       delta = 0.8 (Default)
#     algorithm = hmc (Default)
#       hmc
#         engine = nuts (Default)
#           nuts
#             max_depth = 10 (Default)
# id = 1 (Default)
END
}

adaptation() {
    printf '# Adaptation terminated\n# Step size = 0.5\n'
    printf '# Diagonal elements of inverse mass matrix:\n# 1.1, 0.9\n'
}

timing() {
    printf '# \n#  Elapsed Time: 0.25 seconds (Warm-up)\n'
    printf '#                0.5 seconds (Sampling)\n'
    printf '#                0.75 seconds (Total)\n# \n'
}

header='lp__,accept_stat__,mu,theta.1,theta.2,b.2.3,t:1.2'
draws='-1,0.9,1,10,100,5,7
-2,0.8,2,20,200,6,8
-3,0.7,3,30,300,7,9
-4,1,4.0e0,40,400,8,1e1'

# mean_is VARIABLE VALUE: in the output of the last --json.
mean_is() {
    python3 - "$folder/out" "$1" "$2" <<'END' || fail "mean of $1 is not $2"
import json, sys
root = json.load(open(sys.argv[1]))
rows = {r["name"]: r for r in root["sampler"] + root["parameters"]}
got = rows[sys.argv[2]]["mean"]
assert str(got) == sys.argv[3] or abs(got - float(sys.argv[3])) < 1e-12, got
END
}

# ---- valid files -----------------------------------------------------------

{ config && echo "$header" && adaptation && echo "$draws" && timing; } >good.csv
run 0 summary good.csv
says out 'Model eight, NUTS, 1 chain x 4 draws (warm-up 6, thin 1), 0.5 s sampling'
for name in lp__ accept_stat__ mu 'theta[1]' 'theta[2]' 'b[2,3]' 't.1[2]'; do
    grep -qF "$name " out || fail "no row $name"
done
is_empty err
if has_python; then
    run 0 summary good.csv --json
    mean_is mu 2.5
    mean_is 'theta[2]' 250
    mean_is 't.1[2]' 8.5
    mean_is lp__ -2.5
fi
ok "CmdStan's layout and names"

warm='-9,0.1,1000,1,1,1,1'
for saved in 1 true '1 (Default)'; do
    {
        config "$saved" && echo "$header"
        for i in 1 2 3 4 5 6; do echo "$warm"; done
        adaptation && echo "$draws" && timing
    } >warm.csv
    run 0 summary warm.csv
    says out 'x 4 draws'
    if has_python; then
        run 0 summary warm.csv --json
        mean_is mu 2.5
    fi
done
{ # without the adaptation block the configuration says where warm-up ends
    config 1 2 && echo "$header"
    for i in 1 2 3; do echo "$warm"; done
    echo "$draws"
} >thin.csv
run 0 summary thin.csv
says out 'x 4 draws'
{ # the block has precedence over the configuration
    config 0 && echo "$header" && echo "$warm" && adaptation && echo "$draws"
} >marked.csv
run 0 summary marked.csv
says out 'x 4 draws'
{ config 1 && echo "$header" && echo "$warm"; } >only.csv
run 3 summary only.csv
says err 'only.csv:20: no draws, only warm-up'
ok 'warm-up is never counted'

printf 'x.1,lp__\n1,2\n3,-4\n' >bare.csv
run 0 summary bare.csv
says out 'Model unknown, sampler unknown, 1 chain x 2 draws'
printf 'x.1,lp__\r\n 1 ,2\r\n3,-4\r\n\r\n' >dos.csv
run 0 summary dos.csv
printf '"x.1","lp__"\n1,2\n3,-4\n' >quoted.csv
run 0 summary quoted.csv
says out 'x[1]'
printf 'x\nNaN\nnan\n-nan\n' >nan.csv
run 0 summary nan.csv
printf 'x,y\ninf,1\n-inf,2\n+Inf,3\nInfinity,4\n' >inf.csv
run 0 summary inf.csv -p 0,100
says out '-inf'
ok 'little, blanks, quotes, carriage returns, NaN, inf'

if has_python; then
    # numbers are read as the C library reads them, which python calls
    python3 - <<'END'
import random
random.seed(1)
words = ["0", "-0", "1e22", "1e23", "9007199254740993", "1.7976931348623157e308",
         "4.9e-324", "1e-400", "2.2250738585072011e-308", ".5", "5.", "+3",
         "123456789012345678901234567890", "0.000000000000000000000000000001",
         "1E5", "1e+05", "00012", "1" + "0" * 300, "0." + "0" * 300 + "1"]
for _ in range(3000):
    value = random.uniform(-1, 1) * 10.0 ** random.randint(-30, 30)
    words.append("%.*g" % (random.randint(1, 20), value))
with open("numbers.csv", "w") as file:
    file.write(",".join(f"v{i}" for i in range(len(words))) + "\n")
    file.write(",".join(words) + "\n")
open("words.txt", "w").write("\n".join(words))
END
    run 0 summary numbers.csv --json
    python3 - <<'END' || fail 'numbers'
import json
rows = json.load(open("out"))["parameters"]
words = open("words.txt").read().split()
assert len(rows) == len(words)
for row, word in zip(rows, words):
    assert row["mean"] == float(word), (row["mean"], word)
END
    ok 'numbers to the last bit'
fi

printf 'x.1,lp__,y\n1,-1,5\n2,-2,6\n' >one.csv
printf 'lp__,y,x.1\n-3,7,3\n-4,8,4\n' >two.csv
run 0 summary one.csv two.csv
if has_python; then
    run 0 summary one.csv two.csv --json
    mean_is 'x[1]' 2.5
    mean_is y 6.5
fi
printf 'x.1,lp__,y\n1,-1,5\n2,-2,6\n3,-2,6\n' >long.csv
run 0 summary one.csv long.csv
says err 'one.csv has 2 draws, another chain 3'
if has_python; then
    run 0 summary one.csv long.csv --json
    mean_is 'x[1]' 2
fi
if [ -e /dev/fd/0 ]; then
    code=0
    cat good.csv | "$relmc" summary /dev/stdin >out 2>err || code=$?
    [ $code -eq 0 ] || fail 'a pipe'
    says out 'x 4 draws'
fi
ok 'columns in another order, chains of other lengths, a pipe'

# ---- invalid files ---------------------------------------------------------

# refuse CODE MESSAGE FILE...
refuse() {
    wanted=$1
    message=$2
    shift 2
    for command in summary diagnose compare; do
        run "$wanted" "$command" "$@"
        says err "relmc $command: $message"
        is_empty out
        [ "$(wc -l <err)" -eq 1 ] || fail 'more than one line'
    done
}

: >empty.csv
refuse 3 'empty.csv:1: the file is empty' empty.csv
config >nohead.csv
refuse 3 'nohead.csv:18: the file ends without a header' nohead.csv
{ config && echo "$header" && timing; } >zero.csv
refuse 3 'zero.csv:24: no draws' zero.csv
printf 'x,y\n1,2\n3,4,5\n' >wide.csv
refuse 3 'wide.csv:3: 3 values where the header has 2 columns' wide.csv
printf 'x,y\n1,2\n3\n' >narrow.csv
refuse 3 'narrow.csv:3: 1 value where the header has 2 columns' narrow.csv
printf 'x,y\n1,2\n3,four\n' >text.csv
refuse 3 'text.csv:3: y is "four", not a number' text.csv
for word in '' 0x10 1e 1e+ . - 1.2.3 '1 2' nano 1,5e 'inf2'; do
    printf 'x,y\n1,2\n3,%s\n' "$word" >word.csv
    run 3 summary word.csv
    says err 'word.csv:3: '
done
printf 'x,y\n1,2\n3,4' >cut.csv
refuse 3 'cut.csv:3: the last line is cut off' cut.csv
printf 'x,y' >cuthead.csv
refuse 3 'cuthead.csv:1: the header is cut off' cuthead.csv
printf '1,2\n3,4\n' >headless.csv
refuse 3 'headless.csv:1: not a header: column 1 is "1"' headless.csv
printf 'x,,y\n1,2,3\n' >gap.csv
refuse 3 'gap.csv:1: not a header: column 2 is ""' gap.csv
printf 'x,y,x\n1,2,3\n' >double.csv
refuse 3 'double.csv:1: the header names column "x" twice' double.csv
printf 'x,y\n1,2\nx,y\n3,4\n' >joined.csv
refuse 3 'joined.csv:3: a second header' joined.csv
printf 'x,y\n1,\0002\n' >binary.csv
refuse 3 'binary.csv:2: a zero byte' binary.csv
printf '\037\213\010\010' >packed.csv
refuse 3 'packed.csv:1: compressed' packed.csv
printf '{\n  "relmc_version": "0.1.0"\n}\n' >config.json
refuse 3 'config.json: JSON, and no file of draws' config.json
printf '# method = optimize\nlp__,x\n1,2\n' >optimum.csv
refuse 3 'optimum.csv: made by method = optimize' optimum.csv
ok 'bad files: one line with file and line number, exit code 3'

head -c 300000 /dev/urandom >junk.csv
run 3 summary junk.csv
[ "$(wc -l <err)" -eq 1 ] || fail 'more than one line'
LC_ALL=C grep -q '[^ -~]' err && LC_ALL=C grep -q "$(printf '[\001-\037]')" err &&
    fail 'control characters reach the terminal'
head -c 300000 /dev/zero >zeros.csv
refuse 3 'zeros.csv:1: a zero byte' zeros.csv
ok 'junk'

mkdir folder.csv
refuse 4 'cannot read folder.csv: Is a directory' folder.csv
refuse 4 'cannot read missing.csv: No such file' missing.csv
for command in summary diagnose compare; do
    run 2 "$command"
    says err 'FILE is missing'
done
run 2 summary one.csv one.csv
says err 'one.csv is given twice'
ok 'no file at all'

printf '# model = other_model\n%s\n%s\n' "$header" "$draws" >other.csv
run 3 summary good.csv other.csv
says err 'other.csv: its model is other_model, that of good.csv is eight_model'
printf '# relmc_model = gaussian:dim=1,rho=0.5\nx.1\n1\n' >g1.csv
printf '# relmc_model = gaussian:dim=1,rho=0.9\nx.1\n1\n' >g2.csv
run 3 diagnose g1.csv g2.csv
says err 'g2.csv: its model is gaussian:dim=1,rho=0.9'
printf 'x.1,lp__\n1,-1\n' >less.csv
run 3 summary one.csv less.csv
says err 'less.csv:1: no column y, which one.csv has'
run 3 summary less.csv one.csv
says err 'one.csv:1: column y, which less.csv has not'
ok 'files that do not belong together'

# A million columns, or the second argument: sanitizers need memory for every name.
columns=${2:-1000000}
if has_python; then
    python3 - "$columns" <<'END'
import sys
n = int(sys.argv[1])
with open("huge.csv", "w") as file:
    file.write(",".join(f"x.{i}" for i in range(1, n + 1)) + "\n")
    for t in range(2):
        file.write(",".join([str(t)] * n) + "\n")
END
    run 0 summary huge.csv -i "x[$((columns - 1))]" -i "x.$columns"
    says out "x[$((columns - 1))]"
    says out "x[$columns]"
    rm huge.csv
    ok "$columns columns"

    python3 - <<'END'
import random
random.seed(2)
with open("tall.csv", "w") as file:
    file.write("lp__,x.1,x.2,x.3,x.4,y\n")
    for t in range(3000):
        row = [random.gauss(j, 1 + j) for j in range(6)]
        file.write(",".join("%.9g" % v for v in row) + "\n")
END
    run 0 summary tall.csv --json
    cp out whole
    for memory in 0.0001 0.06 0.1; do
        run 0 summary tall.csv --json --memory $memory
        cmp -s out whole || fail "--memory $memory changes the numbers"
    done
    code=0
    # shellcheck disable=SC2002
    cat tall.csv | "$relmc" summary /dev/stdin --memory 0.0001 >out 2>err ||
        code=$?
    [ $code -eq 0 ] || fail 'a pipe has no size and is read at once'
    ok 'pieces that fit into memory'
fi
