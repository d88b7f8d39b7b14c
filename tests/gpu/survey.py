#!/usr/bin/env python3
"""survey.py - public CUDA programs, each on the GPU and by `gilua run` on the virtual one: a table beside each other.

  survey.py --programs FOLDER --gilua GILUA [--out FOLDER] [--limit S] [--native-limit S] [--bound S]
            [--at-once N] [--threads N] [--native yes|no] [--memory GIB] [--work FOLDER] [NAME...]

FOLDER holds programs.json, a list of {name, folder, build, made, command, pass, fail, guess_s}:
  folder    where the commands are run, below FOLDER
  build     how it is built, for a shell; done where `made` is not there yet, with gilua's NVCC_APPEND_FLAGS
  made      the program that comes of it
  command   as the program's makefile has it, for a shell
  pass      regular expressions that its output must all hold where it is right; none: it has no check
  fail      regular expressions that its output must not hold
  guess_s   seconds of processor that `gilua run` may take (0 or none: not known, taken for 60)
and what the commands need. Nobody's programs are part of this repository: docs/run.md says where they come from.

What is built runs: natively, one at a time, with the real run-time library (where there is a GPU), and meanwhile N at
once on the virtual GPU, with T threads each and niced. Either way what has run least comes first, the shortest guess
before others, and after a while (TURN) a program stands still for others; so the quick ones end first and the others
share what is left. wall_s is the time for which one ran, at most --native-limit and --limit; all takes at most --bound,
building included. None is begun while what there is holds more than 0.6 of --memory (all that the machine has).

In --out, written anew after each run, so that nothing is lost when all is cut off: survey.jsonl (a line a program; of
one that did not pass also what it printed last and how far gilua says that it came), survey.txt (the table), and at
least each minute output.tar.gz (what each printed, from either end 20 000 characters). FOLDER is worked in, and so is
--work, where the native half runs: programs may leave files there.
NAME...: those alone. Only Python's standard library is needed. The exit status is 0, whatever the programs do.
"""
import argparse, collections, glob, json, os, re, resource, shutil, signal, subprocess, sys, tarfile, threading, time

KEPT = 20000  # characters of output that are kept from each end
SHOWN = 1500  # characters of the end of what a program printed that did not pass
EXPENDABLE = "echo 1000 >/proc/self/oom_score_adj\n"  # where memory runs out, a program is ended, not this one
TURN = {"gpu": 10, "emu": 40}  # seconds
NICE = {"gpu": 0, "emu": 10}
GRACE = 10  # seconds after SIGTERM in which gilua says how far it came
FLAGS = "-cudart shared -gencode arch=compute_90,code=compute_90 -lineinfo"  # gilua's programhost.NVCC_FLAGS
TIMED = re.compile(r"time|sec|\bm?s\b|\bus\b|GB/s|GiB/s|MB/s|FLOP|bandwidth|throughput|speed|elapsed|perf|clock|rate|"
                   r"fps|cycles|took|GPU Device|device name|using device|bus id|driver|memory", re.I)
NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")


