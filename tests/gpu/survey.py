#!/usr/bin/env python3
"""survey.py - public CUDA programs, each on the GPU and by `gilua run` on the virtual one: a table beside each other.

  survey.py --programs FOLDER --gilua GILUA [--out FOLDER] [--limit S] [--native-limit S] [--bound S]
            [--at-once N] [--threads N] [--native yes|no] [--native-at-once N] [--memory GIB] [NAME...]

FOLDER holds programs.json, a list of {name, folder, build, made, command, pass, fail, guess_s}:
  folder    where the commands are run, below FOLDER
  build     how it is built, for a shell; done where `made` is not there yet, with gilua's NVCC_APPEND_FLAGS
  made      the program that comes of it
  command   as the program's makefile has it, for a shell
  pass      regular expressions that its output must all hold where it is right; none: it has no check
  fail      regular expressions that its output must not hold
  guess_s   how long `gilua run` may take; the longest are begun first (0: not known)
and what the commands need. Nobody's programs are part of this repository: docs/run.md says where they come from.

What is built runs: natively one after the other with the real run-time library (where there is a GPU), and meanwhile N
at once on the virtual GPU, each for at most --limit seconds, all for at most --bound, building included. None is begun
while what runs holds more than 0.6 of --memory (all that the machine has). In --out: survey.jsonl (a line a program),
survey.txt (the table), output.tar.gz (what each printed, from either end 20 000 characters). FOLDER is worked in:
programs may leave files there.
NAME...: those alone. Only Python's standard library is needed. The exit status is 0, whatever the programs do.
"""
import argparse, collections, glob, heapq, json, os, re, resource, shutil, signal, subprocess, sys, tarfile
import threading, time

KEPT = 20000  # characters of output that are kept from each end
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
    o.add_argument("--limit", type=float, default=500)
    o.add_argument("--native-limit", type=float, default=60)
    o.add_argument("--bound", type=float, default=560)
    o.add_argument("--at-once", type=int, default=os.cpu_count())
    o.add_argument("--threads", type=int, default=1)
    o.add_argument("--native", choices=("yes", "no"), default="yes" if os.path.exists("/dev/nvidia0") else "no")
    o.add_argument("--native-at-once", type=int, default=1)
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


