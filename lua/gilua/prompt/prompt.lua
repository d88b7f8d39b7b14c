--- The prompt: what src/host/repl.c asks about every line that a person types.
--
--   session:add(line)          "more" | "run" | "nothing" | "end", and what the history keeps of it
--   session:run()              runs what was added, prints what it returns or what went wrong
--   session:cancel()           forgets lines of a chunk that is not whole
--   session:finish()           input is at its end
--   session:complete(before)   what the Tab key does to the text before the cursor
--
-- Chunks are Lua's own but for two things: a `local` of the outermost level is a global here, since
-- a local would be gone with its line; and a line that begins with a colon is a word to the prompt
-- itself (:trace). `_` is the last value printed.

local core = require "gilua.core"
local inspect = require "gilua.prompt.inspect"

local M = {}

---@class gilua.session
---@field history_path string? where the host keeps the history
local Session = {}
Session.__index = Session

local CHUNK = "=prompt"

-- --- reading chunks ----------------------------------------------------------------------------

local function is_unfinished(message)
  return message:find("<eof>$") ~= nil
end

--- Compiles what was typed: as an expression, else with outermost locals made globals, else as it
--- stands.
---@param text string
---@return function? chunk
---@return string? message
---@return boolean? unfinished more lines could make it whole
function M.compile(text)
  local chunk, as_expression = load("return " .. text, CHUNK, "t")
  if chunk then return chunk end
  local dropped, n = text:gsub("^%s*local%s+", "")
  if n > 0 then
    chunk = load(dropped, CHUNK, "t")
    if chunk then return chunk end
  end
  local message
  chunk, message = load(text, CHUNK, "t")
  if chunk then return chunk end
  return nil, message, is_unfinished(message) or is_unfinished(as_expression)
end

--- What the history keeps: one entry, where lines can be joined without changing their meaning.
---@param lines string[]
---@return string ...
function M.entries(lines)
  local text = table.concat(lines, "\n")
  if #lines > 1 and (text:find("--", 1, true) or text:find("%[=*%[") or text:find("\\\n")) then
    return table.unpack(lines)
  end
  return (text:gsub("%s*\n%s*", " "))
end

local LEAVE = { exit = true, quit = true, ["exit()"] = true, ["quit()"] = true }

local function wants_to_leave(line)
  local word = line:match("^%s*(.-)%s*$")
  return LEAVE[word] and _G[word:match("%a+")] == nil
end

