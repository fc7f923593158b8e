#!/bin/sh
# resume.sh TOOL [KILLS [FORMAT]] - runs that are killed, stopped, out of time or out of
# disk are resumed: their files are those of an uninterrupted run, but for the lines with
# times.  KILLS = 1 makes shorter runs, for sanitizers, which are ten times slower.
set -eu
. "$(dirname "$0")/support.sh"
kills=${2:-2}

if ! has_python; then
    echo 'skip  python3 was not found'
    exit 77
fi

cat >resume.py <<'END'
import glob, hashlib, os, random, resource, shutil, signal, struct
import subprocess, sys, time

TOOL, TASK, KILLS = sys.argv[1], sys.argv[2], int(sys.argv[3])
FORMAT = sys.argv[4] if len(sys.argv) > 4 else "csv"
SAMPLES, EPOCHS = ("10000", "500") if KILLS == 1 else ("40000", "2000")
FIRST = {"csv": "d_1.csv", "rmc": "d_1.rmc", "nc": "d.nc_1.rmc"}[FORMAT]
os.environ["SOURCE_DATE_EPOCH"] = "0"  # no times in NetCDF files
BASE = ["gaussian:dim=4,rho=0.7", "--seed", "7", "--chains", "3", "--warmup",
        "150", "-o", "d." + FORMAT, "--checkpoint", "run.ckpt", "--checkpoint-every",
        "0.05s", "--refresh", "0"]
METHODS = {
    "auto": ["--samples", "6000"],
    "nuts": ["--sampler", "nuts", "--adapt", "stan", "--samples", "8000",
             "--save-warmup", "--thin", "2"],
    "hmc": ["--sampler", "hmc:steps=8", "--adapt", "dual", "--samples",
            "12000"],
    "ghmc": ["--sampler", "ghmc", "--samples", "8000"],
    "tempered": ["--sampler", "tempered", "--samples", "3000"],
    "sghmc": ["--sampler", "sghmc", "--fix", "--step-size", "0.05",
              "--samples", "9000"],
    "sgnht": ["--sampler", "sgnht", "--fix", "--step-size", "0.05",
              "--samples", "9000"],
    "adam": ["--sampler", "adam", "--fix", "--step-size", "1", "--samples",
             "12000"],
    "sgd": ["--sampler", "sgd", "--fix", "--step-size", "0.05", "--samples",
            "12000"],
    "sgld": ["--sampler", "sgld", "--fix", "--step-size", "0.01",
             "--samples", "9000"],
}
# through `relmc optimize`, on minibatches
OPTIMIZERS = {
    "optimize sgd": ["--optimizer", "sgd"],
    "optimize adam": ["--optimizer", "adam:lr=0.001", "--batch-rows", "replace"],
}


def command(method, *more):
    if method not in OPTIMIZERS:
        return ["sample", *BASE, *METHODS[method], *more]
    return ["optimize", "logistic:dim=5,n=2000", "--seed", "7", "--chains",
            "3", "--batch-size", "50", "--epochs", EPOCHS, "--every", "37",
            "-o", "d", "--checkpoint", "run.ckpt", "--checkpoint-every",
            "0.05s", *OPTIMIZERS[method], *more]


def fail(text):
    for name in ("out", "err"):
        if os.path.exists(name):
            print("----- std" + name, open(name).read(), sep="\n")
    sys.exit("FAIL  " + text)


def start(*arguments, **more):
    return subprocess.Popen([TOOL, *arguments], stdin=subprocess.DEVNULL,
                            stdout=open("out", "w"), stderr=open("err", "w"),
                            **more)


def end(run, code):
    if run.wait(300) != code:
        fail("exit code %d, not %d" % (run.returncode, code))


def says(text):
    if text not in open("err").read():
        fail("standard error does not say '%s'" % text)


