--- `make bench`: the figures gilua promises, measured on this machine, each beside its floor.
--
-- Machines are shared and noisy: times are medians with the spread (quartiles), and what is claimed
-- are the ratios within one run. Nothing here is a test; nothing fails because it is slow.

local gi = require "gilua"
local core = require "gilua.core"

local seconds = core.system.seconds
local problem = gi.problem "kernels/niftyreg"
local g = problem.grammar

local function quartiles(list)
  table.sort(list)
  local function at(q) return list[math.max(1, math.ceil(q * #list))] end
  return at(0.5), at(0.25), at(0.75)
end

--- Median seconds of n calls, with the quartiles.
local function time(n, f)
  local list = {}
  for i = 1, n do
    local start = seconds()
    f(i)
    list[i] = seconds() - start
  end
  return quartiles(list)
end

local function say(...)
  print(string.format(...))
end

local function head(text)
  say("\n%s", text)
end

local function random_genome(rng, length)
  local genes = {}
  for i = 1, length do genes[i] = g:random_gene(rng) end
  return table.concat(genes, " ")
end

local function patches()
  head("patches")
  local rng = gi.rng(1)
  local genomes = {}
  for i = 1, 300 do genomes[i] = random_genome(rng, 30) end
  local median, low, high = time(11, function()
    for i = 1, 300 do
      assert(g:apply(genomes[i]))
      assert(g:check(genomes[i]))
    end
  end)
  say("  apply and print 300 genomes of 30 genes   %.1f ms (%.1f to %.1f); asked for: below 50 ms",
    median * 1e3, low * 1e3, high * 1e3)
  say("  rules %d, distinct legal genes %d", #g:rules(), g:gene_count())
end

--- How many of n random legal patches compile; the batches are those of an evolution.
local function compile_rate(n, length, seed)
  local rng, good, errors = gi.rng(seed), 0, {}
  local names = g:names()
  for first = 1, n, 20 do
    local units, genomes = {}, {}
    for i = 1, math.min(20, n - first + 1) do
      genomes[i] = random_genome(rng, length)
      units[i] = { source = assert(g:apply(genomes[i])), names = names }
    end
    for i, r in ipairs(assert(gi.compile.batch(units, { target = "compute_90" }))) do
      if r.code then good = good + 1 else errors[#errors + 1] = genomes[i] .. ": " .. r.message end
    end
  end
  say("  %d random legal patches of %d gene%s (seed %d)   %.2f %% compile; asked for: %s",
    n, length, length == 1 and "" or "s", seed, 100 * good / n, "at least 99 %")
  for i = 1, math.min(3, #errors) do say("    %s", errors[i]:sub(1, 160)) end
end

local function compiling()
  head("compiling (NVRTC " .. gi.compile.info().version .. ", one process)")
  local rng = gi.rng(2)
  local names = g:names()
  local function fresh(n)
    local units = {}
    for i = 1, n do
      -- a distinct source each, so that no cache can help
      local mark = ("// %d\n"):format(rng:int(1, 1 << 60))
      units[i] = { names = names, source = g:apply(g:random_gene(rng)) .. mark }
    end
    return units
  end
  for _, n in ipairs { 1, 4, 8, 19 } do
    local median, low, high = time(7, function()
      assert(gi.compile.batch(fresh(n), { target = "compute_90" }))
    end)
    say("  to PTX, %2d a call   %5.1f ms a kernel (%.1f to %.1f)", n, median / n * 1e3,
      low / n * 1e3, high / n * 1e3)
  end
  compile_rate(2000, 1, 11)
  compile_rate(500, 20, 12)
end

local function emulating()
  local spec = { image = "brain", seed = 1 }
  local case, why = problem:case(spec)
  if not case then
    say("  (%s: the ball instead)", why)
    case = assert(problem:case { side = 217, seed = 1 })
  end
  head(("virtual GPU, one core (%s: %d voxels, %d answers)"):format(case.name, case.voxels,
    case.answers))
  local unit = { source = problem.source, names = g:names() }
  local code = assert(gi.compile.batch({ unit }, { target = "compute_90" }))[1].code
  local r = require("gilua.farm.runner").new(problem, assert(gi.device "emu"))
  r:use(case)
  local values, m = problem:values(), nil
  local run, check = {}, {}
  for i = 1, 11 do
    m = r:measure({ code = code, values = values }, { budget = 0 })
    if m.status ~= "ok" then error("the unmodified kernel: " .. tostring(m.message), 0) end
    run[i], check[i] = m.seconds.run, m.seconds.check
  end
  local t, low, high = quartiles(run)
  say("  whole case   %.3f s (%.3f to %.3f); asked for: at most 0.2 s", t, low, high)
  local load = time(11, function() assert(r.device:load(code)):close() end)
  say("  of that, loading the module   %.1f ms; the rest is filling the output and the launch",
    load * 1e3)
  say("  %.2f million warp instructions, %.1f ns each", m.warp_instructions / 1e6,
    t / m.warp_instructions * 1e9)
  say("  %.2f thousand million lane instructions a second (%.2f with the lanes that are off); "
    .. "asked for: 4", m.lane_instructions / t / 1e9, 32 * m.warp_instructions / t / 1e9)
  -- floor: a vectorised 32-lane operation on registers in the first-level cache, design section 5
  say("  floor: 2.4 ns a warp instruction (32 lanes of registers through the cache): %.3f s, "
    .. "ratio %.1f", m.warp_instructions * 2.4e-9, t / (m.warp_instructions * 2.4e-9))
  local reference = time(5, function() problem:case(spec) end)
  say("  the C reference (-O3, one core) with its inputs   %.3f s; the emulator takes %.1f times "
    .. "that", reference, t / reference)
  local compare, c_low, c_high = quartiles(check)
  say("  comparing %d answers   %.1f ms (%.1f to %.1f)", m.n, compare * 1e3, c_low * 1e3,
    c_high * 1e3)
  say("  unmodified kernel: %.0f ticks, %.1f us on %s, largest error %.2g", m.ticks, m.ns / 1e3,
    tostring(r.device), m.max_error)
end

-- Seconds of the unmodified kernel's small case, without checks and with all of them.
local function small_case(own)
  local farm <close> = gi.farm(own, { device = "emu", jobs = 1, check = "winners" })
  local plain = farm:evaluate({ "" }, own.checked_case)[1].seconds.run
  farm:check { "" }
  return plain, farm:stats().seconds.checked
end

--- What it costs to look at every access: races, and bytes that nobody wrote. A run without checks
--- is the floor.
local function checks()
  head "checked runs (the small case; milliseconds)"
  for _, name in ipairs { "matmul", "niftyreg", "smith_waterman", "stereo" } do
    local own, plain, checked = gi.problem("kernels/" .. name), {}, {}
    for i = 1, 7 do plain[i], checked[i] = small_case(own) end
    local p = quartiles(plain)
    local c, c_low, c_high = quartiles(checked)
    say("  %-16s %.2f, with checks %.2f (%.2f to %.2f), ratio %.1f", name, p * 1e3, c * 1e3,
      c_low * 1e3, c_high * 1e3, c / p)
  end
end

--- On made-up rows: seconds of a processor, which other work on the machine does not change much.
local function archives()
  head "archive (made-up rows; seconds of a processor)"
  package.path = "tests/lua/?.lua;" .. package.path
  local madeup = require "madeup"
  local folder <close> = require("gilua.base.tempfolder").new()
  for _, n in ipairs { 15000, 100000 } do
    local path = ("%s/%d.sqlite"):format(folder.path, n)
    madeup.archive(path, n)
    local archive <close> = gi.archive.open(path, { read_only = true })
    local start = os.clock()
    local rows = gi.evaluations.of(archive, 1)
    for _, row in ipairs(rows) do row.score = row.registers + row.ticks / row.baseline.ticks end
    table.sort(rows, function(a, b) return a.score < b.score end)
    say("  %6d evaluations ranked anew    %.2f s; asked for of 15 000: below 2 s", n,
      os.clock() - start)
    start = os.clock()
    local generations = archive:rows "SELECT * FROM generations"
    say("  %6d in %d generations   %.2f s; asked for of 100 000: below 1 s", n, #generations,
      os.clock() - start)
  end
end

patches()
compiling()
emulating()
checks()
archives()
