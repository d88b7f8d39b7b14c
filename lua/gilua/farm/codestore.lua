--- codestore: compiled code, kept by the agent that compiled it under the code's hash.
--
-- A manager has a ticket in place of PTX or machine code: its hash, its size, and the agent that
-- has it. Messages of jobs contain the ticket. An agent that has the code puts it in the ticket's
-- place; another one fetches it from the agent that the ticket names, and keeps it. If that agent
-- does not answer or no longer has the code, the code is reported missing, and the manager has it
-- compiled again (funnel.lua).

local core = require "gilua.core"
local jobqueue = require "gilua.farm.jobqueue"

local M = {
  KEEP_BYTES = 512 << 20, -- of an agent; then what came first goes
  LATE_S = 3, -- what another agent has not sent after so long is missing
}

local AT = "code at" -- the field that makes a table a ticket; no parameter of a kernel is named so

--- Is it a ticket, not the code itself?
---@param code string|table|nil
---@return boolean
function M.is_ticket(code)
  return type(code) == "table" and code[AT] ~= nil
end

--- The agent that has a code; nil of one that is here.
---@param code string|table|nil
---@return string?
function M.holder(code)
  return type(code) == "table" and code[AT] or nil
end

---@class gilua.codestore
---@field texts table<string, string> by hash
---@field wanted table<string, table> by hash: who waits for what others were asked for
local Store = {}
Store.__index = Store

---@param me string the agent's id
---@param tell fun(agent: string, message: table) sends to another agent
---@return gilua.codestore
function M.new(me, tell)
  return setmetatable({ me = me, tell = tell, texts = {}, order = jobqueue.line(), bytes = 0,
    wanted = {} }, Store)
end

function Store:drop_first()
  local hash = self.order:take()
  self.bytes = self.bytes - #self.texts[hash]
  self.texts[hash] = nil
end

function Store:put(hash, text)
  if self.texts[hash] then return end
  self.texts[hash] = text
  self.order:put(hash)
  self.bytes = self.bytes + #text
  while self.bytes > M.KEEP_BYTES and self.order.n > 1 do self:drop_first() end
end

--- Keeps a code that was made here.
---@param text string
---@return table ticket
function Store:keep(text)
  local hash = core.system.hash128(text)
  self:put(hash, text)
  return { [AT] = self.me, hash = hash, bytes = #text }
end

-- Calls `found` for each ticket of a message, with the table and the field where it stands.
local function each_ticket(message, found)
  for field, value in pairs(message) do
    if M.is_ticket(value) then
      found(message, field, value)
    elseif type(value) == "table" then
      each_ticket(value, found)
    end
  end
end

-- The tickets of a message whose code is not here.
function Store:lacking(message)
  local list = {}
  each_ticket(message, function(_, _, ticket)
    if not self.texts[ticket.hash] then list[#list + 1] = ticket end
  end)
  return list
end

--- Puts codes in the place of tickets and calls `use`, now or when they have come.
---@param message table
---@param use fun(missing: string?) the hash of one that is nowhere
function Store:fill(message, use)
  local lacking = self:lacking(message)
  if #lacking > 0 then return self:want(lacking[1], function(missing)
    if missing then return use(missing) end
    self:fill(message, use)
  end) end
  each_ticket(message, function(place, field, ticket) place[field] = self.texts[ticket.hash] end)
  use()
end

function Store:want(ticket, use)
  local wanted = self.wanted[ticket.hash]
  if wanted then
    table.insert(wanted, use)
    return
  end
  self.wanted[ticket.hash] = { use, until_s = core.system.seconds() + M.LATE_S }
  if ticket[AT] == self.me then return self:came(ticket.hash) end
  self.tell(ticket[AT], { op = "code", hash = ticket.hash, agent = self.me })
end

--- Another agent's answer; without a text it has none.
---@param hash string
---@param text string?
function Store:came(hash, text)
  local waiting = self.wanted[hash]
  self.wanted[hash] = nil
  if not waiting then return end
  if text and core.system.hash128(text) == hash then self:put(hash, text) end
  local missing = not self.texts[hash] and hash or nil
  for _, use in ipairs(waiting) do use(missing) end
end

--- Another agent asks.
---@param m table
function Store:asked(m)
  self.tell(m.agent, { op = "text", hash = m.hash, text = self.texts[m.hash] })
end

--- Nobody waits for ever.
---@param now number
function Store:check_late(now)
  local late = {}
  for hash, wanted in pairs(self.wanted) do
    if now > wanted.until_s then late[#late + 1] = hash end
  end
  for _, hash in ipairs(late) do self:came(hash) end
end

return M
