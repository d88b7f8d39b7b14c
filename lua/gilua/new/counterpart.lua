-- counterpart: a kernel of another file that is to do what a problem's kernel does: its source, its
-- launch and which of its arguments is which of the problem's (gilua.matching).
--
-- The new file is read as `gilua new` reads one (gilua.reading). For every size of a case its grid,
-- block, shared memory and numbers are worked out from its own host code, with the problem's values
-- in the place of the names that stand for them. What cannot be worked out so is asked of the
-- person (--map NAME=EXPRESSION), never assumed.

local core = require "gilua.core"
local csource = require "gilua.source.csource"
local expression = require "gilua.problem.expression"
local fail = require "gilua.base.fail"
local hostcode = require "gilua.host.hostcode"
local matching = require "gilua.new.matching"
local otherlaunch = require "gilua.problem.otherlaunch"
local parts = require "gilua.new.parts"
local reading = require "gilua.new.reading"
local report = require "gilua.report.report"
local tablecase = require "gilua.problem.tablecase"
local usage = require "gilua.new.usage"

local M = {}

local LAUNCH = { "grid", "block", "shared" }
local SIDES = { "x", "y", "z" }
local MOST_THREADS = 1024
local MOST_STEPS = 4 -- from a pointer to what it was cast from

---@class Counterpart
---@field problem gilua.problem
---@field path string of the new file
---@field kernel string
---@field read Reading
---@field found table<integer, Match>
---@field bound table<string, integer> names of the new host code -> place of the problem's argument
---@field texts { grid?: string, block?: string, shared?: string, args: string[] }
---@field given table<string, string> of --map
---@field judged Judged
---@field source string by hand, as the farm takes it
---@field params { judged: Judged }
---@field fixed? string why the launch does not follow another size
local Counterpart = {}
Counterpart.__index = Counterpart

--------------------------------------------------------------------------------------------------
-- The two kernels

