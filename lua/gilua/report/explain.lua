-- explain: says in words what a gene changes, so that a person can compare it with the source.

local below = require "gilua.report.below"
local diff = require "gilua.base.diff"
local genomes = require "gilua.search.genome"
local launches = require "gilua.transform.launch"
local streams = require "gilua.problem.streams"

local M = {}

--- The longest piece of code shown whole, in characters.
M.WIDTH = 90

-- Code as one line between quotes, shortened where it is long.
local function quoted(text)
  local line = text:gsub("%s+", " "):gsub("^ ", ""):gsub(" $", "")
  if line == "" then return "(empty)" end
  if #line > M.WIDTH then line = line:sub(1, M.WIDTH - 3) .. "..." end
  return "`" .. line .. "`"
end

local function lines_of(rule)
  if rule.last_line and rule.last_line > rule.line then
    return ("lines %d-%d"):format(rule.line, rule.last_line)
  end
  return ("line %d"):format(rule.line)
end

-- What a rule is called in a sentence about its line.
local NOUN = {
  statement = "the statement", ["if"] = "the condition", ["while"] = "the loop condition",
  for1 = "the loop's start", for2 = "the loop's condition",
  for3 = "the loop's step", def = "the definition",
  pragma = "the unroll request", launchbounds = "the launch bounds",
}

-- What a qualifier, there or not, is said to be on.
local QUALIFIES = {
  optconst = "a scalar argument", optrestrict = "every pointer argument",
  optvolatile = "every shared array",
}

local function noun(rule)
  return NOUN[rule.type] or "the " .. rule.type
end

-- The line as it stands, for rules that are only a slot in it.
local function line_text(grammar, number)
  local text = grammar:line(number)
  return text and text:find("%S") and ": " .. quoted(text) or ""
end

local DELETE = {}

function DELETE.statement(rule)
  local are = rule.last_line > rule.line and "are" or "is"
  return ("%s %s deleted: %s"):format(lines_of(rule), are, quoted(rule.text))
end

DELETE["if"] = function(rule)
  return ("%s: the condition %s is replaced by `(0)`: never true"):format(
    lines_of(rule), quoted(rule.text))
end

DELETE["while"] = function(rule)
  return ("%s: the loop condition %s is replaced by `(0)`: the loop is never repeated"):format(
    lines_of(rule), quoted(rule.text))
end

DELETE["else"] = function(rule)
  return ("%s: the else branch never runs"):format(lines_of(rule))
end

function DELETE.for2(rule)
  return ("%s: the loop's condition %s is replaced by `0`: the loop never runs"):format(
    lines_of(rule), quoted(rule.text))
end

function DELETE.init(rule)
  return ("%s: %s begins with %s instead of %s"):format(lines_of(rule), quoted(rule.variable),
    quoted(rule.zero), quoted(rule.text))
end

function DELETE.pragma(rule, grammar)
  return ("no unroll request before the loop at %s%s"):format(
    lines_of(rule), line_text(grammar, rule.line))
end

function DELETE.launchbounds(rule)
  return ("no launch bounds for the kernel at %s"):format(lines_of(rule))
end

local function explain_delete(rule, grammar)
  if QUALIFIES[rule.type] then
    return ("%s: no qualifier on %s"):format(lines_of(rule), QUALIFIES[rule.type])
  end
  if DELETE[rule.type] then return DELETE[rule.type](rule, grammar) end
  return ("%s: %s %s is deleted"):format(lines_of(rule), noun(rule), quoted(rule.text))
end

local REPLACE = {}

-- What a copy of a rule is where a statement stands.
local function copy(source)
  return quoted(source.variable and ("%s = %s;"):format(source.variable, source.text)
    or source.text)
end

function REPLACE.statement(rule, source)
  local are = rule.last_line > rule.line and "are" or "is"
  return ("%s %s replaced by a copy of %s: %s instead of %s"):format(
    lines_of(rule), are, lines_of(source), copy(source), quoted(rule.text))
end

function REPLACE.init(rule, source)
  return ("%s: %s begins with %s, as %s at %s, instead of %s"):format(lines_of(rule),
    quoted(rule.variable), quoted(source.text), quoted(source.variable), lines_of(source),
    quoted(rule.text))
end

function REPLACE.pragma(rule, source, grammar)
  return ("%s before the loop at %s%s"):format(
    quoted(source.text), lines_of(rule), line_text(grammar, rule.line))
end

function REPLACE.launchbounds(rule, source)
  if not source.text:find("%S") then return DELETE.launchbounds(rule) end
  return ("%s for the kernel at %s"):format(quoted(source.text), lines_of(rule))
end

function REPLACE.math(rule, source, grammar)
  return ("%s: approximate mathematics, %s and the like%s"):format(lines_of(rule),
    quoted((source.text:gsub(" ", "` and `"))), line_text(grammar, rule.line))
