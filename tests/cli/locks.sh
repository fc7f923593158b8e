#!/bin/sh
# locks.sh TOOL - of two processes that write the same files, the second is refused in one
# line, by any name of the files, and the files of the first are those of an undisturbed
# run.
set -eu
. "$(dirname "$0")/support.sh"

if ! has_python; then
    echo 'skip  python3 was not found'
    exit 77
fi

cat >locks.py <<'END_OF_PYTHON'
import glob, os, shutil, subprocess, sys, time

TOOL = sys.argv[1]
LONG = ["gaussian:dim=3", "--seed", "1", "--warmup", "50", "--samples",
        "100000000", "--no-summary", "--chains", "2", "-q"]


def start(*arguments):
    return subprocess.Popen([TOOL, *arguments], stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            text=True)


def fail(text):
    sys.exit("FAIL  " + text)


def await_file(run, path):
    deadline = time.time() + 60
    while not os.path.exists(path):
        if time.time() > deadline or run.poll() is not None:
            fail("no " + path)
        time.sleep(0.001)


def refused(run, *arguments):
    """The second process ends at once, and says who has the files."""
    second = start(*arguments)
    out, err = second.communicate(timeout=120)
    what = " ".join(arguments)
    if second.returncode != 4 or out or err.count("\n") != 1:
        fail("%s: code %d, %r" % (what, second.returncode, err))
    if "is in use by process %d (relmc " % run.pid not in err:
        fail("%s: %r" % (what, err))


def kill(run):
    run.kill()
    run.communicate()


def no_locks():
    if glob.glob("*.lock"):
        fail("left behind: " + " ".join(glob.glob("*.lock")))


def content(path):
    lines = open(path, "rb").read().splitlines()
    return [x for x in lines if b"seconds" not in x and b"Elapsed" not in x]


def fresh(folder):
    os.chdir(top)
    shutil.rmtree(folder, ignore_errors=True)
    os.mkdir(folder)
    os.chdir(folder)


top = os.getcwd()

# two runs with the same files
fresh("same")
run = start("sample", *LONG, "-o", "d", "--checkpoint", "run.ckpt")
await_file(run, "d_config.json")
await_file(run, "run.ckpt")
os.symlink(".", "other")
os.symlink("d_1.csv", "e_1.csv")
os.symlink("run.ckpt", "link.ckpt")
for base in ("d", "./d", "../same/d", "other/d", top + "/same/d", "d.rmc",
             "d.nc", "e"):
    refused(run, "sample", "banana", "-o", base)
refused(run, "sample", "banana", "--no-output", "--checkpoint", "run.ckpt")
refused(run, "sample", "banana", "--no-output", "--checkpoint", "d_2.csv")
refused(run, "optimize", "banana", "-o", "d")
refused(run, "resume", "run.ckpt")
refused(run, "resume", "link.ckpt")
refused(run, "resume", "run.ckpt.1")
assert start("sample", "banana", "-q", "-o", "mine").wait() == 0
refused(run, "convert", "mine_1.csv", "-o", "d.csv")
refused(run, "convert", "mine_1.csv", "-o", "d.nc")
refused(run, "summary", "mine_1.csv", "--csv", "d_metric.json")
refused(run, "compare", "mine_1.csv", "mine_2.csv", "--csv", "d.nc")
# files that are only read, and devices, are not locked
assert start("summary", "d_1.csv").wait() in (0, 3)
assert start("summary", "mine_1.csv", "--csv", "/dev/null").wait() == 0
with open("table.csv", "w") as table:
    assert subprocess.call([TOOL, "summary", "mine_1.csv", "--csv",
                            "/dev/stdout"], stdout=table) == 0
print("ok    a second process is refused, whatever it calls the files")

# a killed process holds no lock
kill(run)
if not glob.glob("d.lock"):
    fail("what was killed has removed its lock")
for left in "d_1.csv", "d2_1.csv", "run.ckpt", "d":
    open(left + ".99-0.tmp", "w").close()
for again in ("sample", *LONG, "-o", "d", "--time-limit", "0.2s"), \
        ("resume", "run.ckpt", "--time-limit", "0.2s", "-q"):
    run = start(*again)
    out, err = run.communicate(timeout=120)
    if run.returncode not in (0, 75):
        fail("after a kill: code %d, %r" % (run.returncode, err))
no_locks()
if glob.glob("*.tmp") != ["d2_1.csv.99-0.tmp"]:
    fail("temporary files: " + " ".join(glob.glob("*.tmp")))
print("ok    a killed process holds nothing, an ordinary end leaves nothing")

# optimize
fresh("path")
run = start("optimize", "logistic:dim=5,n=2000", "--batch-size", "50", "--epochs",
            "1000000", "--seed", "1", "-q", "-o", "net", "--checkpoint", "o.ckpt")
await_file(run, "o.ckpt")
refused(run, "optimize", "banana", "-o", "net")
refused(run, "resume", "o.ckpt")
kill(run)
print("ok    optimize")

# many resumes of one checkpoint: one of them continues, with the right files
fresh("first")
run = start("sample", "gaussian:dim=3", "--seed", "1", "--samples", "60000",
            "-o", "d", "--checkpoint", "run.ckpt", "--checkpoint-every", "0.05s",
            "-q")
while not os.path.exists("run.ckpt.1"):
    time.sleep(0.001)
kill(run)
os.chdir(top)
shutil.copytree("first", "alone")
os.chdir("alone")
assert start("resume", "run.ckpt", "-q").wait() == 0
no_locks()
os.chdir(top + "/first")
runs = [start("resume", "run.ckpt", "-q") for _ in range(6)]
said = [run.communicate(timeout=300)[1] for run in runs]
codes = sorted(run.returncode for run in runs)
if codes != [0, 4, 4, 4, 4, 4]:
    fail("six resumes: codes %s, %r" % (codes, said))
no_locks()
names = sorted(glob.glob("d_*"))
if len(names) != 6:
    fail("files: " + " ".join(names))
for name in names:
    if name != "d_config.json" and content(name) != content("../alone/" + name):
        fail(name + " is not that of a run that was left alone")
print("ok    one of six resumes goes on, and writes what it should")
END_OF_PYTHON
python3 locks.py "$relmc"
