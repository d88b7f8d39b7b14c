#!/usr/bin/env python3
"""judges.py - a folder of small CUDA programs whose names say whether they race, each run by `gilua run --check`.

  judges.py --programs FOLDER --gilua GILUA [--racy REGEX] [--arguments TEXT] [--check LIST] [--limit S] [--at-once N]
            [--flags TEXT] [--work FOLDER] [NAME...]

Every *.cu below FOLDER is a program of its own. One whose name --racy finds is to be told, every other one is to be
silent: of ScoR's micro-programs (github.com/csl-iisc/ScoR, microbenchmarks/src) the default holds, of Indigo's and
HiRace's kernels --racy '[Bb]ug'. --arguments is what each is given, an input of Indigo's for instance. NAME...: those
alone. Built programs stay in --work, so that a second run builds nothing.

A line a program: told or silent, right or WRONG, the first finding. Then the sums. The exit status is 1 where one was
judged wrong or could not be built. Nobody's programs are part of this repository.
"""
import argparse, concurrent.futures, os, re, shlex, subprocess, sys

FLAGS = "-cudart shared -gencode arch=compute_90,code=compute_90 -lineinfo -w"


def options():
    o = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    o.add_argument("--programs", required=True)
    o.add_argument("--gilua", required=True)
    o.add_argument("--racy", default=r"^race_")
    o.add_argument("--arguments", default="")
    o.add_argument("--check", default="races,global-races")
    o.add_argument("--limit", type=float, default=60)
    o.add_argument("--at-once", type=int, default=os.cpu_count())
    o.add_argument("--flags", default=FLAGS)
    o.add_argument("--work", default="/tmp/judges")
    o.add_argument("names", nargs="*")
    return o.parse_args()


def sources(folder, names):
    found = [os.path.join(at, f) for at, _, files in os.walk(folder) for f in files if f.endswith(".cu")]
    return sorted(f for f in found if not names or os.path.basename(f)[:-3] in names)


def built(source, o):
    """The program of a source, or None and what the compiler said."""
    program = os.path.join(o.work, os.path.relpath(source, o.programs)[:-3])
    if os.path.exists(program):
        return program, ""
    os.makedirs(os.path.dirname(program), exist_ok=True)
    done = subprocess.run(["nvcc", *shlex.split(o.flags), source, "-o", program], capture_output=True, text=True)
    return (program if done.returncode == 0 else None), (done.stderr or done.stdout).strip()


def findings(program, o):
    """What gilua says that is no warning, or None where it did not end in time."""
    command = [o.gilua, "run", "--quiet", "--check", o.check, "--", program, *shlex.split(o.arguments)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=o.limit)
    except subprocess.TimeoutExpired:
        return None
    said = [line[7:] for line in done.stderr.splitlines() if line.startswith("gilua: ")]
    return [line for line in said if not line.startswith("warning: ")]


def judge(source, o):
    """(name, is it racy, verdict, was that right, the first finding)"""
    name = os.path.basename(source)[:-3]
    racy = re.search(o.racy, name) is not None
    program, why = built(source, o)
    if program is None:
        return name, racy, "not built", False, why.split("\n")[0]
    said = findings(program, o)
    if said is None:
        return name, racy, "no end", False, ""
    return name, racy, "told" if said else "silent", bool(said) == racy, said[0] if said else ""


def main():
    o = options()
    with concurrent.futures.ThreadPoolExecutor(o.at_once) as pool:
        rows = list(pool.map(lambda source: judge(source, o), sources(o.programs, o.names)))
    for name, racy, verdict, right, what in rows:
        print(f"{name:<50} {'racy' if racy else 'right':<6} {verdict:<9} {'' if right else 'WRONG':<6} {what[:160]}")
    for kind, of in (("racy", True), ("right", False)):
        mine = [row for row in rows if row[1] == of]
        print(f"{kind}: {sum(row[3] for row in mine)} of {len(mine)} {'told' if of else 'silent'}")
    sys.exit(0 if rows and all(row[3] for row in rows) else 1)


main()