def memory():
    """Bytes of memory that there are."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def options():
    o = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    o.add_argument("--programs", required=True)
    o.add_argument("--gilua", required=True)
    o.add_argument("--out", default="out/survey")
    o.add_argument("--work", default="/tmp/survey")
    o.add_argument("--limit", type=float, default=600)
    o.add_argument("--native-limit", type=float, default=60)
    o.add_argument("--bound", type=float, default=560)
    o.add_argument("--at-once", type=int, default=os.cpu_count())
    o.add_argument("--threads", type=int, default=1)
    o.add_argument("--native", choices=("yes", "no"), default="yes" if os.path.exists("/dev/nvidia0") else "no")
    o.add_argument("--memory", type=float, default=memory() / 2**30)
    o.add_argument("names", nargs="*")
    return o.parse_args()


def cudart_folder():
    """The folder of the real libcudart.so.13, or None."""
    places = ["/usr/local/cuda*/lib64", "/usr/local/cuda*/targets/*/lib"]
    places += [os.path.join(p, "nvidia/*/lib") for p in sys.path if p]
    places += ["/opt/*/.venv/lib/python3*/site-packages/nvidia/*/lib", "/opt/*/lib/python3*/site-packages/nvidia/*/lib"]
    for place in places:
        for path in sorted(glob.glob(place + "/libcudart.so.13*")):
            if os.path.isfile(path):
                return os.path.dirname(path)


def held():
    """Bytes of memory that all processes hold."""
    pages = 0
    for path in glob.glob("/proc/[0-9]*/statm"):
        try:
            with open(path) as f:
                pages += int(f.read().split()[1])
        except (OSError, IndexError):
            pass  # it has ended
    return pages * os.sysconf("SC_PAGE_SIZE")


class Job:
    """A shell's command that runs, may stand still in between, and ends."""

    def __init__(self, command, folder, out, env, nice):
        def child():
            os.nice(nice)
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        self.ran, self.was_cut, self.status, self.used = 0.0, False, None, None
        with open(out, "wb") as to:
            self.process = subprocess.Popen(["bash", "-c", EXPENDABLE + command], cwd=folder, stdin=subprocess.DEVNULL,
                                            stdout=to, stderr=subprocess.STDOUT, env=env, start_new_session=True,
                                            preexec_fn=child)

    def signal(self, number):
        """To all of its processes; nothing where none is left."""
        try:
            os.killpg(self.process.pid, number)
        except ProcessLookupError:
            pass

    def goes(self, seconds):
        """Lets it run for at most so many seconds; has it not ended?"""
        began = now = time.time()
        while True:
            pid, status, used = os.wait4(self.process.pid, os.WNOHANG)
            if pid:
                self.status, self.used = os.waitstatus_to_exitcode(status), used
                self.process.returncode = self.status
                self.signal(signal.SIGKILL)  # whom it left behind
            if pid or now - began >= seconds:
                break
            time.sleep(0.01)
            now = time.time()
        self.ran += now - began
        return self.status is None

    def stops(self):
        self.signal(signal.SIGSTOP)

    def continues(self):
        self.signal(signal.SIGCONT)

    def ends(self):
        """Ends it: gilua says how far it came when it is asked to end."""
        self.was_cut = True
        self.continues()
        os.kill(self.process.pid, signal.SIGTERM)
        ran = self.ran
        if self.goes(GRACE):
            self.signal(signal.SIGKILL)
            self.goes(GRACE)
        self.ran = ran

    def result(self):
        """Its times, peak memory and exit status (None: it was ended)."""
        used = self.used or resource.getrusage(resource.RUSAGE_THREAD)
        return {"exit": None if self.was_cut else self.status, "wall_s": round(self.ran, 3),
                "cpu_s": round(used.ru_utime + used.ru_stime, 3), "peak_mb": used.ru_maxrss >> 10}


def run(command, folder, out, limit, env, nice):
    """Runs a shell's command for at most `limit` seconds; what came of it."""
    job = Job(command, folder, out, env, nice)
    if job.goes(limit):
        job.ends()
    return job.result()


def text_of(path):
    """What a program printed; of much only both ends."""
    size = os.path.getsize(path)
    with open(path, "rb") as f:
        data = f.read(KEPT)
        if size > 2 * KEPT:
            f.seek(-KEPT, 2)
            data += b"\n[...]\n"
        return (data + f.read(KEPT)).decode("utf-8", "replace")


def lines_of(text):
    """The lines that say neither a time nor a device, nor come from gilua itself."""
    return [" ".join(l.split()) for l in text.split("\n") if l.strip() and not TIMED.search(l)
            and not l.startswith("gilua:") and not l.startswith("  ")]


