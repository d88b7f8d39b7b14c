--- The virtual GPU against a real one, bit for bit: the same work on two devices, compared.
--
--   gilua tests/gpu/bits.lua                        "emu" against "cuda"
--   gilua tests/gpu/bits.lua --device-b emu         the virtual GPU against itself: no difference
--   gilua tests/gpu/bits.lua --device-b emu --self-test   plants differences and must find them
--
-- See tests/gpu/README.md. Exit code 0: every difference is one that is allowed; 1: not so.

local gi = require "gilua"
local core = require "gilua.core"
package.path = gi.home .. "/tests/gpu/?.lua;" .. package.path

local options = gi.cli {
  doc = "Compares the outputs of two devices, value by value.",
  { name = "device-a", default = "emu", doc = "the device whose results count as the first" },
  { name = "device-b", type = "string", doc = "the device held against it (--device, or cuda)" },
  { name = "seed", default = 20140712, doc = "seed of all operands and inputs" },
  { name = "only", type = "string", doc = "only rows whose section or title contains this text" },
  { name = "quiet", default = false, doc = "print only rows with differences, and the summary" },
  { name = "self-test", default = false, doc = "plant a difference in every row; each must show" },
}

local Rig = require "ptx.rig"
local names = { options["device-a"],
                options["device-b"] or options.device ~= "emu" and options.device or "cuda" }
local rig = Rig.new(names, options.seed)
rig.planting = options["self-test"]

-- The table ---------------------------------------------------------------------------------------

local total = { rows = 0, values = 0, differing = 0, wrong = 0, nan = 0, unbounded = 0, open = 0,
                refused = 0, planted = 0, missed = 0 }
local complaints = {}

local ROW = "%-52s %9s %9s %9s %7s  %-13s %s"

local function complain(...)
  complaints[#complaints + 1] = string.format(...)
end

local function example(r)
  local f = r.first
  local text = ("(%s) -> %s and %s"):format(r.where or ("value " .. f.index), f.hex:format(f.a),
    f.hex:format(f.b))
  return f.x and text .. (", %.9g and %.9g"):format(f.x, f.y) or text
end

local section

--- Counts a row; true when it is worth printing in a quiet run.
local function count(title, r)
  total.rows = total.rows + 1
  total.values = total.values + r.n
  if r.problem then
    total.refused = total.refused + 1
    if not r.skipped then complain("%s, %s: %s", section, title, r.problem) end
    return true
  end
  total.differing = total.differing + r.differing
  total.nan, total.unbounded = total.nan + r.nan, total.unbounded + r.unbounded
  if r.unspecified then
    total.open = total.open + r.wrong
    return r.wrong > 0
  end
  total.wrong = total.wrong + r.wrong
  if rig.planting then
    total.planted = total.planted + 1
    if r.wrong == 0 then
      total.missed = total.missed + 1
      complain("%s, %s: the planted difference was not found", section, title)
    end
  elseif r.wrong > 0 then
    complain("%s, %s: %d of %d, first %s", section, title, r.wrong, r.n, example(r))
  end
  return r.differing > 0
end

local function report(title, r)
  local shown = count(title, r)
  if options.quiet and not shown then return end
  if r.problem then
    print(("%-52s %s%s"):format(title, r.skipped and "skipped: " or "", r.problem))
    return
  end
  local allowed = r.unspecified and "open" or r.limit or "bits"
  print(ROW:format(title, r.n, r.differing, r.wrong, r.nan, r.worst or "-", allowed))
end

local function head(name)
  section = name
  print("")
  print(ROW:format(name, "values", "differ", "too far", "NaN", "worst", "allowed"))
end

local function wanted(name, title)
  local only = options.only
  return not only or name:find(only, 1, true) or title:find(only, 1, true)
end

-- Sections ----------------------------------------------------------------------------------------

--- Kernels of one section, those that were asked for.
local function kernels_of(name, list, make)
  local kernels = {}
  for _, item in ipairs(list) do
    if wanted(name, item.title) then kernels[#kernels + 1] = make(item) end
  end
  return kernels
end

local function run_section(name, list, make, census)
  for _, item in ipairs(list) do census:saw(item.text) end
  local kernels = kernels_of(name, list, make)
  if #kernels == 0 then return end
  head(name)
  rig:run(kernels, report)
end

local function run_programs(name, list, census)
  local chosen = {}
  for _, item in ipairs(list) do
    if wanted(name, item.title) then chosen[#chosen + 1] = item end
  end
  if #chosen == 0 then return end
  head(name)
  for _, item in ipairs(chosen) do item.run(rig, report, census) end
end

local function print_census(census)
  local missing, count_all, covered = census:missing()
  print(("\ntests/data/ptx_forms.txt has %d instruction forms; %d of them ran here. The others:")
    :format(count_all, covered))
  for _, group in ipairs(missing) do
    print(("  %s: %s"):format(group.reason, table.concat(group.forms, " ")))
    if group.unexplained then
      for _, form in ipairs(group.forms) do
        complain("census, %s: not generated; tests/gpu/ptx/census.lua gives no reason", form)
      end
    end
  end
end

local function summary(seconds)
  print(("\n%s against %s, seed %d: %d rows, %d values compared in %.1f s (%s %.1f s, %s %.1f s).")
    :format(names[1], names[2], options.seed, total.rows, total.values,
      seconds, rig.sides[1].name, rig.seconds[1], rig.sides[2].name, rig.seconds[2]))
  print(("%d values differ, %d of them more than is allowed; %d are different NaNs, %d lie where "
    .. "the ISA gives no bound, %d where it leaves the result open; %d kernels did not run.")
    :format(total.differing, total.wrong, total.nan, total.unbounded, total.open, total.refused))
  if rig.planting then
    print(("Self-test: %d of %d planted differences were not found."):format(total.missed,
      total.planted))
  end
  for _, text in ipairs(complaints) do print("  " .. text) end
end

local start = core.system.seconds()
local census = require("ptx.census").new()
local forms, bodies = require "ptx.forms", require "ptx.bodies"
local textures, programs = require "ptx.textures", require "ptx.programs"

print(("# seed %d (--seed gives another)"):format(options.seed))
for k, side in ipairs(rig.sides) do print(("# device %s: %s"):format(k == 1 and "a" or "b",
  tostring(side.dev))) end
run_section("arithmetic", forms.arithmetic(), Rig.form, census)
run_section("approximate functions", forms.approximate(), Rig.form, census)
run_section("atomics, an address a lane", forms.atomics(), Rig.form, census)
run_section("memory", bodies.memory(), Rig.body, census)
run_section("atomics, many lanes", bodies.atomics(), Rig.body, census)
run_section("warps", bodies.warps(), Rig.body, census)
run_section("barriers", bodies.barriers(), Rig.body, census)
run_section("control flow", bodies.control(), Rig.body, census)
run_section("textures", textures.list(options.seed), Rig.body, census)
run_programs("tests/programs", programs.programs(options), census)
run_programs("kernels", programs.kernels(options), census)
if not options.only then print_census(census) end
if total.rows == 0 then complain("no row's section or title contains '%s'", options.only) end
summary(core.system.seconds() - start)
os.exit(#complaints == 0 and 0 or 1, true)