def ended(process):
    """Ends what is left of a process group."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def run(command, folder, out, limit, env, nice):
    """Runs a shell's command; its times, peak memory and exit status (None: it ran out of `limit` seconds)."""
    def child():
        os.nice(nice)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    began = time.time()
    with open(out, "wb") as to:
        process = subprocess.Popen(["bash", "-c", command], cwd=folder, stdin=subprocess.DEVNULL, stdout=to,
                                   stderr=subprocess.STDOUT, env=env, start_new_session=True, preexec_fn=child)
        late = threading.Event()
        timers = [threading.Timer(max(limit, 0.1), lambda: (late.set(), process.send_signal(signal.SIGTERM))),
                  threading.Timer(max(limit, 0.1) + GRACE, lambda: ended(process))]
        for timer in timers:
            timer.start()
        _, status, used = os.wait4(process.pid, 0)
        for timer in timers:
            timer.cancel()
        ended(process)
    code = os.waitstatus_to_exitcode(status)
    process.returncode = code
    return {"exit": None if late.is_set() else code, "wall_s": round(time.time() - began, 3),
            "cpu_s": round(used.ru_utime + used.ru_stime, 3), "peak_mb": used.ru_maxrss >> 10}


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
        self.texts = os.path.join(o.out, "output")
        os.makedirs(self.texts, exist_ok=True)
        self.gpu_copy, self.cudart = os.path.join(o.out, "work"), cudart_folder()
        if o.native == "yes" and not self.cudart:
            sys.exit("survey.py: no libcudart.so.13 was found, which the programs need on a GPU; --native no leaves"
                     " that part out")
        # each in the order in which it is begun: to build, [(-guess, index, program)] to emulate, to run natively
        self.to_build = collections.deque(sorted(self.programs, key=lambda p: -(p.get("guess_s") or 1e9)))
        self.building, self.to_emulate, self.to_run = len(self.programs), [], collections.deque()

    def left(self):
        """Seconds in which a program may run."""
        return self.o.bound - GRACE - 5 - (time.time() - self.began)

    def note(self, program, kind, result):
        with self.changed:
            self.rows[program["name"]][kind] = result
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
                        self.to_run.append(program)
                    heapq.heappush(self.to_emulate, (-(program.get("guess_s") or 1e9), name, program))
                self.changed.notify_all()

    def next(self, queue, take):
        """The next program of a queue, or None once there will be no other, or no time."""
        with self.changed:
            while not queue and self.building > 0 and self.left() > 5:
                self.changed.wait(1)
            return take(queue) if queue and self.left() > 5 else None

    def one(self, program, kind, limit, nice):
        """Runs a program one way, and notes what came of it."""
        env, command, report = dict(os.environ), program["command"], None
        libraries = [os.path.join(os.path.abspath(self.o.programs), "lib")]
        top = self.gpu_copy if kind == "gpu" else self.o.programs
        if kind == "gpu":
            libraries.insert(0, self.cudart)
        else:
            report = os.path.abspath(os.path.join(self.texts, program["name"] + ".json"))
            command = "exec '%s' run --threads %d --json '%s' -- bash -c '%s'" % (
                os.path.abspath(self.o.gilua), self.o.threads, report, command.replace("'", "'\\''"))
        env["LD_LIBRARY_PATH"] = ":".join(libraries)
        out = os.path.join(self.texts, "%s.%s.txt" % (program["name"], kind))
        result = run(command, os.path.join(top, program["folder"]), out, min(limit, self.left()), env, nice)
        text = text_of(out)
        with open(out, "w") as f:
            f.write(text)
        result["verdict"] = verdict(program, result, text)
        if report:
            result["findings"] = findings(report)
            result["said"] = [l for l in text.split("\n") if l.startswith("gilua:")][:6]
        self.note(program, kind, result)

    def native(self):
        while program := self.next(self.to_run, lambda q: q.popleft()):
            self.one(program, "gpu", self.o.native_limit, 0)

    def emulated(self):
        while program := self.next(self.to_emulate, lambda q: heapq.heappop(q)[2]):
            while held() > 0.6 * self.o.memory * 2**30 and self.left() > 5:
                time.sleep(2)
            self.one(program, "emu", self.o.limit, 10)

    def run(self):
        if self.o.native == "yes":
            shutil.copytree(self.o.programs, self.gpu_copy, symlinks=True, dirs_exist_ok=True)
        threads = [threading.Thread(target=self.build) for _ in range(os.cpu_count())]
        threads += [threading.Thread(target=self.emulated) for _ in range(self.o.at_once)]
        if self.o.native == "yes":
            threads += [threading.Thread(target=self.native) for _ in range(self.o.native_at_once)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.write()
        with tarfile.open(os.path.join(self.o.out, "output.tar.gz"), "w:gz") as tar:
            tar.add(self.texts, "output")
        shutil.rmtree(self.texts)
        shutil.rmtree(self.gpu_copy, ignore_errors=True)
        print(open(os.path.join(self.o.out, "survey.txt")).read())

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
        with open(os.path.join(self.o.out, "survey.jsonl"), "w") as f:
            for row in rows:
                f.write(json.dumps(row) + "\n")
        with open(os.path.join(self.o.out, "survey.txt"), "w") as f:
            f.write("%-34s %-14s %9s %-16s %9s %9s %8s %s\n" % (
                "program", "GPU", "wall s", "virtual GPU", "wall s", "cpu s", "findings", "text"))
            for row in rows:
                gpu, emu = row.get("gpu", {}), row.get("emu", {})
                none = "not built" if row.get("build", {}).get("verdict") == "not built" else "not begun"
                same = "" if "differs" not in row else "same" if row["differs"] is None else "differs"
                f.write("%-34s %-14s %9s %-16s %9s %9s %8s %s\n" % (
                    row["name"], gpu.get("verdict", none), gpu.get("wall_s", ""),
                    emu.get("verdict", none), emu.get("wall_s", ""), emu.get("cpu_s", ""),
                    emu.get("findings", ""), same))


def findings(path):
    """How many findings gilua's report has, or None where it cannot be read."""
    try:
        with open(path) as f:
            return len(json.load(f).get("findings", []))
    except (ValueError, OSError):
        return None


if __name__ == "__main__":
    Survey(options()).run()
