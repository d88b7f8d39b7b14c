-- reading: what a file that nobody prepared says of one of its kernels: the source that a GPU
-- takes, the types of the parameters (the compiler's word), how the host launches it and with what.

local arguments = require "gilua.new.arguments"
local around = require "gilua.new.around"
local assumed = require "gilua.new.assumed"
local csource = require "gilua.source.csource"
local fail = require "gilua.base.fail"
local gi = require "gilua"
local headers = require "gilua.new.headers"
local hostcode = require "gilua.host.hostcode"
local launchguess = require "gilua.new.launchguess"
local lfs = require "lfs"
local partsof = require "gilua.new.parts"
local report = require "gilua.report.report"
local scalaruse = require "gilua.new.scalaruse"
local signature = require "gilua.new.signature"
local slice = require "gilua.new.slice"

local M = {}

local MOST_FILES = 8 -- of functions that the kernel calls
local MOST_PARAMETERS = 1000 -- each of them may be an array

---@class Reading made by M.of; nobody changes it afterwards
---@field path string the file, as it was named
---@field absolute_path string
---@field kernel string the kernel's name
---@field compiler CompilerWords
---@field host HostCode
---@field launch? HostLaunch
---@field which integer of its launches
---@field template string[] arguments of the kernel's template: read, else guessed
---@field sliced Slice
---@field params table[] of gilua.signature; each has a name
---@field assumed string[] names of the host's that got a value (gilua.assumed)
---@field values table<string, number> what the launch gives a parameter, where that can be known
---@field head userdata tokens of the kernel, up to its body
---@field body userdata tokens of its body
---@field notes string[] for the user
---@field one_block? boolean as nothing else runs

---@class CompilerWords
---@field options string[] of NVRTC
---@field include string[] folders, the file's own first
---@field defines string[] "NAME" or "NAME=VALUE"
---@field before? string what stands before the kernel's file: what another has before it includes
---  it, files that define what it calls

-- What stands before the kernel's file.
local function set_before(words, text)
  if not words.before then
    words.options[#words.options + 1] = "--pre-include=" .. slice.BEFORE
  end
  words.before = text
end

-- Macros of the makefile beside a file that it or its headers use, but for those that are given.
local function made_with(path, text, include, host, o)
  local words, list = { text, host and host.text }, {}
  for i = 1, #words do
    for _, header in ipairs(headers.of(words[i], include)) do words[#words + 1] = header.text end
  end
  local all = table.concat(words, "\n")
  for _, macro in ipairs(around.macros(headers.absolute(path))) do
    local is_given = ("," .. (o.define or "")):find("," .. macro.name .. "%f[^%w_]")
    if not is_given and all:find("%f[%w_]" .. macro.name .. "%f[^%w_]") then
      list[#list + 1] = macro.text
    end
  end
  return list
end

--- Folders and macros as the compiler takes them, and as problem.lua keeps them.
---@param path string of the file
---@param text string what is in it
---@param o { include?: string, define?: string } of the command line
---@param host? table of Parts
---@param notes string[] for the user; some may be added
---@return CompilerWords
function M.compiler(path, text, o, host, notes)
  local include, defines, options = { headers.absolute(path):match("^(.*)/") }, {}, {}
  local other = host and headers.absolute(host.path):match("^(.*)/")
  if other and other ~= include[1] then include[2] = other end
  for folder in (o.include or ""):gmatch("[^,:]+") do
    if lfs.attributes(folder, "mode") ~= "directory" then
      fail("--include %s: there is no such folder", folder)
    end
    include[#include + 1] = headers.absolute(folder)
  end
  local standins = gi.home .. "/lua/gilua/include"
  local whole = (host and host.before or "") .. text
  for _, folder in ipairs(around.of(whole, include, standins)) do
    include[#include + 1] = folder
    notes[#notes + 1] = ("GUESS: headers are those of %s, which its includes name"):format(folder)
  end
  for _, folder in ipairs(include) do options[#options + 1] = "-I" .. folder end
  options[#options + 1] = "-I" .. standins
  for define in (o.define or ""):gmatch("[^,]+") do
    defines[#defines + 1], options[#options + 1] = define, "-D" .. define
  end
  for _, define in ipairs(made_with(path, text, include, host, o)) do
    defines[#defines + 1], options[#options + 1] = define, "-D" .. define
    notes[#notes + 1] = ("GUESS: %s, as the makefile beside it says"):format(define)
  end
  local words = { options = options, include = include, defines = defines }
  if host then set_before(words, host.before) end
  return words
end

-- The #include of a file that defines what is called and not defined; nil where nothing is.
local function definition(path, sliced, before)
  for _, called in ipairs(sliced.undefined) do
    local name = partsof.defining(path, called.name)
    local line = name and ('#include "%s"\n'):format(name)
    if line and not before:find(line, 1, true) then return line end
    if called.is_users then
      fail("kernel %s calls %s, which neither its file nor one beside it defines: #include the "
        .. "file that does", sliced.kernel, called.name)
    end
  end
end

--- Cuts a kernel out, together with the files beside its own that define what it calls. The source
--- is without the values of long arrays; `whole` has them.
---@param parts Parts
---@param item { name: string, line?: integer } the kernel, or several with commas between
---@param folder string
---@param words CompilerWords
---@param template? string[]
---@param templates? table<string, string[]> of several kernels
---@return Slice
function M.cut(parts, item, folder, words, template, templates)
  for _ = 1, MOST_FILES do
    local sliced = slice.cut(parts.text, parts.path, item.name,
      { folder = folder, line = item.line, template = template, options = words.options,
        before = words.before, templates = templates })
    local line = definition(parts.path, sliced, words.before or "")
    if not line then
      sliced.whole = csource.with_values(sliced.source, parts.values)
      return sliced
    end
    for _, copy in ipairs(sliced.copies) do os.remove(folder .. "/" .. copy) end
    set_before(words, (words.before or "") .. line)
  end
  fail("kernel %s needs more than %d files", item.name, MOST_FILES)
end

local function read_host(parts, words, notes)
  local text = parts.host and parts.host.text or parts.text
  local host, why = hostcode.read(text, partsof.headers(parts, words.include), words.defines)
  if why then
    notes[#notes + 1] = "of conditions like #if every branch counts, for the compiler says " .. why
  end
  return host
end

-- Refuses a kernel with more parameters than gilua makes data for.
local function check_parameters(item)
  local n = #(item.params or {})
  if n > MOST_PARAMETERS then
    fail("kernel %s has %d parameters, and gilua makes data for at most %d: pass a struct or an "
      .. "array of pointers", item.name, n, MOST_PARAMETERS)
  end
end

-- The types of the parameters of what was cut out, which is written where they are read.
local function read_params(sliced, folder, words)
  report.write(folder .. "/kernel.cu", sliced.whole)
  local params = signature.of(sliced.source, sliced.kernel,
    table.move(words.options, 1, #words.options, 2, { "-I" .. folder }))
  for i, p in ipairs(params) do p.name = p.name or "argument_" .. i end
  return params
end

-- What the launch gives each parameter, where that is a number that can be known. A variable that
-- threads are compared with is not what it begins with where that is 0: somebody sets it.
local function values_of(host, launch, params, body)
  local values, derived = {}, scalaruse.derived(body)
  for i, p in ipairs(params) do
    local given = launch and launch.args[i]
    local value = given and not p.pointer and not p.struct and host:value(given) or nil
    local is_set = value == 0 and given:find "^[%a_]"
      and scalaruse.of(body, p.name, false, derived).thread
    values[p.name] = not is_set and value or nil
  end
  return values
end

-- Tokens of a kernel up to its body, and of its body.
local function parts_of(text, item)
  local all <close> = csource.tokens(text:sub(item.head, item.last))
  local open = item.head + (all:first(all:find(all:match(1) or 1, "{") or #all + 1) or 1) - 1
  return csource.tokens(text:sub(item.first, open - 1)), csource.tokens(text:sub(open, item.last))
end

-- Is a launch the same but for numbers where the other has names: `k<<<g, b>>>(x, 1)` and `(x, n)`?
local function warms_up(one, other)
  local is_alike = #one.args == #other.args and one.grid == other.grid and one.block == other.block
    and table.concat(one.template, ",") == table.concat(other.template, ",")
  if not is_alike then return false end
  local differs = false
  for k, text in ipairs(one.args) do
    local is_other = text ~= other.args[k]
    if is_other and not (text:find "^%d+$" and other.args[k]:find "[%a_]") then return false end
    differs = differs or is_other
  end
  return differs
end

-- Which of a kernel's launches is meant: the first, unless that only warms up for a later one.
local function measured_launch(launches)
  for i = 2, #launches do
    if warms_up(launches[1], launches[i]) then return i end
  end
  return 1
end

--- Reads a kernel; writes its source, and copies of headers that hold code for the host.
---@param parts Parts the file
---@param item table the kernel, of gilua.slice's kernels
---@param folder string where kernel.cu is written
---@param o { template?: string, include?: string, define?: string, arguments?: string[],
---  launch?: integer, most?: integer, one_block?: boolean } of the command line; which launch, 0
---  for none; the largest size that is assumed; whether one block will do
---@return Reading
function M.of(parts, item, folder, o)
  check_parameters(item)
  local text, path, notes = parts.text, parts.path, {}
  local words = M.compiler(path, text, o, parts.host, notes)
  local host = read_host(parts, words, notes)
  local which = o.launch or measured_launch(host:every_launch(item.name))
  local launch = host:launch(item.name, which)
  if o.launch == 0 then
    notes[#notes + 1] = "GUESS: how it is launched, for as its file says it does not run"
  end
  local template = launchguess.template(item, launch, csource.split(o.template or ""), host, notes)
  local sliced = M.cut(parts, item, folder, words, template)
  table.move(sliced.options, 1, #sliced.options, #words.options + 1, words.options)
  local params = read_params(sliced, folder, words)
  local run_with = o.arguments or arguments.of(headers.absolute(path):match "^(.*)/")
  local guessed = launch and assumed.of(host, launch, params, o.most, run_with) or {}
  local head, body = parts_of(text, item)
  local values = values_of(host, launch, params, body)
  return { path = path, absolute_path = headers.absolute(path), kernel = item.name,
    compiler = words, host = host, launch = launch, which = which, template = template,
    sliced = sliced, params = params, assumed = guessed, values = values,
    head = head, body = body, notes = notes, one_block = o.one_block }
end

return M