def without_times(path):
    data = open(path, "rb").read()
    end = 0
    if path.endswith(".rmc"):  # lines of text follow the draws
        columns, = struct.unpack_from("<I", data, 12)
        draws_at, rows = struct.unpack_from("<QQ", data, 32)
        if draws_at == 0 or rows > 1 << 40:
            fail(path + " is not complete")
        end = draws_at + 8 * columns * rows
        if end > len(data):
            fail(path + " is too short")
    elif path.endswith(".nc"):
        return data
    elif path == "d_curve.csv":
        rows = [x.split(b",") for x in data.splitlines(True)]
        return b"".join(b",".join(x[:8] + x[9:]) for x in rows)
    lines = data[end:].splitlines(True)
    return data[:end] + b"".join(x for x in lines if not x.endswith(
        (b"(Warm-up)\n", b"(Sampling)\n", b"(Total)\n")))


def sums():
    """SHA-256 of every output, lines and the column with times left out."""
    found = {}
    for path in sorted(glob.glob("d_*.csv") + glob.glob("d*.rmc") +
                       glob.glob("d.nc*") + ["d_metric.json", "d_theta.npy"]):
        if os.path.exists(path):
            found[path] = hashlib.sha256(without_times(path)).hexdigest()
    if FORMAT == "nc" and "d.nc" not in found:
        fail("there is no d.nc")
    if len(found) < 2:
        fail("files are missing")
    return found


def fresh(name):
    os.chdir(FOLDER)
    shutil.rmtree(name, ignore_errors=True)
    os.mkdir(name)
    os.chdir(name)


def whole(method, *more):
    """A run that is left alone: what it writes, and how long it takes."""
    fresh("whole")
    began = time.time()
    end(start(*command(method, *more)), 0)
    return sums(), time.time() - began


def same(wanted, what):
    if sums() != wanted:
        for path, value in wanted.items():
            if sums().get(path) != value:
                fail("%s: %s differs" % (what, path))
        fail(what + ": other files")


def await_draws(run):
    deadline = time.time() + 60
    while time.time() < deadline and run.poll() is None:
        if os.path.exists(FIRST) and os.path.getsize(FIRST) > 20000:
            return
        time.sleep(0.002)


def killed(method):
    wanted, seconds = whole(method)
    generator = random.Random(sum(map(ord, method)))
    n_midway = n_rounds = 0
    while n_rounds < KILLS or n_midway == 0 and n_rounds < KILLS + 20:
        n_rounds += 1
        fresh("killed")
        todo = command(method)
        for again in range(2):
            began = time.time()
            run = start(*todo)
            try:
                run.wait(generator.uniform(0.0, seconds))
                if not again:  # the machine was busy when `seconds` were taken
                    seconds = min(seconds, time.time() - began)
            except subprocess.TimeoutExpired:
                run.kill()
                run.wait()
                n_midway += 1
            if os.path.exists("run.ckpt"):
                todo = ["resume", "run.ckpt", "--cores",
                        str(generator.randint(1, 3))]
                if method not in OPTIMIZERS:
                    todo += ["--lanes", str(generator.randint(1, 3))]
        end(start(*todo), 0)
        same(wanted, "%s, round %d" % (method, n_rounds))
    if n_midway == 0:
        fail("no run was killed")
    print("ok    %s, %s: killed %d times, same files" % (method, FORMAT,
                                                        n_midway))


def midway(todo, await_ready, act, code, prepare=lambda: None):
    """Do that to a run midway; again if it was done before."""
    for again in range(20):
        fresh("stopped")
        prepare()
        run = start(*todo)
        await_ready(run)
        act(run)
        if run.wait(300) != 0:
            return end(run, code)
    fail("no run was stopped midway")


def tell(name):
    return lambda run: run.send_signal(getattr(signal, name))


def take_away(run):
    os.rename("there", "elsewhere")  # atomic, also amid a write


