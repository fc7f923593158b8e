#!/bin/sh
# mpi.sh TOOL TOOL-MPI LAUNCHER [full] - relmc-mpi with 1, 2 and 3 processes writes the
# files of relmc, but for the lines with times; runs are resumed by other numbers of
# processes; an error in one process ends all of them and is printed once.
set -eu
. "$(dirname "$0")/support.sh"

if ! has_python; then
    echo 'skip  python3 was not found'
    exit 77
fi

cat >mpi.py <<'END'
import glob, hashlib, os, shutil, signal, subprocess, sys, time

TOOL, MPI, LAUNCHER = sys.argv[1:4]
IS_FULL = sys.argv[4:] == ["full"]
IS_OPEN_MPI = "open-mpi" in subprocess.run(
    [LAUNCHER, "--version"], capture_output=True, text=True).stdout
os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1",
                  OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                  OMPI_MCA_btl_vader_single_copy_mechanism="none",
                  OMPI_MCA_rmaps_base_oversubscribe="1",
                  OMPI_MCA_hwloc_base_binding_policy="none",
                  OMPI_MCA_mpi_yield_when_idle="1")

GAUSS = ["gaussian:dim=4,rho=0.7", "--seed", "7", "--chains", "5"]
QUIET = ["--refresh", "0"]
LOGIT = ["logistic:dim=4,n=500", "--seed", "7", "--chains", "3"]
STEPS = ["--fix", "--step-size", "0.01", "--batch-size", "50"]
RUNS = {
    "auto": ["sample", *GAUSS],
    "stan": ["sample", *GAUSS, "--sampler", "nuts", "--adapt", "stan",
             "--save-warmup", "--thin", "2", "--lanes", "2"],
    "sghmc": ["sample", *LOGIT, "--sampler", "sghmc", *STEPS],
    "adam": ["optimize", *LOGIT, "--optimizer", "adam", "--batch-size", "50",
             "--epochs", "40"],
    "data": ["sample", *LOGIT, "--mpi", "data", "--samples", "200"],
    "data sghmc": ["sample", *LOGIT, "--sampler", "sghmc", *STEPS, "--mpi",
                   "data", "--samples", "200", "--warmup", "0"],
    "data sgd": ["optimize", *LOGIT, "--batch-size", "100", "--epochs", "20",
                 "--mpi", "data"],
}
FOLDER = os.getcwd()


def fail(text):
    for name in ("out", "err"):
        if os.path.exists(name):
            print("----- std" + name, open(name).read()[-3000:], sep="\n")
    sys.exit("FAIL  " + text)


def words(n, *arguments):
    """n processes; 0: the plain tool."""
    return [LAUNCHER, "-n", str(n), MPI, *arguments] if n else [
        TOOL, *arguments]


def start(command):
    return subprocess.Popen(command, stdin=subprocess.DEVNULL,
                            stdout=open("out", "w"), stderr=open("err", "w"))


def end(run, *code):
    try:
        run.wait(100)
    except subprocess.TimeoutExpired:
        run.kill()
        fail("it hangs")
    if code and run.returncode not in code:
        fail("exit code %d, not %s" % (run.returncode, code))


def says(text, times=1):
    found = open("err").read().count(text)
    if found != times:
        fail("'%s' is said %d times, not %d" % (text, found, times))


def sums():
    """SHA-256 of every output, without the times, and without the options."""
    found = {}
    for path in sorted(set(glob.glob("d_*")) - {"d_config.json"}):
        kept = open(path, "rb").readlines()
        if path == "d_curve.csv":
            rows = [x.split(b",") for x in kept]
            kept = [b",".join(x[:8] + x[9:]) for x in rows]
        kept = [x for x in kept if not x.endswith(
            (b"(Warm-up)\n", b"(Sampling)\n", b"(Total)\n"))]
        found[path] = hashlib.sha256(b"".join(kept)).hexdigest()
    return found


def fresh():
    os.chdir(FOLDER)
    shutil.rmtree("here", ignore_errors=True)
    os.mkdir("here")
    os.chdir("here")


def whole(n, *arguments):
    fresh()
    end(start(words(n, *arguments, "-o", "d")), 0)
    return sums()


def table():
    """The summary, or what was found, without the column with times."""
    return [x.split(" s\n")[0].split()[:3] for x in open("out")]


def same(wanted, what):
    for path, value in wanted.items():
        if sums().get(path) != value:
            fail("%s: %s differs" % (what, path))
    if sums() != wanted:
        fail(what + ": other files")


def shared():
    few = {"auto": RUNS["auto"], "data": RUNS["data"]}
    for name, arguments in (RUNS if IS_FULL else few).items():
        wanted = whole(0, *arguments)
        shown = table()
        if len(wanted) < 2:
            fail("no files")
        for n in (1, 2, 3) if IS_FULL else (2, 3):
            whole(n, *arguments)
            same(wanted, "%s, %d processes" % (name, n))
            if table() != shown:
                fail("%s: another summary" % name)
        print("ok    %s: the files of relmc" % name)
    if whole(0, *RUNS["data"][:-4]) == whole(0, *RUNS["data"][:-2]):
        fail("--mpi data should round in another way")


