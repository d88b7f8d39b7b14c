-- live, state, census, landscape: the page of a run while it is on, and when it has ended.
package.path = "lua/?.lua;lua/?/init.lua;tests/lua/?.lua;" .. package.path
local census = require "gilua.report.census"
local evolve = require "gilua.search.evolve"
local fake = require "fake"
local gi = require "gilua"
local html = require "gilua.report.page.html"
local json = require "gilua.base.json"
local laboratory = require "gilua.report.page.laboratory"
local live = require "gilua.report.page.live"
local plot = require "gilua.report.page.plot"
local report = require "gilua.report.report"
local state = require "gilua.report.page.state"
local tap = require "tap"

local function run_into(dir, changes)
  local scheme = {
    problem = fake.problem(), farm = fake.farm(), rng = fake.rng(3), new_case = fake.new_case,
    population = 20, generations = 6,
  }
  for name, value in pairs(changes or {}) do scheme[name] = value end
  scheme.observers = scheme.observers or { assert(report.open(dir)) }
  return pcall(evolve.run, scheme)
end

tap.case("the page is there from the first generation on, and says how far the run is", function()
  local dir = tap.folder()
  local pages = {}
  local results = assert(report.open(dir))
  run_into(dir, { observers = { results, { on_generation = function(_, record)
    pages[record.generation] = tap.read(dir .. "/report.html")
    live.page(results.folder).cost = 0 -- so that each generation is due
  end } } })
  tap.has(pages[1], "Under way:</strong> 1 of 6 generations are complete", "after the first")
  tap.has(pages[2], "Under way:</strong> 2 of 6 generations are complete", "and the second")
  tap.ok(state.is_on(pages[6]), "the last generation is not the end")
  tap.has(pages[2], "location.reload()", "it loads itself again")
  tap.has(pages[2], "not yet compared on one never seen before", "a best so far is one")
  local last = tap.read(dir .. "/report.html")
  tap.ok(not state.is_on(last) and not last:find("location.reload", 1, true),
    "when the run has ended it does not")
  tap.has(last, ", never seen before.", "and its winner was compared")
end)

tap.case("it is written again when that is cheap", function()
  local dir, written = tap.folder(), 0
  local results = assert(report.open(dir))
  local page = live.page(results.folder)
  local write = getmetatable(page).write
  page.write = function(...)
    written = written + 1
    write(...)
    page.cost = 1000
  end
  run_into(dir, { observers = { results } })
  tap.is(written, 2, "dear as it is: after the first generation, and at the end")
  tap.ok(not page:is_due(), "and not before a hundred times its cost has passed")
  page.cost, page.last = 0.001, page.last - 0.2
  tap.ok(page:is_due(), "but then")
end)

tap.case("a stopped run says so, and why", function()
  local dir = tap.folder()
  run_into(dir, { on_generation = function(_, record)
    if record.generation == 2 then error("enough <of> it", 0) end
  end })
  local page = tap.read(dir .. "/report.html")
  tap.has(page, "<strong>Stopped:</strong> ", "it says so")
  tap.has(page, "enough &lt;of&gt; it; 2 of 6 generations are complete", "and why")
  tap.has(page, "<code>gilua resume " .. dir .. "</code>", "and what goes on")
  tap.ok(not state.is_on(page), "it is not under way")
end)

tap.case("the same seed leaves the same page in the end", function()
  local a, b = tap.folder(), tap.folder()
  run_into(a)
  run_into(b)
  tap.ok(tap.read(a .. "/report.html") == tap.read(b .. "/report.html"), "to the byte")
end)

tap.case("a page that is served says whether anybody is at work", function()
  local page = html.page { title = "T", state = { on = true, text = "x", written = 1, when = "then",
    every = 2, patience = 60, folder = "out/x" } }
  tap.has(state.served(page, true), '<body data-state="on" data-served="1" data-written="1"', "yes")
  tap.has(state.served(page, false), '<body data-state="dead" data-written="1"', "no")
  tap.has(page, "No process is at work on this run any more", "in words that are there already")
  local ended = html.page { title = "T", state = { on = false, text = "x" } }
  tap.is(state.served(ended, false), ended, "one that has ended stays as it is")
  local sly = html.page { title = '<body data-state="on">' }
  tap.ok(not state.is_on(sly) and state.served(sly, true) == sly, "and a title is no state")
end)

--------------------------------------------------------------------------------------------------
-- What is on it

local function individual(id, birth, status, ticks)
  return { id = id, birth = birth, genome = "g" .. id, acceptable = status == "ok",
    measurement = { status = status, ticks = ticks, mean_error = 0, off = 0, unset = 0 } }
end

-- A census of n mutants in generations of 100; ticks(i) of the i-th of each, of an unmodified 1000.
local function counted(n, ticks)
  local c = census.observer()
  for generation = 1, n // 100 do
    local population = {}
    for i = 1, 100 do
      local id = 101 * (generation - 1) + i
      population[i] = individual(id, i % 2 == 0 and "mutation" or "crossover",
        i % 10 == 0 and "race" or "ok", ticks and ticks(i) or 900 + i)
    end
    c.on_generation({ population = population, tried = {} }, { generation = generation,
      best = population[1], baseline = { ticks = 1000 } })
  end
  return c.result()
end

