#!/usr/bin/env python3
"""sanitized.py - pairs of programs, one wrong and one right, by compute-sanitizer's four tools, alone, and by gilua.

  sanitized.py --gilua GILUA [--limit S] [--at-once N] [--work FOLDER] [--tools LIST] [--cases LIST]
      SOURCE.cu...

`gilua tests/gpu/pairs.lua FOLDER` writes sources. A source begins with "// KIND: what". One that reads argv[1] is built
once and run with `bug` and `fix`; any other one is built with -DBUG and with -DFIX. Lines marked "told:" or "// BUG"
are as many cases: each counts as told where the output names its line. A source that reads argv[2] is run for each of
its cases alone, by its number from 1: a case counts as told where an error is reported. --cases takes some of these.

A line a source: what each tool says of the wrong program, and "FALSE" where it speaks of the right one. Then the sums
by kind, as the table of docs/run.md. "alone" means without any tool: it hangs, fails, or three runs print different
things. --limit is the time of one run: what takes longer "hangs". Without compute-sanitizer on the machine its tools
are left out with a word.
"""
import argparse, concurrent.futures, json, os, re, shutil, signal, subprocess, sys, tempfile

FLAGS = "-std=c++17 -cudart shared -gencode arch=compute_90,code=compute_90 -lineinfo -w -g".split()
NATIVE = "-std=c++17 -arch=native -lineinfo -w -g".split()
TOOLS = ["memcheck", "racecheck", "synccheck", "initcheck"]
EXTRA = {"memcheck": ["--track-stream-ordered-races", "all"]}
CHECKS = {"undefined": "uninit", "order": "order", "streams": "streams"}  # of other kinds: races
KIND_OF = {"undefined.cu": "undefined", "order.cu": "order", "unordered.cu": "streams", "unread.cu": "calls",
           "pending.cu": "copies", "pending_groups.cu": "copies"}


def options():
    o = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    o.add_argument("--gilua", required=True)
    o.add_argument("--limit", type=float, default=20)
    o.add_argument("--at-once", type=int, default=8)
    o.add_argument("--work", default="/tmp/sanitized")
    o.add_argument("--tools", default=",".join(["gilua", *TOOLS, "alone"]))
    o.add_argument("--cases", type=lambda list: {int(n) for n in list.split(",")})
    o.add_argument("sources", nargs="+")
    return o.parse_args()


class Source:
    def __init__(self, path, number=None):
        self.number, self.path, self.file = number, path, os.path.basename(path)
        self.text = open(path, encoding="utf-8").read()
        named = re.match(r"// ([a-z]+): ", self.text)
        self.kind = KIND_OF.get(self.file) or (named and named[1]) or "other"
        self.has_argument = re.search(r"\barg(v?)\[1\]", self.text) is not None
        lines = self.text.split("\n")
        self.marks = [i + 1 for i, line in enumerate(lines) if re.search(r"// told: \w|// BUG$", line)]
        self.cases = 1 if number else max(1, len(self.marks))


def each_case(path, cases):
    """A source, or one for each of its cases, or of those that are asked for."""
    whole = Source(path)
    is_apart = re.search(r"\bargv?\[2\]", whole.text)
    return [Source(path, k + 1) for k in range(whole.cases) if not cases or k + 1 in cases] if is_apart else [whole]


def build(source, variant, native, o):
    """Returns the command that runs a variant; raises what the compiler says."""
    name = source.file[:-3] + ("" if source.has_argument else "." + variant) + (".gpu" if native else "")
    program = os.path.join(o.work, name)
    define = [] if source.has_argument else ["-D" + variant.upper()]
    if not os.path.exists(program):
        done = subprocess.run(["nvcc", *(NATIVE if native else FLAGS), *define, source.path, "-o", program + ".new"],
                              capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"{source.path} does not build: {(done.stderr or done.stdout).strip()[:300]}")
        os.replace(program + ".new", program)
    return [program] + ([variant] if source.has_argument else []) + ([str(source.number)] if source.number else [])


def run(command, o):
    """Returns the status and what it prints; the status is None where the limit is over."""
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
    try:
        out, _ = child.communicate(timeout=o.limit)
        return child.returncode, out.decode(errors="replace")
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        child.communicate()
        return None, ""