def stopped():
    wanted, _ = whole("auto", "--samples", SAMPLES)
    todo = command("auto", "--samples", SAMPLES)
    for name, code in (("SIGINT", 130), ("SIGTERM", 75), ("SIGUSR1", 75)):
        midway(todo, await_draws, tell(name), code)
        says("next: relmc resume run.ckpt    goes on")
        says("draws were written")
        end(start("summary", *sorted(glob.glob(FIRST.replace("1", "?")))), 0)
        end(start("resume", "run.ckpt"), 0)
        same(wanted, name)
    fresh("stopped")
    # the second signal may end a process whose threads are still at work
    tsan = os.environ.get("TSAN_OPTIONS", "") + ":report_thread_leaks=0"
    run = start(*todo, env={**os.environ, "TSAN_OPTIONS": tsan})
    await_draws(run)
    run.send_signal(signal.SIGTERM)
    time.sleep(0.002)
    run.send_signal(signal.SIGTERM)
    # after a stop by the first signal the second may end the process; or the run was
    # complete before the first
    if run.wait(300) not in (75, 143, -signal.SIGTERM, 0):
        fail("two signals: exit code %d" % run.returncode)
    end(start("resume", "run.ckpt"), 0)
    same(wanted, "two signals")
    print("ok    SIGINT, SIGTERM, SIGUSR1, and twice: stopped and resumed")
    fresh("stopped")
    run = start(*todo, "--time-limit", "0.1")
    end(run, 75)
    says("the time limit ended the")
    says("next: relmc resume run.ckpt    goes on")
    while start("resume", "run.ckpt").wait(60) == 75:
        pass
    same(wanted, "time limit")
    print("ok    --time-limit: resumed until it is done")


def await_rows(run):
    deadline = time.time() + 60
    while time.time() < deadline and run.poll() is None:
        if len(open("out").readlines()) > 3:
            return
        time.sleep(0.002)


def optimized():
    wanted, _ = whole("optimize sgd")
    todo = command("optimize sgd")
    for name, code in (("SIGINT", 130), ("SIGTERM", 75), ("SIGUSR1", 75)):
        midway(todo, await_rows, tell(name), code)
        says("next: relmc resume run.ckpt    goes on")
        says("wrote d_curve.csv, d_theta.npy")
        if sums() == wanted:
            fail("it was not stopped")
        end(start("resume", "run.ckpt"), 0)
        says("run.ckpt: going on after step ")
        same(wanted, name)
    fresh("stopped")
    end(start(*todo, "--time-limit", "0.1"), 75)
    says("the time limit ended the run after ")
    says("next: relmc resume run.ckpt    goes on")
    end(start("resume", "run.ckpt", "--time-limit", "60"), 0)
    same(wanted, "time limit")
    end(start("resume", "run.ckpt"), 0)
    same(wanted, "nothing left to do")
    end(start("resume", "run.ckpt", "--samples", "100"), 2)
    says("--samples is not for a run of relmc optimize")
    midway([*todo, "--checkpoint", "there/run.ckpt"], await_rows, take_away, 4,
           lambda: os.mkdir("there"))
    says("cannot write there/run.ckpt")
    says("No such file or directory")
    end(start(*todo, "--checkpoint", "nowhere/run.ckpt"), 4)
    says("cannot write nowhere/run.ckpt: ")
    print("ok    optimize: stopped and resumed")


def patient():
    fresh("data")
    generator = random.Random(1)
    with open("data.csv", "w") as out:
        out.write("a,b,y\n")
        for _ in range(400):
            a, b = generator.gauss(0, 1), generator.gauss(0, 1)
            out.write("%r,%r,%d\n" % (a, b, generator.random() < 0.6))
    todo = ["optimize", "logistic", "--data", "../data/data.csv", "--test",
            "0.3", "--seed", "3", "--patience", "400", "--epochs", "20000",
            "--batch-size", "10", "-o", "d", "--checkpoint", "run.ckpt"]
    fresh("whole")
    end(start(*todo), 0)
    says("stopped: the test loss has not fallen for 400 reports")
    wanted = sums()
    midway(todo, await_rows, tell("SIGTERM"), 75)
    if sums() == wanted:
        fail("it was not stopped")
    for again in range(2):
        end(start("resume", "run.ckpt"), 0)
        says("stopped: the test loss has not fallen for 400 reports")
        same(wanted, "patience")
    print("ok    --patience: the best point is kept over a stop")