LONG = {
    "chains": ["sample", *GAUSS, *QUIET, "--samples", "12000"],
    "data": ["sample", *LOGIT, *QUIET, "--mpi", "data", "--samples", "2000"],
    "optimize": ["optimize", *LOGIT, "--batch-size", "10", "--epochs", "8000"],
}
KEPT = ["--checkpoint", "run.ckpt", "--checkpoint-every", "0.1s"]


def resumed():
    for name in LONG if IS_FULL else ["chains"]:
        arguments = LONG[name]
        wanted = whole(0, *arguments, *KEPT)
        fresh()
        run = start(words(3, *arguments, *KEPT, "-o", "d", "--time-limit",
                          "0.1"))
        end(run, 75)
        says("the time limit ended the")
        says("next: relmc resume run.ckpt    goes on")
        for n in (2, 0): # on a fast machine the run may be complete here
            end(start(words(n, "resume", "run.ckpt", "--time-limit", "0.05")),
                75, 0)
        end(start(words(3, "resume", "run.ckpt", "--time-limit", "1h")), 0)
        same(wanted, name + ", 3, 2, none and 3 processes")
        print("ok    %s: continued by another number of processes" % name)


def members(run):
    """The processes of a run."""
    found = []
    for path in glob.glob("/proc/[0-9]*/stat"):
        try:
            pid, rest = open(path).read().split(" (", 1)
            name, fields = rest.rsplit(") ", 1)
        except OSError:
            continue
        if name == "relmc-mpi" and fields.split()[1] == str(run.pid):
            found.append(int(pid))
    return sorted(found)


def await_checkpoint(run):
    deadline = time.time() + 60
    while time.time() < deadline and run.poll() is None:
        if os.path.exists("run.ckpt.1") and len(glob.glob("d_*")):
            return
        time.sleep(0.01)


def stopped():
    wanted = whole(0, *LONG["chains"], *KEPT)
    fresh()
    run = start(words(3, *LONG["chains"], *KEPT, "-o", "d"))
    await_checkpoint(run)
    run.send_signal(signal.SIGUSR1)
    end(run, 75)
    says("terminated after")
    end(start(words(2, "resume", "run.ckpt")), 0)
    same(wanted, "SIGUSR1")
    print("ok    SIGUSR1: stopped and resumed")
    for who in (0, -1):
        fresh()
        run = start(words(3, *LONG["chains"], *KEPT, "-o", "d"))
        await_checkpoint(run)
        pids = members(run)
        if len(pids) != 3:
            fail("%d processes" % len(pids))
        os.kill(pids[who], signal.SIGKILL)
        end(run)
        if run.returncode == 0:
            fail("a process was killed, and nobody noticed")
        if [x for x in pids if os.path.exists("/proc/%d" % x)]:
            time.sleep(2)
        left = [x for x in pids if os.path.exists("/proc/%d" % x)]
        if left:
            fail("processes are left: %s" % left)
        end(start(words(0, "resume", "run.ckpt")), 0)
        same(wanted, "SIGKILL")
    print("ok    SIGKILL of one process: all end, and the run goes on")


def wrong():
    fresh()
    cases = [
        (["sample", "banana", "--mpi", "data"], 2,
         "--mpi data: banana has no rows of data"),
        (["sample", "banana", "-o", "no/where"], 4, "cannot write no/"),
        (["optimize", "logistic", "--data", "none.csv"], 4,
         "cannot read none.csv"),
        (["sample", "banan"], 3, 'no model "banan"'),
        (["sample", "banana", "--chains", "0"], 2, "--chains: "),
        (["sample", "banana", "--sampler", "hmc:steps=0"], 2, "steps"),
        (["resume", "none.ckpt"], 4, "cannot read none.ckpt"),
        (["bogus"], 2, 'no command "bogus"')]
    for arguments, code, text in cases if IS_FULL else cases[:2]:
        end(start(words(3, *arguments)), code)
        says(text)
    if glob.glob("*.csv") or glob.glob("*.tmp"):
        fail("a file was left behind")
    end(start(words(2, "models")), 0)
    if open("out").read().count("banana") != 1:
        fail("not one list of models")
    print("ok    what is wrong is said once")
    if not IS_OPEN_MPI or not IS_FULL:
        return
    os.mkdir("elsewhere")
    with open("data.csv", "w") as out:
        out.write("a,y\n1,0\n2,1\n3,1\n2.5,0\n")
    rest = [MPI, "sample", "logistic", "--data", "data.csv"]
    for how in ("chains", "data"):
        end(start([LAUNCHER, "-n", "2", *rest, "--mpi", how, ":", "-n", "1",
                   "-wdir", os.getcwd() + "/elsewhere", *rest, "--mpi", how]),
            4)
        says("process 3 of 3:\nrelmc sample: cannot read data.csv")
        says("cannot read data.csv")
    print("ok    what is wrong in another process only is said, too")


shared()
resumed()
wrong()
if IS_OPEN_MPI and IS_FULL:
    stopped()
END
python3 mpi.py "$relmc" "$2" "$3" "${4:-}" || exit 1
