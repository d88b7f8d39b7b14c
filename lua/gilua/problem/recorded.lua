--- recorded: a problem made of a whole program: a table, and recordings of its runs (`gilua
--- record`). The case is everything that the program asked of its GPU, from its first call to its
--- last; the answers are the pieces that it copied out, each in its turn; sizes, launches and data
--- are the recorded ones. `gilua new APP.rec` writes such a table (fields: docs/recording.md), and
--- gilua.farm's replayer runs it.

local attempt = require "gilua.base.attempt"
local compilers = require "gilua.problem.compilers"
local core = require "gilua.core"
local fail = require "gilua.base.fail"
local launches = require "gilua.transform.launch"
local recording = require "gilua.problem.recording"
local runpath = require "gilua.base.runpath"
local settings = require "gilua.base.settings"
local streams = require "gilua.problem.streams"
local types = require "gilua.facts.types"

local M = {}

--- What recordings are for, in the order in which `gilua new` takes them; of no order are those for
--- the checked run alone, the small case.
M.USES = { "train", "validate", "unseen", "small" }

local FIELDS = {
  recordings = "table", source = "string", kernels = "table", answers = "table", name = "string",
  title = "string", tolerance = "table", include = "table", options = "table", defines = "table",
  grammar = "table", made_from = "table", tune_params = "table",
  check_races = "string", benign_races = "string", draw = "number",
  launches = "string",
}
local LAUNCHES = { stream = true, graph = true }
local USUAL_DRAW = 2 -- recordings of a generation's case, where there are as many to train on
local NEEDED = { "recordings", "source", "kernels" }
local ANSWER = { name = "string", kernel = "string", at = "number", variable = "string",
  type = "string", max_error = "number", rel_error = "number" }
local TYPES = {}
for name in ("i8 u8 i16 u16 i32 u32 i64 u64 f32 f64 f16 bf16 e4m3 e5m2"):gmatch "%S+" do
  TYPES[name] = true
end
local EXACT = "u8" -- what nothing is said of is compared byte by byte

--- Is this table one of these?
---@param def any
---@return boolean
function M.is(def)
  return type(def) == "table" and def.recordings ~= nil and def.launch == nil
end

--------------------------------------------------------------------------------------------------
-- What the table says

local function check_fields(given, fields, where)
  if type(given) ~= "table" then fail("%s must be a table", where) end
  for field, value in pairs(given) do
    local kind = fields[field]
    if not kind then
      fail("%s: unknown field '%s'%s", where, tostring(field), settings.meant(field, fields))
    elseif type(value) ~= kind then
      fail("%s: %s must be a %s, not %s", where, field, kind, settings.shown(value))
    end
  end
end

local function check(t, path)
  check_fields(t, FIELDS, path)
  for _, field in ipairs(NEEDED) do
    if t[field] == nil then fail("%s: the field '%s' is missing", path, field) end
  end
  if next(t.kernels) == nil then fail("%s: kernels names none", path) end
  for name, entry in pairs(t.kernels) do
    if type(name) ~= "string" or type(entry) ~= "string" then
      fail("%s: kernels is { name in the source = \"name in the recording\" }", path)
    end
  end
  for i, answer in ipairs(t.answers or {}) do
    check_fields(answer, ANSWER, ("%s: answers %d"):format(path, i))
    if not answer.type then fail("%s: answers %d has no type", path, i) end
    if not TYPES[answer.type] then
      fail("%s: answers %d: '%s' is no element type%s", path, i, answer.type,
        settings.meant(answer.type, TYPES))
    end
  end
  for _, field in ipairs { "include", "options", "defines" } do
    for i, value in ipairs(t[field] or {}) do
      if type(value) ~= "string" then
        fail("%s: %s %d must be a string, not %s", path, field, i, settings.shown(value))
      end
    end
  end
  if t.draw and (t.draw < 1 or t.draw % 1 ~= 0) then
    fail("%s: draw is how many recordings a generation has, a whole number from 1, not %s", path,
      settings.shown(t.draw))
  end
  if t.launches and not LAUNCHES[t.launches] then
    fail("%s: launches is \"stream\" or \"graph\", not %s%s", path, settings.shown(t.launches),
      settings.meant(t.launches, LAUNCHES))
  end
  for field, value in pairs(t.tolerance or {}) do
    if type(value) ~= "number" then
      fail("%s: tolerance.%s must be a number, not %s", path, tostring(field),
        settings.shown(value))
    end
  end
