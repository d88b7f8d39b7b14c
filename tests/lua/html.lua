-- html, plot: an experiment as a page.
package.path = "lua/?.lua;lua/?/init.lua;tests/lua/?.lua;" .. package.path
local html = require "gilua.report.page.html"
local plot = require "gilua.report.page.plot"
local tap = require "tap"

local function tuning(parameters, rows)
  for _, row in ipairs(rows) do
    row.status, row.right = row.status or "ok", row.status == nil
    row.ticks, row.ns, row.registers = row.ticks or math.huge, (row.ticks or math.huge) / 2, 20
  end
  return { parameters = parameters, total = #rows, sampled = false, case = "a case", rows = rows,
           best = rows[2], default = rows[1] }
end

local function records()
  local list = {}
  for i = 1, 5 do
    list[i] = { generation = i, case = "c" .. i, baseline_ticks = 1000, best_ticks = 900 - i,
      speedup = i ~= 3 and 1000 / (900 - i) or nil, median_ticks = i == 2 and math.huge or 990,
      compiled = 1, right = 0.5, parents = 8, evaluations = 20 * i, mean_length = i,
      best_length = i, genes = { { gene = "<_k.cu_1>+<_k.cu_2>", count = i } } }
  end
  return list
end

local function experiment()
  return {
    title = "A <test> & more", paper = "A paper", device = "NVIDIA X", seed = 7, emulated = true,
    settings = { { name = "population", value = 20, paper = "300" } },
    paper_row = { { name = "time", paper = "2.06 ms", ours = "0.02 ms" } },
    tuning = {
      { title = "before", result = tuning({ "block" }, {
        { values = { block = 32 }, genome = "block=32", ticks = 1000 },
        { values = { block = 64 }, genome = "block=64", ticks = 900 },
        { values = { block = 96 }, genome = "block=96", status = "launch_error",
          message = "too <large>\nat all" } }) },
      { title = "two", result = tuning({ "a", "b" }, {
        { values = { a = 1, b = true }, genome = "a=1 b", ticks = 1000 },
        { values = { a = 2, b = false }, genome = "a=2", ticks = 900 } }) },
      { title = "three", result = tuning({ "a", "b", "c" }, {
        { values = { a = 1, b = 1, c = 1 }, genome = "a=1 b=1 c=1", ticks = 1000 },
        { values = { a = 1, b = 1, c = 2 }, genome = "a=1 b=1 c=2", ticks = 600 },
        { values = { a = 2, b = 1, c = 2 }, genome = "a=2 b=1 c=2", ticks = 800 } }) },
    },
    evolution = { records = records(), population = 20, evaluations = 100,
                  rejected = { wrong = 3, race = 1 }, duplicates = { ptx = 4 }, parents = 10,
                  popular = { { name = "OUT_<TYPE>", values = {
                    { value = "float", count = 8, default = true },
                    { value = "uchar", count = 2, default = false } } } } },
    pareto = { error = "penalty <x>", genomes = 1234, left_out = 5, points = {
        { error = 0, time = 1, count = 100 }, { error = 0, time = 0.5, count = 1 },
        { error = 0.002, time = 0.4, count = 1 }, { error = 150, time = 3, count = 2 } },
      front = { { error = 0, time = 0.5, genome = "A", generation = 2 },
                { error = 0.002, time = 0.4, genome = "", generation = 4 } } },
    pictures = { { title = "A <pair>", text = "90 % & more", images = {
        { name = "x", caption = "left \"image\"", width = 3, height = 2, png = "Zm9v" } } },
      { title = "Absent", text = "not installed" } },
    control = { records = records(), speedup = 1.02 },
    runs = { { seed = 1, speedup = 1.2, low = 1.1, high = 1.3, genome = "A", control = 1.0 },
             { seed = 2, speedup = 1.3, low = 1.2, high = 1.4, genome = "B", control = 1.1 } },
    summary = { n = 2, median = 1.25, low = 1.2, high = 1.3, spread = "quartiles", p = 0.33,
                a12 = 1.0, words = "large", control = { median = 1.05, low = 1.0, high = 1.1 } },
    cleanup = { genome = "A", rule = "sd", noise = 0.001, vital = { "A" }, steps = {
      { gene = "A", pass = "single", cost = 0.2, low = 0.19, high = 0.21, kept = true, right = true,
        status = "ok" },
      { gene = "<IF_k.cu_1>", pass = "single", cost = math.huge, low = math.huge, high = math.huge,
        kept = true, right = false, status = "race" },
      { gene = "C", with = { "D" }, pass = "pair", cost = 0, low = -0.003, high = 0.003,
        kept = false, right = true, status = "ok" } } },
    winner = { genome = "A <_k.cu_1><_k.cu_2>", ns = 900, ticks = 1800, registers = 20,
               default_ns = 1000, diff = "--- k\n+++ k\n@@ -1 +1 @@\n-a < b\n+a > b\n",
               genes = { { gene = "A", text = "`A` is switched on" } } },
    validation = { rows = {
      { case = "ball, 1", ratio = 1.11, low = 1.1, high = 1.12, answers = 12345, wrong = 0,
        max_error = 1e-6, ns = 900, base_ns = 1000, right = true, status = "ok" },
      { case = "ball, 3", ratio = 1.3, low = 1.3, high = 1.3, answers = 400, wrong = 0,
        size = "20x20", group = "made-up", max_error = 0, ns = 900, base_ns = 1000, right = true,
        status = "ok" },
      { case = "real, 4", ratio = 1.2, low = 1.1, high = 1.3, answers = 1600, wrong = 0,
        size = "40x40", group = "real <ones>", max_error = 0, ns = 900, base_ns = 1000,
        right = true, status = "ok" },
      { case = "ball, 2", answers = 10, wrong = 10, max_error = math.huge, right = false,
        status = "ok" } },
      answers = 12355, wrong = 10, max_error = math.huge, training = 1.5, all_right = false,
      ratio = { median = 1.11, least = 1.11, greatest = 1.11, geometric = 1.11 },
      cpu = { one_s = 0.5, all_s = 0.25, threads = 2, faster_one = 500, faster_all = 250,
              kernel_ns = 900, case = "ball, 1" } },
    floor = { ns = 400, bytes = 16000, ratio = 2.25, default_ratio = 2.5, default_ns = 1000 },
    stages = { { name = "tune", seconds = 1 }, { name = "evolve", seconds = 3 } },
    provenance = { { name = "gilua", value = "0.1" }, { name = "driver" } },
  }
