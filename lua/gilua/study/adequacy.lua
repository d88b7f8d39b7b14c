--- adequacy: can a case distinguish a wrong kernel from a right one? This is mutation testing of
--- the data: kernels with one change run on the case, and those whose answers stay right show what
--- the data cannot detect. Evolution would find them, too, and call them faster.
--
-- A probe is the kernel with one change: an empty body, a deleted statement, a declaration's value
-- 0, a condition 0 or 1, a number moved. A change in lines that the preprocessor leaves out, or one
-- that compiles to the unmodified kernel's code, is not a probe. The score is the share of probes
-- that are detected.

local below = require "gilua.report.below"
local compiler = require "gilua.farm.compiler"
local copied = require "gilua.problem.copied"
local core = require "gilua.core"
local fail = require "gilua.base.fail"
local fitness = require "gilua.search.fitness"
local ptxtext = require "gilua.problem.ptxtext"
local stats = require "gilua.base.stats"

local MEANS = copied.MEANS

local M = {}

--- Below this score the data are too weak to evolve on: with so many changes unnoticed, what wins
--- is what computes least.
M.LEAST = 0.6

--- The farm's per_round for probes: some do not end, and it does not matter whether they meet
--- their guard or their budget.
M.PER_ROUND = 100

--- The most probes that run; of more, so many are taken, evenly over the source. Fewer where each
--- takes long to run or to compile.
M.MOST = 72

--- Warp instructions of the small case, of all probes together, unless these are very few.
M.MOST_WORK = 200e6

local LEAST_PROBES = 16
-- Probes times the square of the PTX's bytes, as compiling takes longer than in proportion: 130 KB
-- take a quarter of a second. A count and no clock, so that every run has the same probes.
local MOST_COMPILED = 2.2e11
local LEAST_COMPILED = 8

---@class gilua.adequacy
---@field score number noticed / probes; 0 where there is no probe
---@field noticed integer
---@field probes integer those that count
---@field of integer all that the source has, where that is more
---@field tried integer those of them that ran
---@field bytes? integer of the kernel's PTX, where fewer ran because of it
---@field empty boolean a kernel that does nothing would be right
---@field nan number share of the unmodified kernel's answers that are NaN, which tell nothing
---@field survivors { line: integer, last_line?: integer, what: string }[] in the source's order

--------------------------------------------------------------------------------------------------
-- Probes

-- A change of a stretch of the source: { line, first, last, text, what }.
local function edit(t, from, to, text, what)
  return { line = t:line(from), first = t:first(from), last = t:last(to), text = text, what = what }
end

-- The words of a stretch, short enough for a line.
local function shown(t, from, to)
  local text = t:text(from, to)
  return #text > 48 and text:sub(1, 45) .. "..." or text
end

