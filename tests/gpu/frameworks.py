"""Programs of PyTorch, CuPy, torch.compile, Numba and cuBLAS, on a GPU: each is recorded whole, replayed on
the GPU and on the virtual one, and a kernel of it whose source is there evolves, is verified and applied;
then the program must print what it printed. A framework that is not there is left out, and said.

    python3 tests/gpu/frameworks.py [--gilua FILE] [--only NAME,NAME] [--seconds N] [--folder DIR]
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = {  # command, module it needs, source of the kernel that evolves
    "cublas": (["./between"], None, "between.cu"),
    "cupy": (["python3", "cupy_raw.py"], "cupy", "smooth.cu"),
    "pytorch": (["python3", "pytorch.py"], "torch", "rms.cu"),
    "compile": (["python3", "compiled.py"], "torch", None),
    "numba": (["python3", "numba_sum.py"], "numba.cuda", None),
}
REPLAY = """
local gi = require "gilua"
local r <close> = gi.recording.open(arg[1])
local gpu = gi.device "cuda"
local function told(where, m, why)
  if not m or m.status ~= "ok" then print(where .. " FAILED: " .. tostring(m and m.message or why)) return end
  local same = 0
  for _, read in ipairs(m.reads) do same = same + (read.same and 1 or 0) end
  print(("%s: %d of %d pieces to the bit"):format(where, same, #m.reads))
end
local seen, touched = {}, 0
for _, e in ipairs(r.events) do
  if e[1] == "write" or e[1] == "wrote" or e[1] == "read" then
    local key = e[2] .. " " .. e[5]
    if not seen[key] then seen[key], touched = true, touched + e[5] * e[6] * e[7] end
  end
end
print(("%.1f MB of data at so many places"):format(touched / 1e6))
told("virtual GPU", r:replay {})
local replay, why = gpu:replay(r.file)
told("GPU", replay and replay:run { timeout_s = 20 }, why)
"""
failed = []


def say(*words):
    print(*words, flush=True)


def call(words, limit, **more):
    begun = time.time()
    try:
        ended = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
                               timeout=limit, check=False, **more)
        return ended.returncode, ended.stdout, ended.stderr, time.time() - begun
    except subprocess.TimeoutExpired as late:
        return 124, "", "%s took more than %d s" % (words[0], late.timeout), time.time() - begun


def fail(name, what, text):
    failed.append(name)
    say("  FAILED: %s: %s" % (what, text.strip()[-1500:]))


def evolve(gilua, name, source, limit):
    """The commands that a person types."""
    folder, run = "problem_" + name, "run_" + name
    steps = [["new", name + ".rec", "--source", source, "-o", folder],
             ["evolve", folder, "--device", "cuda", "--population", "24", "--generations", "3", "--seed", "1",
              "--weak-data", "--out", run],
             ["verify", run, "--device", "cuda"], ["apply", run]]
    for step in steps:
        say("  $ gilua " + " ".join(step))
        status, out, err, seconds = call([gilua] + step, limit)
        for line in (out + err).splitlines():
            if re.search(r"speed-up|x is read|lanes|certified|MARKED|times (as )?fast|^  T:|noticed|machine code:|applied|->",
                         line):
                say("    " + line.strip())
        if step[0] == "evolve" and status == 3:
            return say("    nothing is faster")
        if status != 0:
            return fail(name, "gilua " + step[0], out + err)
        say("    (%.1f s)" % seconds)
    return None


def one(gilua, name, limit):
    command, module, source = PROGRAMS[name]
    if module and call(["python3", "-c", "import " + module], limit)[0] != 0:
        return say("%s: left out, for there is no %s" % (name, module))
    if name == "cublas":
        status, out, err, _ = call(["nvcc", "-O2", "-arch=native", "-o", "between", "between.cu", "-lcublas"], limit)
        if status != 0:
            return fail(name, "nvcc", out + err)
    call(command, limit)  # what is built and kept at the first start is no matter
    status, alone, err, seconds = call(command, limit)
    if status != 0:
        return fail(name, "the program", err)
    say("%s: alone %.2f s %s" % (name, seconds, " ".join(re.findall(r"step [0-9.]+ s", err))))
    status, out, err, seconds = call([gilua, "record", "--inject", "-o", name + ".rec", "--"] + command, limit)
    say("  recorded in %.2f s; %s" % (seconds, err.strip()))
    if status != 0 or out != alone:
        return fail(name, "recorded it prints", out + err)
    with open("replay.lua", "w", encoding="utf-8") as file:
        file.write(REPLAY)
    _, out, err, _ = call([gilua, "replay.lua", name + ".rec"], limit)
    say("  " + out.strip().replace("\n", "; "))
    if "FAILED" in out + err or out.count("to the bit") != 2:
        return fail(name, "a replay", out + err)
    if source:
        evolve(gilua, name, source, limit)
        if name == "cublas":
            call(["nvcc", "-O2", "-arch=native", "-o", "between", "between.cu", "-lcublas"], limit)
        status, after, err, _ = call(command, limit)
        say("  before %s, after %s" % (alone.strip(), after.strip()))
        if status != 0:
            return fail(name, "with the winner in its place the program", err)
        changed = os.path.join(HERE, "frameworks", source)
        say(call(["diff", changed, source], limit)[1])
    return None


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--gilua", default=os.path.join(HERE, "..", "..", "gilua"))
    options.add_argument("--only", default=",".join(PROGRAMS))
    options.add_argument("--seconds", type=int, default=120)
    options.add_argument("--folder", default="frameworks_out")
    given = options.parse_args()
    gilua = os.path.abspath(given.gilua)
    shutil.copytree(os.path.join(HERE, "frameworks"), given.folder, dirs_exist_ok=True)
    os.chdir(given.folder)
    for name in given.only.split(","):
        one(gilua, name, given.seconds)
    say("all as it must be" if not failed else "FAILED: " + ", ".join(failed))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
