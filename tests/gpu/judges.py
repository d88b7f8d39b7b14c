#!/usr/bin/env python3
"""judges.py - a folder of small CUDA programs whose names say whether they race, each run by `gilua run --check`.

  judges.py --programs FOLDER --gilua GILUA [--racy REGEX] [--arguments TEXT]... [--check LIST] [--limit S]
            [--at-once N] [--flags TEXT] [--work FOLDER] [--sample N] [--seed N] [NAME...]

Every *.cu below FOLDER is a program of its own. One whose name --racy finds is to be told, every other one is to be
silent. For ScoR's micro-programs (github.com/csl-iisc/ScoR, microbenchmarks/src) the default holds. For the 590 of
HiRace (github.com/JohnJacobsonIII/HiRace-Artifact-SC24, indigo/indigo_sources) it is --racy '[a-z]+Bug'.
--arguments is one run's arguments. With several, a racy program is to be told in one of the runs, and a right one is
to be silent in all. --sample takes N programs, drawn by --seed. NAME...: those alone. Built programs stay in --work, so
that a second run builds nothing.

A line a program: told or silent, right or WRONG, the first finding. Then the sums, by what --racy finds in the names.
The exit status is 1 where one was judged wrong or could not be built. Nobody's programs are part of this repository.
"""
import argparse, concurrent.futures, os, random, re, shlex, subprocess, sys

FLAGS = "-cudart shared -gencode arch=compute_90,code=compute_90 -lineinfo -w"


def options():
    o = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    o.add_argument("--programs", required=True)
    o.add_argument("--gilua", required=True)
    o.add_argument("--racy", default=r"^race_")
    o.add_argument("--arguments", action="append")
    o.add_argument("--sample", type=int)
    o.add_argument("--seed", type=int, default=1)
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


def sampled(found, o):
    return found if o.sample is None else sorted(random.Random(o.seed).sample(found, min(o.sample, len(found))))


def built(source, o):
    """The program of a source, or None and what the compiler said."""
    program = os.path.join(o.work, os.path.relpath(source, o.programs)[:-3])
    if os.path.exists(program):
        return program, ""
    os.makedirs(os.path.dirname(program), exist_ok=True)
    done = subprocess.run(["nvcc", *shlex.split(o.flags), source, "-o", program], capture_output=True, text=True)
    return (program if done.returncode == 0 else None), (done.stderr or done.stdout).strip()


def findings_of_run(program, arguments, o):
    """What gilua says that is no warning, or None where the run did not end in time."""
    command = [o.gilua, "run", "--quiet", "--check", o.check, "--", program, *shlex.split(arguments)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=o.limit)
    except subprocess.TimeoutExpired:
        return None
    said = [line[7:] for line in done.stderr.splitlines() if line.startswith("gilua: ")]
    return [line for line in said if not line.startswith("warning: ")]


def findings(program, racy, o):
    """The findings of all runs, or None where one did not end; a racy program's first finding is enough."""
    said = []
    for arguments in o.arguments or [""]:
        more = findings_of_run(program, arguments, o)
        if more is None:
            return None
        said += more
        if racy and said:
            break
    return said


def judge(source, o):
    """(name, its marks of a race, verdict, was that right, the first finding)"""
    name = os.path.basename(source)[:-3]
    racy = " ".join(re.findall(o.racy, name))
    program, why = built(source, o)
    if program is None:
        return name, racy, "not built", False, why.split("\n")[0]
    said = findings(program, racy, o)
    if said is None:
        return name, racy, "no end", False, ""
    return name, racy, "told" if said else "silent", bool(said) == bool(racy), said[0] if said else ""


def main():
    o = options()
    with concurrent.futures.ThreadPoolExecutor(o.at_once) as pool:
        rows = list(pool.map(lambda source: judge(source, o), sampled(sources(o.programs, o.names), o)))
    for name, racy, verdict, right, what in rows:
        print(f"{name:<50} {'racy' if racy else 'right':<6} {verdict:<9} {'' if right else 'WRONG':<6} {what[:160]}")
    for mark in sorted({row[1] for row in rows}):
        mine = [row for row in rows if row[1] == mark]
        kind, wanted = (f"racy ({mark})", "told") if mark else ("right", "silent")
        print(f"{kind}: {sum(row[3] for row in mine)} of {len(mine)} {wanted}")
    sys.exit(0 if rows and all(row[3] for row in rows) else 1)


main()
