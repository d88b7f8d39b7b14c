-- kept: copies of a problem's files beside a run's results, in RUN/problem.kept, listed in
-- result.json with their SHA-256. `gilua apply` works from these copies alone and runs none of
-- them; `gilua verify` compares them with the problem to see whether it has changed.
--
-- The files are problem.lua and the Lua files that it loads, the kernel, the reference, the headers
-- that these include (from the problem's folders, not from a toolkit), and the file from which
-- `gilua new` made the kernel. Other files that problem.lua opens (data) are not known here.

local core = require "gilua.core"
local fail = require "gilua.base.fail"
local json = require "gilua.base.json"
local lfs = require "lfs"
local runpath = require "gilua.base.runpath"
local settings = require "gilua.base.settings"
local textfile = require "gilua.base.textfile"
local transforming = require "gilua.transform.grammar"

local M = {}

---@class Kept
---@field kernel string
---@field source string the kernel's text
---@field source_path string where it came from
---@field dir string the problem's folder
---@field grammar userdata
---@field is_ptx boolean the source is PTX
---@field ptx? userdata of the unmodified kernel, where there were genes below the source
---@field options string[] of the compiler, for the kernel as it is
---@field made_from? { path: string, paths?: string[], template: string[],
---  templates?: table<string, string[]> } paths: where it is several files one after the other
---@field launch_values? table<string, table<string, integer>> what launches give the parameters of
---  kernels, for transformations that want to know it
---@field parameters { name: string, default: any, in_source: boolean, switch: boolean }[]
---@field files { name: string, from: string, text: string }[] name: in the folder of copies
---@field complete boolean false: more headers than are kept

M.FOLDER = "problem.kept"
M.GRAMMAR = "grammar.bnf" -- the rules that were open, to apply a genome without problem.lua
M.PTX = "kernel.ptx" -- the unmodified kernel's, where there were genes below the source

local MOST_FILES = 200

--------------------------------------------------------------------------------------------------
-- Which files

-- The name of a copy: as in the problem's folder; of what lies elsewhere the last part, numbered.
local function copy_name(list, path)
  local inside = path:sub(1, #list.dir + 1) == list.dir .. "/" and path:sub(#list.dir + 2)
  if inside and not ("/" .. inside .. "/"):find("/../", 1, true) then return inside end
  list.elsewhere = list.elsewhere + 1
  return ("elsewhere/%d/%s"):format(list.elsewhere, path:match("([^/]*)$"))
end

local add -- which adds what a file includes, too

local function add_included(list, file)
  if not file.from:match "%.c[uc]?h?$" and not file.from:match "%.h[pu]*$" then return end
  local own = file.from:match "^(.*/)" or ""
  for name in file.text:gmatch '#[ \t]*include[ \t]*["<]([^">\n]+)[">]' do
    local folders = table.move(list.folders, 1, #list.folders, 2, { own })
    for _, folder in ipairs(folders) do
      if add(list, folder .. name) then break end
    end
  end
end

-- Is it a file? It is in the list then, or the list is full.
function add(list, path)
  if lfs.attributes(path, "mode") ~= "file" then return false end
  if list.seen[path] then return true end
  list.complete = list.complete and #list < MOST_FILES
  if #list == MOST_FILES then return true end
  list.seen[path] = true
  local file = { name = copy_name(list, path), from = path, text = textfile.read(path, "a file") }
  list[#list + 1] = file
  add_included(list, file)
  return true
end

-- Folders of headers that the options name, but for gilua's own.
local function include_folders(options)
  local list = {}
  for _, option in ipairs(options) do
    local folder = option:match "^%-I(.+)$"
    if folder and folder:sub(1, #core.home) ~= core.home then list[#list + 1] = folder .. "/" end
  end
  return list
end

local function files_of(problem, options, made_from)
  local t = problem.definition.kernel_table
  local reference = (t and t.table or problem.definition).reference
  local list = { dir = problem.dir, folders = include_folders(options), seen = {}, elsewhere = 0,
    complete = true }
  add(list, problem.dir .. "/problem.lua")
  add(list, problem.source_path)
  if type(reference) == "table" then reference = reference.source end
  if type(reference) == "string" then add(list, problem.dir .. "/" .. reference) end
  for _, path in ipairs(problem.loaded) do add(list, path) end
  for _, path in ipairs(made_from and (made_from.paths or { made_from.path }) or {}) do
    add(list, path)
  end
  return list
end

--------------------------------------------------------------------------------------------------

-- Options that mean the same to who begins in another folder.
local function from_anywhere(options)
  local list = {}
  for i, option in ipairs(options) do
    local folder = option:match "^%-I([^/].*)$"
    list[i] = folder and ("-I%s/%s"):format(lfs.currentdir(), folder) or option
  end
  return list
end

--- What a problem is now.
---@param problem gilua.problem
---@return Kept
function M.of(problem)
  local t = problem.definition.kernel_table
  local made = t and t.table.made_from or problem.definition.made_from
  local options = problem:compile_options(problem:values())
  local kept = {
    kernel = problem.kernel, source = problem.source, source_path = problem.source_path,
    dir = problem.dir, grammar = problem.grammar, is_ptx = problem.is_ptx, ptx = problem.ptx,
    recorded = problem.definition.recorded ~= nil,
    options = from_anywhere(options),
    made_from = made and { path = made.path, paths = made.paths, template = made.template or {},
      templates = made.templates }, parameters = {},
    launch_values = not problem.is_ptx and problem.grammar:launch_values() or nil,
  }
  for i, p in ipairs(problem.parameters) do
    kept.parameters[i] = { name = p.name, default = p.default, in_source = p.in_source ~= false,
      switch = p.switch == true }
  end
  kept.files = files_of(problem, options, kept.made_from)
  kept.complete = kept.files.complete
  return kept
end

local function listed(file)
  return json.object { { "name", file.name }, { "from", file.from }, { "bytes", #file.text },
    { "sha256", core.system.sha256(file.text) } }
end

-- Arguments of several kernels' templates, by the kernels.
local function templates_value(templates)
  local rows = {}
  for i, name in ipairs(settings.keys(templates)) do
    rows[i] = { name, json.array(templates[name]) }
  end
  return json.object(rows)
end

-- Numbers by parameters, by kernels.
local function launch_value(by_kernel)
  local rows = {}
  for i, kernel in ipairs(settings.keys(by_kernel)) do
    local values = {}
    for k, name in ipairs(settings.keys(by_kernel[kernel])) do
      values[k] = { name, by_kernel[kernel][name] }
    end
    rows[i] = { kernel, json.object(values) }
  end
  return json.object(rows)
end

local function described(kept, files)
  local parameters, made = {}, kept.made_from
  for i, p in ipairs(kept.parameters) do
    parameters[i] = json.object { { "name", p.name }, { "default", p.default },
      { "in_source", p.in_source }, { "switch", p.switch } }
  end
  return json.object {
    { "folder", M.FOLDER }, { "complete", kept.complete },
    { "recorded", kept.recorded }, { "files", json.array(files) },
    { "kernel", kept.kernel }, { "source", kept.source_path },
    { "options", json.array(kept.options) }, { "parameters", json.array(parameters) },
    { "launch_values", kept.launch_values and launch_value(kept.launch_values) },
    { "made_from", made and json.object { { "path", made.path },
      { "paths", made.paths and json.array(made.paths) },
      { "template", json.array(made.template) },
      { "templates", made.templates and templates_value(made.templates) } } },
  }
end

-- All paths of what is kept, as results tell them, or as they are meant: a copy.
local function with_paths(f, kept, dir)
  local new, made = setmetatable({}, { __index = kept }), kept.made_from
  local function each(list, change)
    local changed = {}
    for i, value in ipairs(list) do changed[i] = change(value) end
    return changed
  end
  local function path(text) return f(text, dir) end
  local function from(value)
    return setmetatable({ from = value.from and path(value.from) }, { __index = value })
  end
  new.source_path, new.options = path(kept.source_path), runpath.options(f, kept.options, dir)
  new.files = each(kept.files, from)
  new.made_from = made and setmetatable({ path = path(made.path),
    paths = made.paths and each(made.paths, path) }, { __index = made })
  return new
end

--- Copies what a problem is now into a run's folder.
---@param problem gilua.problem
---@param folder ResultFolder
---@return table value of "kept" in result.json
function M.write(problem, folder)
  local place, files = folder:path(M.FOLDER), {}
  local kept = with_paths(runpath.told, M.of(problem), folder.dir)
  local all = { { name = M.GRAMMAR, text = tostring(kept.grammar) } }
  table.move(kept.files, 1, #kept.files, 2, all)
  if problem.ptx and not problem.is_ptx then
    all[#all + 1] = { name = M.PTX, text = problem.ptx_text }
  end
  for i, file in ipairs(all) do
    local path = ("%s/%s"):format(place, file.name)
    local made, why = textfile.make_folder(path:match "^(.*)/")
    if not made then fail("cannot keep a copy of the problem in %s: %s", path, why) end
    textfile.write(path, file.text)
    files[i] = listed(file)
  end
  return described(kept, files)
end

--------------------------------------------------------------------------------------------------
-- Reading. A run's folder may be a stranger's: nothing of it is believed to have the right form.

local function strings(list)
  if type(list) ~= "table" then return false end
  for _, text in ipairs(list) do
    if type(text) ~= "string" then return false end
  end
  return true
end

-- Lists of strings, by name; or nothing.
local function lists(value)
  for _, list in pairs(type(value) == "table" and value or {}) do
    if not strings(list) then return false end
  end
  return value == nil or type(value) == "table"
end

-- Whole numbers by names, by names; or nothing.
local function whole_numbers(value)
  if value == nil then return true end
  if type(value) ~= "table" then return false end
  for _, by_name in pairs(value) do
    if type(by_name) ~= "table" then return false end
    for _, number in pairs(by_name) do
      if math.type(number) ~= "integer" then return false end
    end
  end
  return true
end

-- Why a value is not what write left; nil where it is.
local function malformed(v)
  if type(v) ~= "table" then return "it has no field 'kept'" end
  if type(v.kernel) ~= "string" or type(v.source) ~= "string" then return "kept names no kernel" end
  if not strings(v.options) then return "kept.options is no list of texts" end
  if type(v.files) ~= "table" or type(v.parameters) ~= "table" then return "kept has no files" end
  local made = v.made_from
  if made ~= nil and (type(made) ~= "table" or type(made.path) ~= "string"
      or not strings(made.template) or not lists(made.templates)
      or made.paths ~= nil and not strings(made.paths)) then
    return "kept.made_from names no file"
  end
  for _, file in ipairs(v.files) do
    if type(file) ~= "table" or type(file.name) ~= "string" or type(file.sha256) ~= "string"
      or file.from ~= nil and type(file.from) ~= "string" then return "kept.files is odd" end
    if file.name:find "^/" or ("/" .. file.name .. "/"):find("/../", 1, true) then
      return "kept.files has a file outside of its folder"
    end
  end
  for _, p in ipairs(v.parameters) do
    if type(p) ~= "table" or type(p.name) ~= "string" then return "kept.parameters is odd" end
  end
  if not whole_numbers(v.launch_values) then return "kept.launch_values is odd" end
end

-- A copy's text, which must be what the list says.
local function copy_of(dir, file)
  local path = ("%s/%s/%s"):format(dir, M.FOLDER, file.name)
  if lfs.attributes(path, "mode") ~= "file" then
    fail("%s is not there any more: the run kept it", path)
  end
  local text = textfile.read(path, "what the run kept")
  if core.system.sha256(text) ~= file.sha256 then
    fail("%s is not what the run kept: its SHA-256 is not the one in result.json", path)
  end
  return text
end

--- What a run kept. Nothing of it is run.
---@param dir string of the run
---@param value any "kept" of its result.json
---@param begun? string folder where the run was begun, from which relative paths go on
---@return Kept
function M.read(dir, value, begun)
  local why = malformed(value)
  if why then
    fail("%s does not tell what was run (%s): run it again", dir .. "/result.json", why)
  end
  local function meant(path) return runpath.meant(path, dir, begun) end
  value = with_paths(meant, setmetatable({ source_path = value.source }, { __index = value }), dir)
  local kept = { kernel = value.kernel, source_path = value.source_path, options = value.options,
    made_from = value.made_from, parameters = value.parameters, files = {},
    dir = value.source_path:match "^(.*)/" or ".",
    is_ptx = value.source:find "%.ptx$" ~= nil, complete = value.complete == true,
    recorded = value.recorded == true }
  local grammar, ptx
  for _, file in ipairs(value.files) do
    local text = copy_of(dir, file)
    if file.name == M.GRAMMAR then grammar = text
    elseif file.name == M.PTX and not file.from then ptx = text
    else kept.files[#kept.files + 1] = { name = file.name, from = file.from, text = text } end
    if file.from == kept.source_path then kept.source = text end
  end
  if not (grammar and kept.source) then fail("%s keeps no kernel: run it again", dir) end
  local unread
  ptx = ptx or kept.is_ptx and kept.source
  kept.grammar, unread = core.grammar.read(grammar)
  if not kept.grammar then fail("%s/%s/%s: %s", dir, M.FOLDER, M.GRAMMAR, unread) end
  local given = value.launch_values
  kept.grammar = transforming.of(kept.grammar,
    { kernel = not kept.is_ptx and kept.kernel or nil, recorded = kept.recorded,
      values = given and function(fn) return given[fn.name] or {} end })
  if ptx then kept.ptx, unread = core.ptx.open(ptx) end
  if ptx and not kept.ptx then fail("%s/%s/%s: %s", dir, M.FOLDER, M.PTX, unread) end
  return kept
end

--- Files that are not what they were when they were kept, by name.
---@param kept Kept
---@return string[]
function M.changed(kept)
  local list = {}
  for _, file in ipairs(kept.files) do
    local now = file.from and lfs.attributes(file.from, "mode") == "file"
      and textfile.read(file.from, "a file")
    if now ~= file.text then list[#list + 1] = file.from or file.name end
  end
  return list
end

return M
