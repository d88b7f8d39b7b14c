--- gilua: genetic improvement of CUDA kernels. `local gi = require "gilua"`.
--
-- The C rooms (gilua.core) appear under short names; every other field is a module of lua/gilua,
-- loaded at the first use: gi.evolve is require "gilua.search.evolve". Scripts use these names, so
-- a module can move to another room without changing them.

local core = require "gilua.core"
local launcher = require "gilua.problem.launcher"
local trace = require "gilua.base.trace"

-- The rooms, each above those that it may import from (tests/lua/rooms.lua holds them to it).
local rooms = {
  { "base", "attempt apart ends fail fingerprint results nearest hint trace settings stats "
    .. "host textfile tempfolder events server mcp json csv luadata base64 wire shell cli "
    .. "arithmetic diff roofline" },
  { "search", "evolve pieces genome select minimise control configured pareto repeats "
    .. "nsga2 gevo islands propose bandit steady elites retouch sweep linked" },
  { "source", "csource" },
  { "facts", "" },
  { "rewrite", "" },
  { "transform", "transform" },
  { "problem", "problem place tolerance kerneltable tablerows tablecase tablecheck pointed "
    .. "arrayfills families creference expression samples own "
    .. "recording recorded streams touches ptxtext compilers" },
  { "store", "archive schema world merge evaluations" },
  { "farm", "farm funnel crew runner replayer gpureplayer worker compiler bench cluster agent" },
  { "report", "report folder described history findings kept tuned progress explain below t4 "
    .. "junit sarif judgewords tuningcache census lineage frontier interactions telling "
    .. "mutantcolumns mutantstory page.html page.plot page.disparity page.live page.state "
    .. "page.landscape page.laboratory page.markup page.gnuplot" },
  { "study", "approximation experiment fitness gecco2014 eurogp2014 tune validate replay adequacy "
    .. "best epistasis archipelago limit" },
  { "host", "branches hostcode hostvalue instances callers members" },
  { "new", "newproblem reading parts headers slice signature layout assumed launchguess scalaruse "
    .. "scalarguess structguess argumentguess usage precision problemtext offered trial backport "
    .. "checkproblem coverage joined otherdata otherseeds promises textureguess recordedproblem "
    .. "recordedlimits mangled launchedit launchneeds certificate matching counterpart judgement "
    .. "hostentry judgewhole wholeprogram judgerecorded faultfile lineprofile" },
  { "prompt", "prompt inspect mutant errors" },
  { "command", "commands answer runs rundiff improve winner doctor meant watch judge serve" },
}

local modules = {} -- name -> what `require` takes
for _, room in ipairs(rooms) do
  for path in room[2]:gmatch "%S+" do
    modules[path:match "[^.]+$"] = "gilua." .. room[1] .. "." .. path
  end
end

---@class gilua
local gi = {
  home = core.home, -- the folder that holds lua/, kernels/ and data/
  options = core.options, -- what was given before the script: device seed out jobs quiet
  version = core.system.version(),
  grammar = core.grammar,
  nifti = core.nifti,
  image = core.image,
  library = core.library.open,
  ptx = core.ptx.open,
  llvm = core.llvm.base,
  rng = core.rng.new,
  exact = core.exact,
  modules = modules, -- what every other field is: its name -> what `require` takes
}

-- An error in a call names the line that made it, not this file.
local function passed_on(ok, ...)
  if ok then return ... end
  local why = ...
  if type(why) ~= "string" then error(why, 0) end
  trace.misuse("%s", why)
end

--- A table of functions that can itself be called.
local function callable(functions, call)
  return setmetatable(functions, { __call = function(_, ...)
    return passed_on(pcall(call, ...))
  end })
end

gi.array = callable({
  from = core.array.from,
  frombytes = core.array.frombytes,
  compare = core.array.compare,
}, core.array.new)

function launcher.bench() return require "gilua.farm.bench" end

gi.compile = callable({
  batch = core.compile.batch,
  info = core.compile.info,
}, function(...) return require("gilua.farm.compiler").compile(...) end)

--- Opens a device: "emu", the virtual GPU.
---@param name? string default "emu"
---@param options? { model: string|table, approximation: integer, matrix_capability: integer }
---  what emu stands for: a name of base/gpus.lua, a file or a table; what its approximate functions
---  (sin.approx …) give: 0 the true value, rounded; what is off by all that the PTX ISA allows: 1
---  away from zero, 2 towards it, 3 each instruction in turn; the compute capability (75, 80, 89,
---  90, 100) of the GPU whose tensor cores' sums it gives, 90 where none is named
---@return userdata? device
---@return string? message
---@return string? code
function gi.device(name, options)
  local gpus = require "gilua.base.gpus"
  local model = options and options.model or gpus.chosen()
  if type(model) == "string" then
    model = gpus.find(model) or trace.misuse("%s", gpus.missing(model))
  end
  if options and (options.approximation or options.matrix_capability) then
    local own = { approximation = options.approximation,
                  matrix_capability = options.matrix_capability }
    for field, value in pairs(model) do own[field] = value end
    model = own
  end
  return core.device.open(name or "emu", model)
end

--- Prints what is known of a function or a module ("array.compare", "evolve.run", "evolve"), or the
--- names of all.
---@param name? string
function gi.help(name)
  print(require "gilua.prompt.manual".help(name or "all"))
end

return setmetatable(gi, {
  __index = function(self, name)
    local module = modules[name]
    if not module then return nil end
    local value = require(module)
    rawset(self, name, value)
    -- Scripts open problems that have the methods for people; a worker opens them without.
    if name == "problem" then require(modules.mutant) end
    return value
  end,
})
