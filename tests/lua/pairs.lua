-- Each wrong kernel of pairkernels.lua is told at its place; of the right one nothing is said. All
-- kernels are compiled at once.

package.path = "tests/lua/?.lua;lua/?.lua;" .. package.path
local tap = require "tap"
local gi = require "gilua"
local pairkernels = require "pairkernels"

local RACES, WAITS = pairkernels.races, pairkernels.waits
local ARRAYS, RIGHT = pairkernels.arrays, pairkernels.right

local parts = { pairkernels.help }

local function kernel(name, variant, body)
  parts[#parts + 1] = pairkernels.kernel(name, variant, body)
end

for letter, list in pairs { R = RACES, W = WAITS, A = ARRAYS } do
  for i, case in ipairs(list) do
    kernel(letter .. i, "bug", case[2])
    kernel(letter .. i, "fix", case[2])
  end
end
for i, case in ipairs(RIGHT) do kernel("F" .. i, "fix", case[2]) end

local dev = gi.device "emu"
local module = assert(dev:load(assert(gi.compile(table.concat(parts), { target = "compute_90" }))))
local y, f = gi.array("i32", 4096), gi.array("i32", 64)

--- Runs a kernel of the text under all checks.
local function run(name, variant, o)
  local of = { kernel = variant .. "_" .. name, grid = o[variant] or o.grid or 1,
    block = o.block or 32, shared = o.shared, cluster = o.cluster,
    check_races = not o.bare and "global" or nil,
    count_uninitialised = true, budget = 1 << 32, max_faults = 4,
    args = { dev:buffer(y:fill(0), { label = "y" }), dev:buffer(f:fill(0), { label = "f" }) } }
  return assert(module:launch(of))
end

local function line_of(text)
  return select(2, text:match("^(.-)//A"):gsub("\n", "")) + 2
end

--- Fails unless the finding is at the line marked, of its kind, with the texts.
local function told(what, finding, kind, body, texts)
  tap.is(("%s %s"):format(finding and finding.kind, finding and finding.line),
    ("%s %d"):format(kind, line_of(body)), what)
  for _, text in ipairs(texts) do tap.has(finding and finding.message or "", text, "  says so") end
end

local function silent(what, m)
  local w = m.warnings and m.warnings[1]
  tap.is(m.status, "ok", ("%s: %s"):format(what, m.message or "passes"))
  tap.is(w and w.message, nil, "  without a word")
end

tap.case("races by the rules of PTX's memory model", function()
  for i, case in ipairs(RACES) do
    local m = run("R" .. i, "bug", case[3])
    told(case[1], { kind = m.status, line = m.line, message = m.message }, "race", case[2],
      { case[4] })
    silent("  mended", run("R" .. i, "fix", case[3]))
  end
end)

tap.case("waits without an end, with who waits for what", function()
  for i, case in ipairs(WAITS) do
    local m = run("W" .. i, "bug", case[3])
    local at = m.faults and m.faults[#m.faults] or { kind = m.status, line = m.line,
      message = m.message }
    told(case[1], at, "timeout", case[2], { "endless wait", table.unpack(case[4]) })
    silent("  mended", run("W" .. i, "fix", case[3]))
  end
end)

tap.case("accesses beside the shared array that they are meant for", function()
  for i, case in ipairs(ARRAYS) do
    local m = run("A" .. i, "bug", case[3])
    told(case[1], m.warnings and m.warnings[1], "shared_overrun", case[2], { case[4] })
    silent("  mended", run("A" .. i, "fix", case[3]))
  end
end)

tap.case("nothing is said of what is right", function()
  for i, case in ipairs(RIGHT) do silent(case[1], run("F" .. i, "fix", case[3])) end
end)

tap.case("an address before an allocation is told by the one that it misses", function()
  local code = assert(gi.compile([[extern "C" __global__ void k(int *a, int *b, int i) {
  __shared__ int s[4]; s[threadIdx.x] = 1;
  b[i] = a[0] + s[(int)threadIdx.x + (i > 0 ? -3 : 0)]; }]],
    { target = "compute_90" }))
  local two = { dev:buffer(gi.array("i32", 4), { label = "one" }),
    dev:buffer(gi.array("i32", 4), { label = "two" }) }
  local function at(i)
    return assert(dev:load(code)):launch { grid = 1, block = 1,
      args = { two[1], two[2], { "i32", i } } }.message
  end
  tap.has(at(-3), "4 bytes in global memory at 12 bytes before 'two' (16 bytes)", "global memory")
  tap.has(at(2), "read of 4 bytes in shared memory at 12 bytes before the first of 16",
    "shared memory")
end)

tap.done()