tap.case("operators are counted whole", function()
  local o = counted(30000).operators
  tap.is(#o, 2, "two operators")
  tap.is(("%s %d %d %d"):format(o[1].name, o[1].all, o[1].right, #o[1].generations),
    "crossover 15000 15000 300", "the first")
  tap.is(("%s %d %d %d"):format(o[2].name, o[2].all, o[2].right, o[2].ran),
    "mutation 15000 12000 12000", "the second: races are not right")
end)

tap.case("a node says what it is, whatever a genome holds", function()
  if not plot.available() then return tap.skip "gnuplot is not installed" end
  local nasty = "<_a_1><_b_2> x='\"&]]> </title><script>alert(1)</script>\1\xff"
  local nodes = {
    { id = 2, generation = 2, birth = "mutation", level = 0, genome = nasty, status = "ok",
      gain = 2, parents = { 1 } },
    { id = 1, generation = 1, birth = "initial", level = 1, genome = "", status = "race",
      parents = {} },
  }
  local search = { operators = {}, lineage = { nodes = nodes, cut = false } }
  local page = html.page { title = "T", search = search }
  tap.has(page, "<title>2, generation 2, mutation: 2.000×\n&lt;_a_1&gt;&lt;_b_2&gt; "
    .. "x='&quot;&amp;]]&gt; &lt;/title&gt;&lt;script&gt;alert(1)&lt;/script&gt;\u{fffd}ÿ</title>",
    "its title")
  tap.is(select(2, page:gsub("<script", "")), 1, "no script but the page's own")
  local again = html.page { title = "T", search = json.decode(json.encode(search)) }
  tap.is(again, page, "made again from JSON it is the same")
end)

-- A laboratory of made-up rows, whose genes are `text`.
local function laboratory_of(text, most)
  local dir = tap.folder()
  require "lfs".mkdir(dir)
  local archive <close> = gi.archive.open(dir .. "/archive.sqlite")
  local run = archive:begin_run { world = archive:world "{}", seed = 1, device = "emu",
    problem = "p", command = "{}" }
  for i = 1, 50 do
    archive:evaluated(run, { id = i, birth = i == 1 and "unmodified" or "mutation",
      genome = i == 1 and "" or text, parents = {}, acceptable = i % 2 == 0, fitness = i,
      measurement = { status = "ok", ticks = 1000 + i, ns = 1, max_error = 0, mean_error = 0,
        wrong = 0, unset = 0, registers = 8 } }, 1, "a case")
  end
  archive:flush()
  local kept = laboratory.MOST
  laboratory.MOST = most or kept
  local saved = laboratory.saved(archive, run, { name = text, ended = true, genome = text,
    problem = { source = "a < b\n", grammar = {}, parameters = {} } })
  laboratory.MOST = kept
  return saved
end

tap.case("mutants in a page are data, whatever a genome holds", function()
  local saved = laboratory_of "x='\"&]]>\u{a0}</script><script>alert(1)</script>\1\xff"
  local page = html.page { title = "T", search = { operators = {}, laboratory = saved } }
  tap.is(select(2, page:gsub("<script", "")), 2, "the data, and the page's own script")
  tap.is(select(2, page:gsub("alert%(1%)<", "")), 0, "no other")
  local data = json.decode(page:match 'id="mutants">(.-)</script>')
  tap.is(#data.pages[1].id, 50, "the data are JSON")
  tap.is(data.pages[1].words[1], "x='\"&]]>\u{c2}\u{a0}</script><script>alert(1)</script>\1ÿ",
    "with the gene as it is, what is no UTF-8 as Latin-1")
  local again = html.page { title = "T", search = json.decode(json.encode {
    operators = json.array {}, laboratory = saved }) }
  tap.is(again, page, "made again from JSON it is the same")
  local served = laboratory.served(page)
  tap.ok(not served:find("alert", 1, true), "a page that is served has no mutants in it")
  tap.has(served, '<section id="laboratory" data-base="">', "but asks for them")
end)

tap.case("of a long run a saved page keeps one mutant of several, and the foremost", function()
  local saved = laboratory_of("A", 10)
  local page = json.decode(saved.pages[1])
  tap.is(page.all, 50, "it says how many there are")
  local kept = {}
  for _, id in ipairs(page.id) do kept[id] = true end
  tap.ok(kept[5] and kept[10] and not kept[7], "one of five")
  tap.ok(kept[2], "the one that led")
end)

tap.case("where the winner comes from: a tree, and its nearest line as a table", function()
  local nodes = {
    { id = 9, generation = 2, birth = "best", level = 0, genome = "A", status = "ok", gain = 1.5,
      parents = { 7 } },
    { id = 7, generation = 2, birth = "crossover", level = 1, genome = "A B", status = "ok",
      gain = 1.25, parents = { 3, 4 } },
    { id = 3, generation = 1, birth = "initial", level = 2, genome = "A", status = "ok",
      gain = 1.125, parents = {} },
    { id = 4, generation = 1, birth = "initial", level = 2, genome = "<b>", status = "race",
      parents = {} },
  }
  local page = html.page { title = "T", search = { lineage = { nodes = nodes, cut = true } } }
  tap.has(page, '<td class="r">2</td><td class="r">7</td><td class="l">crossover</td><td class="r">'
    .. '1.250×</td><td class="l"><code>B</code></td>', "a row tells what is new")
  tap.has(page, "of a generation at most eight", "and that there are more")
  if plot.available() then
    tap.has(page, "<title>4, generation 1, initial: race\n&lt;b&gt;</title>", "a node")
    tap.is(select(2, page:gsub('<path stroke="#', "")), 3, "a line to each parent")
  end
end)

tap.done()