-- Parameters of the problem's kernel, with what its own host's launch gives them.
local function olds_of(problem)
  local t, list = problem.definition.kernel_table.table, {}
  for i, arg in ipairs(t.args) do
    list[i] = { name = arg.name, type = arg.type, is_array = arg.count ~= nil, role = arg.role }
  end
  if not t.made_from then return list end
  local found = parts.of(t.made_from.path, t.kernel)
  local text = found.host and found.host.text or found.text
  local host = hostcode.read(text, parts.headers(found, t.include or {}), t.defines)
  local launch = host:launch(t.kernel)
  for i, one in ipairs(launch and #launch.args == #list and list or {}) do
    one.text = launch.args[i]
  end
  return list
end

-- The pointer that another one is, by another type: `float4 *x4 = reinterpret_cast<float4 *>(x);`
local function pointer_in(host, text)
  for _ = 1, MOST_STEPS do
    local given = text and host.definitions[text] or text or ""
    local inner = given:match "^%s*[%a_]+_cast%s*<[^<>]*>%s*%(%s*([%a_][%w_]*)%s*%)%s*$"
      or given:match "^%s*%([^()]*%*%s*%)%s*%(?%s*([%a_][%w_]*)%s*%)?%s*$"
    if not inner then return text end
    text = inner
  end
  return text
end

local function news_of(read)
  local list = {}
  for i, p in ipairs(read.params) do
    local text = read.launch and read.launch.args[i]
    if p.pointer then text = pointer_in(read.host, text) end
    list[i] = { name = p.name, is_array = p.pointer, text = text,
      type = p.half and "u16" or p.type or "struct" }
  end
  return list
end

local function names_of(list)
  local names = {}
  for i, one in ipairs(list) do names[i] = one.name end
  return table.concat(names, ", ")
end

--------------------------------------------------------------------------------------------------
-- Names of the new host code

local function is_name(text) return text ~= nil and text:find "^[%a_][%w_]*$" ~= nil end

-- Names that stand for an argument of the problem: those that its parameters or its own host
-- have, unless the new file gives such a name another value.
local function bind_names(self, olds, values)
  local host = self.read.host
  for i, old in ipairs(olds) do
    for _, name in ipairs { old.name, is_name(old.text) and old.text or nil } do
      local own = not old.is_array and host:value(name)
      local is_other = own and own ~= values[old.name]
      if not old.is_array and not self.bound[name] and not is_other then self.bound[name] = i end
    end
  end
end

-- A name of the host that the launch gives a matched parameter stands for the same argument; of an
-- expression (`x.numel()`) its words do.
local function bind_matched(self, olds)
  for i, match in pairs(self.found) do
    local text, old = self.texts.args[i], olds[match.old]
    if text and not old.is_array and is_name(text) then
      self.bound[text] = match.old
    elseif text and not old.is_array and not self.read.host:value(text) then
      self.bound[matching.squeezed(text)] = match.old
    end
  end
end

-- Numbers that the launch makes of names that are bound, `n / 4`: what is worked out holds, and not
-- the argument of the problem that has the parameter's name.
local function leave_to_host(self)
  for i, match in pairs(self.found) do
    local p, text = self.read.params[i], self.texts.args[i]
    local is_own = text and not p.pointer and not p.struct and not is_name(text)
    if is_own and not text:find "^%d" and match.how ~= "as --map says" then
      self.host_values[i] = match
    end
  end
end

-- A text without blanks, where each bound expression became a name of its own.
local function with_bound(self, text)
  local plain = text and matching.squeezed(text)
  for name in pairs(plain and self.bound or {}) do
    if not is_name(name) then
      local from, to = plain:find(name, 1, true)
      while from do
        local stand_in = "gilua_" .. core.system.hash(name)
        plain = plain:sub(1, from - 1) .. stand_in .. plain:sub(to + 1)
        from, to = plain:find(name, from + #stand_in, true)
      end
    end
  end
  return plain ~= matching.squeezed(text) and plain or text
end

-- Does its work with the problem's values in the place of the host's names.
local function among(self, values, work)
  local host, assumed = self.read.host, {}
  for name, i in pairs(self.bound) do
    local key = is_name(name) and name or "gilua_" .. core.system.hash(name)
    assumed[key] = math.tointeger(values[self.olds[i].name]) or values[self.olds[i].name]
  end
  for name, text in pairs(self.given) do
    if is_name(name) then assumed[name] = expression.number(text, values, "--map " .. name) end
  end
  local own, known = host.assumed, host.known
  host.assumed, host.known = assumed, {}
  local definitions = host.definitions
  host.definitions = setmetatable({}, { __index = function(_, name)
    return with_bound(self, definitions[name])
  end })
  local function restore() host.assumed, host.known, host.definitions = own, known, definitions end
  local results = table.pack(pcall(work, host))
  restore()
  if not results[1] then error(results[2], 0) end
  return table.unpack(results, 2, results.n)
end

--------------------------------------------------------------------------------------------------
-- Launches

local function unknown(self, what, text)
  fail("%s of the launch in %s (%s) is made of %s, whose counterpart in the problem's %s is "
    .. "unknown: say it, --map NAME=EXPRESSION", what, self.path, self.read.launch.place, text,
    names_of(self.olds))
end

-- Three sides as --map gives them, `grid=…` or `grid_x=…`; nil where it says nothing.
local function sides_given(self, what, values)
  local first = self.given[what .. "_x"] or self.given[what]
  if not first then return nil end
  local sides = {}
  for d, name in ipairs(SIDES) do
    local text = d == 1 and first or self.given[what .. "_" .. name] or "1"
    sides[d] = expression.whole(text, values, "--map " .. what)
  end
  return sides
end

local function sides_of(self, host, what, values)
  local given = sides_given(self, what, values)
  if given then return given end
  local text, xyz = self.texts[what], { 1, 1, 1 }
  for d, part in ipairs(host:sides(with_bound(self, text))) do
    local value = host:value(part) or unknown(self, "the " .. what, text)
    xyz[d] = math.tointeger(value) or math.ceil(value)
  end
  return xyz
end

-- A number of the parameter's type.
local function as_type(value, p)
  if p.type:find "^f" then return value + 0.0 end
  return math.tointeger(value) or math.tointeger(value // 1)
end

local function scalar_of(self, host, i, values)
  local p, match, text = self.read.params[i], self.found[i], self.texts.args[i]
  local given = self.given[p.name]
  if given and not (match and match.how == "as --map says") then
    return as_type(expression.number(given, values, "--map " .. p.name), p)
  end
  local own = self.host_values[i] and host:value(with_bound(self, text))
  if own then return as_type(own, p) end
  if match then return as_type(values[self.olds[match.old].name], p) end
  own = text and host:value(with_bound(self, text))
  return own and as_type(own, p) or nil
end

local function dynamic_shared(self, host, values)
  if self.given.shared then return expression.whole(self.given.shared, values, "--map shared") end
  local text = self.texts.shared
  if not text or text == "" then return 0 end
  return host:value(with_bound(self, text)) or unknown(self, "the shared memory", text)
end

-- The launch of the problem's own kernel, where the new file has none.
local function as_the_old(self, size, values)
  local launch = self.problem.definition.launch({ size = size, values = values.given, arrays = {},
    structs = {}, constants = {} }, self.problem:values())
  return launch.grid, launch.block, launch.shared or 0
end

--- Works out the launch for a size, and other values of scalars.
---@param size integer[]
---@param given? table<string, integer>
---@return JudgedLaunch
function Counterpart:launch_at(size, given)
  local self_table = self.problem.definition.kernel_table
  local values = tablecase.names(self_table, size, self.problem:values(), given)
  return among(self, values, function(host)
    local one = { scalars = {} }
    if self.texts.grid then
      one.grid, one.block = sides_of(self, host, "grid", values), sides_of(self, host, "block",
        values)
      one.shared = dynamic_shared(self, host, values)
    else
      values.given = given
      one.grid, one.block, one.shared = as_the_old(self, size, values)
    end
    for i, arg in ipairs(self.judged.args) do
      if not arg.from then one.scalars[i] = scalar_of(self, host, i, values) end
    end
    return one
  end)
end

--- Its launch at the problem's own size.
---@return JudgedLaunch
function Counterpart:own_launch()
  return self:launch_at(tablecase.sizes(self.problem.definition.kernel_table.table.size))
end

--- The sides of its block there.
---@return integer[]
function Counterpart:block() return self:own_launch().block end

--- Makes the launches of some cases known to the workers.
---@param specs table[] of cases
function Counterpart:reach(specs)
  for _, spec in ipairs(specs) do
    local size = tablecase.sizes(spec.size or self.problem.definition.kernel_table.table.size)
    local key = otherlaunch.key(size, spec.values)
    if not self.judged.launches[key] then
      self.judged.launches[key] = self:launch_at(size, spec.values)
    end
  end
end

-- Is a launch another than one before?
local function differs(one, other)
  for d = 1, 3 do
    if one.grid[d] ~= other.grid[d] or one.block[d] ~= other.block[d] then return true end
  end
  for i, value in pairs(one.scalars) do
    if other.scalars[i] ~= value then return true end
  end
  return one.shared ~= other.shared
end

--- Is the problem's small case of a size that the kernel is not run at?
---@return boolean
function Counterpart:avoids_small()
  local own = tablecase.sizes(self.problem.definition.kernel_table.table.size)
  local small = tablecase.sizes(self.problem.checked_case.size)
  local is_other = otherlaunch.key(own) ~= otherlaunch.key(small)
  return is_other and (self.own_size or not differs(self:launch_at(small), self:launch_at(own)))
end

-- Is one of the problem's numbers, by name, given to the kernel as it is?
local function is_given(self, values)
  for i in ipairs(self.read.params) do
    local match = self.found[i]
    if match and values[self.olds[match.old].name] then return true end
  end
  return false
end

--- Why the kernel is not run on a case of another size or number; nil where it is.
---@param spec { size: integer[], values?: table<string, integer> }
---@return string?
function Counterpart:avoids(spec)
  local own = tablecase.sizes(self.problem.definition.kernel_table.table.size)
  local size = tablecase.sizes(spec.size or own)
  if otherlaunch.key(size, spec.values) == otherlaunch.key(own) then return nil end
  if self.own_size then return "not run: --own-size" end
  if otherlaunch.key(size) == otherlaunch.key(own) and is_given(self, spec.values) then
    return nil
  end
  if differs(self:launch_at(size, spec.values), self:launch_at(own)) then return nil end
  return ("not run: the launch in %s is the same for every size"):format(self.path)
end

--------------------------------------------------------------------------------------------------
-- What is refused

-- Every array has to be one of the problem's; every number a value.
local function check_arguments(self)
  local launch = self:own_launch()
  for i, p in ipairs(self.read.params) do
    local is_known = self.judged.args[i].from or launch.scalars[i]
    if not is_known then
      fail("%s of %s, kernel %s, matches none of %s's %s by its name, its type (%s) and its "
        .. "launch: say which, --map %s=NAME", p.name, self.path, self.kernel,
        self.problem.kernel, names_of(self.olds),
        matching.kind(news_of(self.read)[i]), p.name)
    end
  end
end

local function check_outputs(self)
  local has = {}
  for _, match in pairs(self.found) do has[match.old] = true end
  for i, old in ipairs(self.olds) do
    local is_output = old.role == "out" or old.role == "inout"
    if is_output and not has[i] then
      fail("%s of %s writes no %s, which %s writes: say which of its %s is that, --map NAME=%s",
        self.kernel, self.path, old.name, self.problem.kernel,
        names_of(self.read.params), old.name)
    end
  end
end

-- Variables that the host fills and the problem knows nothing of.
local function check_constants(self)
  local known = self.problem.definition.kernel_table.table.constants or {}
  for _, one in ipairs(self.read.host:constants()) do
    local is_used = self.read.sliced.source:find("%f[%w_]" .. one.name .. "%f[^%w_]")
    local is_filled = is_used and not known[one.name]
      and not self.read.sliced.source:find(one.name .. "[%s%w_%[%]]*=")
    if is_filled then
      fail("%s reads the __constant__ variable %s, which its host fills and %s has not: nothing "
        .. "says what is in it", self.kernel, one.name, self.problem.kernel)
    end
  end
end

--- Names of --map that neither the new kernel nor its host has.
local function check_given(self)
  for name in pairs(self.given) do
    local is_launch = name:match "^(%a+)_?[xyz]?$"
    local known = is_launch == "grid" or is_launch == "block" or name == "shared"
    for _, p in ipairs(self.read.params) do known = known or p.name == name end
    local text = self.read.host.files[1] and self.read.host.files[1].t
    if not known and not (text and text:find(1, name)) then
      fail("--map %s=%s: %s has no such parameter or variable; the parameters of %s are %s", name,
        self.given[name], self.path, self.kernel, names_of(self.read.params))
    end
  end
end

--------------------------------------------------------------------------------------------------
-- The source

-- The new kernel under the problem's name, its lines as they are in its file.
local function source_of(self)
  local rename = self.kernel ~= self.problem.kernel
    and ("#define %s %s\n"):format(self.kernel, self.problem.kernel) or ""
  return ("%s#line 1\n%s"):format(rename, self.read.sliced.whole)
end

local ZEROED = { -- NAME is the variable
  "%f[%w_]cuda[mM]emset%w*%s*%(%s*%(?[%w_%s*]*%)?%s*NAME%f[^%w_][^,]*,%s*0%s*,",
  "%f[%w_]NAME%s*=%s*[%w_:]*zeros[%w_]*%s*%(", "%f[%w_]NAME%s*%.%s*zero_%s*%(",
  "%f[%w_]NAME%s*%.%s*fill_%s*%(%s*0%.?0?f?%s*%)" }

-- Does the new host set an array to zero before it launches?
local function is_zeroed(self, i)
  local name = (self.texts.args[i] or ""):match "^[&%s]*([%a_][%w_]*)"
  for _, code in ipairs(name and self.read.host.files or {}) do
    local text = code.t:text(1, #code.t)
    for _, pattern in ipairs(ZEROED) do
      if text:find((pattern:gsub("NAME", name))) then return true end
    end
  end
  return false
end

-- An output of the problem that the new kernel may also read gets what the new host gives it.
local function begins_with_zeros(self, i)
  local p, old = self.read.params[i], self.olds[self.found[i].old]
  return old.role == "out" and usage.role(self.read.body, p.name) == "inout" and is_zeroed(self, i)
end

local function arguments_of(self)
  local list = {}
  for i, p in ipairs(self.read.params) do
    local match = self.found[i]
    local by_memory = match and (p.pointer or p.struct or not p.type)
    list[i] = by_memory and { from = match.old, zeroed = begins_with_zeros(self, i) or nil }
      or { type = p.type }
  end
  return list
end

-- What a text of --map says: NAME=TEXT, several with commas between.
local function given_of(text)
  local given = {}
  for _, word in ipairs(csource.split(text or "")) do
    local name, value = word:match "^%s*([%a_][%w_]*)%s*=%s*(.-)%s*$"
    if not name or value == "" then
      fail("--map %s: write NAME=ARGUMENT or NAME=EXPRESSION, several with commas between", word)
    end
    given[name] = value
  end
  return given
end

local function read_of(path, folder, o, old)
  local found = parts.of(path, o.new_kernel)
  local item = parts.kernel(found, path, o.new_kernel, old)
  return reading.of(found, item, folder, { include = o.include, define = o.define,
    template = o["new-template"] })
end

-- What the launch says, in the words of the first function that calls its own.
local function texts_of(read)
  local launch, texts = read.launch, { args = {} }
  if not launch then return texts end
  for _, field in ipairs(LAUNCH) do texts[field] = launch[field] end
  for i, text in ipairs(launch.args) do texts.args[i] = text end
  return texts
end

local function check_block(self)
  local block = self:block()
  local threads = block[1] * block[2] * block[3]
  if threads > MOST_THREADS then
    fail("%s launches %s with %d threads in a block, and a block has at most %d", self.path,
      self.kernel, threads, MOST_THREADS)
  end
end

--- Reads the new file and finds out how its kernel is launched on the problem's cases.
---@param problem gilua.problem of a kernel table
---@param path string the new file
---@param folder string for its source and copies of its headers
---@param o { new_kernel?: string, map?: string, include?: string, define?: string,
---  ["new-template"]?: string }
---@return Counterpart
function M.of(problem, path, folder, o)
  local made, why = report.make_folder(folder)
  if not made then fail("cannot make the folder %s: %s", folder, why) end
  local read = read_of(path, folder, o, problem.kernel)
  local self = setmetatable({ problem = problem, path = path, kernel = read.kernel, read = read,
    olds = olds_of(problem), texts = texts_of(read), given = given_of(o.map), bound = {},
    host_values = {} }, Counterpart)
  read.host.assumed, read.host.known = {}, {}
  check_given(self)
  local found, disagree = matching.of(self.olds, news_of(read), self.given)
  if not found then
    fail("%s: %s: say which, --map NAME=ARGUMENT", path, disagree)
  end
  self.found = found
  local size = tablecase.sizes(problem.definition.kernel_table.table.size)
  local values = tablecase.names(problem.definition.kernel_table, size, problem:values())
  bind_names(self, self.olds, values)
  bind_matched(self, self.olds)
  leave_to_host(self)
  local options = table.move(read.compiler.options, 1, #read.compiler.options, 3,
    { "-I" .. folder, "--generate-line-info" })
  self.judged = { args = arguments_of(self), launches = {}, options = options }
  check_outputs(self)
  check_arguments(self)
  check_constants(self)
  check_block(self)
  self.source = source_of(self)
  self.judged.key = core.system.hash128(self.source .. table.concat(options, "\n"))
  self.params, self.name = { judged = self.judged }, path
  self.ways = { "backwards", "again" }
  return self
end

return M