end

-- What may be tuned of a recording: launches are as they were, so that it is who compiles, and how
-- exactly; and on how many streams they go.
local TUNED = { compiler = true, passes = true, math = true, ptxas = true, streams = true }

-- Of the launches, not of a compiler.
local function streams_of(values, where)
  for i, value in ipairs(values) do
    if math.type(value) ~= "integer" or value < 1 or value > streams.MOST then
      fail("%s %d must be a whole number from 1 to %d, not %s", where, i, streams.MOST,
        settings.shown(value))
    end
  end
  return { name = streams.PARAMETER, default = values[1], values = values, in_source = false,
    doc = "launches that do not depend on each other need not wait for each other" }
end

-- Of who compiles.
local function words_of(name, values, where)
  for i, value in ipairs(values) do
    if type(value) ~= "string" or value == "" or value:find "%s" then
      fail("%s %d must be a word, not %s", where, i, settings.shown(value))
    end
  end
  return { name = name, default = values[1], values = values, in_source = false,
    told = compilers.is_told(name, values, where) }
end

local function parameters_of(t, path)
  local list = {}
  for _, name in ipairs(settings.keys(t.tune_params or {})) do
    local values, where = t.tune_params[name], ("%s: tune_params.%s"):format(path, tostring(name))
    if not TUNED[name] then
      fail("%s: launches are those of the recording, so that only compiler, passes, math, ptxas "
        .. "and streams are tuned", where)
    elseif t.source:find "%.ptx$" then
      fail("%s: %s is no source, and genes of PTX alone set nothing", where, t.source)
    elseif type(values) ~= "table" or #values == 0 then
      fail("%s must be a list of values", where)
    end
    list[#list + 1] = name == streams.PARAMETER and streams_of(values, where)
      or words_of(name, values, where)
  end
  return list
end

-- Paths of the recordings by what they are for: lists.
local function paths_of(t, dir, path)
  local paths, of = {}, {}
  for _, use in ipairs(M.USES) do of[use] = true end
  for use in pairs(t.recordings) do
    if not of[use] then
      fail("%s: recordings.%s: recordings are for %s%s", path, tostring(use),
        table.concat(M.USES, ", "), settings.meant(use, of))
    end
  end
  for _, use in ipairs(M.USES) do
    local given = t.recordings[use] or {}
    paths[use] = {}
    for i, name in ipairs(type(given) == "table" and given or { given }) do
      if type(name) ~= "string" then fail("%s: recordings.%s must name files", path, use) end
      paths[use][i] = name:find "^/" and name or dir .. "/" .. name
    end
  end
  if #paths.train == 0 then fail("%s: recordings.train names no recording", path) end
  return paths
end

-- By what a piece of the answers is looked up.
local function key_of(answer)
  if answer.variable then return "variable " .. answer.variable end
  return answer.kernel and ("%s %d"):format(answer.kernel, answer.at or 0) or nil
end

local function tolerance_of(t)
  local given = t.tolerance or {}
  local filled = { max_error = given.max_error or 0, rel_error = given.rel_error, outputs = {},
    wrong_above = given.wrong_above, parent_penalty = given.parent_penalty }
  for i, a in ipairs(t.answers or {}) do
    local own = a.max_error or a.rel_error
    filled.outputs[i] = { name = a.name or key_of(a), max_error = own and a.max_error or
      not own and filled.max_error or nil, rel_error = own and a.rel_error or
      not own and filled.rel_error or nil }
  end
  if #filled.outputs == 0 then filled.outputs = nil end
  return filled
end

--------------------------------------------------------------------------------------------------

---@class gilua.recorded
---@field table table of problem.lua
---@field entries table<string, string> kernels: the recording's names by those of the source
---@field paths table<string, string[]> of recordings, by what they are for
local Recorded = {}
Recorded.__index = Recorded

--- The spec of a case: one recording of those to train on.
---@param seed integer
---@return table
function Recorded:spec(seed)
  local list = self.paths.train
  return { recording = list[seed % #list + 1] }
end

-- The spec of what runs with every check on.
local function checked_spec(self)
  return self:specs "small"[1] or self:spec(0)
end

-- One recording alone, or several, on which a mutant is as good as on the worst.
local function spec_of(list)
  if #list == 1 then return { recording = list[1] } end
  return { recordings = list }
end

--- The spec of a generation's case: as many of those to train on as the table's `draw` says, in an
--- order drawn with them.
---@param rng table
---@return table
function Recorded:drawn(rng)
  local left, list = table.move(self.paths.train, 1, #self.paths.train, 1, {}), {}
  for i = 1, math.min(self.table.draw or USUAL_DRAW, #left) do
    list[i] = table.remove(left, rng:int(#left))
  end
  return spec_of(list)
end

--- The spec of all recordings for some use together; nil where there is none.
---@param use string
---@return table?
function Recorded:together(use)
  local list = self.paths[use]
  return #list > 0 and spec_of(list) or nil
end

--- Specs of the recordings for some use.
---@param use string
---@return table[]
function Recorded:specs(use)
  local list = {}
  for i, path in ipairs(self.paths[use]) do list[i] = { recording = path } end
  return list
end

--- What a recording is for, with its file's name.
---@param path string
---@return string
function Recorded:name_of(path)
  for _, use in ipairs(M.USES) do
    for _, known in ipairs(self.paths[use]) do
      if known == path then return ("%s (%s)"):format(path:match "[^/]*$", use) end
    end
  end
  return (path:match "[^/]*$")
end

--- The kernels that evolve, by the recording's names.
---@return table<string, boolean>
function Recorded:kernels()
  local set = {}
  for _, entry in pairs(self.entries) do set[entry] = true end
  return set
end

-- The shapes in which a recording launches kernels, each once: { { entry, grid, block }, … }.
local function shapes_in(path)
  local r, list, seen = recording.open(path), {}, {}
  for _, event in ipairs(r.events) do
    local key = event[1] == "launch" and table.concat(event, " ", 3, 5)
    if key and not seen[key] then
      seen[key] = true
      list[#list + 1] = { entry = event[3], grid = launches.sides(event[4]),
        block = launches.sides(event[5]) }
    end
  end
  r.file:close()
  return list
end

local function check_shapes(shapes, words)
  for _, shape in ipairs(shapes) do
    local own = words[shape.entry]
    if own and own ~= "" then
      launches.changed({ grid = shape.grid, block = shape.block }, own)
    end
  end
end

-- Why not all launches of all recordings can be what a text makes of them; false: they can.
local function refusal_of(self, text)
  local words = {}
  for name, entry in pairs(self.entries) do words[entry] = launches.of(text, name) end
  for _, use in ipairs(M.USES) do
    for _, path in ipairs(self.paths[use]) do
      self.shapes[path] = self.shapes[path] or shapes_in(path)
      local fits, why = attempt(check_shapes, self.shapes[path], words)
      if not fits then return ("%s, in %s"):format(why, self:name_of(path)) end
    end
  end
  return false
end

--- Can all launches of all recordings be what transformations make of them? One that wants a whole
--- number of blocks keeps what the program means in the sizes that have it, not in others.
---@param text string? words of gilua.launch
---@return string? why not
function Recorded:refuses(text)
  if not text then return nil end
  if self.refusals[text] == nil then self.refusals[text] = refusal_of(self, text) end
  return self.refusals[text] or nil
end

--- What the table says of each piece that the host gets.
---@param r gilua.recording
---@return { blob: string, name: string, type: string, max_error?: number, rel_error?: number }[]
function Recorded:answers(r)
  local list = {}
  for i, read in ipairs(r:reads(self:kernels())) do
    local row = self.rows[key_of(read)] or {}
    list[i] = { blob = read.blob, name = row.name, type = row.type or EXACT,
      max_error = row.max_error, rel_error = row.rel_error }
  end
  return list
end

function Recorded:options(values)
  local list, t = { "-I" .. self.dir }, self.table
  if t.source:find "%.ptx$" then return {} end
  for _, folder in ipairs(t.include or {}) do
    list[#list + 1] = "-I" .. (folder:find "^/" and folder or self.dir .. "/" .. folder)
  end
  list[#list + 1] = "-I" .. core.home .. "/lua/gilua/include"
  for _, define in ipairs(t.defines or {}) do list[#list + 1] = "-D" .. define end
  for _, option in ipairs(t.options or {}) do list[#list + 1] = option end
  return compilers.tell(self.parameters, values, list)
end

--- On which streams the kernels go, in words: of the first recording to train on in which some need
--- not wait.
---@param n integer streams
---@return string[]
function Recorded:stream_words(n)
  local names, plan = {}, nil
  for name, entry in pairs(self.entries) do names[entry] = name end
  for _, path in ipairs(self.paths.train) do
    local r <close> = recording.open(path)
    if not plan or not plan.is_several then plan = streams.plan(r, n) end
  end
  return streams.words(plan, names)
end

local function case_of(self, spec)
  if type(spec) ~= "table" or type(spec.recording) ~= "string" then
    fail("%s: a case is { recording = PATH }", self.path)
  end
  local r <close> = recording.open(spec.recording)
  local bytes = 0
  for _, read in ipairs(r:reads(self:kernels())) do
    bytes = bytes + (r.file:size(read.blob) or 0)
  end
  if bytes == 0 then
    fail("%s copies nothing out, so that there are no answers to check", spec.recording)
  end
  return { name = self:name_of(spec.recording), answers = bytes, recording = spec.recording }
end

-- Bytes of a kernel's arguments that are the same in all of its launches: those of the first, and
-- where another has others.
local function compare_arguments(self, entry, hex)
  local known = self.given[entry]
  if not known then
    self.given[entry] = { first = hex, differs = {}, block = { x = 1, y = 1 } }
  elseif hex ~= known.first then
    for at = 1, #known.first do
      if hex:byte(at) ~= known.first:byte(at) then known.differs[(at + 1) // 2] = true end
    end
  end
end

local FORMATS = {}
for format, names in pairs {
  i1 = "char,int8_t,signed char,bool", I1 = "unsigned char,uchar,uint8_t", i2 = "short,int16_t",
  I2 = "unsigned short,ushort,uint16_t", i4 = "int,float", I4 = "unsigned int",
  i8 = "long,long long,double", I8 = "unsigned long,unsigned long long",
} do
  for type in names:gmatch "[^,]+" do FORMATS[type] = format end
end
local FRACTIONS = { float = true, double = true }

-- The kernel that evolves and whose launch stands behind each of another's; how many bytes the
-- arguments of the first one are. nil where there is none.
local function follower(self, name)
  local found = self.behind[self.entries[name] or ""]
  for other, entry in pairs(self.entries) do
    if found and entry == found.other then return other, found.bytes end
  end
end

-- The whole numbers that all launches of a kernel are given, by parameter; the longest sides of
-- their blocks as "blockDim.x"; as "before.b" how many bytes its arguments are, where a launch of b
-- in the same shape stands right behind each.
local function values_of(self, fn)
  local given, values, at = self.given[self.entries[fn.name] or ""], {}, 1
  local bytes = given and given.first:gsub("%x%x", function(hex)
    return string.char(tonumber(hex, 16))
  end)
  for _, p in ipairs(given and fn.params or {}) do
    local is_pointer = p.pointer > 0 or p.reference or #p.extents > 0
    local format = is_pointer and "I8" or FORMATS[types.plain(p.type)]
    local size = format and string.packsize(format)
    if not format then break end -- how long it is, is not known
    at = (at + size - 2) // size * size + 1
    if at + size - 1 > #bytes then break end
    local same = not is_pointer and not FRACTIONS[p.type]
    for i = at, at + size - 1 do same = same and not given.differs[i] end
    if same then values[p.name] = string.unpack("<" .. format, bytes, at) end
    at = at + size
  end
  for side, most in pairs(given and given.block or {}) do values["blockDim." .. side] = most end
  local other, length = follower(self, fn.name)
  if other then values["before." .. other] = length end
  return values
end

-- Notes the launch that each launch of a kernel has right behind it, of the same shape, in all
-- recordings: { other, bytes } by the recording's names; false where one has none, or another one.
local function note_behind(self, events, i)
  local entry, other = events[i][3], recording.follower(events, i)
  local known = self.behind[entry]
  if not other or known and known.other ~= other then
    self.behind[entry] = false
  elseif known == nil then
    self.behind[entry] = { other = other, bytes = #(events[i][9] or "") // 2 }
  end
end

-- The most threads that a launch of a kernel has: what __launch_bounds__ may promise. What all
-- launches are given, and what stands behind them, is noted besides.
local function most_threads(self)
  local most, entries = 1, self:kernels()
  for _, use in ipairs(M.USES) do
    for _, path in ipairs(self.paths[use]) do
      local r <close> = recording.open(path)
      for i, event in ipairs(r.events) do
        if event[1] == "launch" and entries[event[3]] then
          note_behind(self, r.events, i)
          local x, y, z = event[5]:match "(%w+),(%w+),(%w+)"
          most = math.max(most, tonumber(x) * tonumber(y) * tonumber(z))
          compare_arguments(self, event[3], event[9] or "")
          local block = self.given[event[3]].block
          block.x, block.y = math.max(block.x, tonumber(x)), math.max(block.y, tonumber(y))
        end
      end
    end
  end
  return math.tointeger(most) or 0
end

--- What gi.problem takes, made of a table.
---@param t table
---@param dir string
---@return table
function M.definition(t, dir)
  local path = dir .. "/problem.lua"
  check(t, path)
  t = runpath.of_problem(t, dir)
  local parameters = parameters_of(t, path)
  local self = setmetatable({ table = t, dir = dir, path = path, entries = t.kernels, shapes = {},
    refusals = {}, paths = paths_of(t, dir, path), rows = {}, given = {}, behind = {},
    parameters = parameters }, Recorded)
  for _, answer in ipairs(t.answers or {}) do
    local key = key_of(answer)
    if key then self.rows[key] = answer end
  end
  local grammar = { open_loops = true, initialisers = true, skip_idle = true,
    launch_bounds_threads = tostring(most_threads(self)) }
  for key, value in pairs(t.grammar or {}) do grammar[key] = value end
  return {
    name = t.name or dir:match "([^/]+)/*$", title = t.title, source = t.source,
    kernel = table.concat(settings.keys(t.kernels), ","), parameters = parameters,
    tolerance = tolerance_of(t), grammar = grammar, recorded = self, made_from = t.made_from,
    check_races = t.check_races, benign_races = t.benign_races, checked_case = checked_spec(self),
    compile = function(values) return self:options(values) end,
    values_of = function(fn) return values_of(self, fn) end,
    case = function(_, spec) return case_of(self, spec) end,
    launch = function() fail("%s: launches are those of its recording", path) end,
  }
end

return M