-- A condition, made true and made false.
local function fix(list, t, from, to, both)
  if to < from then return end
  local text = shown(t, from, to)
  if both then list[#list + 1] = edit(t, from, to, "1", ("`%s` always"):format(text)) end
  list[#list + 1] = edit(t, from, to, "0", ("`%s` never"):format(text))
end

-- The token behind the one at i; of an opening bracket, behind the one that closes it.
local function after(t, i)
  local match = t:match(i)
  return (match and match > i and match or i) + 1
end

-- The middle part of a for header with these brackets; nil where it has none (a range).
local function for_condition(t, open, close)
  local from, i = nil, open + 1
  while i < close do
    if t[i] == ";" then
      if from then return from, i - 1 end
      from = i + 1
    end
    i = after(t, i)
  end
end

local BEFORE = {} -- what a condition of ?: cannot reach over
for word in ("= += -= *= /= %= &= |= ^= <<= >>= , ; { } ? : ( [ return"):gmatch "%S+" do
  BEFORE[word] = true
end

-- Where the condition of the ? at i begins.
local function ternary_start(t, i, first)
  local from = i
  while from > first do
    local before = from - 1
    if BEFORE[t[before]] then break end
    local open = t:match(before)
    from = open and open < before and open or before
  end
  return from
end

-- A number that is another: one more of a whole number, a quarter more and an eighth of others.
local function moved(text)
  local suffix = text:match "[fF]$" and not text:match "^0[xX]" and "f" or ""
  if text:match "^%d[%d']*[uUlL]*$" or text:match "^0[xXbB][%x']+[uUlL]*$" then
    return ("(%s + 1)"):format(text)
  end
  if text:match "^[%d.]" then return ("(1.25%s * %s + 0.125%s)"):format(suffix, text, suffix) end
end

-- Numbers between [ ] right behind a declared name are extents: storage, not what is computed.
local function is_extent(t, i, declares)
  return declares and t[i - 1] == "[" and t[i + 1] == "]"
end

local function number_probe(list, t, i, declares)
  local text = moved(t[i])
  if not text or is_extent(t, i, declares) then return end
  list[#list + 1] = edit(t, i, i, text, ("%s for %s"):format(text, t[i]))
end

-- Does a declaration begin at i: two names in a row, with * and & or template arguments between?
local function declares(t, i)
  if t:kind(i) ~= "name" or t[i] == "return" or t[i] == "else" then return false end
  local k = i + 1
  while t[k] == "*" or t[k] == "&" do k = k + 1 end
  return t:kind(k) == "name"
end

-- The value with which a declaration begins, to its ; or the next name's ,
local function initialiser(list, t, i, last)
  while i <= last and t[i] ~= ";" and t[i] ~= "=" do
    if t:match(i) and t[i] ~= "[" then return end
    i = after(t, i)
  end
  if t[i] ~= "=" or t[i + 1] == "{" then return end
  local to = i + 1
  while to < last and t[to + 1] ~= ";" and t[to + 1] ~= "," do
    to = after(t, to + 1) - 1
  end
  if to > last then return end
  list[#list + 1] = edit(t, i + 1, to, "0", ("`%s` begins with 0"):format(shown(t, i - 1, to)))
end

-- All probes of the tokens of a body.
local function probes_in(list, t, first, last)
  local declaration = false
  for i = first, last do
    local word, kind = t[i], t:kind(i)
    local before = t[i - 1]
    if before == ";" or before == "{" or before == "}" then
      declaration = declares(t, i)
      if declaration then initialiser(list, t, i, last) end
    end
    if (word == "if" or word == "while") and t[i + 1] == "(" then
      fix(list, t, i + 2, t:match(i + 1) - 1, word == "if")
    elseif word == "for" and t[i + 1] == "(" then
      local from, to = for_condition(t, i + 1, t:match(i + 1))
      if from then fix(list, t, from, to, false) end
    elseif word == "?" then
      fix(list, t, ternary_start(t, i, first), i - 1, true)
    elseif kind == "number" then
      number_probe(list, t, i, declaration)
    end
  end
end

-- The bytes of a function's body, in tokens: behind its { and before its }.
local function body_of(t, item)
  local i = 1
  while t:first(i) and t:first(i) < item.head do i = i + 1 end
  local close = t:match(i)
  local open = close and t:find(close, "{")
  local last = open and t:match(open)
  if last then return open + 1, last - 1 end
end

-- Is something open between two lines?
local function has_rule(rules, from, to)
  for _, rule in ipairs(rules) do
    if MEANS[rule.type] and not rule.protected and rule.line >= from and rule.line <= to then
      return true
    end
  end
  return false
end

local BEFORE_BODY = {} -- what stands before the { of a function
for word in (") const noexcept override final"):gmatch "%S+" do BEFORE_BODY[word] = true end

-- The methods of a type in which something may change.
local function each_method(t, item, rules, visit)
  local i = 1
  while t:first(i) and t:first(i) < item.first do i = i + 1 end
  while t:first(i) and t:first(i) <= item.last do
    local close = t[i] == "{" and BEFORE_BODY[t[i - 1]] and t:match(i)
    if close and has_rule(rules, t:line(i), t:line(close)) then
      visit(t, i + 1, close - 1, item)
    end
    i = (close or i) + 1
  end
end

-- Calls visit(t, first, last, item) with the tokens of each body that may change.
local function each_body(problem, visit)
  local t, rules = core.grammar.tokens(problem.source), problem.grammar:rules()
  for _, item in ipairs(problem.grammar:outline()) do
    local first, last
    if item.open and item.head then first, last = body_of(t, item) end
    if first then visit(t, first, last, item) end
    if item.kind == "type" then each_method(t, item, rules, visit) end
  end
end

-- Is a function one of the kernels that evolve?
local function evolves(problem, item)
  return item.kind == "kernel"
    and ("," .. problem.kernel .. ","):find("," .. item.name .. ",", 1, true) ~= nil
end

-- The changes by words, and the empty kernels.
local function changes(problem)
  local list, empty = {}, {}
  each_body(problem, function(t, first, last, item)
    probes_in(list, t, first, last)
    if evolves(problem, item) then
      local several = problem.kernel:find(",", 1, true)
      empty[#empty + 1] = edit(t, first - 1, first - 1, "{ return;",
        several and item.name .. " does nothing" or "the kernel does nothing")
    end
  end)
  return list, empty
end

local NOT_PLAIN = {} -- what begins a statement that does not end at its first ;
for word in ("if for while do switch else try"):gmatch "%S+" do NOT_PLAIN[word] = true end

-- The last token of a loop's body that begins at one, and what stands there if it leaves the loop.
local function leaving(t, from)
  local to = from
  if t[from] == "{" then return t:match(from), t:match(from), "break; }" end
  if NOT_PLAIN[t[from]] or t[from] == ";" or t:kind(from) == "directive" then return nil end
  while t[to] and t[to] ~= ";" do to = after(t, to) end
  if t[to] then return from, to, ("{ %s break; }"):format(t:text(from, to)) end
end

-- Loops that end after one round, with the lines that they have.
local function one_round(problem)
  local list = {}
  each_body(problem, function(t, first, last)
    for i = first, last do
      if (t[i] == "for" or t[i] == "while") and t[i + 1] == "(" then
        local from, to, text = leaving(t, t:match(i + 1) + 1)
        if from then
          local change = edit(t, from, to, text, ("`%s` ends after one round"):format(t[i]))
          change.line, change.last_line = t:line(i), t:line(to)
          list[#list + 1] = change
        end
      end
    end
  end)
  return list
end

-- The mutant of a change, made when it runs: a long kernel has thousands of changes.
local function with(source, change)
  return { source = source:sub(1, change.first - 1) .. change.text .. source:sub(change.last + 1),
           kin = true, name = ("line %d: %s"):format(change.line, change.what) }
end

-- Does a line begin within a comment, where no directive can stand?
local function ends_comment(line)
  local close = line:find("*/", 1, true)
  return close and not line:sub(1, close):find("/*", 1, true)
end

-- The source with a #warning before each of some lines, to be seen in what the compiler says.
local function with_marks(source, lines)
  local text, n = {}, 0
  for line in (source .. "\n"):gmatch "(.-)\n" do
    n = n + 1
    lines[n] = lines[n] and not ends_comment(line) or nil
    if lines[n] then text[#text + 1] = "#warning gilua sees " .. n end
    text[#text + 1] = line
  end
  return table.concat(text, "\n") .. "\n"
end

local told = {} -- the last answer of the compiler: other data of the same kernel are asked about

-- Which of some lines of a source the compiler sees, as it says itself; nil where it says nothing.
---@param marked string the source with_marks
local function seen_lines(marked, options)
  local key = table.concat(options, "\n") .. "\n" .. marked
  if told.key == key then return told.lines end
  local ptx, log = compiler.compile(marked, { target = "compute_90", options = options })
  if not ptx then return nil end
  local lines = {}
  for n in log:gmatch "gilua sees (%d+)" do lines[tonumber(n)] = true end
  told = { key = key, lines = next(lines) and lines or nil, bytes = #ptx }
  return told.lines
end

-- The probes of lines that the compiler sees: what `#if` leaves out is no part of the kernel. All
-- of them where it says nothing.
local function compiled(problem, list)
  local hidden, some = {}, {}
  for _, probe in ipairs(list) do hidden[probe.line] = true end
  local seen = seen_lines(with_marks(problem.source, hidden),
    problem:compile_options(problem:values()))
  if not seen then return list end
  for n in pairs(seen) do hidden[n] = nil end
  for _, probe in ipairs(list) do
    if not hidden[probe.line] then some[#some + 1] = probe end
  end
  return some
end

-- Of PTX without a source: every instruction that could go, and the empty kernels.
local function probes_of_ptx(problem)
  local list = {}
  for name in problem.kernel:gmatch "[^,]+" do
    list[#list + 1] = { line = 0, what = name .. " does nothing", empty = true,
      mutant = { source = ptxtext.emptied(problem.source, name), name = name .. " does nothing" } }
  end
  for _, instruction in ipairs(problem.ptx:instructions()) do
    if instruction.open then
      list[#list + 1] = { line = instruction.line, mutant = instruction.name,
        what = ("`%s` (%s) could go"):format(instruction.text, instruction.name) }
    end
  end
  return list
end

--- The probes of a problem's kernel, in the order of its lines.
---@param problem gilua.problem
---@return table[] list of { line, what, empty, and change, or mutant = what farm:evaluate takes }
function M.probes(problem)
  if problem.is_ptx then return probes_of_ptx(problem) end
  local list = {}
  local words, nothing = changes(problem)
  for _, change in ipairs(words) do
    list[#list + 1] = { line = change.line, what = change.what, change = change }
  end
  for _, rule in ipairs(problem.grammar:rules()) do
    if rule.type == "statement" and not rule.protected then
      list[#list + 1] = { line = rule.line, mutant = rule.name,
        what = ("`%s` could go"):format(rule.text:gsub("%s+", " "):match "^ ?(.-) ?$") }
    end
  end
  list = compiled(problem, list)
  for i, probe in ipairs(list) do probe.order = i end
  table.sort(list, function(a, b)
    if a.line ~= b.line then return a.line < b.line end
    return a.order < b.order
  end)
  for i, change in ipairs(nothing) do
    table.insert(list, i, { line = change.line, what = change.what, empty = true, change = change })
  end
  return list
end

--------------------------------------------------------------------------------------------------
-- Running them

-- What does not compile is no kernel, and equal code no change.
local function counts(m, unmodified)
  if m.status == "compile_error" then return false end
  return not m.ptx_hash or m.ptx_hash ~= unmodified.ptx_hash
end

-- The probes that a case does not notice, of those given; counts them in `found`.
local function unnoticed(problem, farm, case, probes, found)
  local mutants, left = { "" }, {}
  for i, probe in ipairs(probes) do
    mutants[i + 1] = probe.mutant or with(problem.source, probe.change)
  end
  local results = farm:evaluate(mutants, case)
  if not fitness.right(results[1]) then
    fail("the kernel as it is does not give the answers of its reference")
  end
  found.nan = math.max(found.nan, results[1].nan)
  for i, probe in ipairs(probes) do
    local m = results[i + 1]
    if not counts(m, results[1]) then
      found.probes = found.probes - 1
    elseif fitness.right(m) then
      left[#left + 1] = probe
    end
  end
  return left
end

-- Those that neither the small case notices nor, where one is given, a whole one.
local function on_cases(problem, farm, case, probes, found)
  local left = probes
  local small = problem.checked_case
  if small then left = unnoticed(problem, farm, small, left, found) end
  return case and unnoticed(problem, farm, case, left, found) or left
end

-- How many there is time to run.
local function runnable(problem, farm, most_work)
  local m = problem.checked_case and farm:evaluate({ "" }, problem.checked_case)[1]
  local work = m and m.warp_instructions or 0
  if work == 0 then return M.MOST end
  return math.max(LEAST_PROBES, math.tointeger(math.min(M.MOST, most_work // work)))
end

-- How many there is time to compile; the compiler was just asked what it sees of this source.
local function compilable(problem)
  if problem.is_ptx or not told.bytes then return math.huge end
  return math.max(LEAST_COMPILED, math.tointeger(MOST_COMPILED // told.bytes ^ 2))
end

local function note(found, left)
  for _, probe in ipairs(left) do
    table.insert(found.survivors, { line = probe.line, last_line = probe.last_line,
                                    what = probe.what })
    found.empty = found.empty or probe.empty or false
  end
end

--- Runs the probes as mutants run, with every check on: on the small case of the problem, and what
--- that does not notice on a whole one.
---@param problem gilua.problem
---@param farm gilua.farm
---@param case? table what problem.case takes; nil: the small case alone
---@param options? { most?: integer, most_work?: integer } probes (MOST); warp instructions of all
---  of them (MOST_WORK)
---@return gilua.adequacy
function M.of(problem, farm, case, options)
  local all, o = M.probes(problem), options or {}
  local most = o.most or runnable(problem, farm, o.most_work or M.MOST_WORK)
  local fewer = not o.most and compilable(problem) < math.min(most, #all)
  local left = stats.evenly(all, fewer and compilable(problem) or most)
  local found = { probes = #left, tried = #left, of = #all, empty = false, nan = 0, survivors = {},
    bytes = fewer and told.bytes or nil }
  note(found, on_cases(problem, farm, case, left, found))
  found.noticed = found.probes - #found.survivors
  found.score = found.probes > 0 and found.noticed / found.probes or 0
  return found
end

--- One line of it, for people.
---@param a gilua.adequacy
---@return string
function M.line(a)
  local sampled = a.bytes and ("; %d of %d single changes were tried: compiling its %d KB of PTX "
    .. "takes long"):format(a.tried, a.of, a.bytes // 1000) or ""
  return ("score %.2f: %d of %d changes of the kernel are noticed%s"):format(a.score, a.noticed,
    a.probes, sampled)
end

--- Is it too weak to begin with?
---@param a gilua.adequacy
---@return boolean
function M.is_weak(a)
  return a.empty or a.score < M.LEAST
end

--- What to do about such data, for people.
---@param problem gilua.problem
---@return string
function M.remedy(problem)
  if not problem.definition.recorded then
    return "give the arrays other fills (docs/own-kernels.md)"
  end
  return "record it with other data" .. (problem.kernel:find(",", 1, true)
    and ", or make the problem of the kernels that count (gilua new --kernel)" or "")
end

-- The lines of which a genome changes what they compute, as far as data tell. A transformation that
-- keeps the meaning wherever it can be made changes none.
local function lines_meant(problem, genome)
  local lines = below.lines(problem, genome)
  for _, gene in ipairs(problem.grammar:genes(genome) or {}) do
    local rule = gene.target
    if rule and MEANS[rule.type] then
      for line = rule.line, rule.last_line do lines[line] = true end
    end
    for line = gene.line or 1, gene.last_line or 0 do lines[line] = true end
    for _, line in ipairs(gene.judged ~= false and gene.lines or {}) do lines[line] = true end
  end
  return lines
end

-- The probes of the kernel that a sample of so many left out.
local function left_out(problem, tried)
  local all, ran, list = M.probes(problem), {}, {}
  for _, probe in ipairs((stats.evenly(all, tried))) do ran[probe] = true end
  for _, probe in ipairs(all) do
    if not ran[probe] then list[#list + 1] = probe end
  end
  return list
end

-- Those of a list that are on a line of a set, or around one.
local function around(list, lines)
  local some = {}
  for _, probe in ipairs(list) do
    local is_there = false
    for line = probe.line, probe.last_line or probe.line do is_there = is_there or lines[line] end
    if is_there then some[#some + 1] = probe end
  end
  return some
end

--- Looks closer at what a genome changes, on the cases that `of` had: of its lines every probe
--- runs, those too that are not in the sample; and the loops around them end after one round, for
--- where no second one counts the data cannot tell what a change does to it. What is not noticed is
--- added to the survivors; the score stays.
---@param a gilua.adequacy
---@param problem gilua.problem
---@param farm gilua.farm
---@param case? table
---@param genome string
function M.look_closer(a, problem, farm, case, genome)
  local lines = lines_meant(problem, genome)
  if not next(lines) then return end
  local probes = a.tried < a.of and around(left_out(problem, a.tried), lines) or {}
  for _, change in ipairs(problem.is_ptx and {} or around(one_round(problem), lines)) do
    probes[#probes + 1] = { line = change.line, last_line = change.last_line, what = change.what,
                            change = change }
  end
  if #probes == 0 then return end
  note(a, on_cases(problem, farm, case, probes, { probes = 0, nan = 0 }))
end

-- The first lines of rules that a genome changes and on which no probe is: nobody has looked there.
local function lines_unprobed(problem, genome)
  local probes, lines = M.probes(problem), {}
  for _, gene in ipairs(problem.grammar:genes(genome) or {}) do
    local rule, is_probed = gene.target, false
    if rule and MEANS[rule.type] then
      for _, probe in ipairs(probes) do
        is_probed = is_probed or probe.line >= rule.line and probe.line <= rule.last_line
      end
      if not is_probed then lines[rule.line] = true end
    end
  end
  return lines
end

--- Lines that a genome changes and of which the data cannot tell what they are for.
---@param a gilua.adequacy
---@param problem gilua.problem
---@param genome string
---@return integer[]
function M.untold(a, problem, genome)
  local marked, untold, lines = {}, copied.lines(problem, genome), {}
  for line in pairs(problem.is_ptx and {} or lines_unprobed(problem, genome)) do
    marked[line] = true
  end
  for _, s in ipairs(a.survivors) do
    for line = s.line, s.last_line or s.line do marked[line] = true end
  end
  for line in pairs(lines_meant(problem, genome)) do untold[line] = untold[line] or marked[line] end
  for line in pairs(untold) do lines[#lines + 1] = line end
  table.sort(lines)
  return lines
end

return M