def counted(source, errors, out):
    """How many of a source's cases are told: by their lines, where there are several."""
    lines = {int(n) for n in re.findall(re.escape(source.file) + r"(?::| line )(\d+)", out)}
    return min(1, errors) if source.cases == 1 else len(lines & set(source.marks))


def by_tool(tool, source, command, o):
    """Returns the number of cases that the tool tells, and a word."""
    status, out = run(["compute-sanitizer", "--tool", tool, *EXTRA.get(tool, []), *command], o)
    if status is None:
        return 0, "hangs"
    found = re.findall(r"SUMMARY: (\d+) (?:error|hazard)", out)
    if not found:
        return 0, "no summary"
    errors = int(found[-1])
    return counted(source, errors, out), "told" if errors else "-"


def by_gilua(source, command, o):
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        check = CHECKS.get(source.kind, "races,global-races")
        status, out = run([o.gilua, "run", "--quiet", "--check", check, "--json", report.name, "--", *command], o)
        if status is None:
            return 0, "hangs"
        said = [f for f in json.load(open(report.name))["findings"] if not f["kind"].startswith("benign")]
    return counted(source, len(said), out), "told" if said else "-"


def alone(source, command, o):
    seen = []
    for _ in range(3):
        seen.append(run(command, o))
        if seen[-1][0] is None:
            return 1, "hangs"
        if seen[-1][0] != 0:
            return 1, "fails"
    return (1, "varies") if len(set(seen)) > 1 else (0, "-")


def judge(tool, source, variant, o):
    command = build(source, variant, tool != "gilua", o)
    if tool == "gilua":
        return by_gilua(source, command, o)
    return alone(source, command, o) if tool == "alone" else by_tool(tool, source, command, o)


def row(source, tools, o):
    """Returns {tool: (told, word, is the right one spoken of)}."""
    out = {}
    for tool in tools:
        told, word = judge(tool, source, "bug", o)
        _, right = judge(tool, source, "fix", o)
        out[tool] = (told, word, right != "-")
    return out


def tools_here(o):
    tools = o.tools.split(",")
    if shutil.which("compute-sanitizer") and shutil.which("nvidia-smi"):
        return tools
    print("no compute-sanitizer or no GPU here: gilua alone", file=sys.stderr)
    return [tool for tool in tools if tool == "gilua"]


def table(rows, tools):
    print("\n| kind | cases | " + " | ".join(tools) + " |\n" + "| --- " * (len(tools) + 2) + "|")
    for kind in sorted({s.kind for s, _ in rows}):
        mine = [(s, r) for s, r in rows if s.kind == kind]
        cells = []
        for tool in tools:
            told, wrong = sum(r[tool][0] for _, r in mine), sum(r[tool][2] for _, r in mine)
            hangs = sum(r[tool][1] == "hangs" for _, r in mine) if tool != "alone" else 0
            cells.append(f"{told}" + (f", {hangs} hang" if hangs else "") + (f", {wrong} false" if wrong else ""))
        print(f"| {kind} | {sum(s.cases for s, _ in mine)} | " + " | ".join(cells) + " |")


def show(source, r):
    said = [f"{tool}: {told if source.cases > 1 else word}{' FALSE' if wrong else ''}"
            for tool, (told, word, wrong) in r.items()]
    what = source.text.split("\n")[0][3:80] if source.cases == 1 else f"{source.cases} cases"
    name = source.file + (f" {source.number}" if source.number else "")
    print(f"{name:<22} {'; '.join(said)}   {what}", flush=True)


def main():
    o = options()
    os.makedirs(o.work, exist_ok=True)
    tools = tools_here(o)
    sources = [source for path in o.sources for source in each_case(path, o.cases)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:  # compilers
        for source in {s.path: s for s in sources}.values():
            for variant in ["bug"] if source.has_argument else ["bug", "fix"]:
                for native in {tool != "gilua" for tool in tools}:
                    pool.submit(build, source, variant, native, o)
    rows = []
    with concurrent.futures.ThreadPoolExecutor(o.at_once) as pool:
        for source, r in zip(sources, pool.map(lambda s: row(s, tools, o), sources)):
            rows.append((source, r))
            show(source, r)
    table(rows, tools)


main()
