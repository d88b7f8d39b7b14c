-- otherlaunch: launches another kernel on the cases of a problem. Its parameters may be in another
-- order than those of the problem's kernel, and its grid and block may differ.
--
-- `gilua judge` works out both (gilua.counterpart) for each size of a case, and sends only numbers
-- to the worker that launches: the value `judged` of a mutant by hand.

local M = {}

---@class JudgedLaunch
---@field grid integer[]
---@field block integer[]
---@field shared integer bytes
---@field scalars table<integer, number> by place among the parameters

---@class Judged plain data
---@field args { from: integer?, type: string?, zeroed: boolean? }[] from: place among the
---  problem's arguments; type: of a scalar, whose value is in the launch; zeroed: an output that
---  its host sets to zero before the launch
---@field launches table<string, JudgedLaunch> by M.key of a case
---@field options string[] of the compiler
---@field key string what tells it from others

--- What tells the launches of a case from those of others: its sizes, and scalars of other values.
---@param size integer[]
---@param values? table<string, integer>
---@return string
function M.key(size, values)
  local names = {}
  for name in pairs(values or {}) do names[#names + 1] = name end
  table.sort(names)
  for i, name in ipairs(names) do names[i] = (" %s=%s"):format(name, values[name]) end
  return table.concat(size, "x") .. table.concat(names)
end

local function threads_of(grid, block)
  local n = 1
  for d = 1, 3 do n = n * (grid[d] or 1) * (block[d] or 1) end
  return n
end

-- A launch of no threads is refused as CUDA does.
local function check_sides(own)
  for _, what in ipairs { "grid", "block" } do
    for d = 1, 3 do
      if own[what][d] < 1 then
        error(("its launch has a %s of %s there, and CUDA refuses one with a 0"):format(what,
          table.concat(own[what], "x")), 0)
      end
    end
  end
end

-- The arrays that begin with zeros; nil of none.
local function zeroed_of(launch, judged)
  local list
  for _, arg in ipairs(judged.args) do
    local array = arg.zeroed and launch.args[arg.from]
    if type(array) == "userdata" then
      list = list or {}
      list[array] = true
    end
  end
  return list
end

--- Changes the launch of the problem's kernel into the other's. `times`: how many times the threads
--- of the problem's kernel it has, where that is more, and so much more may it do.
---@param launch table of the problem's kernel on a case
---@param case table
---@param judged Judged
---@return table launch
function M.changed(launch, case, judged)
  local own = judged.launches[M.key(case.size or {}, case.values)]
  if not own then error("the other kernel's launch is not known for " .. case.name, 0) end
  check_sides(own)
  launch.zeroed = zeroed_of(launch, judged)
  local args = {}
  for i, arg in ipairs(judged.args) do
    args[i] = arg.from and launch.args[arg.from] or { arg.type, own.scalars[i] }
  end
  local times = threads_of(own.grid, own.block) / threads_of(launch.grid, launch.block)
  launch.times = math.max(launch.times or 1, times)
  launch.args, launch.grid, launch.block, launch.shared = args, own.grid, own.block, own.shared
  return launch
end

return M
