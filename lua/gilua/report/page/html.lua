-- html: an experiment, or a run of evolution, as one page that needs no network and no other file.
-- The page is a pure function of its table (fields: docs/report.md), which gilua.experiment and
-- gilua.live make. Gnuplot draws the plots; without it the page has the tables alone.

local evolve = require "gilua.search.evolve"
local frontier = require "gilua.report.frontier"
local gnuplot = require "gilua.report.page.gnuplot"
local interactions = require "gilua.report.interactions"
local laboratory = require "gilua.report.page.laboratory"
local landscape = require "gilua.report.page.landscape"
local markup = require "gilua.report.page.markup"
local nodes = require "gilua.report.page.nodes"
local plot = require "gilua.report.page.plot"
local state = require "gilua.report.page.state"
local textfile = require "gilua.base.textfile"

local M = {}

local code, escape, figure, finite, grid = markup.code, markup.escape, markup.figure, markup.finite,
  markup.grid
local interval, microseconds, over, p, percent = markup.interval, markup.microseconds, markup.over,
  markup.p, markup.percent
local prose, scaled, section, short, shown = markup.prose, markup.scaled, markup.section,
  markup.short, markup.shown
local times = markup.times

--------------------------------------------------------------------------------------------------
-- Sections. Each takes the experiment and a function that makes words of the page's own.

-- By how much, as strong words, and what follows before "the kernel as it is". Who was chosen by
-- another objective than time may be slower.
local function against(ratio)
  local words = finite(ratio) and ratio < 1 and { "as fast", "as" } or { "faster", "than" }
  return ("<strong>%s %s</strong> %s"):format(times(ratio), words[1], words[2])
end

-- What a run says of its winner without a validation, or before it.
local function claimed(w)
  if w.genome == "" then
    return ("<strong>Nothing faster was found</strong> than the kernel as it is, on %s."):format(
      escape(w.case or "its case"))
  end
  local range = finite(w.low) and w.low ~= w.high
    and (" (95 %% interval %s from %s pairs)"):format(interval(w.low, w.high), shown(w.pairs, "%d"))
    or ""
  return ("%s the kernel as it is on %s%s%s."):format(
    against(w.speedup), escape(w.case or "its case"), range, w.unseen and ", never seen before"
      or w.so_far and ", that of the best generation so far: not yet compared on one never seen "
      .. "before" or "")
end

