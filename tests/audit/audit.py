#!/usr/bin/env python3
"""audit.py - are published kernels of KernelBench's level 1 right, and can their published times be?

  audit.py --programs FOLDER --gilua GILUA [--times CSV] [--gpu-bandwidth TB/S] [--work FOLDER] [--at-once N]
           [--limit S] [--json FILE] [--sample N --seed S] [NAME...]

--programs may be a file of CUDA-L1 as well (optimized_cuda_code/codes/*.json): its first level's sources.
Each FOLDER/**/NUMBER_*.cu is a PyTorch extension's source: kernels and one C++ function of torch::Tensor. It is built
with torch.h in PyTorch's place and run by `gilua run`, all checks on, on data of six kinds at the benchmark's sizes
(fewer rows or images) and at sizes that divide by nothing; operations.h has the right answers. FOLDER may also hold
.py files whose strings are such a source (load_inline). With --times (columns Problem_ID, Kernels, ...,
Generated_Kernel_Latency(ms)) a time in which inputs and answers cannot have crossed the GPU's memory is told.

A line a kernel: its verdict and the first input that shows it, with the command that shows it again. Then the sums.
Nobody's kernels are part of this repository.
"""
import argparse, concurrent.futures, csv, json, os, random, re, shlex, subprocess, sys

HERE = os.path.dirname(os.path.abspath(__file__))
PYTORCH = os.path.join(HERE, "../../lua/gilua/include/pytorch")  # in its place
FLAGS = "-cudart shared -gencode arch=compute_90,code=compute_90 -lineinfo -w -std=c++17 --expt-relaxed-constexpr"
CHECKS = "races,global-races,uninit"
# Cheap first: a wrong answer ends the row.
RUNS = [("own", "uniform"), ("other", "normal"), ("own", "normal"), ("own", "negative"), ("own", "zeros"),
        ("own", "large"), ("own", "shifted"), ("other", "uniform")]
# Operations whose planes or matrices are smaller here than in the benchmark: a function that is for the benchmark's
# sizes alone and does not say so is wrong here already on uniform data.
REDUCED = {*range(1, 4), *range(6, 19), *range(42, 47), 50, *range(54, 88), 97}
# Operations whose sizes of the benchmark's first release operations.h has; others of its sources are not judged.
FIRST = {3, 5, *range(19, 38), 41, *range(47, 54), 60, 65, 82, 83, 84, 88, 89, 91, 93, 95, 97}
# Calls whose wrapper in Python does a part of the operation; what that part is, the operation says.
CALLS = {33: "[&] { auto x = c.next(); auto g = c.next(), b = c.next(); auto m = reduce_mean_cuda(x);"
             " return normalize_cuda(x, m, reduce_variance_cuda(x, m), g, b, c.value(\"eps\")); }()",
         100: "[&] { auto p = c.next(), t = c.next(), s = torch::zeros({1}); hinge_loss_forward(p, t, s, p.numel(),"
              " p.size(1), 1, 1); return s / (double)p.numel(); }()"}
MARKS = {33: "reduce_mean_cuda", 100: "partial_sums"}


def options():
    o = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    o.add_argument("--programs", required=True)
    o.add_argument("--gilua", required=True)
    o.add_argument("--times")
    o.add_argument("--gpu-bandwidth", type=float, default=2.039, help="TB/s of memory (A100 80 GB: 2.039)")
    o.add_argument("--work", default="/tmp/audit")
    o.add_argument("--at-once", type=int, default=os.cpu_count())
    o.add_argument("--limit", type=float, default=120)
    o.add_argument("--json")
    o.add_argument("--sample", type=int)
    o.add_argument("--seed", type=int, default=1)
    o.add_argument("names", nargs="*")
    return o.parse_args()


def taken_apart(path, folder):
    """A folder of the sources of level 1 in a file of CUDA-L1."""
    os.makedirs(folder, exist_ok=True)
    with open(path) as f:
        rows = json.load(f)["1"]
    for row in rows:
        with open(os.path.join(folder, "%d_kernel.py" % row["task_id"]), "w") as f:
            f.write(row["custom_code"] or "")
    return folder


def sources(o):
    found = []
    for at, _, files in os.walk(o.programs):
        found += [os.path.join(at, f) for f in files if f.endswith((".cu", ".py")) and text_of(os.path.join(at, f))]
    found.sort(key=lambda f: (number_of(f), f))
    if o.names:
        found = [f for f in found if any(n in f for n in o.names)]
    if o.sample:
        found = sorted(random.Random(o.seed).sample(found, min(o.sample, len(found))), key=number_of)
    return found


def text_of(path):
    """The CUDA source of a file: the file, or a string of a Python file; "" where that is no extension's."""
    if not number_of(path):
        return ""
    with open(path, errors="replace") as f:
        text = f.read()
    if path.endswith(".py"):
        strings = re.findall(r'("""|\'\'\')(.*?)\1', text, flags=re.S)
        text = "\n".join(["#include <torch/types.h>"] + [s for _, s in strings if "__global__" in s])
    return text if "Tensor" in text and "__global__" in text else ""


