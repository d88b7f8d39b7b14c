--- kernel: what a transformation must know of a source: its functions, declarations, statements,
-- loops, and what they read and write. From the words alone (nothing is compiled or evaluated), so
-- it is careful: what is not understood is "not known", and nothing is done there.
--
--   local known = kernel.read(lines, options)
--
-- `lines` are the logical lines 1 to lines.n (default: #lines): a string without its end for each
-- line of the unmodified source. After an earlier transformation it may hold "\n", or be nil where
-- nothing is left of the line. A `line` is always a logical one, so that genes keep the numbers of
-- the unmodified source. `options`, all of them optional:
--
--   open       function(line) -> boolean: may that line be changed? default: every line
--   entries    { name = true }: the kernels that are launched; default: every __global__
--   constants  { NAME = "8" }: macros that the problem defines, with their text
--   values     function(fn) -> { [parameter] = integer }: what launches give it, all the same
--   bounded    { [kernel] = { [side] = … } }: what gilua.facts.bounded said of the text before it
--   arguments  { [entry] = { [parameter] = { written = boolean } } }: what the problem knows
--
-- What it returns:
--
--   text, words, first, last   the lines joined by "\n"; words[i] the text of token i, first[i] and
--                              last[i] its bytes; words.kind[i], words.match[i] as of gi.grammar
--   macros       name -> { names (in its bodies), opaque (may change something), indexes (has a
--                [), value (its one word, where it is that and is defined once), tree (its one body
--                as an expression, where it is one word or in brackets), places (the arrays of
--                which it is an element, where each of its bodies is a[…]) }
--   functions    list, in the file's order, of those for the GPU, see below; by_name
--   globals      name -> the declaration of an array or a variable that is the file's own
--   indexed      name -> true: a [ stands behind it somewhere
--   numbers      name -> tree: what `constexpr int NAME = …;` outside of functions gives it
--   loops        list of all their loops (gilua.facts.loop says what is in one)
--   why          nil, or why nothing was read (the text is too long)
--
-- A function: { name, kind = "kernel" | "device", is_entry, line, last_line, params, body (a
-- statement; nil where it is not understood), statements (all, by where they begin), loops,
-- variables (name -> list of declarations), addressed (name -> true: a pointer may lead there),
-- tparams (declarations), why and why_at (the reason and the token where it has no body) }.
-- Statements are those of gilua.source.statement, expressions those of
-- gilua.source.expression, effects those of gilua.facts.effects, edits those of
-- gilua.rewrite.edit.

local apart = require "gilua.facts.apart"
local core = require "gilua.core"
local csource = require "gilua.source.csource"
local effects = require "gilua.facts.effects"
local lists = require "gilua.base.lists"
local loops = require "gilua.facts.loop"

local M = {}

local MOST_BYTES = 2 * 1024 * 1024
local MOST_TOKENS = 20000 -- of a function

local Kernel, Function = {}, {}
Kernel.__index, Function.__index = Kernel, Function

-- ---- text -----------------------------------------------------------------------------------

local function join_lines(kernel, lines)
  kernel.starts, kernel.logical = {}, {}
  local at, parts = 1, {}
  local count = lines.n
  for n = 1, count do
    local line = lines[n]
    kernel.starts[n] = at
    if line then
      parts[#parts + 1] = line
      at = at + #line + 1
      local _, more = line:gsub("\n", "")
      for _ = 0, more do kernel.logical[#kernel.logical + 1] = n end
    end
  end
  kernel.starts[count + 1] = at
  kernel.text = table.concat(parts, "\n")
end

--- The logical line on which a token begins.
function Kernel:line_of(token) return self.logical[self.words.line[token]] end

--- The logical line of a byte.
function Kernel:line_at(byte)
  local low, high = 1, #self.starts - 1
  while low < high do
    local middle = (low + high + 1) // 2
    if self.starts[middle] <= byte then low = middle else high = middle - 1 end
  end
  return low
end

--- The first and last byte of a logical line, without its end.
function Kernel:line_bytes(line) return self.starts[line], self.starts[line + 1] - 2 end

--- The blanks with which the line of a token begins.
function Kernel:indent(token)
  local at = self.first[token]
  while at > 1 and self.text:byte(at - 1) ~= 10 do at = at - 1 end
  return self.text:match("^[ \t]*", at)
end

--- A name that the source does not have: the given one, or it with a number behind.
function Kernel:fresh(name)
  if not self.taken then
    self.taken = {}
    for _, word in ipairs(self.words) do self.taken[word] = true end
    for _, macro in pairs(self.macros) do
      for _, word in ipairs(macro.names) do self.taken[word] = true end
    end
  end
  local new, n = name, 1
  while self.taken[new] or self.macros[new] do
    n = n + 1
    new = name .. "_" .. n
  end
  return new
end

--- What gives names that the source does not have, and each of them once.
---@return fun(name: string): string
function Kernel:names()
  local taken = {}
  return function(wanted)
    local name = self:fresh(wanted)
    while taken[name] do name = self:fresh(name .. "_too") end
    taken[name] = true
    return name
  end
end

--- Is a token this name by itself, no member of something?
function Kernel:is_name(token, name)
  local before = self.words[token - 1]
  return self.words[token] == name and before ~= "." and before ~= "->"
end

--- Is the token the first on its line?
function Kernel:begins_line(token)
  local before = self.words.line[token - 1]
  return before ~= self.words.line[token]
end

local function no_comments(gap)
  return (gap:gsub("//[^\n]*", ""):gsub("/%*.-%*/", ""):gsub("[ \t]+\n", "\n")
    :gsub("\n%s*\n", "\n"))
end

--- The tokens first to last as they stand, without comments; `instead` gives others for some: a
--- text for one, { text, last } for those up to another.
---@param instead? table<integer, string|table>
function Kernel:source(first, last, instead)
  local parts, i = {}, first
  while i <= last do
    local other = instead and instead[i]
    if i > first then
      parts[#parts + 1] = no_comments(self.text:sub(self.last[i - 1] + 1, self.first[i] - 1))
    end
    if type(other) == "table" then
      parts[#parts + 1] = other[1]
      i = other[2]
    else
      parts[#parts + 1] = other or self.text:sub(self.first[i], self.last[i])
    end
    i = i + 1
  end
  return table.concat(parts)
end

--- The source of a tree or statement on one line, with one blank where anything parts two words.
function Kernel:plain(node) return (self:source(node.first, node.last):gsub("%s+", " ")) end

local WORDS = { name = true, number = true, member = true, index = true, call = true }

--- The source of a tree as part of another: in brackets, unless it is a word or has them.
function Kernel:operand(node)
  return (WORDS[node.kind] or node.parens) and self:plain(node) or "(" .. self:plain(node) .. ")"
end

-- ---- words ----------------------------------------------------------------------------------

local function read_words(kernel, text)
  kernel.source_tree = core.grammar.source(text)
  kernel.tokens = core.grammar.tokens(text)
  local words = kernel.source_tree:words()
  function words.directive(i) return kernel.tokens:inside(i)[1] end
  words.types = kernel.source_tree:types()
  kernel.words, kernel.first, kernel.last = words, words.first, words.last
end

local CHANGES = {}
for word in ("= += -= *= /= %= &= |= ^= <<= >>= ++ -- ; { } ## return asm goto break continue")
  :gmatch "%S+" do CHANGES[word] = true end

-- The array whose element the words from..#words are: a of a[i][j]; false of anything else.
local function place_of(words, from)
  local i = from + 1
  while words[i] == "[" do i = (words:match(i) or #words) + 1 end
  return i > from + 1 and i == #words + 1 and words:kind(from) == "name" and words[from] or false
end

-- The parameters of a macro, whose words its user gives: none where it glues words together.
local function parameters(words, from)
  local list = {}
  for i = from, #words do
    if words[i] == "##" then return list end
  end
  for i = 4, from - 2 do list[words[i]] = true end
  return list
end

local MOST_WORDS = 40

-- The words from..#words as an expression, where they mean the same wherever they stand; nil.
local function body_of(words, from)
  if #words - from > MOST_WORDS or #words ~= from
    and (words[from] ~= "(" or words:match(from) ~= #words) then
    return nil
  end
  return core.grammar.source(words:text(from, #words)):expression()
end

local function add_macro(kernel, name, words, from)
  local macro = kernel.macros[name] or { names = {}, n = 0, places = {} }
  kernel.macros[name] = macro
  macro.n = macro.n + 1
  local place = place_of(words, from)
  macro.places = place and macro.places or nil
  if macro.places then table.insert(macro.places, place) end
  macro.value = macro.n == 1 and #words == from and words[from] or nil
  local given = parameters(words, from)
  macro.tree = macro.n == 1 and from == 3 and body_of(words, from) or nil
  for i = from, #words do
    local w = words[i]
    if CHANGES[w] then macro.opaque = true end
    if w == "[" or w == "*" and (i == from or words[i - 1] == "(") then macro.indexes = true end
    if words[i + 1] == "[" then kernel.indexed[w] = true end
    if words:kind(i) == "name" and not given[w] then macro.names[#macro.names + 1] = w end
    if w == "(" and i > from and words:kind(i - 1) == "name" and not effects.is_pure(words[i - 1])
    then macro.called = macro.called or {}; table.insert(macro.called, words[i - 1]) end
  end
end

local function read_macros(kernel)
  for i = 1, #kernel.tokens do
    if kernel.words[i + 1] == "[" then kernel.indexed[kernel.words[i]] = true end
    if kernel.words.kind[i] == "directive" then
      local d = kernel.tokens:inside(i)
      local name, _, from = csource.defined(d)
      if name then add_macro(kernel, name, d, from) end
    end
  end
end

-- A macro that calls what is not known, or another macro, is what these are.
local function is_opaque(kernel, macro, depth)
  if macro.opaque or depth > 20 then return true end
  for _, name in ipairs(macro.called or {}) do
    if not kernel.macros[name] and not name:find "^__ld" and not name:find "^__shfl" then
      return true
    end
  end
  for _, name in ipairs(macro.names) do
    local other = kernel.macros[name]
    if other and other ~= macro and is_opaque(kernel, other, depth + 1) then return true end
  end
  return false
end

local MOST_NAMES = 400

local function add_names(kernel, names, seen, macro)
  for _, name in ipairs(macro.names) do
    if not seen[name] and #names < MOST_NAMES then
      seen[name] = true
      names[#names + 1] = name
      if kernel.macros[name] then add_names(kernel, names, seen, kernel.macros[name]) end
    end
  end
end

local function close_macros(kernel)
  local all, opaque, indexes = {}, {}, {}
  for name, macro in pairs(kernel.macros) do
    all[name] = {}
    add_names(kernel, all[name], {}, macro)
    opaque[name] = is_opaque(kernel, macro, 0)
    indexes[name] = macro.indexes
    for _, other in ipairs(all[name]) do
      indexes[name] = indexes[name] or (kernel.macros[other] or {}).indexes
    end
  end
  for name, macro in pairs(kernel.macros) do
    macro.names, macro.opaque, macro.indexes = all[name], opaque[name], indexes[name]
  end
end

-- ---- functions ------------------------------------------------------------------------------

-- What is declared outside of functions and types: variables, and the constants among them.
local function read_globals(kernel)
  kernel.globals, kernel.numbers = {}, {}
  for _, d in ipairs(kernel.source_tree:globals()) do
    kernel.globals[d.name] = d
    if d.const and d.pointer == 0 and #d.extents == 0 and d.init_form == "=" then
      kernel.numbers[d.name] = d.init
    end
  end
end

local function add_variable(fn, d)
  fn.variables[d.name] = fn.variables[d.name] or {}
  table.insert(fn.variables[d.name], d)
end

local function add_variables(fn)
  for _, p in ipairs(fn.params) do add_variable(fn, p) end
  for _, s in ipairs(fn.statements) do
    for _, d in ipairs(s.declared or {}) do add_variable(fn, d) end
  end
end

local function read_loops(fn)
  fn.loops = {}
  for _, s in ipairs(fn.statements) do
    if s.kind == "for" or s.kind == "while" or s.kind == "do" then
      fn.loops[#fn.loops + 1] = loops.read(fn, s)
      s.loop = fn.loops[#fn.loops]
    end
  end
end

local function read_function(kernel, fn)
  setmetatable(fn, Function)
  fn.kernel, fn.variables, fn.addressed, fn.statements, fn.loops = kernel, {}, {}, {}, {}
  fn.line, fn.last_line = kernel:line_of(fn.first), kernel:line_of(fn.close)
  fn.is_entry = fn.kind == "kernel" and (not kernel.options.entries
    or kernel.options.entries[fn.name] == true)
  if fn.close - fn.open > MOST_TOKENS then
    fn.why, fn.why_at = ("more than %d words"):format(MOST_TOKENS), fn.open
    return fn
  end
  local body, all = kernel.source_tree:body(fn.node)
  fn.body, fn.statements = body, all or {}
  return fn
end

local function read_functions(kernel)
  for _, fn in ipairs(kernel.source_tree:functions()) do
    if fn.kind ~= "host" then
      kernel.functions[#kernel.functions + 1] = read_function(kernel, fn)
    end
  end
end

-- The variables to which pointers may lead: what is known of a pointer depends on them.
local function add_addressed(fn)
  for name in pairs(effects.all(fn, { fn.body }).addresses) do fn.addressed[name] = true end
end

-- Each function's variables, then what all of them do: those that call others need these first.
local function finish(kernel)
  for _, fn in ipairs(kernel.functions) do
    kernel.by_name[fn.name] = kernel.by_name[fn.name] or fn
    add_variables(fn)
  end
  for _, fn in ipairs(kernel.functions) do
    if fn.body then add_addressed(fn) end
  end
  for _, fn in ipairs(kernel.functions) do fn.summarised = nil end
  for _, fn in ipairs(kernel.functions) do
    if fn.body then
      read_loops(fn)
      for _, loop in ipairs(fn.loops) do kernel.loops[#kernel.loops + 1] = loop end
    end
  end
end

--- Reads logical lines; see above.
---@param lines string[]
---@param options? table
---@return table
function M.read(lines, options)
  lines.n = lines.n or #lines
  local kernel = setmetatable({ lines = lines, options = options or {}, macros = {},
    indexed = {}, functions = {}, by_name = {}, loops = {} }, Kernel)
  join_lines(kernel, lines)
  if #kernel.text > MOST_BYTES then
    kernel.why = ("the source has %d bytes, more than the %d that are analysed"):format(
      #kernel.text, MOST_BYTES)
    read_words(kernel, "") -- so that nothing is found
    return kernel
  end
  read_words(kernel, kernel.text)
  read_macros(kernel)
  for name, text in pairs(kernel.options.constants or {}) do
    kernel.macros[name] = kernel.macros[name] or { names = {}, value = text }
  end
  close_macros(kernel)
  read_globals(kernel)
  read_functions(kernel)
  finish(kernel)
  return kernel
end

--- Reads other lines by the options of a kernel: what an edit made of it.
---@param lines gilua.lines
function Kernel:again(lines) return M.read(lines, self.options) end

--- Reads a text: a source whose lines are all as they stand.
---@param text string
---@param options? table
function M.of_text(text, options)
  local lines = {}
  for line in (text:gsub("\n$", "") .. "\n"):gmatch "(.-)\n" do lines[#lines + 1] = line end
  return M.read(lines, options)
end

--- May all the logical lines first to last be changed?
function Kernel:is_open(first, last)
  local open = self.options.open
  for line = first, open and last or first - 1 do
    if not open(line) then return false end
  end
  return true
end

-- ---- questions about a function --------------------------------------------------------------

--- The declaration that a name at a token means; nil of what the function does not declare.
function Function:declaration(name, token)
  local best
  for _, d in ipairs(self.variables[name] or {}) do
    if d.scope_first <= token and token <= d.scope_last
      and (not best or d.scope_first > best.scope_first) then
      best = d
    end
  end
  return best
end

--- Does nothing write to an array, in this function and, as far as the problem knows, elsewhere?
--- With a token, what is written behind it by the name of another parameter does not count.
function Function:is_constant(root, last)
  self.constant = self.constant or {}
  local key = ("%s %s"):format(root, last or "")
  return apart.kept(self.constant, key, self.is_never_written, self, root, last)
end

function Function:is_never_written(root, last)
  if not self.body then return false end
  local d = self.variables[root] and self.variables[root][1]
  local all = effects.of(self, self.body)
  if not d or not d.parameter or d.pointer == 0 or all.opaque and not d.target_const then
    return false
  end
  local told = (self.kernel.options.arguments or {})[self.name]
  if told and told[root] and told[root].written then return false end
  return lists.none(all.accesses, function(access)
    local is_past = last and access.token > last and access.root and access.root ~= root
    return access.write and not is_past and apart.may_touch(self, access, root)
  end)
end

--- The type of what an access yields, as a declaration has it; nil where it is not known, or where
--- each access counts (volatile).
function Function:element_type(access)
  local d = access.base and self:declaration(access.base, access.token)
  if not d or d.volatile or not access.indices
    or #access.indices ~= #d.extents + d.pointer then
    return nil
  end
  return d.type ~= "auto" and d.type or nil
end

-- What a caller of this function must know: effects on parameters' arrays and on the file's.
function Function:summary()
  if self.summarised then return self.summarised end
  self.summarised = { opaque = true, params = {}, globals = {}, asks = {}, reads = {},
    writes = {} } -- while it calls itself
  local summary = { params = {}, globals = {}, asks = {}, reads = {}, writes = {} }
  if not self.body then
    summary.opaque = true
  else
    local all = effects.all(self, { self.body })
    for _, flag in ipairs { "opaque", "barrier", "warp" } do summary[flag] = all[flag] end
    for _, access in ipairs(all.accesses) do self:summarise(summary, access) end
    for name in pairs(all.asks) do summary.asks[name] = true end
    for name, tokens in pairs(all.reads) do
      if not self:declaration(name, tokens[1]) then summary.asks[name] = true end
    end
    for _, what in ipairs { "reads", "writes" } do -- of variables of the file, by their names
      for name, tokens in pairs(all[what]) do
        local d = self.kernel.globals[name]
        local is_one = d and not self:declaration(name, tokens[1])
          and (what == "writes" or d.pointer == 0 and #d.extents == 0)
        summary[what][name] = is_one or nil
      end
    end
  end
  self.summarised = summary
  return summary
end

function Function:summarise(summary, access)
  local d = access.root and self.variables[access.root] and self.variables[access.root][1]
  if access.root == nil then
    summary.opaque = true
  elseif d and d.parameter then
    local used = summary.params[access.root] or {}
    summary.params[access.root] = used
    used.read, used.write = used.read or access.read, used.write or access.write
  elseif not d then
    table.insert(summary.globals, { base = access.root, write = access.write })
  end
end

return M