local function headline(e)
  local v, w = e.validation, e.winner
  local text = {}
  if v and v.ratio then
    text[1] = ("%s the kernel as it is (median of %d cases that "
      .. "nothing before had seen; %s to %s), "):format(against(v.ratio.median), #v.rows,
      times(v.ratio.least), times(v.ratio.greatest))
    text[2] = ("%s answers checked, %s wrong, largest error %s."):format(
      shown(v.answers, "grouped"), shown(v.wrong, "grouped"), shown(v.max_error, "%.3g"))
  end
  if w and w.speedup and not v then text[#text + 1] = claimed(w) end
  if w then
    local before = finite(w.default_ns) and microseconds(w.default_ns) -- not always measured
    text[#text + 1] = (" %s on %s."):format(w.genome == "" and (before or microseconds(w.ns))
      or (before and before .. " → " or "") .. microseconds(w.ns), escape(e.device or "?"))
    text[#text + 1] = frontier.choice(e.front, w.genome)
  end
  return #text > 0 and p(table.concat(text), "lead") or ""
end

local function top(e)
  local lines = { ("<header>\n<h1>%s</h1>\n"):format(escape(e.title or "An experiment")) }
  if e.paper and e.paper ~= "" then lines[#lines + 1] = p(escape(e.paper), "paper") end
  lines[#lines + 1] = headline(e)
  if e.doc and e.doc ~= "" then lines[#lines + 1] = p(escape(e.doc)) end
  if e.emulated then
    lines[#lines + 1] = p("Times are those of the virtual GPU's cost model: exact, and not a "
      .. "GPU's.", "note")
  end
  return table.concat(lines) .. "</header>\n"
end

local function beside_the_paper(e)
  local parts = {}
  if e.settings and #e.settings > 0 then
    local rows = {}
    for i, s in ipairs(e.settings) do
      rows[i] = { escape(s.name), escape(s.value), s.paper and escape(s.paper) or "–" }
    end
    parts[#parts + 1] = grid({ "setting", "here", "paper" }, "lll", rows)
  end
  if e.paper_row and #e.paper_row > 0 then
    local rows = {}
    for i, s in ipairs(e.paper_row) do
      rows[i] = { escape(s.name), s.ours and escape(s.ours) or "–", escape(s.paper or "–") }
    end
    parts[#parts + 1] = grid({ "figure", "here", "paper" }, "lrr", rows)
  end
  return #parts > 0 and section("Settings and figures, beside the paper's", table.unpack(parts))
    or ""
end

local function reason(row)
  if row.status ~= "ok" then
    return escape(row.status) .. ": " .. escape((row.message or ""):match("^[^\n]*"))
  end
  return row.right and "" or "wrong: largest error " .. shown(row.max_error, "%.3g")
end

local MANY = 40 -- rows of a table of settings

local function tuning_table(t)
  local rows, best = {}, t.best and t.best.genome
  local default = t.default and t.default.right and t.default.ticks
  for i, row in ipairs(t.rows) do
    rows[i] = {
      code(row.genome == "" and "(none)" or row.genome), row.right and shown(row.ticks, "grouped")
        or reason(row), row.right and microseconds(row.ns) or "",
      row.right and default and times(over(default, row.ticks)) or "",
      row.right and shown(row.registers, "%d") or "", order = row.right and row.ticks or math.huge,
      index = i, class = row.genome == best and "best" or nil,
    }
  end
  local note = ""
  if #rows > MANY then
    table.sort(rows, function(a, b)
      if a.order ~= b.order then return a.order < b.order end
      return a.index < b.index
    end)
    note = p(("The %d fastest of %d settings."):format(MANY, #rows), "note")
    for i = #rows, MANY + 1, -1 do rows[i] = nil end
  end
  return grid({ "setting", "ticks", "time", "speed-up", "registers" }, "lrrrr", rows, "settings")
    .. note
end

-- The least time over all other parameters, for each setting of the first two.
local function heat_cells(t)
  local across, down = t.parameters[1], t.parameters[2]
  local cells, known = {}, {}
  for _, row in ipairs(t.rows) do
    local x, y = tostring(row.values[across]), tostring(row.values[down])
    local cell = known[x .. "\0" .. y]
    if not cell then
      cell = { x = x, y = y }
      known[x .. "\0" .. y], cells[#cells + 1] = cell, cell
    end
    local time = row.right and scaled(row.ns, 1e-3) or nil
    if time and not (cell.value and cell.value <= time) then cell.value = time end
    cell.best = cell.best or t.best and row.genome == t.best.genome
    cell.default = cell.default or t.default and row.genome == t.default.genome
  end
  return cells
end

-- Equal values are a result too.
local function equal(cells)
  local value, count = nil, 0
  for _, cell in ipairs(cells) do
    if cell.value and value and cell.value ~= value then return "" end
    value, count = value or cell.value, count + (cell.value and 1 or 0)
  end
  return count > 1 and (" All %d that ran take the same time."):format(count) or ""
end

local function heat_map(t, id)
  local names = t.parameters
  local others = #names > 2 and ("; of the settings of %s the best one"):format(
    table.concat(names, ", ", 3)) or ""
  local cells = heat_cells(t)
  local text = ("Time by %s (across) and %s on %s%s; a star marks the best, a circle the default. "
    .. "Empty ones did not run or were wrong%s.%s"):format(names[1], names[2], t.case or "one case",
    others, t.sampled and ", or were not measured" or "", equal(cells))
  return figure(text, plot.heat(cells, { id = id, x = names[1], y = names[2], title = "time, µs",
    height = 380, log = true }))
end

local function tuning_plot(t, id)
  local names = t.parameters
  local function value(row, name) return tostring(row.values[name]) end
  if #names == 1 then
    local bars = {}
    for i, row in ipairs(t.rows) do
      bars[i] = { label = value(row, names[1]), strong = t.best and row.genome == t.best.genome,
                  value = row.right and scaled(row.ns, 1e-3) or nil }
    end
    return figure(("Time by %s on %s; the best has its own colour, gaps did not run or were wrong.")
      :format(names[1], t.case or "one case"),
      plot.bars(bars, { id = id, x = names[1], y = "time, µs", from = 0 }))
  elseif #names > 1 then
    return heat_map(t, id)
  end
  return ""
end

local function tuning(e, word)
  local parts = {}
  for _, t in ipairs(e.tuning or {}) do
    local r = t.result
    parts[#parts + 1] = ("<h3>%s</h3>\n"):format(escape(t.title))
    if r.best then
      local gain = r.default and r.default.right
        and (", %s the time of the default"):format(
          shown(over(r.best.ticks, r.default.ticks), "%.3f")) or ""
      parts[#parts + 1] = p(("Best of %d%s: %s, %s%s."):format(#r.rows,
        r.sampled and (" (of %d legal ones)"):format(r.total) or "", code(r.best.genome),
        microseconds(r.best.ns), gain))
    end
    parts[#parts + 1] = tuning_plot(r, word()) .. tuning_table(r)
  end
  return #parts > 0 and section("Tuning", table.unpack(parts)) or ""
end

-- Options of a plot over generations.
local function generations(word, options)
  options.id, options.x, options.whole = word(), "generation", true
  return options
end

-- Points of a column of the records.
local function points(records, y)
  local list = {}
  for i, r in ipairs(records) do list[i] = { r.generation, y(r) } end
  return list
end

-- The best so far.
local function running_best(records)
  local best, list = nil, {}
  for i, r in ipairs(records) do
    if finite(r.speedup) and (not best or r.speedup > best) then best = r.speedup end
    list[i] = { r.evaluations, best }
  end
  return list
end

-- Table 5 of RN/14/02.
local function popular(v)
  if not v.popular or #v.popular == 0 then return "" end
  local rows = {}
  for i, parameter in ipairs(v.popular) do
    local parts = {}
    for k, value in ipairs(parameter.values) do
      parts[k] = ("%s%s: %s"):format(code(value.value), value.default and " (default)" or "",
        shown(value.count, "%d"))
    end
    rows[i] = { code(parameter.name), table.concat(parts, ", ") }
  end
  return p(("Configuration of the last breeding population: how many of the %s parents of the last "
    .. "generation carry which value (RN/14/02, Table 5)."):format(shown(v.parents, "%d")))
    .. grid({ "parameter", "values and parents that carry them" }, "ll", rows)
end

-- Error against time of what was seen (Figure 8.4), and what of it nothing beats.
local function pareto(e, word)
  local s = e.pareto
  if not s or not s.points or #s.points == 0 then return "" end
  local rows = {}
  local front = s.front or {}
  for i, point in ipairs(front) do
    rows[i] = { shown(point.error, "%.3g"), shown(point.time, "%.4f"),
                times(over(1, point.time)), shown(point.generation, "%d"),
                point.genome == "" and "(the kernel as it is)" or code(point.genome or "?") }
  end
  local out = finite(s.left_out) and s.left_out > 0
    and (" %s more ran but have no finite error."):format(shown(s.left_out, "grouped")) or ""
  return section("Error against time",
    p(("%s different genomes ran during evolution. Time is over that of the kernel evolution began "
      .. "with on the same case, error is the %s.%s"):format(shown(s.genomes, "grouped"),
      escape(s.error or "mean error of an answer"), out)),
    figure("Everything seen in the evolution; those that nothing beats in both are joined (Figure "
      .. "8.4).", plot.front(s.points, front, { id = word(), x = s.error or "mean error",
      y = "time, over the unmodified", at = 1, title = "unmodified", height = 400 })),
    grid({ "error", "time", "speed-up", "generation", "genome" }, "rrrrl", rows, "below"))
end

local function gene_plot(records, word)
  local last, series = {}, {}
  for _, g in ipairs(records[#records].genes or {}) do
    if g.count > 1 then last[#last + 1] = g end
  end
  for i = 1, math.min(7, #last) do
    local name, list = last[i].gene, {}
    for k, r in ipairs(records) do
      -- of a population only so many genes are recorded: below that there is a gap
      list[k] = { r.generation, #(r.genes or {}) < evolve.FREQUENT and 0 or nil }
      for _, g in ipairs(r.genes or {}) do
        if g.gene == name then list[k][2] = g.count end
      end
    end
    series[i] = { name = short(name), points = list }
  end
  if #series == 0 then return "" end
  local rows = {}
  for i = 1, math.min(12, #last) do
    rows[i] = { code(last[i].gene), shown(last[i].count, "%d") }
  end
  return figure("Genomes that hold a gene, for the genes most frequent in the last population "
    .. "(§4.5).", plot.lines(series, generations(word, { y = "genomes", from = 0 })))
    .. grid({ "gene", "genomes of the last population" }, "lr", rows)
end

local function counts(title, t)
  local names, rows = {}, {}
  for name in pairs(t or {}) do names[#names + 1] = name end
  table.sort(names)
  for i, name in ipairs(names) do rows[i] = { escape(name), shown(t[name], "grouped") } end
  return #rows > 0 and grid({ title, "mutants" }, "lr", rows) or ""
end

local function evolution(e, word)
  local v = e.evolution
  if not v or #v.records == 0 then return "" end
  local r = v.records
  return section("Evolution",
    p(("%s evaluations in %d generation%s of %s."):format(shown(v.evaluations, "grouped"), #r,
      #r == 1 and "" or "s", shown(v.population, "grouped"))),
    figure("Speed-up over the unmodified kernel, timed anew on each generation's own case.",
      plot.lines({
        { name = "best", points = points(r, function(x) return x.speedup end) },
        { name = "median", dashed = true, points = points(r, function(x)
          return over(x.baseline_ticks, x.median_ticks)
        end) },
      }, generations(word, { y = "speed-up", at = 1, title = "unmodified" }))),
    figure("Shares of each population.", plot.lines({
      { name = "compiled", points = points(r, function(x) return scaled(x.compiled, 100) end) },
      { name = "right", points = points(r, function(x) return scaled(x.right, 100) end) },
      { name = "may be parents", dashed = true,
        points = points(r, function(x)
          return scaled(over(x.parents, x.size or v.population), 100)
        end) },
    }, generations(word, { y = "percent", from = 0, to = 105 }))),
    figure("Genes of a genome.", plot.lines({
      { name = "mean", points = points(r, function(x) return x.mean_length end) },
      { name = "best", dashed = true, points = points(r, function(x) return x.best_length end) },
    }, generations(word, { y = "genes", from = 0 }))),
    gene_plot(r, word), popular(v), counts("did not survive, by cause", v.rejected),
    counts("seen before, by", v.duplicates))
end

local function control(e, word)
  if not (e.control and e.evolution) then return "" end
  return section("Random search",
    p("The same loop with as many evaluations, parents chosen at random (RN/14/02, §10.1). Its "
      .. ("best, measured like evolution's winner: %s."):format(times(e.control.speedup))),
    figure("Best speed-up so far, each on the case it was met on.", plot.lines({
      { name = "evolution", points = running_best(e.evolution.records) },
      { name = "random search", dashed = true, points = running_best(e.control.records) },
    }, { id = word(), x = "evaluations", whole = true, y = "best speed-up so far" })))
end

local function runs(e, word)
  if not e.runs or #e.runs < 2 then return "" end
  local rows, evolved, random = {}, {}, {}
  for i, r in ipairs(e.runs) do
    evolved[i], random[#random + 1] = r.speedup, r.control
    rows[i] = { shown(r.seed, "%d"), times(r.speedup), interval(r.low, r.high), times(r.control),
                code(r.genome or "") }
  end
  local text, s = "", e.summary
  if s then
    text = p(("Evolution: median %s (%s %s to %s). Random search: %s (%s to %s). Mann–Whitney "
      .. "p = %s; Vargha–Delaney A = %s, %s."):format(times(s.median), escape(s.spread or ""),
      times(s.low), times(s.high), times(s.control.median), times(s.control.low),
      times(s.control.high), shown(s.p, "%.3g"), shown(s.a12, "%.2f"), escape(s.words or "")))
  end
  local groups = { { label = "evolution", values = evolved } }
  if #random > 0 then groups[2] = { label = "random search", values = random } end
  return section(("%d runs"):format(#e.runs), text,
    figure("Speed-up of each run's winner on its own unseen case; the bar is the median.",
      plot.strips(groups, { id = word(), y = "speed-up" })),
    grid({ "seed", "speed-up", "95 % interval", "random search", "genome" }, "rrrrl", rows,
      "below"))
end

-- What every step offered, and which of that is the best that is right.
local function offers(e)
  local list = e.offers
  if not list or #list == 0 then return "" end
  local rows = {}
  for i, o in ipairs(list) do
    local fate = o.refused or not o.right and (o.status == "ok" and "wrong" or o.status) or ""
    rows[i] = { escape(o.from), times(o.speedup), times(o.ratio), interval(o.low, o.high),
      o.taken and "the best" or escape(fate), code(o.genome), class = o.taken and "best" or nil }
  end
  return section("Best from anywhere",
    p("All that any step found, and the best of it that is right. The first speed-up is that on "
      .. "the fixed case, which tuning and clean-up use too, the second that on "
      .. (e.choice and escape(e.choice) .. ", a case that none of them has seen."
        or "a new case.")),
    grid({ "found by", "speed-up", "compared", "95 % interval", "", "genome" }, "lrrrll", rows,
      "below"))
end

local function cleanup_rows(steps)
  local rows = {}
  for i, s in ipairs(steps) do
    local gene = s.with and s.gene .. " with " .. s.with[1] or s.gene
    rows[i] = {
      code(gene), s.right and percent(s.cost) or escape(s.status == "ok" and "wrong answers"
        or s.status), s.right and ("%s – %s"):format(percent(s.low), percent(s.high)) or "",
      s.kept and "kept" or "gone", class = s.kept and "best" or nil,
    }
  end
  return rows
end

-- The first pass, which Figure 3 shows: a step for each gene of the evolved genome.
local function first_pass(e)
  local _, genes = (e.evolved or ""):gsub("%S+", "")
  local steps = e.cleanup.steps
  return table.move(steps, 1, genes > 0 and math.min(genes, #steps) or #steps, 1, {})
end

local function knock_out_plot(steps, id)
  local bars, most, least = {}, 0.01, 0
  for _, s in ipairs(steps) do
    if finite(s.cost) then most, least = math.max(most, s.cost), math.min(least, s.cost) end
    if finite(s.low) then least = math.min(least, s.low) end
  end
  for i, s in ipairs(steps) do
    local known = finite(s.cost)
    bars[i] = { label = short(s.gene), strong = s.kept,
                value = 100 * (known and s.cost or 1.25 * most),
                low = known and scaled(s.low, 100) or nil,
                high = known and scaled(s.high, 100) or nil }
  end
  return figure("What losing a gene costs, in percent of the time, from left to right (§4.3, "
    .. "Figure 3). Error bars: three standard deviations of the noise. Kept genes have their own "
    .. "colour; the highest bars are genes without which the answers are wrong.",
    plot.bars(bars, { id = id, y = "cost, %", height = 400, width = math.max(720, 16 * #bars),
      from = least == 0 and 0 or nil }))
end

local function cleanup(e, word)
  local c = e.cleanup
  if not c then return "" end
  local steps = first_pass(e)
  return section("Clean-up",
    p(("Genes knocked out one at a time, left to right, again until nothing goes, and then in "
      .. "pairs, on one fixed case. A gene stays where losing it makes the answers wrong or costs "
      .. "more than the noise allows (standard deviation of comparing the kernel with itself: %s). "
      .. "After %d knock-outs %d of %d genes are left."):format(
      finite(c.noise) and shown(100 * c.noise, "%.2f %%") or "–", #c.steps, #c.vital, #steps)),
    knock_out_plot(steps, word()),
    grid({ "gene", "cost of losing it", "± 3 s.d.", "" }, "lrrl", cleanup_rows(c.steps)))
end

local function diff_lines(text)
  local lines = {}
  for line in text:gmatch("([^\n]*)\n?") do
    local first = line:sub(1, 1)
    local class = line:match("^%-%-%-") and "" or line:match("^%+%+%+") and ""
      or first == "+" and "add" or first == "-" and "del" or first == "@" and "at" or ""
    lines[#lines + 1] = ('<span class="%s">%s</span>'):format(class, escape(line))
  end
  return '<div class="wide"><pre class="diff">' .. table.concat(lines) .. "</pre></div>\n"
end

local function many(n, noun) return ("%d %s%s"):format(n, noun, n == 1 and "" or "s") end

-- What right answers say nothing about.
local function marks(w)
  local items = {}
  for i, mark in ipairs(w.marks or {}) do
    items[i] = p("<strong>Marked:</strong> " .. escape(mark) .. " Read it.")
  end
  return table.concat(items)
end

local function winner(e)
  local w = e.winner
  if not w then return "" end
  local items = {}
  for i, g in ipairs(w.genes or {}) do
    items[i] = ("<dt>%s</dt><dd>%s</dd>\n"):format(code(g.gene), prose(g.text))
  end
  return section(w.so_far and "The best so far" or "The winner",
    p(code(w.genome == "" and "(the kernel as it is)" or w.genome)),
    p(("%s, %s registers, %s.%s"):format(microseconds(w.ns), shown(w.registers, "%d"),
      many(#(w.genes or {}), "gene"), w.from and w.genome ~= ""
        and (" Found by %s."):format(escape(w.from)) or "")),
    marks(w),
    #items > 0 and "<dl>\n" .. table.concat(items) .. "</dl>\n" or "",
    w.diff and w.diff ~= "" and diff_lines(w.diff) or "")
end

local function overfitting(v)
  if not (finite(v.training) and v.ratio and finite(v.ratio.median)) then return "" end
  return p(("On a case of the training kind it is %s faster, on the unseen ones %s (median): "
    .. "%s."):format(times(v.training), times(v.ratio.median),
    v.ratio.median >= 0.98 * v.training and "no sign of over-fitting"
      or "less, so it is fitted to its training"))
end

-- A modelled time has no place beside a measured one.
local function cpu(v, emulated)
  local c = v.cpu
  if not c and v.cpu_message then return p(escape(v.cpu_message), "note") end
  if not c or emulated then return "" end
  return p(("The CPU reference takes %s ms on one core and %s ms on %s threads for %s: the kernel "
    .. "is %s and %s times faster."):format(shown(scaled(c.one_s, 1e3), "%.2f"),
    shown(scaled(c.all_s, 1e3), "%.2f"), shown(c.threads, "%d"), escape(c.case or "the last case"),
    shown(c.faster_one, "%.0f"), shown(c.faster_all, "%.0f")))
end

-- Labels that would be nearer to each other than a twelfth of a decade: the later goes.
local function spread(tics)
  table.sort(tics, function(a, b) return a[2] < b[2] end)
  local kept = {}
  for _, tic in ipairs(tics) do
    local last = kept[#kept]
    if not last or math.log(tic[2] / last[2], 10) > 1 / 12 then kept[#kept + 1] = tic end
  end
  return kept
end

-- Speed-up by the size of a case (Figure 8.15), where there is more than one size.
local function by_size(v, word)
  local series, of_group, tics, sizes = {}, {}, {}, {}
  for _, r in ipairs(v.rows) do
    if r.size and finite(r.answers) then
      if not sizes[r.size] then
        sizes[r.size] = true
        tics[#tics + 1] = { r.size, r.answers }
      end
      local name = r.group or "cases"
      if not of_group[name] then
        of_group[name] = { name = name, points = {} }
        series[#series + 1] = of_group[name]
      end
      table.insert(of_group[name].points, { r.answers, r.ratio, r.low, r.high })
    end
  end
  if #tics < 2 then return "" end
  return figure("Speed-up of each unseen case by its size, from small to large (Figure 8.15); "
    .. "bars are 95 % intervals.", plot.scatter(series, { id = word(), x = "size", y = "speed-up",
    logx = true, xtics = spread(tics), height = 360 }))
end

local function validation(e, word)
  local v = e.validation
  if not v then return "" end
  local rows, ratios = {}, {}
  for i, r in ipairs(v.rows) do
    rows[i] = { escape(r.case), times(r.ratio), interval(r.low, r.high), microseconds(r.base_ns),
                microseconds(r.ns), shown(r.answers, "grouped"), shown(r.wrong, "grouped"),
                shown(r.max_error, "%.3g") }
    ratios[i] = { label = ("%s, %d"):format(r.case:match("^[^, ]*"), i), value = r.ratio,
                 low = r.low, high = r.high }
  end
  return section("Validation", overfitting(v),
    figure("Speed-up over the kernel as it is, on cases that nothing before had seen; bars are "
      .. "95 % intervals.", plot.intervals(ratios, { id = word(), y = "speed-up", at = v.training,
      title = finite(v.training) and "training" or nil, height = 380 })), by_size(v, word),
    grid({ "case", "speed-up", "95 % interval", "as it is", "winner", "answers", "wrong",
      "largest error" }, "lrrrrrrr", rows), cpu(v, e.emulated))
end

-- Pictures that the experiment drew: files beside the page, and on the page itself.
local function pictures(e)
  local parts = {}
  for _, group in ipairs(e.pictures or {}) do
    parts[#parts + 1] = ("<h3>%s</h3>\n"):format(escape(group.title))
    if group.text then parts[#parts + 1] = p(escape(group.text)) end
    local images = {}
    for i, image in ipairs(group.images or {}) do
      images[i] = ('<figure><img src="data:image/png;base64,%s" width="%d" height="%d" alt="%s"/>'
        .. "<figcaption>%s</figcaption></figure>\n"):format(escape(image.png), image.width,
        image.height, escape(image.caption), escape(image.caption))
    end
    if #images > 0 then
      parts[#parts + 1] = '<div class="pictures">\n' .. table.concat(images) .. "</div>\n"
    end
  end
  return #parts > 0 and section("Pictures", table.unpack(parts)) or ""
end

local function floor(e, word)
  local f, w = e.floor, e.winner
  if not f or not w then return "" end
  return section("How far from the limit",
    p(("Writing the %s bytes of answers takes %s (a memset, timed like the kernels in the same "
      .. "run). The kernel as it is takes %s times that, the winner %s times."):format(
      shown(f.bytes, "grouped"), microseconds(f.ns), shown(f.default_ratio, "%.2f"),
      shown(f.ratio, "%.2f"))),
    figure("Time on the case of tuning and cleaning.", plot.bars({
      { label = "memset", value = scaled(f.ns, 1e-3) },
      { label = "winner", value = scaled(w.ns, 1e-3), strong = true },
      { label = "as it is", value = scaled(f.default_ns, 1e-3) },
    }, { id = word(), y = "time, µs", from = 0, height = 240 })))
end

local function stages(e)
  if not e.stages or #e.stages == 0 then return "" end
  local rows, total = {}, 0
  for _, s in ipairs(e.stages) do total = total + (scaled(s.seconds, 1) or 0) end
  for i, s in ipairs(e.stages) do
    rows[i] = { escape(s.name), shown(s.seconds, "%.1f s"), percent(over(s.seconds, total)),
      ('<div class="share" style="width:%.1f%%"></div>'):format(
        scaled(over(s.seconds, total), 100) or 0) }
  end
  rows[#rows + 1] = { "all", shown(total, "%.1f s"), "", "" }
  return section("What it took", grid({ "step", "seconds", "share", "" }, "lrrl", rows))
end

local function provenance(e)
  local rows = {}
  for i, row in ipairs(e.provenance or {}) do
    rows[i] = { escape(row.name), escape(row.value or "–") }
  end
  if e.command then rows[#rows + 1] = { "command", code(e.command) } end
  return #rows > 0 and section("Provenance", grid({ "what", "which" }, "ll", rows)) or ""
end

--------------------------------------------------------------------------------------------------
-- The page

local function body(e)
  local used = 0
  local function word()
    used = used + 1
    return ("p%d-"):format(used)
  end
  local missing = not plot.available() and p(escape(select(2, plot.available())), "note") or ""
  return table.concat {
    top(e), state.banner(e.state), nodes.section(e.cluster), missing, beside_the_paper(e),
    winner(e), landscape.mutants(e), validation(e, word), pictures(e), floor(e, word),
    tuning(e, word), evolution(e, word), landscape.lineage(e, word),
    landscape.operators(e, word), frontier.section(e, word), pareto(e, word), control(e, word),
    runs(e, word), cleanup(e, word), interactions.section(e), offers(e), stages(e), provenance(e),
  }
end

--- The page of an experiment.
---@param e table docs/report.md
---@return string html
function M.page(e)
  return markup.document {
    title = e.title or "An experiment", attributes = state.attributes(e.state),
    script = (e.search and e.search.laboratory and laboratory.SCRIPT or "")
      .. state.script(e.state), style = laboratory.STYLE,
    body = gnuplot.together(function() return body(e) end, function(why)
      return p(escape(why), "note")
    end),
  }
end

--- Writes the page.
---@param e table
---@param path string
function M.write(e, path)
  textfile.write(path, M.page(e))
end

return M