def longer():
    wanted, _ = whole("nuts")
    fresh("longer")
    few = METHODS["nuts"][:5] + ["500"] + METHODS["nuts"][6:]
    end(start("sample", *BASE, *few), 0)
    says("next: relmc resume run.ckpt --samples N    for more draws")
    end(start("resume", "run.ckpt", "--samples", "900"), 0)
    end(start("resume", "run.ckpt", "--samples", "8000"), 0)
    same(wanted, "longer")
    config = open("d_config.json").read()
    if config != open("../whole/d_config.json").read():
        fail("d_config.json differs")
    end(start("resume", "run.ckpt"), 0)
    same(wanted, "nothing left to do")
    end(start("resume", "run.ckpt", "--samples", "800"), 2)
    same(wanted, "refused")
    print("ok    --samples: as if asked for at the start")


def damage(path):
    data = bytearray(open(path, "rb").read())
    data[len(data) // 2] ^= 4
    open(path, "wb").write(data)


def damaged():
    wanted, _ = whole("hmc")
    midway(command("hmc"), await_draws, tell("SIGTERM"), 75)
    damage("run.ckpt")
    end(start("resume", "run.ckpt"), 0)
    says("run.ckpt is damaged: its checksum does not match; going on from the "
         "one before, run.ckpt.1")
    same(wanted, "damaged")
    os.remove("run.ckpt")
    end(start("resume", "run.ckpt"), 0)
    says("cannot read run.ckpt")
    same(wanted, "gone")
    damage("run.ckpt")
    damage("run.ckpt.1")
    end(start("resume", "run.ckpt"), 4)
    says("relmc resume: run.ckpt is damaged")
    same(wanted, "both damaged")
    end(start("resume", FIRST), 4)
    says(FIRST + " is not a checkpoint of relmc")
    end(start("resume"), 2)
    print("ok    a damaged checkpoint: the one before, or none")


def limit():
    resource.setrlimit(resource.RLIMIT_FSIZE, (150000, 150000))


def no_room():
    wanted, _ = whole("hmc")
    fresh("full")
    end(start("sample", *BASE, *METHODS["hmc"], preexec_fn=limit), 4)
    says("cannot write ")
    says("File too large")
    says("relmc resume run.ckpt        goes on after iteration ")
    end(start("resume", "run.ckpt"), 0)
    same(wanted, "full")
    midway(command("hmc", "--checkpoint", "there/run.ckpt"), await_draws,
           take_away, 4, lambda: os.mkdir("there"))
    says("cannot write there/run.ckpt")
    says("No such file or directory")
    end(start("sample", *BASE, "--checkpoint", "nowhere/run.ckpt"), 4)
    says("cannot write nowhere/run.ckpt: ")
    print("ok    no room, no folder: exit code 4, and nothing is lost")


FOLDER = os.getcwd()
if TASK == "killed":
    few = {"csv": ("auto", "sghmc", "adam", *OPTIMIZERS),
           "rmc": ("nuts", "sgld"), "nc": ("nuts", "hmc")}[FORMAT]
    named = ("hmc", "nuts", "sghmc", "sgnht", "sgd", "adam")
    many = [*METHODS, *OPTIMIZERS] if FORMAT == "csv" else named
    for method in many if KILLS > 9 else few:
        killed(method)
else:
    {"stopped": stopped, "longer": longer, "damaged": damaged,
     "no_room": no_room, "optimized": optimized, "patient": patient}[TASK]()
END

formats='csv rmc'
case $("$relmc" version) in
*'netcdf     no'*) echo 'note: built without NetCDF' ;;
*) formats="$formats nc" ;;
esac
if [ -n "${3-}" ]; then
    case " $formats " in
    *" $3 "*) formats=$3 ;;
    *) exit 77 ;;
    esac
fi
for format in $formats; do
    # slow tasks: with few kills for CSV, with many for the other formats
    if [ "$kills" -gt 9 ] && [ $format != csv ] ||
        [ "$kills" -le 9 ] && [ $format = csv ]; then
        tasks='stopped longer damaged no_room'
        [ $format != csv ] || tasks="$tasks optimized patient"
    elif [ $format = csv ]; then
        tasks=
    else
        tasks=longer
    fi
    for task in $tasks; do
        python3 resume.py "$relmc" $task "$kills" $format || exit 1
    done
    python3 resume.py "$relmc" killed "$kills" $format || exit 1
done

run 2 sample banana --checkpoint-every soon
says err '--checkpoint-every: "soon" is not a time'
ok 'times are checked'
