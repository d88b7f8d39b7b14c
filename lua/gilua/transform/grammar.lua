-- grammar: a kernel's grammar (gi.grammar) that also has genes of transformations.
--
-- It has the grammar's methods. The genes T:NAME<LINE>(…) of a genome are applied first, in their
-- order (those of the geometry before the others), each to the result of the one before. Changed
-- lines become genes <lines_…>=… of the grammar, so all other genes work outside of them. A
-- transformation whose conditions do not hold, or no longer hold, is skipped, as are genes inside
-- rewritten lines: so the crossover of legal genomes gives legal genomes.

local apart = require "gilua.facts.apart"
local gene = require "gilua.transform.gene"
local genomes = require "gilua.search.genome"
local kernels = require "gilua.transform.kernel"
local launch = require "gilua.transform.launch"
local lines = require "gilua.source.lines"
local opaque = require "gilua.facts.opaque"
local rewrite = require "gilua.rewrite.rewrite"
local transform = require "gilua.transform.transform"
local watched = require "gilua.facts.watched"

local M = {}

local KEPT = 256 -- sequences of transformations whose outcome is kept
local INDENT = "    "

---@class gilua.transforming_grammar
---@field core userdata gi.grammar
---@field entries table<string, true>? the kernels that evolve; nil: all
---@field values? fun(fn: table): table<string, integer>
---@field named boolean changes of a launch say whose
---@field pristine gilua.lines?
---@field first table? its analysis (gilua.transform.kernel)
---@field places table[]? what could be drawn
---@field made table<string, gilua.transformed> what sequences of genes gave
---@field asked string[] their texts, the oldest first
local Grammar = {}

--------------------------------------------------------------------------------------------------
-- Sequences of transformations

---@class gilua.transformed what a sequence of them makes
---@field lines gilua.lines
---@field by table<integer, integer> which gene of the sequence changed a line last
---@field shift table<integer, integer> how many blanks deeper a line stands, less deep below 0
---@field steps table[] for each gene { says = … } or { why = … }
---@field launch string
---@field alone boolean?
---@field bounded table<string, table<string, table>>? by kernel and side, what its last genes, that
---  keep what each block does, knew (gilua.facts.bounded)

local function pristine(self)
  if not self.pristine then self.pristine = lines.of((self.core:apply("", true))) end
  return self.pristine
end

-- The analysis of a source as it is now; `bounded`: what its genes knew before (facts.bounded).
local function analysis(self, now, bounded)
  if now == self.pristine and self.first then return self.first end
  local list = {}
  for i = 1, now.n do list[i] = now[i] or "" end
  local kernel = kernels.read(list, { entries = self.entries, values = self.values,
    bounded = bounded })
  if now == self.pristine then self.first = kernel end
  return kernel
end

-- The function that a line is of.
local function function_at(kernel, line)
  for _, fn in ipairs(kernel.functions) do
    if fn.line <= line and line <= fn.last_line then return fn end
  end
end

-- The kernel that a line is of.
local function kernel_at(kernel, line)
  local fn = function_at(kernel, line)
  return fn and fn.is_entry and fn.name or nil
end

