-- arraypromises: that no array which a winner writes is the memory of another one: a promise of
-- `__restrict__`, and of transformations that take arrays for apart: what the host's launches
-- give, and what the virtual GPU has watched (gilua.facts.watched).

local brokenpromise = require "gilua.problem.brokenpromise"
local recordeds = require "gilua.problem.recorded"
local roots_of = require "gilua.host.roots"
local tablecase = require "gilua.problem.tablecase"

local M = {}

--- What a genome gives each rule of a type, of a rule that is given several the last: texts, and
--- the rules' lines.
function M.texts_of(problem, genome, type)
  local rules, given = {}, {}
  for _, gene in ipairs(problem.grammar:genes(genome) or {}) do
    local rule = gene.target
    local text = gene.source and gene.source.text or ""
    if rule and rule.type == type then
      if not given[rule.name] then rules[#rules + 1] = rule end
      given[rule.name] = text:match "^%s*(.-)%s*$"
    end
  end
  local texts, lines = {}, {}
  for i, rule in ipairs(rules) do texts[i], lines[i] = given[rule.name], rule.line end
  return texts, lines
end

---@alias ApartNeeds fun(a: integer, b: integer): string? the words for the promise that two
---  arguments of a launch are apart; nil where nothing hangs on these two

-- What two arguments that are arrays have to be apart for; nil where neither is written, or nothing
-- is promised of them.
local function needed(t, needs, i, k)
  local is_written = tablecase.is_written(t.args[i]) or tablecase.is_written(t.args[k])
  return is_written and t.args[i].count and t.args[k].count and needs(i, k) or nil
end

-- Returns what pairs of a launch's arguments have to be apart for: { i, k, words }.
local function pairs_needed(t, needs)
  local list = {}
  for k = 1, #t.args do
    for i = 1, k - 1 do
      local words = needed(t, needs, i, k)
      if words then list[#list + 1] = { i, k, words } end
    end
  end
  return list
end

-- The roots of a launch's arguments, each looked for once.
local function roots_in(host, texts, body)
  return setmetatable({}, { __index = function(self, i)
    self[i] = roots_of.of(host, texts[i], body)
    return self[i]
  end })
end

-- Can a function that nothing calls be given one memory as two arguments of the launch? Not by a
-- parameter that is `restrict` itself, and never the memory that the function asks for itself.
local function is_open(host, way, pair)
  local by_name, any = {}, false
  for _, param in ipairs(way.open and way.open.params or {}) do by_name[param.name] = param.text end
  for _, i in ipairs(way.open and pair or {}) do
    local text = type(i) == "number" and way.args[i]
    local root = text and roots_of.of(host, text, way.open)[1]
    if text and (not root or roots_of.is_own(host, text, way.open)) then return false end
    local declared = root and by_name[root:match "^[%w_]*"]
    any = any or declared and not declared:find "restrict" or false
  end
  return any
end

--- The promise that arrays are apart, by the arguments of a launch that it is of; nil where a
--- genome promises no such thing. Of `__restrict__`, and of arrays in a function that the kernel
--- calls, it is of all arguments.
function M.promise(problem, genome)
  local texts = M.texts_of(problem, genome, "optrestrict")
  local all, some = table.concat(texts):find "__restrict__" and "`__restrict__`" or nil, {}
  local any = all
  for _, gene in ipairs(problem.grammar:genes(genome) or {}) do
    local words = gene.apart and ("by %s that its arrays are different memory"):format(gene.text)
    any = any or words
    for _, pair in ipairs(words and gene.pairs or {}) do
      local key = pair.args and ("%d %d"):format(math.min(table.unpack(pair.args)),
        math.max(table.unpack(pair.args)))
      if key then some[key] = some[key] or words else all = all or words end
    end
  end
  return any, function(a, b) return all or some[("%d %d"):format(a, b)] end
end

-- What speaks against a pair of one launch: the words for it; nil where nothing does.
local function against(host, t, way, roots, pair)
  local i, k, words = table.unpack(pair)
  local place, a, b = way.launch.place, roots[i], roots[k]
  local unknown = a.unknown or b.unknown
  local at = not unknown and roots_of.common(host, a, b)
  if unknown then
    return ("%s, and `%s`, which %s launches it with, is not understood"):format(words, unknown,
      place)
  elseif at then
    return ("%s, but %s launches it with `%s` as both %s and %s"):format(words, place, at,
      t.args[i].name, t.args[k].name)
  elseif is_open(host, way, pair) then
    return ("%s, and it is unknown what %s is called with, where %s launches it"):format(words,
      way.open.name, place)
  end
end

--- Tells which ways to launches break the promise that arrays are apart, or may.
function M.of_launches(host, t, ways, promise, needs, tell)
  if #ways == 0 then
    tell("%s, and no launch says whether its arrays may be one memory", promise)
  end
  local list = pairs_needed(t, needs)
  for _, way in ipairs(ways) do
    local roots, said = roots_in(host, way.args, way.launch.body), nil
    if #way.args ~= #t.args then
      said = ("%s, and what %s launches it with is not understood"):format(promise,
        way.launch.place)
    end
    for _, pair in ipairs(not said and list or {}) do
      said = said or against(host, t, way, roots, pair)
    end
    if said then tell("%s", said) end
  end
end

-- How a promise of one gene came out on all data that were watched.
local function summed(rows, one)
  local key = one.gene .. " " .. one.promise
  local row = rows[key]
  if not row then
    row = { gene = one.gene, promise = one.promise, held = 0, of_file = one.of_file }
    rows[#rows + 1], rows[key] = row, row
  end
  row.held = row.held + (one.answer and 1 or 0)
  row.why = row.why or one.why
end

--- The promises of a genome's genes, with what the cases showed of each; a gene that promises in
--- its own words says so there, too.
function M.watched(problem, genome, seen)
  local rows, cases = {}, {}
  for _, case in ipairs(seen) do cases[#cases + 1] = case.meets end
  for i = 1, math.max(#cases, 1) do
    for _, one in ipairs(brokenpromise.all(problem, genome, cases[i])) do
      if not one.ours then summed(rows, one) end
    end
  end
  return rows
end

-- What is said of a promise; of several of a gene with the same end it is said once.
local function say_each(rows, ending_of, say)
  local said, order = {}, {}
  for _, row in ipairs(rows) do
    local ending = ending_of(row)
    local key = row.gene .. ending
    if not said[key] then order[#order + 1] = { key, row.gene, ending } end
    said[key] = said[key] and "its arrays are different memory" or row.promise
  end
  for _, one in ipairs(order) do say("by %s that %s%s", one[2], said[one[1]], one[3]) end
end

--- Tells of the promises that were watched which were kept, and which are open.
function M.of_watched(rows, tell, keep)
  local open, held = {}, {}
  for _, row in ipairs(rows) do table.insert(row.why and open or held, row) end
  say_each(open, function(row) return ", and " .. row.why end, tell)
  say_each(held, function(row)
    return (": watched on %d kind%s of data"):format(row.held, row.held == 1 and "" or "s")
  end, keep)
end

--- Those that the host's launches keep, which were read; what of them is the file's was watched.
function M.of_host(rows, tell, keep)
  local hosts, files = {}, {}
  for _, row in ipairs(rows) do table.insert(row.of_file and files or hosts, row) end
  M.of_watched(files, tell, keep)
  say_each(hosts, function()
    return ": asked of the host, whose launches give different arrays"
  end, keep)
end

--- Keeps those that the source proves.
function M.of_proved(problem, genome, keep)
  for _, gene in ipairs(problem.grammar:genes(genome) or {}) do
    if gene.proved then keep("by %s that its arrays are different memory: proved", gene.text) end
  end
end

local MOST_INSTRUCTIONS = 400 * 1000 * 1000 -- of warps in all further recordings

-- What met in the recordings besides the one that is checked, where a person gave no smaller one.
local function on_recordings(problem, farm, list)
  local recorded, specs = problem.definition.recorded, {}
  for _, use in ipairs(#recorded:specs "small" == 0 and recordeds.USES or {}) do
    for _, spec in ipairs(recorded:specs(use)) do
      if spec.recording ~= problem.checked_case.recording then specs[#specs + 1] = spec end
    end
  end
  for _, spec in ipairs(specs) do spec.checked_budget = MOST_INSTRUCTIONS // #specs end
  local found = #specs > 0 and farm:examine("", specs) or {}
  for i, spec in ipairs(specs) do
    local own = found[i] and found[i].verdicts and found[i].verdicts[1]
    list[#list + 1] = { data = spec.recording, meets = own and own.meets }
  end
end

--- As gi.promises.seen.
function M.seen(problem, farm, genome, data)
  if problem.is_ptx or #brokenpromise.all(problem, genome) == 0 then return {} end
  local list = { { data = "the small case", meets = farm:check({ "" })[1].meets } }
  for _, row in ipairs(data and data.rows or {}) do
    list[#list + 1] = { data = row.data, meets = row.meets }
  end
  if problem.definition.recorded then on_recordings(problem, farm, list) end
  return list
end

return M