def number_of(path):
    """KernelBench's number: what the file's or a folder's name begins with."""
    for part in reversed(os.path.relpath(path).split(os.sep)):
        m = re.match(r"(\d+)(_|\.cu$|$)", part)
        if m:
            return int(m.group(1))
    return None


RESULT = r"((?:std::)?vector<\s*(?:torch|at)::Tensor\s*>|(?:torch|at)::Tensor|void)\s+(\w+)\s*\(([^{;]*?)\)\s*\{"


def function_of(text):
    """The function that the module exports, or the last that takes a Tensor: (result, name, parameters)."""
    plain = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.S)
    found = [m.groups() for m in re.finditer(RESULT, plain) if "Tensor" in m.group(3)]
    exported = re.findall(r"m\.def\(\s*\"\w+\"\s*,\s*&?\s*(?:\w+::)*(\w+)", plain)
    if len(set(exported)) > 1:
        return None  # which one is meant, the wrapper in Python says
    for one in found:
        if one[1] in exported:
            return one
    return found[-1] if found else None


def call_of(number, text):
    if number in CALLS and MARKS[number] in text:
        return CALLS[number]
    function = function_of(text)
    if not function:
        return None
    words, given = [], None
    for one in re.split(r",(?![^<]*>)", function[2]):
        kind, name = re.match(r"\s*(.*?)[\s&]*(\w+)\s*(?:=.*)?$", " ".join(one.split())).groups()
        if "Tensor" in kind and function[0] == "void" and re.match(r"out|y$|result|[cC]$|dst", name):
            words.append("c.output()")
            given = "a%d" % (len(words) - 1)
        elif "Tensor" in kind:
            words.append("c.next_bias()" if "bias" in name.lower() else "c.next()")
        elif "vector" in kind or "tuple" in kind or "IntArrayRef" in kind:
            count = len(re.findall(r"int", kind)) if "tuple" in kind else 3
            words.append("{%s}" % ", ".join('(int)c.value("%s%d")' % (name, i) for i in range(count)))
        elif "bool" in kind and "bias" in name:
            words.append("true")
        else:
            words.append('(%s)c.value("%s")' % (kind.replace("const ", ""), name))
    # Arguments are taken from left to right; a call's own order is the compiler's.
    lines = ["auto a%d = %s;" % (i, w) if not w.startswith("{") else "" for i, w in enumerate(words)]
    names = ["a%d" % i if not w.startswith("{") else w for i, w in enumerate(words)]
    does = "%s(%s)" % (function[1], ", ".join(names))
    if "vector" in function[0]:
        does += ".at(0)"
    if function[0] == "void":
        if not given:
            return None
        return "[&] { %s %s; return %s; }()" % (" ".join(lines), does, given)
    return "[&] { %s return %s; }()" % (" ".join(lines), does)


def built(source, o):
    """The program of a source, or None and why not."""
    program = os.path.join(o.work, os.path.relpath(source, o.programs)[:-3])
    if os.path.exists(program):
        return program, ""
    text = text_of(source)
    call = call_of(number_of(source), text)
    if not call:
        return None, "no function of Tensors, or several"
    os.makedirs(os.path.dirname(program) or ".", exist_ok=True)
    if source.endswith(".py"):
        source = program + ".source.cu"
        with open(source, "w") as f:
            f.write(text)
    with open(program + ".cu", "w") as f:
        f.write('%s#include "%s"\n#include "%s"\n'
                "static torch::Tensor call(Case &c) { return %s; }\n"
                "int main(int argc, char **argv) { return judge(argc, argv, call); }\n"
                % ("#define FIRST_SIZES\n" if o.first else "", os.path.abspath(source), os.path.join(HERE, "main.h"), call))
    done = subprocess.run(["nvcc", *shlex.split(FLAGS), "-I", PYTORCH, program + ".cu", "-o", program],
                          capture_output=True, text=True, errors="replace")
    said = [line for line in done.stderr.splitlines() if "error" in line]
    return (program, "") if done.returncode == 0 else (None, "does not compile: " + (said or ["?"])[0].strip())