-- Adds to a change what follows from its kind where the change does not say it itself: the pairs of
-- arrays that it takes for different memory, and the sentence of those that no host keeps apart.
local function complete(change, kernel, g)
  local kind = transform.find(g.name)
  local fn = kind.apart and function_at(kernel, g.line)
  change.pairs = change.pairs or fn and apart.pairs(fn) or {}
  for _, field in ipairs { "twice", "promise" } do
    if change[field] == nil then change[field] = kind[field] end
  end
  if change.asked == nil then change.asked = kind.apart end
  local ours = { change.promise }
  for _, pair in ipairs(change.pairs) do ours[#ours + 1] = pair.ours and pair.promise or nil end
  if change.promise and ours[2] then ours[2] = "and " .. ours[2] end
  change.promise = ours[1] and table.concat(ours, ", ")
end

-- What is known of all kernels after a change that keeps what each block of one does.
local function bounded_after(kernel, before, line, bounded)
  local list, fn = {}, function_at(kernel, line)
  for name, known in pairs(before or {}) do list[name] = known end
  list[fn.name] = bounded
  return list
end

-- The change that a gene means; or nil and why there is none.
local function change_of(self, g, before)
  local kernel = analysis(self, before.lines, before.bounded)
  local change, why = transform.find(g.name).make(kernel, g.line, g.args)
  local own = change and change.launch and self.named and kernel_at(kernel, g.line)
  if own then change.launch = launch.named(change.launch, own) end
  if change then complete(change, kernel, g) end
  if change and change.bounded then
    change.bounded = bounded_after(kernel, before.bounded, g.line, change.bounded)
  end
  return change, why or ("nothing at line %d is as it wants it"):format(g.line)
end

local function note(made, index, change)
  for _, edit in ipairs(change.edits) do
    for line = edit[1], edit[2] do made.by[line] = index end
  end
  for _, range in ipairs(change.indent or {}) do
    for line = range[1], range[2] do
      made.shift[line] = (made.shift[line] or 0) + (range[3] or #INDENT)
    end
  end
  if change.launch then
    launch.read(change.launch)
    made.launch = (made.launch .. " " .. change.launch):match "^%s*(.*)$"
  end
  made.alone, made.bounded = made.alone or change.alone, change.bounded
end

local function copy(t)
  local new = {}
  for key, value in pairs(t) do new[key] = value end
  return new
end

-- The first line and the last that edits change.
local function reach_of(edits)
  local first, last = math.huge, 0
  for _, edit in ipairs(edits) do
    first, last = math.min(first, edit[1]), math.max(last, edit[2])
  end
  return { first, last }
end

-- What one more gene makes of what a sequence made.
local function step(self, before, index, g)
  local made = copy(before)
  for _, field in ipairs { "by", "shift", "steps" } do made[field] = copy(before[field]) end
  local change, why = change_of(self, g, made)
  local edited
  if change then edited, why = lines.edited(made.lines, change.edits) end
  made.steps[index] = edited
    and { says = change.says or "", launch = change.launch, promise = change.promise,
          pairs = change.pairs, asked = change.asked, twice = change.twice,
          reach = reach_of(change.edits) }
    or { why = why }
  if not edited then return made end
  made.lines = edited
  note(made, index, change)
  return made
end

local function keep(self, text, made)
  if #self.asked == KEPT then self.made[table.remove(self.asked, 1)] = nil end
  self.asked[#self.asked + 1], self.made[text] = text, made
  return made
end

-- What the first n of a list make.
local function transformed(self, list, n)
  if n == 0 then
    return { lines = pristine(self), by = {}, shift = {}, steps = {}, launch = "" }
  end
  local words = {}
  for i = 1, n do words[i] = list[i].text end
  local text = table.concat(words, " ")
  return self.made[text]
    or keep(self, text, step(self, transformed(self, list, n - 1), n, list[n]))
end

-- Where in a list one comes that is made before all of other kinds.
local function place_among(list, kind)
  for i, g in ipairs(kind.before and list or {}) do
    if (" " .. kind.before .. " "):find(" " .. g.name .. " ", 1, true) then return i end
  end
  return #list + 1
end

-- Those that come first before the others, `at` with them.
local function ordered(own, at)
  local list, places = {}, {}
  for _, is_first in ipairs { true, false } do
    for i, g in ipairs(own) do
      local kind = transform.find(g.name)
      if (kind.first == true) == is_first then
        local place = place_among(list, kind)
        table.insert(list, place, g)
        table.insert(places, place, at[i])
      end
    end
  end
  table.move(places, 1, #places, 1, at)
  return list
end

-- Why a transformation that is written well is none here; nil where it is one.
local function refusal(self, g)
  local kind, unknown = transform.find(g.name)
  if not kind then return ("%s, which %s wants"):format(unknown, g.text) end
  if g.line < 1 or g.line > self.core:line_count() then
    return ("%s: the source has %d lines"):format(g.text, self.core:line_count())
  end
end

-- A genome's words: the transformations, with where each stands, and the others. nil and why where
-- one is written wrong or of no line here.
local function sorted(self, genome)
  local own, own_at, rest, rest_at = {}, {}, {}, {}
  for i, word in ipairs(genomes.split(genome)) do
    if gene.is(word) then
      local g, why = gene.read(word)
      why = why or refusal(self, g)
      if why then return nil, why end
      own[#own + 1], own_at[#own_at + 1] = g, i
    else
      rest[#rest + 1], rest_at[#rest_at + 1] = word, i
    end
  end
  return { own = ordered(own, own_at), rest = rest, rest_at = rest_at, own_at = own_at }
end

--------------------------------------------------------------------------------------------------
-- The grammar's methods

-- The lines of a text moved in as far as their lines of the unmodified source are.
local function indented(source, origin, shift)
  local i = 0
  return (source:gsub("([^\n]*)(\n?)", function(line, stop)
    i = i + 1
    local blanks = shift[origin[i]]
    if not blanks or not line:find "%S" or line:find "^%s*#" then return end
    if blanks > 0 then return (" "):rep(blanks) .. line .. stop end
    return line:sub(math.min(-blanks, #line:match "^%s*") + 1) .. stop
  end))
end

-- Lines that no transformation wrote, for a person: deeper where one is around them.
local function deeper(made, source, origin, from_lines)
  local shift = {}
  for line, blanks in pairs(made.shift) do shift[line] = blanks end
  return from_lines and indented(source, origin, shift) or source
end

-- Which word of a genome each line came from.
local function words_of(genes, words, made, detail)
  local list = {}
  for i, number in ipairs(genes) do
    list[i] = words.rest_at[number]
      or number > #words.rest and words.own_at[made.by[detail.origin[i]]] or 0
  end
  return list
end

--- As gi.grammar's; what transformations want of the launch is params["T:launch"].
function Grammar:apply(genome, marks)
  if not gene.any(genome) then return self.core:apply(genome, marks) end
  local words, why = sorted(self, genome)
  if not words then return nil, why, "gene" end
  local made = transformed(self, words.own, #words.own)
  local given = table.move(words.rest, 1, #words.rest, 1, {})
  local is_rewritten = made.alone or table.concat(given, " "):find("<lines_", 1, true) ~= nil
  for _, run in ipairs(lines.parts(pristine(self), made.lines)) do
    given[#given + 1] = genomes.lines(run.first, run.last, run.text)
  end
  local source, detail, code = self.core:apply(genomes.join(given), marks)
  if not source then return nil, detail, code end
  detail.gene = detail.gene and words_of(detail.gene, words, made, detail)
  detail.rewritten = is_rewritten
  if made.launch ~= "" then detail.params[launch.PARAMETER] = made.launch end
  return deeper(made, source, detail.origin, marks == true), detail
end

--- As gi.grammar's; of transformations only how they are written is looked at.
function Grammar:check(genome)
  if not gene.any(genome) then return self.core:check(genome) end
  local words, why = sorted(self, genome)
  if not words then return nil, why, "gene" end
  local full, unfit, code = self.core:check(genomes.join(words.rest))
  if not full then return nil, unfit, code end
  local list, rest = {}, genomes.split(full)
  for i, at in ipairs(words.rest_at) do list[at] = rest[i] end
  for i, at in ipairs(words.own_at) do list[at] = words.own[i].text end
  return genomes.join(list)
end

-- The lines that the i-th of a sequence changed last.
local function lines_of(made, i)
  local list = {}
  for line, index in pairs(made.by) do
    if index == i then list[#list + 1] = line end
  end
  table.sort(list)
  return list
end

--- As gi.grammar's; of a transformation { text, kind = "transform", name, args, at (its line),
--- lines (those that it changes), says and launch, or why it is passed over; apart: arrays are
--- taken for different memory that are not proved to be; proved: all are; pairs: which; twice:
--- lines stay beside a copy; reach: from which line to which it changes some, though another gene
--- did later; judged: data say whether it keeps the meaning; promise: what it takes of numbers }.
function Grammar:genes(genome)
  if not gene.any(genome) then return self.core:genes(genome) end
  local words, why = sorted(self, genome)
  if not words then return nil, why, "gene" end
  local rest, unfit, code = self.core:genes(genomes.join(words.rest))
  if not rest then return nil, unfit, code end
  local list, made = {}, transformed(self, words.own, #words.own)
  for i, at in ipairs(words.rest_at) do list[at] = rest[i] end
  for i, at in ipairs(words.own_at) do
    local g, step_of = words.own[i], made.steps[i]
    local known = step_of.says and transform.find(g.name) or {} -- nothing of one passed over
    list[at] = { text = g.text, kind = "transform", name = g.name, args = g.args, at = g.line,
      lines = lines_of(made, i), says = step_of.says, why = step_of.why,
      launch = step_of.launch, pairs = step_of.pairs or {}, twice = step_of.twice or false,
      apart = step_of.pairs ~= nil and #step_of.pairs > 0,
      proved = step_of.asked and #step_of.pairs == 0 or false,
      judged = known.judged or false,
      promise = step_of.promise, reach = step_of.reach }
  end
  return list
end

-- Does a gene put `__restrict__` before the pointers of a kernel?
local function is_restrict(g)
  return g.target and g.target.type == "optrestrict" and g.source
    and g.source.text:find "__restrict__" ~= nil
end

local function is_parameter(fn, root)
  local d = fn.variables[root] and fn.variables[root][1]
  return d ~= nil and d.parameter or false
end

--- What a genome takes for different memory, as a case shows it that was watched: whether each pair
--- of each gene was apart (gilua.facts.watched), and why it is not or that is not known. ours: the
--- gene's own promise has it, too; of_file: of an array that is no parameter.
---@param genome string
---@param meets_of fun(kernel: string): table[]? what met in a kernel as it is
---@return { gene: string, answer: boolean?, why: string?, promise: string, ours: boolean,
---  of_file: boolean }[]
function Grammar:watched(genome, meets_of)
  local list, kernel = {}, analysis(self, pristine(self))
  for _, g in ipairs(self:genes(genome) or {}) do
    local restricts = is_restrict(g)
    local fn = (restricts or g.pairs) and function_at(kernel, g.at or g.target.line)
    for _, pair in ipairs(fn and (restricts and apart.pairs(fn) or g.pairs) or {}) do
      local answer, why = watched.of(fn, meets_of(fn.name), pair[1], pair[2], g)
      list[#list + 1] = { gene = g.text, answer = answer, why = why, promise = pair.promise,
        ours = pair.ours,
        of_file = not (is_parameter(fn, pair[1]) and is_parameter(fn, pair[2])) }
    end
  end
  return list
end

--------------------------------------------------------------------------------------------------
-- What can be drawn

--- The statements of the unmodified source of which nothing is known (gilua.facts.opaque).
---@return { line: integer, why: string }[]
function Grammar:opaque() return opaque.of(analysis(self, pristine(self))) end

--- Where transformations can be made on the unmodified source: of each kind with any, { name, doc,
--- eases, times, counts, places = { { line, args, gene, score }, … } }; score: of those
--- that know how likely they pay.
---@return table[]
function Grammar:transformations()
  if self.places then return self.places end
  self.places = {}
  local kernel = analysis(self, pristine(self))
  for _, kind in ipairs(transform.list()) do
    local places = {}
    for _, place in ipairs(kind.find(kernel)) do
      local text = gene.text(kind.name, place.line, place.args or {})
      local step_of = transformed(self, { (gene.read(text)) }, 1).steps[1]
      if step_of.says then
        places[#places + 1] = { line = place.line, args = place.args or {}, gene = text,
          says = step_of.says, score = place.score }
      end
    end
    if #places > 0 then
      self.places[#self.places + 1] = { name = kind.name, doc = kind.doc, eases = kind.eases,
        times = kind.times, counts = kind.counts, places = places }
    end
  end
  return self.places
end

--- Why transformations are not proposed at the loops and kernels of the unmodified source, of those
--- that are records: { name, line, fact (of gilua.facts), says }, by their lines.
---@return table[]
function Grammar:refusals()
  local list, kernel = {}, analysis(self, pristine(self))
  for i, kind in ipairs(transform.list()) do
    for _, refused in ipairs(kind.record and rewrite.refusals(kind.record, kernel) or {}) do
      list[#list + 1] = { name = kind.name, line = refused.line, fact = refused.fact,
        says = refused.says, order = i }
    end
  end
  table.sort(list, function(a, b)
    if a.line ~= b.line then return a.line < b.line end
    return a.order < b.order
  end)
  return list
end

-- The genes of a kind by their lines, in order.
local function by_line(kind)
  local lists, at = {}, {}
  for _, place in ipairs(kind.places) do
    if not at[place.line] then
      lists[#lists + 1] = {}
      at[place.line] = lists[#lists]
    end
    table.insert(at[place.line], place.gene)
  end
  return lists
end

--- A random transformation: of a random kind, at a random line of those with it, with random
--- arguments; nil where there is none.
---@param rng table
---@return string? gene
function Grammar:random_transformation(rng)
  local kinds = self:transformations()
  if #kinds == 0 then return nil end
  return rng:pick(rng:pick(by_line(rng:pick(kinds))))
end

--- A transformation of each kind at each line, with random arguments.
---@param rng table
---@return string[] genes
function Grammar:one_of_each(rng)
  local list = {}
  for _, kind in ipairs(self:transformations()) do
    for _, genes in ipairs(by_line(kind)) do list[#list + 1] = rng:pick(genes) end
  end
  return list
end

--- What launches give the kernels' parameters, as far as that is known of the source as it is:
--- `values` of M.of for who has nothing but data.
---@return table<string, table<string, integer>>? by kernel; nil where nothing was to be known
function Grammar:launch_values()
  if not self.values then return nil end
  local by_kernel = {}
  for _, fn in ipairs(analysis(self, pristine(self)).functions) do
    if fn.is_entry then by_kernel[fn.name] = self.values(fn) end
  end
  return by_kernel
end

--------------------------------------------------------------------------------------------------

-- Any other method is the grammar's own.
local function passed(self, name)
  local method = self.core[name]
  if type(method) ~= "function" then return method end
  return function(_, ...) return method(self.core, ...) end
end

local Meta = {
  __index = function(self, name)
    if Grammar[name] then return Grammar[name] end
    local core_of = rawget(self, "core")
    return core_of and passed(self, name)
  end,
  __tostring = function(self) return tostring(self.core) end,
}

--- A grammar with transformations.
---@param grammar userdata gi.grammar
---@param options? { kernel?: string, recorded?: boolean, values?: function } kernel: those that
---  evolve, with commas between (all); recorded: launches say whose they are; values: what launches
---  give parameters (gilua.transform.kernel)
---@return gilua.transforming_grammar
function M.of(grammar, options)
  local entries = {}
  for name in (options and options.kernel or ""):gmatch "[^,]+" do entries[name] = true end
  entries = next(entries) and entries or nil
  return setmetatable({ core = grammar, entries = entries, made = {}, asked = {},
    values = options and options.values,
    named = options ~= nil and options.recorded == true }, Meta)
end

return M