---@param line string
---@return string what "more" | "run" | "nothing" | "end"
---@return string ... entries for the history
function Session:add(line)
  local lines = self.lines
  if #lines == 0 then
    if not line:find("%S") then return "nothing" end
    if line:find("^%s*:") then return self:command(line) end
    if wants_to_leave(line) then return "end", line end
  end
  lines[#lines + 1] = line
  local chunk, message, unfinished = M.compile(table.concat(lines, "\n"))
  if unfinished then return "more" end
  self.chunk, self.lines, self.single = chunk, {}, #lines == 1
  if chunk then return "run", M.entries(lines) end
  self:failed { message = message, trace = message }
  return "nothing", M.entries(lines)
end

--- Forgets the lines of a chunk that is not finished.
function Session:cancel()
  self.lines = {}
end

--- The end of input, which may come too early.
function Session:finish()
  if #self.lines == 0 then return end
  local _, message = M.compile(table.concat(self.lines, "\n"))
  self:failed { message = message, trace = message }
end

-- --- running -----------------------------------------------------------------------------------

-- The traceback as far as it is the user's business: not the prompt's own frames.
local function trace_of(message)
  local text = debug.traceback(tostring(message), 3)
  text = text:gsub("\n[^\n]*gilua/prompt/[%w_]+%.lua:.*", "")
  return (text:gsub("in upvalue 'chunk'", "in the prompt"))
end

-- An error object with a __tostring is a sentence for a person.
local function caught(e)
  local text = type(e) == "string" and e or nil
  if not text then
    local meta = debug.getmetatable(e)
    text = type(meta) == "table" and meta.__tostring and tostring(e)
      or ("an error object that is a %s value"):format(type(e))
  end
  return { message = text, trace = trace_of(text), sentence = type(e) ~= "string" }
end

--- One line about an error: without its traceback, without the prompt's own place.
---@param message string
---@param single? boolean the chunk was one line
---@return string line
---@return boolean more there is more to say than the line does
function M.error_line(message, single)
  local text = message:gsub("\n%s*stack traceback:.*", "")
  if text:find("interrupted!", 1, true) then return "interrupted", false end
  local line = text:match("^%s*([^\n]*)")
  if single then line = line:gsub("^prompt:1: ", "") end
  return line, #text > #line + 12
end

function Session:failed(problem)
  local line, more = M.error_line(problem.message, self.single)
  self.trace = problem.trace
  io.stdout:flush()
  local hint = more and "  (:trace shows the rest)" or ""
  if not more and not self.told and not problem.sentence and line ~= "interrupted" then
    hint = "  (:trace shows where)"
    self.told = true
  end
  if hint ~= "" then hint = inspect.paint(self.terminal, "dim", hint) end
  io.stderr:write(inspect.paint(self.terminal, line == "interrupted" and "yellow" or "red", line),
    hint, "\n")
end

local function print_values(self, values)
  if values.n == 0 then return end
  local texts, long = {}, false
  for i = 1, values.n do
    texts[i] = self:render(values[i])
    long = long or texts[i]:find("\n", 1, true)
  end
  _G._ = values[1]
  print(table.concat(texts, long and "\n" or "\t"))
end

--- A value as the prompt prints it.
---@param value any
---@return string
function Session:render(value)
  return inspect.render(value, { width = self.terminal.width, colour = self.terminal.colour,
                                 utf8 = self.terminal.utf8 })
end

--- Runs the chunk that `add` found whole.
function Session:run()
  local chunk = self.chunk
  self.chunk = nil
  self.terminal = inspect.terminal() -- it may have got another size
  local fine, problem = xpcall(function() print_values(self, table.pack(chunk())) end, caught)
  if not fine then self:failed(problem) end
end

-- --- words to the prompt -----------------------------------------------------------------------

local COMMANDS = {}

function COMMANDS.trace(self)
  print(self.trace or "nothing has gone wrong yet")
end

function COMMANDS.help()
  print(M.help())
end

function Session:command(line)
  local name = line:match("^%s*:%s*(%a*)%s*$")
  local command = COMMANDS[name]
  if command then
    command(self)
  else
    io.stderr:write((":%s is no word to the prompt; there are :trace and :help\n"):format(
      line:match(":%s*(.-)%s*$")))
  end
  return "nothing", line
end

-- --- help --------------------------------------------------------------------------------------

local OVERVIEW = [[
  p = gi.problem "kernels/niftyreg"        a kernel, its grammar and how it is run
  p:rules "IF"    p:show(245)              what may change: all, or around a line
  m = p:mutant "<IF_245><IF_167> RemX"     a mutant by hand: replace a condition, set a switch
  m:diff()   m:explain()   m:source()      what it changes
  m:compile()   m:ptx()   m:sass()         what the compiler makes of it
  m:run()   m:errors()   m:time()          is it right, where not, how fast
  m:compare(p)   m:knockout()              against the unmodified kernel; gene by gene
  p:neighbours(m):run()                    one gene less, one gene more
  p:use { side = 40, seed = 1 }            the case that p runs on from now on

  help "mutant"  help "array.compare"  help(p.use)   one thing; help "all" lists the names
  Tab completes names, files and genes; _ is the last value; :trace after an error
  Ctrl-C stops what runs; Ctrl-D ends]]

local function lines_of(path)
  local lines, file = {}, io.open(path, "r")
  if not file then return lines end
  for line in file:lines() do lines[#lines + 1] = line end
  file:close()
  return lines
end

-- The comment that ends above line `last` (or begins the file, where last is nil), for people.
local function comment(path, last)
  local lines, text = lines_of(path), {}
  local first = last and last or 1
  if last then
    while first > 1 and lines[first - 1]:find("^%s*%-%-") do first = first - 1 end
  else
    last = 1
    while lines[last] and lines[last]:find("^%-%-") do last = last + 1 end
  end
  for i = first, last - 1 do
    local line = lines[i]:gsub("^%s*%-%-%-? ?", "")
    line = line:gsub("^@(%a+) ?", function(tag) return tag == "param" and "  " or tag .. ": " end)
    text[#text + 1] = line
  end
  return table.concat(text, "\n"), lines[last]
end

--- Usage and explanation of a function: of C by its registration row, of Lua by the comment above.
---@param f function
---@param name? string what it is called there: "gi.farm"
---@return string?
function M.explain(f, name)
  local row = inspect.row_of(f)
  if row then return row.usage .. "\n  " .. row.doc end
  local info = debug.getinfo(f, "S")
  if info.source:sub(1, 1) ~= "@" then return nil end
  local text, head = comment(info.source:sub(2), info.linedefined)
  if not head then return nil end
  if name then
    head = name .. "(" .. (head:match("%((.*)%)") or "")  .. ")"
  else
    head = head:gsub("^%s*local%s+", ""):gsub("^%s*", "")
  end
  return text == "" and head or head .. "\n  " .. text:gsub("\n", "\n  ")
end

-- What Lua classes have methods: name -> their table.
local function classes()
  return { mutant = require("gilua.prompt.mutant").Mutant,
           problem = require("gilua.problem.class").methods }
end

-- Names of the fields of gi that are modules, sorted.
local function module_names()
  local names = {}
  for name in pairs(require("gilua").modules) do names[#names + 1] = name end
  table.sort(names)
  return names
end

--- Everything that help knows by name, sorted.
---@return string[]
function M.names()
  local names = {}
  for name in pairs(core.docs) do names[#names + 1] = name end
  for class, methods in pairs(classes()) do
    for name in pairs(methods) do names[#names + 1] = class .. ":" .. name end
  end
  local gi = require "gilua"
  for name, value in pairs(gi) do
    if type(value) == "function" and not gi.modules[name] and not inspect.row_of(value) then
      names[#names + 1] = "gi." .. name
    end
  end
  for _, name in ipairs(module_names()) do names[#names + 1] = "gi." .. name end
  table.sort(names)
  return names
end

local function functions_in(module)
  local names = {}
  for name, value in pairs(type(module) == "table" and module or {}) do
    if type(value) == "function" then names[#names + 1] = tostring(name) end
  end
  table.sort(names)
  return #names > 0 and "\n  its functions: " .. table.concat(names, " ") or ""
end

-- Of a module that is one function: that; else what its file says of itself.
local function module_text(name)
  local gi, full = require "gilua", "gi." .. name
  local value = gi[name]
  local text = type(value) == "function" and M.explain(value, full)
  if text and text:find("\n", 1, true) then return text end
  local path = gi.modules[name] and package.searchpath(gi.modules[name], package.path)
  if not path then return text end
  return (text or full) .. "\n  " .. comment(path):gsub("\n", "\n  ") .. functions_in(value)
end

local function text_of(name)
  local row = core.docs[name]
  if row then return row.usage .. "\n  " .. row.doc end
  local class, method = name:match("^(%a+):([%w_]+)$")
  if class then return M.explain(classes()[class][method], name) end
  return module_text(name:match("^gi%.(.*)$"))
end

-- Of everything called so, in full or in the last part; p:use is found by `use`.
local function texts_called(name)
  local texts = {}
  name = name:gsub("^gi%.(.*[.:].*)$", "%1") -- core's rows do without
  for _, known in ipairs(M.names()) do
    if known == name or known:match("[.:]([%w_]+)$") == name then
      texts[#texts + 1] = text_of(known)
    end
  end
  local part = #texts == 0 and name:match("[.:]([%w_]+)$")
  return part and texts_called(part) or texts
end

--- What `help`, `help "name"` and `help(value)` say.
---@param what? any
---@return string
function M.help(what)
  if what == nil then return OVERVIEW end
  if what == "all" then return inspect.in_columns(M.names(), inspect.terminal().width) end
  if type(what) == "function" then
    return M.explain(what) or "nothing is known of this function"
  elseif type(what) ~= "string" then
    return inspect.render(what)
  end
  local texts = texts_called(what)
  if #texts > 0 then return table.concat(texts, "\n") end
  local words = {}
  for i, name in ipairs(M.names()) do words[i] = name:match("[^.:]*$") end
  local nearest = require("gilua.base.settings").nearest(what:match("[^.:]*$"), words)
  return ("nothing is called '%s'%s; help \"all\" lists the names"):format(what,
    nearest and ("; did you mean '%s'?"):format(nearest) or "")
end

local Help = {
  __call = function(_, what) print(M.help(what)) end,
  __tostring = function() return OVERVIEW end,
}

-- --- completion: where the cursor is -----------------------------------------------------------

-- The end of a quoted string that begins at `at`; nil where it has none.
local function end_of_quoted(text, at, quote)
  local i = at + 1
  while i <= #text do
    local c = text:sub(i, i)
    if c == quote then return i end
    i = i + (c == "\\" and 2 or 1)
  end
end

--- What stands at the end of a line: "code", "comment", or "string" with the place where its text
--- begins, the quote that would end it, and the name it is given to (`f` in f "text).
---@param text string
---@return string kind
---@return integer? start
---@return string? closing
---@return string? caller
function M.context(text)
  local at = 1
  while at <= #text do
    local dashes, level = text:match("^(%-?%-?)%[(=*)%[", at)
    local c = text:sub(at, at)
    if level and dashes ~= "-" then
      local _, stop = text:find("]" .. level .. "]", at, true)
      local start = at + #dashes + #level + 2
      if not stop and dashes == "--" then return "comment" end
      if not stop then return "string", start, "]" .. level .. "]", "" end
      at = stop + 1
    elseif text:find("^%-%-", at) then
      return "comment"
    elseif c == '"' or c == "'" then
      local stop = end_of_quoted(text, at, c)
      local caller = text:sub(1, at - 1):match("([%a_][%w_]*)%s*%(?%s*$")
      if not stop then return "string", at + 1, c, caller or "" end
      at = stop + 1
    else
      at = at + 1
    end
  end
  return "code"
end

-- --- completion: names -------------------------------------------------------------------------

local KEYWORDS = {}
for word in ([[and break do else elseif end false for function goto if in local nil not or repeat
return then true until while]]):gmatch("%a+") do KEYWORDS[#KEYWORDS + 1] = word end

local function add_fields(found, t)
  for key, value in next, t do
    if type(key) == "string" and key:find("^[%a_][%w_]*$") and found[key] == nil then
      found[key] = value
    end
  end
end

local add_inherited

--- The fields of a value by name, through __index tables; nothing of the user's is called.
---@param value any
---@return table<string, any>
function M.fields(value)
  local found = {}
  if type(value) == "table" then add_fields(found, value) end
  add_inherited(found, value, 0)
  if value == require "gilua" then
    for name, module in pairs(value.modules) do
      if found[name] == nil then found[name] = package.loaded[module] or true end
    end
  end
  return found
end

function add_inherited(found, value, depth)
  local meta = debug.getmetatable(value)
  if type(meta) ~= "table" or depth > 10 then return end
  if type(meta.__names) == "function" then add_fields(found, meta.__names()) end
  local methods = inspect.methods(meta)
  if methods then
    add_fields(found, methods)
    add_inherited(found, methods, depth + 1)
  end
end

-- value[key] without calling anything but gi's own loader.
local function get(value, key)
  local gi = require "gilua"
  if value == gi then return gi[key] end
  if type(value) == "table" and rawget(value, key) ~= nil then return rawget(value, key) end
  if type(key) == "string" then return M.fields(value)[key] end
  return nil
end

local STEPS = { -- what may stand before a dot: pattern, and the key it means
  { "^(.-)%[(%-?%d+)%]%s*$", math.tointeger },
  { "^(.-)%[\"([^\"]*)\"%]%s*$", tostring },
  { "^(.-)%['([^']*)'%]%s*$", tostring },
  { "^(.-)%.%s*([%a_][%w_]*)%s*$", tostring },
}

-- The value of a chain of names at the end of a text: `x = gi.array` -> gi.array.
local function value_of(text)
  for _, step in ipairs(STEPS) do
    local before, key = text:match(step[1])
    if before and not before:find("%.$") then
      local value = value_of(before)
      if value == nil then return nil end
      return get(value, step[2](key))
    end
  end
  local root = text:match("([%a_][%w_]*)%s*$")
  return root and rawget(_G, root)
end

local function common_prefix(words)
  local prefix = words[1] or ""
  for _, word in ipairs(words) do
    while word:sub(1, #prefix) ~= prefix do prefix = prefix:sub(1, -2) end
  end
  return prefix
end

-- What Tab does with words that all begin with `typed`.
local function offer(words, typed, ending)
  if #words == 0 then return { remove = 0, insert = "", words = {} } end
  local prefix = common_prefix(words)
  if #words == 1 then prefix = prefix .. (ending or "") end
  local insert = prefix:sub(#typed + 1)
  return { remove = 0, insert = insert, words = insert == "" and words or {} }
end

local function complete_name(text)
  local typed = text:match("[%a_][%w_]*$") or ""
  local before = text:sub(1, #text - #typed)
  local dot = not before:find("%.%.%s*$") and before:match("([.:])%s*$")
  if typed == "" and before:find("[%w\"'%)%]}]%s*$") then return offer({}, "") end -- a value's end
  local found
  if dot then
    found = M.fields(value_of(before:gsub("[.:]%s*$", "")))
  else
    found = M.fields(_G)
    for _, word in ipairs(KEYWORDS) do found[word] = true end
  end
  local words = {}
  for name, value in pairs(found) do
    local wanted = dot ~= ":" or type(value) == "function"
    local hidden = name:sub(1, 1) == "_" and typed:sub(1, 1) ~= "_"
    if wanted and not hidden and name:sub(1, #typed) == typed then words[#words + 1] = name end
  end
  table.sort(words)
  return offer(words, typed)
end

-- --- completion: genes -------------------------------------------------------------------------

local rules_of = setmetatable({}, { __mode = "k" }) -- by problem: { { rule =, forms = } }

-- "IF_kernel.cu_245" with its short forms IF_245 and IF245; of a statement also the bare number.
local function forms_of(rule)
  local full = rule.name:sub(2, -2)
  local kind, line = full:match("^(%a*%d?)_.*_(%d+)$")
  if not line or rule.type:find("_K$") then return { full } end
  return { full, kind .. "_" .. line, kind .. line }
end

local function rules_to_complete(problem)
  local list = rules_of[problem]
  if list then return list end
  list = {}
  for _, rule in ipairs(problem.grammar:rules()) do
    if rule.type ~= "fixed" and not rule.protected then
      list[#list + 1] = { rule = rule, forms = forms_of(rule) }
    end
  end
  rules_of[problem] = list
  return list
end

local function begins(forms, typed)
  for _, form in ipairs(forms) do
    if form:lower():sub(1, #typed) == typed then return true end
  end
  return false
end

-- Rules that can stand after `before` (what is typed of the gene before the bracket).
local function fitting_rules(problem, before, typed)
  local list, first = {}, before == ""
  for _, entry in ipairs(rules_to_complete(problem)) do
    local pool = entry.rule.type:find("_K$") ~= nil
    if begins(entry.forms, typed:lower()) and not (first and pool) then
      if first or problem.grammar:check(before .. entry.rule.name) then list[#list + 1] = entry end
    end
  end
  return list
end

local LISTED_WITH_TEXT = 24

local function list_rules(list)
  local words = {}
  for i, entry in ipairs(list) do
    words[i] = entry.rule.name
    if #list <= LISTED_WITH_TEXT then
      local code = entry.rule.text:gsub("%s+", " ")
      if #code > 50 then code = code:sub(1, 47) .. "..." end
      words[i] = ("%-24s %s"):format(entry.rule.name, code)
    end
  end
  return words
end

local function complete_rule(problem, before, typed)
  local list = fitting_rules(problem, before, typed)
  local names = {}
  for i, entry in ipairs(list) do names[i] = entry.forms[1] end
  if #names == 0 then return offer({}, "") end
  local prefix = common_prefix(names) .. (#names == 1 and ">" or "")
  if prefix == typed then
    return { remove = 0, insert = "", words = list_rules(list), tall = true }
  end
  return { remove = #typed, insert = prefix, words = {} }
end

local function complete_setting(problem, token)
  local name, typed = token:match("^([%a_][%w_]*)=(.*)$")
  local words = {}
  for _, parameter in ipairs(problem.parameters) do
    if not name then
      words[#words + 1] = parameter.name .. (parameter.switch and "" or "=")
    elseif parameter.name == name then
      for _, value in ipairs(parameter.values or {}) do words[#words + 1] = tostring(value) end
    end
  end
  return words, typed or token
end

local function that_begin(words, typed)
  local kept = {}
  for _, word in ipairs(words) do
    if word:sub(1, #typed) == typed then kept[#kept + 1] = word end
  end
  return kept
end

local function complete_gene(problem, text)
  local token = text:match("%S*$")
  local before, typed = token:match("^(.*)<([^<>]*)$")
  if before then return complete_rule(problem, before, typed) end
  if token:find("^<[^<>]*>$") then
    return { remove = 0, insert = "", tall = true, words = {
      "<RULE>   replaces it by a copy of RULE", "+<RULE>  puts a copy of RULE before it",
      "a blank  ends the gene, which deletes it" } }
  end
  local words
  words, typed = complete_setting(problem, token)
  return offer(that_begin(words, typed), typed)
end

-- --- completion: files and words in strings ----------------------------------------------------

local function is_folder(path)
  return require("lfs").attributes(path, "mode") == "directory"
end

local function is_problem(path)
  return require("lfs").attributes(path .. "/problem.lua", "mode") == "file"
end

-- Names in a folder as gilua finds it: from here, else below gilua's own.
local function complete_file(text, closing, caller)
  local folder, typed = text:match("^(.*/)([^/]*)$")
  folder, typed = folder or "", typed or text
  local place = folder == "" and "./" or folder
  if not is_folder(place) then place = core.home .. "/" .. folder end
  if not is_folder(place) then return offer({}, "") end
  local words = {}
  for name in require("lfs").dir(place) do
    local hidden = name:sub(1, 1) == "." and typed:sub(1, 1) ~= "."
    if name ~= "." and name ~= ".." and not hidden and name:sub(1, #typed) == typed then
      words[#words + 1] = name
    end
  end
  table.sort(words)
  local whole = #words == 1 and place .. words[1]
  local ending = closing
  if whole and is_folder(whole) then
    ending = caller == "problem" and is_problem(whole) and closing or "/"
  end
  return offer(words, typed, ending)
end

local GENES = { mutant = true, check = true, apply = true, genes = true, neighbours = true,
                compare = true, evaluate = true }

local function rule_types(problem)
  local seen, words = {}, {}
  for _, rule in ipairs(problem.grammar:rules()) do
    if not seen[rule.type] and rule.type ~= "fixed" then
      seen[rule.type] = true
      words[#words + 1] = rule.type
    end
  end
  table.sort(words)
  return words
end

local function complete_string(text, closing, caller)
  local problem = require("gilua.problem.class").latest()
  if caller == "help" then return offer(that_begin(M.names(), text), text, closing) end
  if problem and caller == "rules" then
    return offer(that_begin(rule_types(problem), text), text, closing)
  end
  if problem and (GENES[caller] or text:find("^%s*<")) then return complete_gene(problem, text) end
  if text:find("^%s*<") then return offer({}, "") end
  return complete_file(text, closing, caller)
end

-- --- completion: the Tab key -------------------------------------------------------------------

local MOST_LISTED = 200

local function listing(offered)
  local words, rest = offered.words, ""
  if #words == 0 then return "" end
  if #words > MOST_LISTED then
    rest = ("\n... and %d more"):format(#words - MOST_LISTED)
    words = table.move(words, 1, MOST_LISTED, 1, {})
  end
  if offered.tall and #words <= LISTED_WITH_TEXT then return table.concat(words, "\n") .. rest end
  return inspect.in_columns(words, inspect.terminal().width) .. rest
end

--- What Tab does to the text before the cursor.
---@param before string
---@return integer remove characters to take away before the cursor
---@return string insert
---@return string list what to show below, "" for nothing
function M.complete(before)
  local kind, start, closing, caller = M.context(before)
  local offered
  if kind == "comment" then
    offered = offer({}, "")
  elseif kind == "string" then
    offered = complete_string(before:sub(start), closing, caller)
  else
    offered = complete_name(before)
  end
  return offered.remove, offered.insert, listing(offered)
end

function Session:complete(before) -- luacheck: ignore self
  return M.complete(before)
end

-- --- opening -----------------------------------------------------------------------------------

--- Where the history is kept, by the XDG rules; nil where there is no home.
---@return string?
function M.history_path()
  local state = os.getenv("XDG_STATE_HOME")
  if not state or state:sub(1, 1) ~= "/" then
    local home = os.getenv("HOME")
    if not home or home:sub(1, 1) ~= "/" then return nil end
    state = home .. "/.local/state"
  end
  return state .. "/gilua/history"
end

--- Begins a session: gi and help become globals, unless they are taken.
---@param editing? boolean has the host a line editor? nil: not even a terminal, nobody is greeted
---@return gilua.session
function M.open(editing)
  local gi = require "gilua"
  if _G.gi == nil then _G.gi = gi end
  if _G.help == nil then _G.help = setmetatable({}, Help) end
  if editing then
    print('help explains, Tab completes, Ctrl-D ends; p = gi.problem "kernels/niftyreg" begins')
  elseif editing == false then
    print("help explains, Ctrl-D ends; gilua was built without libedit: no line editing, no Tab")
  end
  return setmetatable({ lines = {}, terminal = inspect.terminal(),
                        history_path = editing and M.history_path() or nil }, Session)
end

M.Session = Session

return M
