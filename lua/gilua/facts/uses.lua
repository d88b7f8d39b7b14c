--- uses: what a function does with each of its variables, to tell which of one function is most
-- like one of another (gilua.rewrite.transplant).
--
--   uses.of(fn)[declaration]   { read, written, stored, indexed, index, compared, … = true }
--
-- The words tell it: what a call does, and what is behind a macro, is not asked.

local expression = require "gilua.source.expression"
local statement = require "gilua.source.statement"
local types = require "gilua.facts.types"

local M = {}

local COMPARED = { ["<"] = true, [">"] = true, ["<="] = true, [">="] = true, ["=="] = true,
                   ["!="] = true }

-- What is told of a variable, and how much it says that two agree on it.
local FLAGS = {
  parameter = 1, read = 1, written = 1, stored = 1, indexed = 1, index = 1, compared = 1,
  computed = 1, passed = 1,
  counts = 2,     -- a loop's variable
  thread = 2,     -- its first value is made of threadIdx
  block = 1,      -- of blockIdx
  at_thread = 3,  -- an array, of which a thread has elements of its own
  at_other = 3,   -- or of which it looks at others
  bounds = 3,     -- compared with what tells of the thread
}
local ALL = 0
for _, weight in pairs(FLAGS) do ALL = ALL + weight end

-- The name that is indexed or written to: a of a[i].x.
local function base(node)
  local is_indexed = false
  while node.kind == "index" or node.kind == "member" or node.kind == "unary" and node.op == "*" do
    node, is_indexed = node.a, true
  end
  return node, is_indexed
end

local function note(fn, uses, node, flag)
  local d = node.kind == "name" and fn:declaration(node.text, node.first)
  if not d then return end
  uses[d] = uses[d] or {}
  uses[d][flag] = true
end

local function note_written(fn, uses, node)
  local name, is_indexed = base(node)
  note(fn, uses, name, is_indexed and "stored" or "written")
end

local NOTE = {}

function NOTE.name(fn, uses, node) note(fn, uses, node, "read") end
function NOTE.assign(fn, uses, node) note_written(fn, uses, node.a) end
function NOTE.postfix(fn, uses, node) note_written(fn, uses, node.a) end

function NOTE.unary(fn, uses, node)
  if node.op == "++" or node.op == "--" or node.op == "&" then note_written(fn, uses, node.a) end
end

-- Does a tree tell of the thread: by threadIdx, or by what is made of it?
local function tells_thread(fn, uses, tree)
  local found = false
  expression.walk(tree, function(node)
    local d = node.kind == "name" and fn:declaration(node.text, node.first)
    found = found or node.kind == "name" and node.text == "threadIdx"
      or d and uses[d] and uses[d].thread or false
  end)
  return found
end

function NOTE.index(fn, uses, node)
  local array = base(node)
  note(fn, uses, array, "indexed")
  note(fn, uses, array, tells_thread(fn, uses, node.index) and "at_thread" or "at_other")
  expression.walk(node.index, function(at) note(fn, uses, at, "index") end)
end

function NOTE.binary(fn, uses, node)
  local is_compared = COMPARED[node.op]
  for _, side in ipairs { { node.a, node.b }, { node.b, node.a } } do
    note(fn, uses, side[1], is_compared and "compared" or "computed")
    if is_compared and tells_thread(fn, uses, side[2]) then note(fn, uses, side[1], "bounds") end
  end
end

function NOTE.call(fn, uses, node)
  for _, arg in ipairs(node.args) do note(fn, uses, arg, "passed") end
end

local function note_tree(fn, uses, tree)
  expression.walk(tree, function(node)
    if NOTE[node.kind] then NOTE[node.kind](fn, uses, node) end
  end)
end

-- What its first value is made of: which thread, or which block.
local function note_origin(uses, d)
  uses[d] = { parameter = d.parameter }
  expression.walk(d.init, function(node)
    if node.kind ~= "name" then return end
    if node.text == "threadIdx" then uses[d].thread = true end
    if node.text == "blockIdx" then uses[d].block = true end
  end)
end

local function note_statement(fn, uses, s)
  for _, tree in ipairs(statement.trees(s)) do note_tree(fn, uses, tree) end
end

--- By declarations; kept.
---@param fn table of kernel.read
---@return table<table, table<string, true>>
function M.of(fn)
  if fn.uses then return fn.uses end
  local uses = {}
  for _, p in ipairs(fn.params) do note_origin(uses, p) end
  for _, s in ipairs(fn.statements) do
    for _, d in ipairs(s.declared or {}) do note_origin(uses, d) end
  end
  for _, s in ipairs(fn.statements) do note_statement(fn, uses, s) end
  for _, loop in ipairs(fn.loops) do
    local d = loop.variable and fn:declaration(loop.variable, loop.body.first)
    if d and uses[d] then uses[d].counts = true end
  end
  fn.uses = uses
  return uses
end

local function likeness(fn, d, other_fn, other)
  local a, b, n = M.of(fn)[d] or {}, M.of(other_fn)[other] or {}, 0
  for flag, weight in pairs(FLAGS) do
    if a[flag] == b[flag] then n = n + weight end
  end
  return d.name == other.name and 1 or n / (ALL + 1)
end

--- How much a variable of one function is like one of another: 0 to 1; 1 of the same name.
---@param fn table
---@param d table a declaration
---@param other_fn table
---@param other table
---@return number
function M.likeness(fn, d, other_fn, other)
  d.likeness = d.likeness or setmetatable({}, { __mode = "k" })
  if not d.likeness[other] then d.likeness[other] = likeness(fn, d, other_fn, other) end
  return d.likeness[other]
end

--- The type of a variable's elements, in one spelling.
---@param fn table
---@param d table
---@return string
function M.type(fn, d)
  d.plain_type = d.plain_type or types.plain(types.resolved(fn.kernel, d.type))
  return d.plain_type
end

--- What two variables must have in common, as a text: type, stars, where they are.
---@param fn table
---@param d table
---@return string
function M.shape(fn, d)
  d.shape = d.shape or ("%s%s%s%s"):format(M.type(fn, d), ("*"):rep(d.pointer + #d.extents),
    d.shared and " shared" or "", d.volatile and " volatile" or "")
  return d.shape
end

return M