def ran(program, number, size, data, o):
    """One run: (verdict, words). Verdicts: right, wrong, racing, memory, refused, unknown, unsupported, slow."""
    report = "%s-%s-%s.json" % (program, size, data)
    command = [o.gilua, "run", "--quiet", "--check", CHECKS, "--json", report, "--", program, str(number), size, data]
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=o.limit)
    except subprocess.TimeoutExpired:
        return "slow", "not ended in %g s" % o.limit
    said = [line[7:] for line in done.stderr.splitlines() if line.startswith("gilua: ")]
    said = [line for line in said if not line.startswith("warning: ")]
    mine = re.search(r"audit: (.*)", done.stderr)
    answer = re.search(r"answers (\d+)(?: of (\d+))?(?: worst (\S+) wrong (\d+) at (\d+) got (\S+) right (\S+))?",
                       done.stdout)
    if mine and done.returncode in (4, 5) and not said:
        return ("unknown" if done.returncode == 4 else "refused"), mine.group(1)
    if done.returncode == 4 or any("not know" in s or "not supported" in s or "no kernel" in s for s in said):
        return "unsupported", (said or [done.stderr.strip()[-160:]])[0]
    if any(" failed with " in s and "Launch" in s for s in said):
        return "refused", next(s for s in said if " failed with " in s)
    if any("ended by signal" in s or "the library lua/gilua" in s for s in said):
        return "unknown", said[0]
    if said and ("race" in said[0] or "still brings" in said[0]):  # a copy that nobody waited for
        return "racing", said[0]
    if said:
        return "memory", said[0]
    if not answer:
        return "unknown", "status %d: %s" % (done.returncode, done.stderr.strip()[-160:])
    if answer.group(2):
        return "wrong", "%s answers, %s asked" % (answer.group(1), answer.group(2))
    n, worst, wrong, at, got, right = (answer.group(i) for i in (1, 3, 4, 5, 6, 7))
    if int(wrong):
        return "wrong", "%s of %s answers, e.g. %s: %s for %s" % (wrong, n, at, got, right)
    return "right", "worst %s of the limit" % worst


def judged(source, o, times):
    number = number_of(source)
    row = {"name": os.path.relpath(source, o.programs), "number": number, "runs": {}}
    if o.first and number not in FIRST:
        return dict(row, verdict="not judged", why="the sizes of the benchmark's first release are not known")
    program, why = built(source, o)
    if not program:
        return dict(row, verdict="not judged", why=why)
    for size, data in RUNS:
        verdict, words = ran(program, number, size, data, o)
        row["runs"]["%s %s" % (size, data)] = [verdict, words]
        if verdict in ("unsupported", "unknown") or verdict == "slow" and size == "own" and data == "uniform":
            break
    if number in times:
        done = subprocess.run([program, str(number), "full"], capture_output=True, text=True,
                              env=dict(os.environ, LD_LIBRARY_PATH=os.path.join(os.path.dirname(o.gilua), "lib")))
        m = re.search(r"bytes (\d+)", done.stdout)
        if m:
            row["rate"] = int(m.group(1)) / times[number] / 1e9  # bytes a ms -> TB/s
    return dict(row, **verdict_of(row, o))


def verdict_of(row, o):
    """One verdict of all runs: the first that is not right, by weight."""
    runs = row["runs"]
    own = {k: v for k, v in runs.items() if k.startswith("own")}
    name, (verdict, words) = next(iter(runs.items()))
    at_edges = verdict in ("memory", "wrong") or "race in global memory" in words
    if row["number"] in REDUCED and at_edges and " failed with " not in words:
        return {"verdict": "own size alone", "data": name, "why": words}
    for kind in ("racing", "memory", "wrong"):
        for name, (verdict, words) in sorted(own.items(), key=lambda r: "uniform" not in r[0]):
            if verdict == kind:
                return {"verdict": kind, "data": name, "why": words}
    if row.get("rate", 0) > o.gpu_bandwidth:
        return {"verdict": "impossible", "data": "", "why": "%.1f TB/s" % row["rate"]}
    if not any(v == "right" for v, _ in own.values()):
        name, (verdict, words) = next(iter(runs.items()))
        return {"verdict": "not judged", "data": name, "why": words}
    for name, (verdict, words) in runs.items():
        if name.startswith("other") and verdict in ("racing", "memory", "wrong"):
            return {"verdict": "own size alone", "data": name, "why": words}
    return {"verdict": "right", "data": "", "why": ""}


def times_of(path):
    """KernelBench's number -> ms, of the last kernel that a table names for it."""
    times = {}
    if path:
        with open(path) as f:
            for row in csv.DictReader(f):
                if row["Generated_Kernel_Latency(ms)"] and "Baseline" not in row["Kernels"]:
                    times[int(row["Problem_ID"])] = float(row["Generated_Kernel_Latency(ms)"])
    return times


def main():
    o = options()
    o.programs, o.work, o.gilua = map(os.path.abspath, (o.programs, o.work, o.gilua))
    o.first = o.programs.endswith(".json")
    if o.first:
        REDUCED.update(range(33, 38))
        REDUCED.difference_update([41, 50, 65, 82, 83, 84])
        o.programs = taken_apart(o.programs, os.path.join(o.work, "sources"))
    os.makedirs(o.work, exist_ok=True)
    times, rows = times_of(o.times), []
    with concurrent.futures.ThreadPoolExecutor(o.at_once) as pool:
        for row in pool.map(lambda s: judged(s, o, times), sources(o)):
            rows.append(row)
            rate = "%6.2f TB/s" % row["rate"] if "rate" in row else ""
            print("%-16s %-60s %s %s %s" % (row["verdict"], row["name"], rate, row.get("data", ""), row["why"]), flush=True)
    count = {}
    for row in rows:
        count[row["verdict"]] = count.get(row["verdict"], 0) + 1
    print(len(rows), "kernels:", ", ".join("%s %d" % kind for kind in sorted(count.items())))
    if o.json:
        with open(o.json, "w") as f:
            json.dump(rows, f, indent=1)


if __name__ == "__main__":
    main()
