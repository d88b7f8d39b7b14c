#!/bin/bash
# Recordings on a GPU that is none: the driver of tests/c/fake_cuda.c, whose kernels run on the
# virtual one. New, check, evolve, verify; what a mutant does wrong costs its worker the GPU.
. "$(dirname "$0")/tap.sh"
sanitized "the fake driver has no sanitizers in it" && finish
export GILUA_CUDA=${FAKE_CUDA:-$TOP/build/tests/libcuda_fake.so}
linker=${GILUA_NVJITLINK-}
export GILUA_NVJITLINK=/none # PTX is the driver's then, which makes no use of machine code
cd "$TMP" || exit 1
LUA_PATH="$TOP/tests/lua/?.lua;;" "$GILUA" "$TOP/tests/lua/tape.lua" app.cu a.rec b.rec
cat >one.lua <<'END'
local gi = require "gilua"
local r, gpu = gi.recording.open(arg[1]), gi.device "cuda"
local replay = assert(gpu:replay(r.file))
local now, timed = assert(replay:run {}), assert(replay:run { timed = true, max_samples = 12 })
local graph = assert(replay:run { timed = true, as_graph = true, max_samples = 12 })
local same, launches, in_graph = 0, 0, 0
for _, read in ipairs(now.reads) do same = same + (read.same and 1 or 0) end
for _, read in ipairs(graph.reads) do in_graph = in_graph + (read.same and 1 or 0) end
for _, k in ipairs(now.kernels) do launches = launches + k.launches end
print(now.status, same == #now.reads and #now.reads, launches, timed.median_ns > 0,
  #replay:run { bytes = true }.reads[1].bytes, now.least_memory, timed.part_issue, gpu:info().memory_rate)
print(graph.status, in_graph == #graph.reads and #graph.reads, graph.median_ns < timed.median_ns)
print(replay:run { timed = true, as_graph = true,
  code = { [0] = (r:module(0):gsub("(%))(%s*{)", "%1 .maxntid 1, 1, 1%2")) } }.status)
print(replay:run { code = { [0] = r:module(0):gsub("ret;", "trap;") } }.status)
print((select(2, replay:run {})))
END
is "all is as it was, as a graph too; a trap is told, and costs the device" "ok 6 9 true 1200 nil nil 1024000000000.0
ok 6 true
launch_error
launch_error
the device is lost (a kernel of the recording: FAKE_ERROR (FAKE_ERROR)): this process cannot use the GPU any more" \
  "$("$GILUA" one.lua a.rec | tr '\t' ' ')"

"$GILUA" new a.rec b.rec -o p --source app.cu >/dev/null
out=$("$GILUA" check p --device cuda)
ok $? "a recorded problem is checked there" "$out"
like "with the recording's name" "a.rec \(train\) on fake GPU 0" "$out"
like "and its limit" "a.rec .* us, [0-9.]+ times its limit of [0-9.]+ us, by launch" "$out"
like "every piece is compared" "604 answers, largest difference 0" "$out"
like "mutants are noticed" "changes of the kernel are noticed" "$out"
out=$("$GILUA" evolve p --least 0.0001 --population 8 --generations 3 --seed 2 --out run --device cuda)
ok $? "it evolves there" "$out"
like "how near both are to their limits is told" "over its limit +[0-9.]+x launch +[0-9.]+x" "$out"
like "and is compared on the other recording" "on b.rec \(validate\), never seen in evolution" "$out"
out=$("$GILUA" verify run --device cuda)
like "verify runs all recordings" "  a.rec \(train\) +right.*b.rec \(validate\) +right" "$(tr '\n' ' ' <<<"$out")"
cat >farm.lua <<'END'
local gi = require "gilua"
local problem = gi.problem "p"
local farm <close> = gi.farm(problem, { device = "cuda", jobs = 1, check = "winners" })
local function by_hand(was, now)
  return { source = problem.source:gsub(was, now), name = now }
end
local list = farm:evaluate({ "", by_hand("y%[i%] = x%[i%]", "y[i + (1 << 30)] = x[i]"),
  by_hand("lower%(", "upper("), by_hand("%+ 1%.0f", "+ 2.0f"), "" }, gi.own.case(problem, 1))
local words = {}
for i, m in ipairs(list) do words[i] = m.status .. (gi.fitness.right(m) and "!" or "") end
print(table.concat(words, " "), #list[1].kernels, list[1].n)
END
is "each mutant has its own fate" "ok! illegal_address launch_error ok ok! 3 604" \
  "$("$GILUA" farm.lua | tr '\t' ' ')"
# A recording whose last answer no kernel gives here, as of a chaotic program.
cp -r p other
LUA_PATH="$TOP/tests/lua/?.lua;;" "$GILUA" -e 'require("scratch").write("other/a.rec",
  require("tape").recording(300, { wrong = 77 }))'
out=$("$GILUA" check other --device cuda)
like "what the kernels give here counts" "ok +reference +604 answers, largest difference 0" "$out"
like "and that is said" "what the program.s kernels give here: of the recording.s 0.166 % are others" "$out"
out=$("$GILUA" evolve other --population 4 --generations 1 --seed 1 --out odd --device cuda 2>&1)
like "evolution says it, too" "Answers: 0.166 % of the recording's are others on this GPU" "$out"
is "what differs from that is wrong" "ok! illegal_address launch_error ok ok! 3 604" \
  "$(sed 's/"p"/"other"/' farm.lua >other.lua; "$GILUA" other.lua | tr '\t' ' ')"

# A recording whose own kernels fault here costs a worker its GPU; who comes next gets another one.
cp -r p broken
LUA_PATH="$TOP/tests/lua/?.lua;;" "$GILUA" -e 'local tape = require "tape"
  require("scratch").write("broken/a.rec", tape.recording(300,
    { source = (tape.SOURCE:gsub("%*left = 0;", "asm(\"trap;\");")) }))'
cat >kept.lua <<'END'
local crew, gi = require "gilua.farm.crew", require "gilua"
local _ <close> = crew.keep()
for _, name in ipairs { "broken", "p" } do
  local problem = gi.problem(name)
  local farm <close> = gi.farm(problem, { device = "cuda", jobs = 1, check = "winners" })
  local ran, list = pcall(farm.evaluate, farm, { "" }, gi.own.case(problem, 1))
  print(name, ran and list[1].status or tostring(list))
end
END
out=$("$GILUA" kept.lua 2>&1)
like "that is said of the kernels as they are" "broken.*the unmodified kernel fails" "$out"
like "the next problem has a GPU" "^p.ok" "$out"

# Launches that do not depend on each other, on streams of the driver's.
LUA_PATH="$TOP/tests/lua/?.lua;;" "$GILUA" "$TOP/tests/lua/pairs_tape.lua" pairs.cu c.rec d.rec
"$GILUA" new c.rec d.rec -o pairs --source pairs.cu >/dev/null
cat >streams.lua <<'END'
local gi = require "gilua"
for _, launches in ipairs { "stream", "graph" } do
  local problem = gi.problem "pairs"
  problem.definition.recorded.table.launches = launches
  local farm <close> = gi.farm(problem, { device = "cuda", jobs = 1 })
  local source = problem.source:gsub("x%[i%] %* 3%.0f",
    "%0 + 0 * ((const float *)((unsigned long long)z - (1ull << 40)))[0]")
  local list = farm:evaluate({ "", "streams=2", { source = source, name = "it reads elsewhere",
    params = { streams = "2" } } }, gi.own.case(problem, 1))
  print(list[2].status, gi.fitness.right(list[2]), list[2].ns < 0.9 * list[1].ns, list[3].status)
end
END
is "go on at once, are right, and held to what they depend on" "ok true true race
ok true true race" "$("$GILUA" streams.lua | tr '\t' ' ')"

# Two launches as one, timed and not, as a stream and as a graph; its arguments are both's.
cat >fused.lua <<'END'
local gi = require "gilua"
local gene = "T:fuse_kernels<5>()"
for _, launches in ipairs { "stream", "graph" } do
  local problem = gi.problem "pairs"
  problem.definition.recorded.table.launches = launches
  local farm <close> = gi.farm(problem, { device = "cuda", jobs = 1 })
  local list = farm:evaluate({ "", gene, gene .. " streams=2" }, gi.own.case(problem, 1))
  local m, words = list[2], {}
  for i, k in ipairs(m.kernels) do words[i] = k.name .. " " .. k.launches end
  print(m.status, gi.fitness.right(m), m.ns < list[1].ns, #words, list[3].status)
end
END
is "two kernels as one are right" "ok true true 2 launch_error
ok true true 2 launch_error" "$("$GILUA" fused.lua | tr '\t' ' ')"

# Machine code is made by the workers; that of the fake driver does nothing.
cat >linked.lua <<'END'
local gi = require "gilua"
local problem = gi.problem "p"
local function by_hand(was, now)
  return { source = problem.source:gsub(was, now, 1), name = now }
end
local function told(assembler)
  local farm <close> = gi.farm(problem, { device = "cuda", jobs = 1, assembler = assembler })
  local list, words, of = farm:evaluate({ "", by_hand("%+ 1%.0f", "+ 2.0f"),
    by_hand("lower%(", "upper("), by_hand("%+ 1%.0f", "+ 2.00f"),
    by_hand("%f[%w]y%[i%] =", '(i < 0 ? printf("%%d", i) : 0), y[i] =') },
    gi.own.case(problem, 1)), {}, {}
  for i, m in ipairs(list) do
    if m.code_hash then of[m.code_hash], words[#words + 1] = of[m.code_hash] or i, "code "
      .. (of[m.code_hash] or i)
    else words[#words + 1] = m.status .. (gi.fitness.right(m) and "!" or "") end
  end
  return table.concat(words, ", ")
end
print(told())
print(told "driver")
END

# Whose code is compared: the driver's, but where the assembler is told something, as it cannot be.
cp -r p told
sed -i 's/^return {$/return { tune_params = { ptxas = { "default", "O1" } },/' told/problem.lua
cat >compared.lua <<'END'
local gi, core = require "gilua", require "gilua.core"
local problem = gi.problem "told"
local farm <close> = gi.farm(problem, { device = "cuda", jobs = 1 })
local case, code = gi.own.case(problem, 1), {}
farm:evaluate({ "", "ptxas=O1", "ptxas=default" }, case)
local post = farm.crew.post
function farm.crew.post(crew, job)
  local message = job.message
  job.message = job.kind == "pair" and function(worker)
    local m, share = message(worker)
    for _, side in ipairs { m.a, m.b } do code[#code + 1] = side.code:sub(2, 4) == "ELF" and "machine" or "ptx" end
    return m, share
  end or message
  return post(crew, job)
end
farm:compare("ptxas=default", "", case, { pairs = 2 })
farm:compare("ptxas=O1", "", case, { pairs = 2 })
print(table.concat(code, " "))
END
GILUA_NVJITLINK=$linker "$GILUA" -e 'os.exit(require("gilua.core").compile.linker() ~= nil)' || none=1
if [ -z "${none-}" ]; then
  is "kernels by their hash, a missing one by its fate, printf is the driver's" \
    "code 1, code 2, launch_error, code 2, ok!
ok!, ok, launch_error, ok, ok!" "$(GILUA_NVJITLINK=$linker "$GILUA" linked.lua)"
  is "who is told something is compared by nvJitLink's code" "ptx ptx machine machine" \
    "$(GILUA_NVJITLINK=$linker "$GILUA" compared.lua)"
fi
"$GILUA" new a.rec b.rec -o q >/dev/null
out=$("$GILUA" evolve q --population 8 --generations 1 --seed 1 --out below --device cuda; echo "status $?")
like "PTX without a source evolves there, too" "status (0|3)" "$out"
finish
