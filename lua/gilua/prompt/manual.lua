-- manual: the texts of `help`: for a function, for a module, for any name.

local core = require "gilua.core"
local inspect = require "gilua.prompt.inspect"
local settings = require "gilua.base.settings"

local M = {}

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

-- Usage and explanation of a function: of C by its registration row, of Lua by the comment above.
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

-- Everything that help knows by name, sorted.
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

-- Of a function of a module by its whole name, evolve.run; nil of any other.
local function function_text(name)
  local gi = require "gilua"
  local module, own = name:gsub("^gi%.", ""):match "^([%w_]+)%.([%w_]+)$"
  local value = gi.modules[module] and gi[module]
  value = type(value) == "table" and value[own]
  return type(value) == "function" and M.explain(value, ("gi.%s.%s"):format(module, own)) or nil
end

-- Of everything called so, in full or in the last part; p:use is found by `use`.
local function texts_called(name)
  local texts = {}
  local exact = not core.docs[name:gsub("^gi%.", "")] and function_text(name)
  if exact then return { exact } end
  name = name:gsub("^gi%.(.*[.:].*)$", "%1") -- core's rows do without
  for _, known in ipairs(M.names()) do
    if known == name or known:match("[.:]([%w_]+)$") == name then
      texts[#texts + 1] = text_of(known)
    end
  end
  local part = #texts == 0 and name:match("[.:]([%w_]+)$")
  return part and texts_called(part) or texts
end

-- What `help`, `help "name"` and `help(value)` say.
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
  for _, name in ipairs(M.names()) do words[name:match("[^.:]*$")] = true end
  return ("nothing is called '%s'%s; help \"all\" lists the names"):format(what,
    settings.meant(what:match("[^.:]*$"), words))
end

-- The global `help`: called, or merely named.
local Help = {
  __call = function(_, what) print(M.help(what)) end,
  __tostring = function() return OVERVIEW end,
}

M.object = setmetatable({}, Help)

return M
