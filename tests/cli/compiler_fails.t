#!/bin/bash
# A compiler that wears out with what it has compiled: internal errors, no memory left, growth. The
# worker is replaced, and no mutant's verdict is another than with a compiler that does not.
. "$(dirname "$0")/tap.sh"
cd "$TMP" || exit 1
command -v "${CC:-cc}" >/dev/null || { echo "1..0 # SKIP there is no C compiler"; exit 0; }

cat >where.lua <<'LUA'
print(require "gilua".compile.info().path)
LUA
cat >mutants.lua <<'LUA'
-- 20 mutants and four by hand, two of which the compiler never manages: what came of each.
local gi = require "gilua"
local problem = gi.problem(arg[1])
os.remove "archive.sqlite"
local archive <close> = gi.archive.open "archive.sqlite"
local farm <close> = gi.farm(problem, { jobs = 2, batch = 3, memory_bytes = tonumber(arg[2]) })
farm:remember(archive:memory(select(2, archive:world "a world")))
local rng, genomes = gi.rng(4), {}
for i = 1, 20 do genomes[i] = problem.grammar:random_gene(rng) end
genomes[21] = { name = "by hand", source = problem.source .. "\n// as it is\n" }
genomes[22] = { name = "never", source = problem.source .. "\n// WEARISOME\n" }
genomes[23] = { name = "no kernel", source = problem.source .. "\nint x = y;\n" }
genomes[24] = { name = "hungry", source = problem.source .. "\n// HUNGRY\n" }
for i, m in ipairs(farm:evaluate(genomes, { side = 20, seed = 3 })) do
  print(i, m.status, m.ticks, m.max_error, m.genome, m.genome == "never" and m.message or "")
end
-- What the machine may have brought is not kept, so that it is tried again.
local KEPT = "SELECT count(*) AS n, sum(message LIKE '%table of macros%' OR "
  .. "message LIKE '%OUT_OF_MEMORY%' OR status <> 'compile_error') AS odd FROM unit"
local kept = archive:row(KEPT)
print("kept", kept.n > 15, kept.odd or 0)
local s = farm:stats()
io.stderr:write(("doubt %d, other losses %d\n"):format(s.losses.doubt or 0,
  s.restarts - (s.losses.doubt or 0)))
LUA

real=$("$GILUA" where.lua)
mkdir worn
for f in "$(dirname "$real")"/libnvrtc-builtins*; do ln -s "$f" worn/; done
"${CC:-cc}" -shared -fPIC -o worn/libnvrtc.so.13 "$TOP/tests/hostile/nvrtc.c" -ldl 2>cc.log
ok $? "a library that wears out is made" "$(cat cc.log)"

evaluate() { # evaluate NAME MEMORY VARIABLE=VALUE
  env "$3" REAL_NVRTC="$real" GILUA_NVRTC="$TMP/worn" "$GILUA" mutants.lua "$TOP/kernels/niftyreg" \
    "$2" >"$1" 2>"$1.said"
  ok $? "$1: the run ends well" "$(cat "$1.said")"
}

evaluate sound 4000000000 NOTHING=1
like "a source that the compiler never manages has a verdict" \
  "^22.compile_error.*the table of macros is full" "$(grep -P '^22\t' sound)"
like "a source that is wrong another" "^23.compile_error" "$(grep -P '^23\t' sound)"
like "one that it has no memory for, too, which is not said to be the source's fault" \
  "^24.out_of_memory" "$(grep -P '^24\t' sound)"
is "neither is kept" "kept true 0" "$(grep ^kept sound | tr '\t' ' ')"
like "most mutants are right" "^(1[1-9]|2[0-9])$" "$(grep -c -P '\tok\t' sound)"

evaluate internal 4000000000 WEARS_OUT=4
is "internal errors from the fourth compilation on: the same verdicts" "$(cat sound)" "$(cat internal)"
like "workers were replaced for it" "doubt [1-9][0-9]*, other losses 0" "$(cat internal.said)"

evaluate dry 4000000000 RUNS_DRY=4
is "no memory left from the fourth on: the same verdicts" "$(cat sound)" "$(cat dry)"

# A compiler that manages nothing is no mutant's fault, nor is one that has gone.
fails "no memory for any kernel: no verdict, one sentence" \
  "^gilua: the compiler fails on the unmodified kernel, too, .*: NVRTC_ERROR_OUT_OF_MEMORY; has it the memory" \
  env RUNS_DRY=1 REAL_NVRTC="$real" GILUA_NVRTC="$TMP/worn" "$GILUA" mutants.lua "$TOP/kernels/niftyreg" 0
cat >gone.lua <<'LUA'
local gi = require "gilua"
local problem = gi.problem(arg[1])
local archive <close> = gi.archive.open "gone.sqlite"
local farm <close> = gi.farm(problem, { jobs = 1 })
farm:remember(archive:memory(select(2, archive:world "a world")))
local rng, genomes = gi.rng(4), {}
for i = 1, 8 do genomes[i] = problem.grammar:random_gene(rng) end
print(farm:evaluate(genomes, { side = 20, seed = 3 })[1].status)
os.rename("worn", "moved")
farm.crew:replace(farm.crew.workers[1])
local ok, why = pcall(farm.evaluate, farm, { { source = problem.source .. "\n// new\n" } },
  { side = 20, seed = 3 })
print(ok, why)
print(archive:row("SELECT count(*) AS n FROM unit WHERE message LIKE '%NVRTC%'").n)
LUA
env REAL_NVRTC="$real" GILUA_NVRTC="$TMP/worn" "$GILUA" gone.lua "$TOP/kernels/niftyreg" >gone 2>&1
like "a library that goes away meanwhile ends the run in a sentence" "^false GILUA_NVRTC is .*, where there is no NVRTC of CUDA 12 or 13: name" \
  "$(sed -n 2p gone | tr '\t' ' ')"
is "and is nobody's verdict" "0" "$(sed -n 3p gone)"
mv moved worn

if ! sanitized "how large workers get"; then
  evaluate growing 600000000 KEEPS=120
  is "120 MiB kept of each, 572 allowed: the same verdicts" "$(cat sound)" "$(cat growing)"
  like "workers were replaced before they reached the limit" "doubt [0-9]+, other losses 0" \
    "$(cat growing.said)"
fi
finish