end

local function explain_replace(rule, source, grammar)
  if QUALIFIES[rule.type] then
    return ("%s: %s on %s"):format(lines_of(rule), quoted(source.text), QUALIFIES[rule.type])
  end
  if REPLACE[rule.type] then return REPLACE[rule.type](rule, source, grammar) end
  return ("%s: %s %s is replaced by that of %s, %s"):format(
    lines_of(rule), noun(rule), quoted(rule.text), lines_of(source), quoted(source.text))
end

local function explain_insert(rule, source)
  return ("before line %d a copy of %s is inserted: %s"):format(
    rule.line, lines_of(source), copy(source))
end

local function parameter_of(problem, name)
  for _, parameter in ipairs(problem.parameters or {}) do
    if parameter.name == name then return parameter end
  end
  return nil
end

-- Which kernel goes where, of a problem of recordings that is at hand.
local function explain_streams(problem, name, value)
  local recorded = name == streams.PARAMETER and problem.definition and problem.definition.recorded
  local n = recorded and math.tointeger(tonumber(value)) or 1
  return n > 1 and ": " .. table.concat(recorded:stream_words(n), "; ") or ""
end

local function explain_setting(problem, name, value)
  local parameter = parameter_of(problem, name) or {}
  if value == "" then value = parameter.value end
  local text
  if value == nil or tostring(value) == "1" and parameter.switch then
    text = ("`%s` is switched on"):format(name)
  elseif tostring(parameter.default) == tostring(value) then
    text = ("`%s` is set to %s, which it is anyway"):format(name, value)
  elseif parameter.default ~= nil then
    text = ("`%s` is set to %s instead of %s"):format(name, value, parameter.default)
  else
    text = ("`%s` is set to %s"):format(name, value)
  end
  if parameter.doc then text = text .. ": " .. parameter.doc end
  return text .. explain_streams(problem, name, value)
end

local SHOWN = 60 -- bytes of a text

local function explain_lines(gene)
  local where = gene.line == gene.last_line and ("line %d"):format(gene.line)
    or ("lines %d to %d"):format(gene.line, gene.last_line)
  local text = gene.value:gsub("%s+", " "):gsub("^ ", ""):gsub(" $", "")
  if text == "" then return where .. (gene.line == gene.last_line and " goes" or " go") end
  if #text > SHOWN then text = text:sub(1, SHOWN) .. "…" end
  return ("%s %s another text: `%s`"):format(where, gene.line == gene.last_line and "has" or "have",
    text)
end

-- What a transformation does, or why it is passed over.
local function explain_transformation(gene)
  if gene.why then return ("line %d: no effect, for %s"):format(gene.at, gene.why) end
  local where = gene.says:find "%f[%a]line %d" and "" or ("line %d: "):format(gene.at)
  local changes, conditions = launches.words_apart(gene.launch or "")
  return where .. gene.says .. (changes and "; launched with " .. changes or "")
    .. (conditions and "; for " .. conditions or "")
end

-- One gene, as g:genes gives it.
local function explain(problem, gene)
  if gene.kind == "transform" then
    return explain_transformation(gene)
  elseif gene.kind == "lines" then
    return explain_lines(gene)
  elseif gene.kind == "set" then
    return explain_setting(problem, gene.text:match("^([^=]*)=?(.*)$"))
  elseif gene.kind == "delete" then
    return explain_delete(gene.target, problem.grammar)
  elseif gene.kind == "insert" then
    return explain_insert(gene.target, gene.source)
  end
  return explain_replace(gene.target, gene.source, problem.grammar)
end

--- Every gene of a genome in words, with its source lines: those of the source in order, then those
--- below it. Misuse where the genome is not legal.
---@param problem table grammar and parameters are used
---@param genome string
---@return { gene: string, text: string }[]
function M.genome(problem, genome)
  local genes, why = problem.grammar:genes(genome)
  if not genes then error("gilua.explain.genome: " .. why, 2) end
  local list = {}
  for i, gene in ipairs(genes) do list[i] = { gene = gene.text, text = explain(problem, gene) } end
  local lower = below.explain(problem, genome)
  return table.move(lower, 1, #lower, #list + 1, list)
end

--- What a genome does to the source, as a unified diff.
---@param problem table
---@param text string genome
---@return string? diff
---@return string? source with the changes; nil, and why the genome does not fit
function M.difference(problem, text)
  local source, why
  if problem.is_ptx then
    source, why = problem.ptx:apply((select(2, genomes.parts(text))))
  else
    source, why = problem.grammar:apply(text, true)
  end
  if not source then return nil, why end
  local label = (problem.source_path or "kernel.cu"):match "[^/]*$"
  return diff.unified(problem.source, source, label), source
end

return M