def difference(a, b):
    """None where two texts say the same, numbers to within 1e-3 of each other; else what differs first."""
    a, b = lines_of(a), lines_of(b)
    for x, y in zip(a, b):
        if x == y:
            continue
        p, q = NUMBER.findall(x), NUMBER.findall(y)
        if NUMBER.sub("#", x) != NUMBER.sub("#", y) or len(p) != len(q):
            return [x[:200], y[:200]]
        for m, n in zip(p, q):
            m, n = float(m), float(n)
            if abs(m - n) > 1e-3 * max(abs(m), abs(n)) + 1e-6:
                return [x[:200], y[:200]]
    if len(a) != len(b):
        return ["%d lines" % len(a), "%d lines" % len(b)]


def verdict(program, result, text):
    """How a run ended, in a word."""
    if result["exit"] is None:
        return "out of time"
    for pattern in program.get("fail", []):
        if re.search(pattern, text):
            return "fails"
    if not program.get("pass"):
        return "ended" if result["exit"] == 0 else "exit %d" % result["exit"]
    if all(re.search(pattern, text) for pattern in program["pass"]):
        return "passes" if result["exit"] == 0 else "passes, exit %d" % result["exit"]
    return "fails" if result["exit"] == 0 else "exit %d" % result["exit"]


class Survey:
    """The programs that are built, their queues, and a row of what came of each."""

    def __init__(self, o):
        self.o, self.began, self.changed = o, time.time(), threading.Condition()
        with open(os.path.join(o.programs, "programs.json")) as f:
            self.programs = [p for p in json.load(f) if not o.names or p["name"] in o.names]
        unknown = set(o.names) - {p["name"] for p in self.programs}
        if unknown:
            sys.exit("survey.py: programs.json has no %s" % ", ".join(sorted(unknown)))
        self.rows = {p["name"]: {"name": p["name"], "command": p["command"]} for p in self.programs}
        self.texts, self.gpu_copy = os.path.join(o.work, "output"), os.path.join(o.work, "native")
        for folder in (o.out, self.texts):
            os.makedirs(folder, exist_ok=True)
        self.cudart, self.packed, self.running, self.jobs, self.is_full = cudart_folder(), 0, set(), {}, False
        if o.native == "yes" and not self.cudart:
            sys.exit("survey.py: no libcudart.so.13 was found, which the programs need on a GPU; --native no leaves"
                     " that part out")
        self.to_build = collections.deque(sorted(self.programs, key=lambda p: -guess(p)))
        self.building, self.queue = len(self.programs), {"gpu": [], "emu": []}
        self.limit = {"gpu": o.native_limit, "emu": o.limit}

    def left(self):
        """Seconds in which a program may run."""
        return self.o.bound - GRACE - 5 - (time.time() - self.began)

    def note(self, program, kind, result):
        with self.changed:
            self.rows[program["name"]][kind] = result
            self.running.discard((program["name"], kind))
            print("%6.1f %-34s %-5s %-16s wall %8.2f cpu %8.2f peak %6d MB" % (
                time.time() - self.began, program["name"], kind, result["verdict"], result["wall_s"],
                result["cpu_s"], result["peak_mb"]), flush=True)
            self.write()

    def build(self):
        """Builds programs until there is none; what is built is queued to run."""
        env = dict(os.environ, NVCC_APPEND_FLAGS=FLAGS)
        env["PATH"] += ":/usr/local/cuda/bin"
        while True:
            with self.changed:
                if not self.to_build:
                    return
                program = self.to_build.popleft()
            folder, name = os.path.join(self.o.programs, program["folder"]), program["name"]
            made = os.path.join(folder, program["made"])
            if not os.path.exists(made) and self.left() > 0:
                out = os.path.join(self.texts, name + ".build.txt")
                result = run(program["build"], folder, out, min(400, self.left()), env, 0)
                built = result["exit"] == 0 and os.path.exists(made)
                result["verdict"] = "built" if built else "not built"
                self.note(program, "build", result)
            with self.changed:
                self.building -= 1
                if os.path.exists(made):
                    if self.o.native == "yes":
                        copy = os.path.join(self.gpu_copy, program["folder"])
                        shutil.copytree(folder, copy, symlinks=True, dirs_exist_ok=True)
                        self.queue["gpu"].append(program)
                    self.queue["emu"].append(program)
                self.changed.notify_all()

    def next(self, kind):
        """The program that comes next, or None once there will be no other, or no time."""
        queue = self.queue[kind]
        with self.changed:
            while not queue and self.building > 0 and self.left() > 5:
                self.changed.wait(1)
            if not queue or self.left() <= 5:
                return None
            program = min(queue, key=lambda p: self.rank(p, kind))
            queue.remove(program)
            self.running.add((program["name"], kind))
            return program

    def begin(self, program, kind):
        """A program that runs one way."""
        env, command, name = dict(os.environ), program["command"], program["name"]
        libraries = [os.path.join(os.path.abspath(self.o.programs), "lib")]
        top = self.gpu_copy if kind == "gpu" else self.o.programs
        if kind == "gpu":
            libraries.insert(0, self.cudart)
        else:
            command = "exec '%s' run --threads %d --json '%s' -- bash -c '%s'" % (
                os.path.abspath(self.o.gilua), self.o.threads, self.report(name), command.replace("'", "'\\''"))
        env["LD_LIBRARY_PATH"] = ":".join(libraries)
        return Job(command, os.path.join(top, program["folder"]), self.printed(name, kind), env, NICE[kind])

    def printed(self, name, kind):
        return os.path.join(self.texts, "%s.%s.txt" % (name, kind))

    def report(self, name):
        return os.path.abspath(os.path.join(self.texts, name + ".json"))

    def ended(self, program, kind, job):
        """Notes what came of one."""
        result, name = job.result(), program["name"]
        text = text_of(self.printed(name, kind))
        with open(self.printed(name, kind), "w") as f:
            f.write(text)
        result["verdict"] = verdict(program, result, text)
        if kind == "emu":
            result.update(reported(self.report(name)))
            result["said"] = [l for l in text.split("\n") if l.startswith("gilua:")][:6]
        if result["verdict"] not in ("passes", "ended"):
            result["printed_last"] = text[-SHOWN:]
        self.note(program, kind, result)

    def cut(self, program, kind, job):
        job.ends()
        self.ended(program, kind, job)

    def rank(self, program, kind):
        """Who comes first: who ran least, the least guess; nobody new while memory is short."""
        job = self.jobs.get((program["name"], kind))
        return job is None and self.is_full, job.ran if job else 0, guess(program)

    def turn(self, program, kind):
        """Lets one run for a while."""
        key = program["name"], kind
        job = self.jobs.get(key)
        if job:
            job.continues()
        elif self.is_full:
            time.sleep(2)
        else:
            job = self.jobs[key] = self.begin(program, kind)
        if job and not job.goes(min(TURN[kind], self.left(), self.limit[kind] - job.ran)):
            self.ended(program, kind, job)
        elif job and job.ran >= self.limit[kind]:
            self.cut(program, kind, job)
        else:
            if job:
                job.stops()
            with self.changed:
                self.running.remove(key)
                self.queue[kind].append(program)

    def all_of(self, kind):
        while program := self.next(kind):
            self.is_full = held() > 0.6 * self.o.memory * 2**30
            self.turn(program, kind)

    def cut_all(self):
        """Ends those that stand still when the time is over."""
        self.together([threading.Thread(target=self.cut, args=(p, kind, self.jobs[p["name"], kind]))
                       for kind in self.queue for p in self.queue[kind] if (p["name"], kind) in self.jobs])

    def together(self, threads):
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def pack(self):
        """What was printed so far, in one file, which is there whole at any time."""
        path = os.path.join(self.o.out, "output.tar.gz")
        with tarfile.open(path + ".new", "w:gz") as tar:
            tar.add(self.texts, "output")
        os.replace(path + ".new", path)
        self.packed = time.time()

    def run(self):
        o = self.o
        if o.native == "yes":
            shutil.copytree(o.programs, self.gpu_copy, symlinks=True, dirs_exist_ok=True)
        threads = [threading.Thread(target=self.build) for _ in range(os.cpu_count())]
        threads += [threading.Thread(target=self.all_of, args=("emu",)) for _ in range(o.at_once)]
        if o.native == "yes":
            threads.append(threading.Thread(target=self.all_of, args=("gpu",)))
        self.together(threads)
        self.cut_all()
        self.write()
        self.pack()
        for folder in (self.texts, self.gpu_copy):
            shutil.rmtree(folder, ignore_errors=True)
        print(open(os.path.join(o.out, "survey.txt")).read())

    def compare(self, row):
        """What both ways say, beside each other."""
        if "gpu" not in row or "emu" not in row or None in (row["gpu"]["exit"], row["emu"]["exit"]):
            return
        texts = [text_of(p) for p in (os.path.join(self.texts, "%s.%s.txt" % (row["name"], k)) for k in ("gpu", "emu"))]
        row["differs"] = difference(*texts)

    def write(self):
        rows = [self.rows[p["name"]] for p in self.programs]
        for row in rows:
            if "differs" not in row:
                self.compare(row)
        if time.time() - self.packed > 60:
            self.pack()
        with open(os.path.join(self.o.out, "survey.jsonl"), "w") as f:
            for row in rows:
                f.write(json.dumps(row) + "\n")
        with open(os.path.join(self.o.out, "survey.txt"), "w") as f:
            f.write("%-34s %-14s %9s %-16s %9s %9s %8s %s\n" % (
                "program", "GPU", "wall s", "virtual GPU", "wall s", "cpu s", "findings", "text and how far it came"))
            for row in rows:
                gpu, emu = row.get("gpu", {}), row.get("emu", {})
                none = "not built" if row.get("build", {}).get("verdict") == "not built" else "not begun"
                begun = ["runs" if (row["name"], kind) in self.running else
                         "stands still" if (row["name"], kind) in self.jobs else none for kind in ("gpu", "emu")]
                same = "" if "differs" not in row else "same" if row["differs"] is None else "differs"
                if emu.get("verdict") == "out of time":
                    same = how_far(emu)
                f.write("%-34s %-14s %9s %-16s %9s %9s %8s %s\n" % (
                    row["name"], gpu.get("verdict", begun[0]), gpu.get("wall_s", ""),
                    emu.get("verdict", begun[1]), emu.get("wall_s", ""), emu.get("cpu_s", ""),
                    emu.get("findings", ""), same))


def guess(program):
    """Seconds of processor that it is thought to take on the virtual GPU."""
    return program.get("guess_s") or 60


def reported(path):
    """Of gilua's report: how many findings, launches (all, and those that did not have to run) and lane instructions;
    no number where it has none or cannot be read."""
    try:
        with open(path) as f:
            report = json.load(f)
        kernels = report["kernels"]
        return {"findings": len(report["findings"]), "launches": sum(k["launches"] for k in kernels),
                "skipped": sum(k["skipped"] for k in kernels),
                "lane_instructions": sum(k["lane_instructions"] for k in kernels),
                "kernels_s": round(sum(k["processor_s"] for k in kernels), 3)}
    except (ValueError, OSError, KeyError):
        return {"findings": None}


def how_far(emu):
    """What there is to say of a program that was cut off."""
    if "launches" not in emu:
        return "no report"
    return "%d launches, %d of them skipped, %.3g lane instructions, %.0f s of them in kernels" % (
        emu["launches"], emu["skipped"], emu["lane_instructions"], emu["kernels_s"])


if __name__ == "__main__":
    Survey(options()).run()