end

-- Tags that open and close in pairs, as a browser wants them.
local function balanced(page)
  local open = {}
  for close, name, rest in page:gmatch("<(/?)([%a][%w]*)([^>]*)>") do
    if close == "" and not rest:find("/%s*$") and name ~= "meta" then
      open[#open + 1] = name
    elseif close == "/" then
      if open[#open] ~= name then return false, name end
      open[#open] = nil
    end
  end
  return #open == 0, open[#open]
end

tap.case("a page has every part, and every text is escaped", function()
  local page = html.page(experiment())
  for _, title in ipairs { "beside the paper", "Tuning", "Evolution", "Error against time",
    "Pictures", "Random search", "2 runs",
    "Clean-up", "The winner", "Validation", "How far from the limit", "What it took",
    "Provenance" } do
    tap.has(page, title, title)
  end
  tap.has(page, "A &lt;test&gt; &amp; more", "the title")
  tap.has(page, "too &lt;large&gt;", "a reason, its first line")
  tap.is(page:find("at all", 1, true), nil, "no more than that")
  tap.has(page, '<span class="add">+a &gt; b</span>', "a line of the diff")
  tap.has(page, "<code>A</code> is switched on", "prose with code in it")
  tap.has(page, "1.110×", "a ratio")
  tap.has(page, "fitted to its training", "over-fitting is said")
  tap.has(page, "<code>float</code> (default): 8, <code>uchar</code>: 2", "the parents' settings")
  tap.has(page, "how many of the 10 parents", "and how many parents there are")
  tap.has(page, "error is the penalty &lt;x&gt;. 5 more ran", "what error is, what is left out")
  tap.has(page, '<td class="r">2.500×</td><td class="r">4</td><td class="l">(the kernel as it is)',
    "the front, with its genomes")
  tap.has(page, "by its size", "speed-up by size")
  tap.has(page, "of the settings of c the best one", "three parameters as a map of two")
  tap.has(page, '<img src="data:image/png;base64,Zm9v" width="3" height="2" alt="left &quot;image'
    .. '&quot;"/>', "a picture")
  tap.has(page, "<p>not installed</p>", "a sentence in place of one")
  tap.is(page:find("://", 1, true) and page:match("(%a+://[^\"' ]*)"),
    page:find("://", 1, true) and "http://www.w3.org/2000/svg" or nil, "nothing from a network")
  for _, bad in ipairs { ">nan<", ">inf<", ">-nan<", "nil", "NaN" } do
    tap.is(page:find(bad, 1, true), nil, "no " .. bad)
  end
  local ok, name = balanced(page)
  tap.ok(ok, "tags are closed: " .. tostring(name))
end)

tap.case("the same table gives the same page", function()
  tap.is(html.page(experiment()) == html.page(experiment()), true, "to the byte")
end)

tap.case("a run that found nothing says so, and claims no speed-up", function()
  local page = html.page { title = "t", device = "emu", winner = { genome = "", speedup = 1,
    ns = 1000, default_ns = 1000, registers = 20, genes = {}, diff = "", case = "ball, 1",
    from = "the kernel as it is" } }
  tap.has(page, "<strong>Nothing faster was found</strong> than the kernel as it is, on ball, 1. "
    .. "1.00 µs on emu.", "in words")
  tap.ok(not page:find("faster</strong>", 1, true) and not page:find("Found by", 1, true),
    "and in no others")
end)

tap.case("a winner that was not chosen by its time is not called faster", function()
  local winner = { genome = "A", speedup = 0.996, ns = 1010, default_ns = 1000, registers = 20,
    genes = {}, diff = "", case = "ball, 1", unseen = true, from = "GEVO, generation 3, mutant 9" }
  local front = { names = { "energy", "time" }, points = {
    { genome = "A", values = { 0.904, 1.004 } }, { genome = "B", values = { 0.97, 0.99 } } } }
  local page = html.page { title = "t", device = "emu", winner = winner, front = front }
  tap.has(page, "<strong>0.996× as fast</strong> as the kernel as it is on ball, 1, never seen "
    .. "before.", "in words")
  tap.has(page, "It was chosen by its energy: 0.904 of the unmodified kernel's.", "by what it was")
  winner.so_far = true
  page = html.page { title = "t", device = "emu", winner = winner }
  tap.has(page, "<h2>The best so far</h2>", "while the run is on it is no winner")
  winner.so_far = nil
  front.names = { "time", "error" }
  winner.speedup = 1.2
  page = html.page { title = "t", device = "emu", winner = winner, front = front }
  tap.has(page, "<strong>1.200× faster</strong> than the kernel as it is", "one that was is")
  tap.is(page:find("It was chosen", 1, true), nil, "and that goes without saying")
end)

tap.case("where the kernel as it is was not measured, its time is no dash", function()
  local page = html.page { title = "t", device = "emu", winner = { genome = "A", ns = 900,
    registers = 20, genes = {}, diff = "" } }
  tap.has(page, '<p class="lead"> 0.90 µs on emu.', "the winner's is there")
end)

tap.case("what is not in the table is not on the page", function()
  local page = html.page { title = "Little" }
  tap.is(page:find("<section", 1, true), nil, "no section")
  tap.has(page, "<h1>Little</h1>", "but the title")
end)

tap.case("what one gene costs is a bar from nothing on", function()
  if not plot.available() then return tap.skip "gnuplot is not installed" end
  local page = html.page { title = "t", evolved = "A", cleanup = { noise = 0, vital = { "A" },
    steps = { { gene = "A", cost = 0.128, low = 0.128, high = 0.128, kept = true,
      right = true } } } }
  tap.has(page, "<text> 0</text>", "its axis has a 0")
end)

tap.case("plots of one page share no names", function()
  if not plot.available() then return tap.skip "gnuplot is not installed" end
  local page, seen, twice = html.page(experiment()), {}, nil
  for id in page:gmatch(" id=[\"']([^\"']+)") do
    twice = twice or (seen[id] and id)
    seen[id] = true
  end
  tap.ok(next(seen) ~= nil, "there are names")
  tap.is(twice, nil, "none twice")
  tap.is(select(2, page:gsub("<svg", "")), 14, "all plots are there")
  tap.is(page:find('color="black"', 1, true), nil, "lines and text follow the page's colour")
end)

tap.case("gnuplot that cannot draw says why; labels hold anything", function()
  if not plot.available() then return tap.skip "gnuplot is not installed" end
  local svg = plot.bars({ { label = 'a "q" \\ <b> $x `y`', value = 1 } }, { id = "z" })
  tap.has(svg, "a 'q'  &lt;b> $x `y`", "a label with everything in it")
  local none, why, code = plot.lines({ { name = "x", points = { { 1, math.huge } } } },
    { id = "z" })
  tap.is(tostring(none) .. " " .. tostring(code), "nil nolib", "nothing to draw")
  tap.has(why, "gnuplot could not draw", "in words")
end)

tap.done()
