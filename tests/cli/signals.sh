#!/bin/sh
# signals.sh - a run that is stopped by a signal closes its files and reports it.
set -eu
. "$(dirname "$0")/support.sh"

if ! has_python; then # a shell's background jobs ignore SIGINT
    echo 'skip  python3 was not found'
    exit 77
fi

cat >stop.py <<'END'
import os, signal, subprocess, sys, time
tool, name = sys.argv[1], sys.argv[2]
number = getattr(signal, name)
run = subprocess.Popen(
    [tool, "sample", "gaussian:dim=20", "--seed", "1", "--samples", "1e8",
     "--warmup", "50", "--thin", "100", "-o", "stop"],
    stdout=open("out", "w"), stderr=open("err", "w"))
deadline = time.time() + 60
while time.time() < deadline and run.poll() is None:
    if os.path.exists("stop_1.csv") and os.path.getsize("stop_1.csv") > 20000:
        break
    time.sleep(0.05)
run.send_signal(number)
sys.exit(0 if run.wait(60) == 128 + number else "exit code %d" % run.wait())
END

for name in SIGINT SIGTERM SIGHUP; do
    rm -f stop_*
    python3 stop.py "$relmc" $name || fail "$name"
    says err 'iterations'
    says err 'draws were written'
    says err 'wrote stop_1.csv ... stop_4.csv'
    total=0
    for k in 1 2 3 4; do
        total=$((total + $(rows stop_$k.csv)))
        tail -c 1 stop_$k.csv | od -c | grep -q '\\n' || fail 'a torn line'
        grep -q '^#  Elapsed Time: ' stop_$k.csv || fail 'no times'
        n=$(sed -n 's/^#     num_samples = \([0-9]*\) *$/\1/p' stop_$k.csv)
        [ $(((n + 99) / 100)) -eq "$(rows stop_$k.csv)" ] ||
            fail "num_samples = $n"
    done
    says err "; $total draws were written"
    says err 'stop_config.json, stop_metric.json'
    run 0 sample gaussian:dim=20 --inv-metric stop_metric.json --no-output
    run 0 summary stop_*.csv
    says out 'thin 100), '
    ok "$name: $total draws, files closed"
done

# An ignored SIGHUP, as by nohup, does not end the run; the time limit does.
python3 - "$relmc" <<'END' || fail 'SIGHUP is ignored'
import signal, subprocess, sys, time
signal.signal(signal.SIGHUP, signal.SIG_IGN)
run = subprocess.Popen(
    [sys.argv[1], "sample", "banana", "--samples", "1e9", "--thin", "1000",
     "--time-limit", "1", "-o", "nohup"],
    stdout=open("out", "w"), stderr=open("err", "w"))
time.sleep(0.5)
run.send_signal(signal.SIGHUP)
sys.exit(run.wait(60))
END
says err 'the time limit ended the run'
ok 'SIGHUP, ignored'

# A limit of file sizes is an error of the write.
code=0
(
    ulimit -f 64 # blocks of 512 bytes, or 1024
    "$relmc" sample banana --seed 1 --samples 1e5 -o large >out 2>err
) || code=$?
[ $code -eq 4 ] || fail "a file that is too large: exit code $code"
says err 'File too large'
ok 'SIGXFSZ: exit code 4'
