"""Programs of PyTorch, CuPy, Triton, torch.compile, Numba, cuBLAS and llm.c, on a GPU: each is recorded whole,
replayed on the GPU and on the virtual one, and a kernel of it whose source or PTX is there evolves, is verified and
applied; then the program must print what it printed. A framework that is not there is left out, and said. llm.c is
others': --llmc names a folder with train_gpt2_fp32.cu, llmc/, gpt2_124M.bin, train.bin and val.bin.

    python3 tests/gpu/frameworks.py [--gilua FILE] [--only NAME,NAME] [--seconds N] [--folder DIR] [--llmc DIR]
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = {  # command, module it needs, options of `gilua new`, the file that apply changes
    "cublas": (["./between"], None, ["--source", "between.cu"], "between.cu"),
    "cupy": (["python3", "cupy_raw.py"], "cupy", ["--source", "cupy_raw.py"], "cupy_raw.py"),
    "pytorch": (["python3", "pytorch.py"], "torch", ["--source", "pytorch.py"], "pytorch.py"),
    "triton": (["python3", "triton_softmax.py"], "triton", ["--kernel", "softmax"], None),
    "compile": (["python3", "compiled.py"], "torch", [], None),
    "numba": (["python3", "numba_sum.py"], "numba.cuda", None, None),
    "llmc": (["./train", "-i", "train.bin", "-j", "val.bin", "-b", "4", "-t", "128", "-g", "1"], None,
             ["--source", "train_gpt2_fp32.cu", "--kernel", "matmul_forward_kernel4,layernorm_forward_kernel3"],
             "train_gpt2_fp32.cu"),
}
BUILDS = {
    "cublas": "nvcc -O2 -arch=sm_90 -o between between.cu -lcublas",
    "llmc": "nvcc -O3 -arch=sm_90 -o train train_gpt2_fp32.cu -lcublas",
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
print(("%.1f MB of data at so many places, the file has %.1f MB"):format(touched / 1e6,
  require "lfs".attributes(arg[1], "size") / 1e6))
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


def typed(gilua, name, words, limit):
    """A command as a person types it, and what matters of its words."""
    say("  $ gilua " + " ".join(words))
    status, out, err, seconds = call([gilua] + words, limit)
    for line in (out + err).splitlines():
        if re.search(r"speed-up|x is read|lanes|certified|MARKED|times (as )?fast|^  T:|noticed|machine code:|applied|->"
                     r"|is changed|needs no change|launch", line):
            say("    " + line.strip())
    say("    (%.1f s, status %d)" % (seconds, status))
    return status, out + err


def evolve(gilua, name, options, limit):
    """Is a winner in the place of the kernel? None: nothing was faster, or its launch is a person's to change."""
    folder, run = "problem_" + name, "run_" + name
    for step in [["new", name + ".rec"] + options + ["-o", folder],
                 ["evolve", folder, "--device", "cuda", "--population", "24", "--generations", "3", "--seed", "1",
                  "--weak-data", "--minutes", "0.6", "--out", run],
                 ["verify", run, "--device", "cuda"]]:
        status, text = typed(gilua, name, step, limit)
        if step[0] == "evolve" and status == 3:
            say("    nothing is faster")
            return None
        if status != 0:
            fail(name, "gilua " + step[0], text)
            return False
    place = ["apply", run] + (["--in-place"] if PROGRAMS[name][3] else [])
    status, text = typed(gilua, name, place, limit)
    if status != 0 and "wants another launch" in text:
        say("    the launch is a person's to write")
        return None
    if status != 0:  # marked: a person reads the difference first
        say(call([gilua, "apply", run, "--diff"], limit)[1])
        status, text = typed(gilua, name, place + ["--anyway"], limit)
    if status != 0:
        fail(name, "gilua apply", text)
    return status == 0


def overridden():
    """Triton compiles a kernel anew, and takes the changed PTX for its own (TRITON_KERNEL_OVERRIDE)."""
    words = PROGRAMS["triton"][0]
    dump = dict(os.environ, TRITON_ALWAYS_COMPILE="1", TRITON_KERNEL_DUMP="1", TRITON_DUMP_DIR="dump")
    call(words, 120, env=dump)
    for folder in os.listdir("dump") if os.path.isdir("dump") else []:
        if os.path.exists("dump/%s/softmax.ptx" % folder):
            os.makedirs("override/" + folder, exist_ok=True)
            shutil.copy("run_triton/module.ptx", "override/%s/softmax.ptx" % folder)
    return dict(os.environ, TRITON_ALWAYS_COMPILE="1", TRITON_KERNEL_OVERRIDE="1", TRITON_OVERRIDE_DIR="override")


def built(name, limit):
    if name not in BUILDS:
        return True
    status, out, err, _ = call(BUILDS[name].split(), limit)
    if status != 0:
        fail(name, "nvcc", out + err)
    return status == 0


def one(gilua, name, limit):
    command, module, options, file = PROGRAMS[name]
    if module and call(["python3", "-c", "import " + module], limit)[0] != 0:
        return say("%s: left out, for there is no %s" % (name, module))
    if not built(name, limit):
        return None
    call(command, limit)  # what is built and kept at the first start is no matter
    status, alone, err, seconds = call(command, limit)
    if status != 0:
        return fail(name, "the program", err)
    say("%s: alone %.2f s %s" % (name, seconds, " ".join(re.findall(r"step [0-9.]+ s", err))))
    status, out, err, seconds = call([gilua, "record", "--inject", "-o", name + ".rec", "--"] + command, limit)
    say("  recorded in %.2f s; %s" % (seconds, err.strip()))
    if status != 0 or results(out) != results(alone):
        return fail(name, "recorded it prints", out + err)
    with open("replay.lua", "w", encoding="utf-8") as to:
        to.write(REPLAY)
    _, out, err, _ = call([gilua, "replay.lua", name + ".rec"], limit)
    say("  " + out.strip().replace("\n", "; "))
    if "FAILED" in out + err or out.count("to the bit") != 2:
        return fail(name, "a replay", out + err)
    if options is not None and evolve(gilua, name, options, limit) and built(name, limit):
        changed = overridden() if name == "triton" else None
        if not file and not changed:
            return None
        status, after, err, _ = call(command, limit, env=changed)
        say("  before %s, after %s" % (results(alone), results(after)))
        if status != 0:
            return fail(name, "with the winner in its place the program", err)
        if file:
            say(call(["diff", file + ".orig", file], limit)[1])
    return None


def results(text):
    """What a program prints, but for times and tables."""
    return " | ".join(re.findall(r"(?:sum|loss|train loss|val loss) -?[0-9.]+(?: \d+)?", text))


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--gilua", default=os.path.join(HERE, "..", "..", "gilua"))
    options.add_argument("--only", default=",".join(PROGRAMS))
    options.add_argument("--seconds", type=int, default=120)
    options.add_argument("--folder", default="frameworks_out")
    options.add_argument("--llmc")
    given = options.parse_args()
    gilua = os.path.abspath(given.gilua)
    shutil.copytree(os.path.join(HERE, "frameworks"), given.folder, dirs_exist_ok=True)
    if given.llmc:
        shutil.copytree(given.llmc, given.folder, dirs_exist_ok=True)
    os.chdir(given.folder)
    for name in given.only.split(","):
        if name == "llmc" and not given.llmc:
            say("llmc: left out, for --llmc names no folder")
            continue
        one(gilua, name, given.seconds)
    say("all as it must be" if not failed else "FAILED: " + ", ".join(failed))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
