--- jobqueue: waiting jobs, by kind and by the workers that can serve them. The job nearest to a
--- measurement goes first: memory stays small and results come early.

local M = {}

local ORDER = { probe = 1, ready = 1, case = 1, fetch = 1, pair = 2, answers = 2, floor = 2,
                run = 3, check = 4, machine = 5, compile = 6 }
local KINDS = 6

--------------------------------------------------------------------------------------------------
-- One line of them, with two ends

---@class gilua.line
---@field n integer
local Line = {}
Line.__index = Line

---@return gilua.line
function M.line()
  return setmetatable({ first = 1, n = 0 }, Line)
end

---@param first? boolean before all others
function Line:put(job, first)
  if first then self.first = self.first - 1 end
  self[first and self.first or self.first + self.n] = job
  self.n = self.n + 1
end

--- The one in front, which leaves it; nil where there is none.
function Line:take()
  if self.n == 0 then return nil end
  local job = self[self.first]
  self[self.first] = nil
  self.first, self.n = self.first + 1, self.n - 1
  return job
end

--- The one in front, which stays.
function Line:head()
  return self[self.first]
end

--------------------------------------------------------------------------------------------------
-- All of them

---@class gilua.jobqueue
---@field n integer how many wait
local Queue = {}
Queue.__index = Queue

---@return gilua.jobqueue
function M.new()
  local self = setmetatable({ n = 0 }, Queue)
  for kind = 1, KINDS do self[kind] = { host = M.line(), device = M.line() } end
  return self
end

---@param job table its kind and role say where
---@param first? boolean before all others of its kind
function Queue:put(job, first)
  self[ORDER[job.kind]][job.role]:put(job, first)
  self.n = self.n + 1
end

--- How many wait for somebody with this role.
---@param role string
---@return integer
function Queue:waiting(role)
  local n = 0
  for kind = 1, KINDS do n = n + self[kind][role].n end
  return n
end

--- The next one for somebody with these roles; nil where there is none.
---@param roles string[] "host", "device"
function Queue:take(roles)
  for kind = 1, self.n > 0 and KINDS or 0 do
    for _, role in ipairs(roles) do
      local line = self[kind][role]
      if line.n > 0 then
        self.n = self.n - 1
        return line:take()
      end
    end
  end
end

return M
