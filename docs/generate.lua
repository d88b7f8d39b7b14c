-- Writes docs/api.md: the functions in C from their registration records (core.docs, which `help`
-- shows too), those in Lua from the comments and annotations that stand before them in
-- lua/gilua. `./gilua docs/generate.lua [FILE [NAMES]]`, or `make docs`; running it twice changes
-- nothing. The names that are new are added to a list NAMES, which none leaves (`make names`).

local gi = require "gilua"
local core = require "gilua.core"

local function sorted_keys(t)
  local keys = {}
  for key in pairs(t) do keys[#keys + 1] = key end
  table.sort(keys)
  return keys
end

local function read_lines(path)
  local lines = {}
  for line in assert(io.lines(path)) do lines[#lines + 1] = line end
  return lines
end

-- --- comments ----------------------------------------------------------------------------------

-- The sentence or sentences that open a file: its head without `gilua: ` and dashes.
local function head_of(lines)
  local text = {}
  for _, line in ipairs(lines) do
    local said = line:match("^%-%-%-?%s?(.*)$")
    if not said or said == "" then break end
    text[#text + 1] = said
  end
  return (table.concat(text, " "):gsub("%s+", " "))
end

-- A `---` block: prose, parameters, what is returned.
local function read_comment(block)
  local prose, items = {}, {}
  for _, line in ipairs(block) do
    local tag, rest = line:match("^@(%w+)%s*(.*)$")
    if tag == "param" or tag == "return" then
      items[#items + 1] = { tag = tag, text = rest }
    elseif not tag then
      local last = items[#items]
      if last then last.text = last.text .. " " .. line else prose[#prose + 1] = line end
    end
  end
  return table.concat(prose, " "), items
end

-- What a line defines for others: name and arguments ("" for a value), or nil.
local function definition(line)
  local owner, sign, name, arguments = line:match("^function ([%w_]+)([.:])([%w_]+)(%b())")
  if name then return owner, sign, name, arguments end
  owner, name = line:match("^([%w_]+)%.([%w_]+) = ")
  if name then return owner, ".", name, line:match("= function(%b())") or "" end
  name, arguments = line:match("^local function ([%w_]+)(%b())") -- the module, if it is one
  if name then return name, "", "", arguments end
end

-- The documented definitions of a file, in its order. `module` is the local that it returns.
local function definitions_of(lines)
  local module, found, block = nil, {}, {}
  for _, line in ipairs(lines) do module = line:match("^return ([%w_]+)$") or module end
  for _, line in ipairs(lines) do
    local said = line:match("^%-%-%-%s?(.*)$")
    if said then
      block[#block + 1] = said
    else
      local owner, sign, name, arguments = definition(line)
      if name and #block > 0 and name:sub(1, 1) ~= "_" and (name ~= "" or owner == module) then
        found[#found + 1] = { own = owner == module, owner = owner, sign = sign, name = name,
                              arguments = arguments, block = block }
      end
      block = {}
    end
  end
  return found
end

-- --- pages -------------------------------------------------------------------------------------

local function item_line(item)
  if item.tag == "return" then return "- returns `" .. item.text:gsub("`", "") .. "`" end
  local name, rest = item.text:match("^(%S+)%s*(.*)$")
  return ("- `%s`: `%s`"):format(name, (rest:gsub("`", "")))
end

local function write_definition(put, module, d)
  local prefix = d.own and "gi." .. module or d.owner
  if d.own and module == "init" then prefix = "gi" end
  put(("### `%s%s%s%s`\n"):format(prefix, d.sign, d.name, d.arguments))
  local prose, items = read_comment(d.block)
  if prose ~= "" then put(prose .. "\n") end
  for _, item in ipairs(items) do put(item_line(item)) end
  if #items > 0 then put("") end
end

local function write_c(put)
  put("## In C\n")
  put("What `help \"NAME\"` says at the prompt. `gi.array`, `gi.compile` and `gi.problem` can be "
    .. "called themselves;\n`x:name` is a method of what such a call returns.\n")
  for _, name in ipairs(sorted_keys(core.docs)) do
    local row = core.docs[name]
    put(("### `%s`\n\n`%s`\n\n%s\n"):format(name, row.usage, row.doc))
  end
end

-- The definitions of a module: those of its file, and of the files whose methods or names
-- it takes.
local function definitions_with_taken(lines)
  local list = definitions_of(lines)
  for _, line in ipairs(lines) do
    local what, taken = line:match '^take_(%l+)%(require "(.+)"%)$'
    local path = taken and assert(package.searchpath(taken, package.path))
    for _, d in ipairs(path and definitions_of(read_lines(path)) or {}) do
      d.own = what == "names"
      list[#list + 1] = d
    end
  end
  return list
end

local function write_module(put, name, file)
  local lines = read_lines(file)
  local list = definitions_with_taken(lines)
  if #list == 0 then return end
  put(("## %s\n"):format(name == "init" and "gi" or "gi." .. name))
  put(head_of(lines) .. "\n")
  for _, d in ipairs(list) do write_definition(put, name, d) end
end

-- The face and its modules: name -> file.
local function files()
  local found = { init = gi.home .. "/lua/gilua/init.lua" }
  for name, module in pairs(gi.modules) do
    found[name] = assert(package.searchpath(module, package.path))
  end
  return found
end

local function page()
  local out = {}
  local function put(text) out[#out + 1] = text end
  put("# The Lua API\n")
  put("Written by `make docs` from the code; change it there. `local gi = require \"gilua\"`; each "
    .. "`gi.NAME` below\nis a module of `lua/gilua`, loaded when first used.\n")
  write_c(put)
  local found = files()
  for _, name in ipairs(sorted_keys(found)) do write_module(put, name, found[name]) end
  return (table.concat(out, "\n"):gsub("\n+$", "") .. "\n")
end

-- The names of the list and those of the page, each once.
local function grown(path, text)
  local names = {}
  for _, name in ipairs(read_lines(path)) do names[name] = true end
  for name in text:gmatch "\n## (gi[%w_.]*)" do names[name] = true end
  for name in text:gmatch "\n### `([%w_.:]+)" do names[name] = true end
  return table.concat(sorted_keys(names), "\n") .. "\n"
end

local text = page()
gi.textfile.write(arg[1] or gi.home .. "/docs/api.md", text)
if arg[2] then gi.textfile.write(arg[2], grown(arg[2], text)) end
