--- link: messages of any size between a manager and its agents, by subject (core.net).
--
-- A message is a Lua value (gilua.base.wire). One that is longer than the server allows is sent in
-- parts; they arrive in order, and a message that lacks a part is dropped. Delivery is not
-- guaranteed: a sender that needs an answer sends again.
--
-- Credentials come from environment variables with the names that NATS' own command line uses. On
-- gilua's command line every user of the machine could read them, and a run's archive would keep
-- them.

local attempt = require "gilua.base.attempt"
local core = require "gilua.core"
local fail = require "gilua.base.fail"
local wire = require "gilua.base.wire"

local M = {}

local VARIABLES = { user = "NATS_USER", password = "NATS_PASSWORD", token = "NATS_TOKEN",
                    ca = "NATS_CA", certificate = "NATS_CERT", key = "NATS_KEY" }

local HEAD = "<c8 I8 I4 I4" -- who, which message, which part, of how many
local HEAD_BYTES = string.packsize(HEAD)

---@class gilua.link
---@field url string
---@field sent table { messages, bytes }
---@field received table { messages, bytes }
local Link = {}
Link.__index = Link
Link.__close = function(self) self:close() end

--- Eight bytes that nobody else has.
---@return string
function M.random_name()
  local random <close> = assert(io.open("/dev/urandom", "rb"))
  return random:read(8)
end

--- The same, as letters: a word of a subject.
---@return string
function M.random_word()
  return (M.random_name():gsub(".", function(c) return ("%02x"):format(c:byte()) end))
end

local function check_address(url)
  if url:find "@" then
    fail("the address of the NATS server has a user or a password in it, which everybody on this "
      .. "machine can see: give it as nats://HOST:4222, and them in NATS_USER and NATS_PASSWORD, "
      .. "or NATS_TOKEN")
  end
end

--- Connects to a NATS server.
---@param url string "nats://HOST:4222"
---@param name string for the server's log
---@param say? fun(format: string, ...) called when the server is gone, and when it is back
---@return gilua.link
function M.open(url, name, say)
  check_address(url)
  local options = { url = url, name = name }
  for option, variable in pairs(VARIABLES) do
    local value = os.getenv(variable)
    options[option] = value ~= "" and value or nil
  end
  local net, why = core.net.open(options)
  if not net then fail("%s", why) end
  return setmetatable({ url = url, net = net, me = M.random_name(), number = 0, parts = {},
    say = say or function() end, is_cut = false,
    sent = { messages = 0, bytes = 0 }, received = { messages = 0, bytes = 0 } }, Link)
end

function Link:close()
  self.net:close()
end

--- Asks for the messages of a subject.
---@param subject string
function Link:ask(subject)
  local ok, why = self.net:subscribe(subject)
  if not ok then fail("%s: %s", self.url, why) end
end

local function count(of, bytes)
  of.messages, of.bytes = of.messages + 1, of.bytes + bytes
end

--- Sends a value to who has asked for the subject. What the connection does not take is lost.
---@param subject string
---@param value table
function Link:send(subject, value)
  local bytes = wire.encode(value)
  local most = self.net:most_bytes() - HEAD_BYTES
  local n = math.max(1, (#bytes + most - 1) // most)
  self.number = self.number + 1
  for i = 1, n do
    local part = n == 1 and bytes or bytes:sub((i - 1) * most + 1, i * most)
    local head = HEAD:pack(self.me, self.number, i, n)
    count(self.sent, #part + HEAD_BYTES)
    if not self.net:publish(subject, head .. part) then return end
  end
end

-- A message that came in parts, when its last one is there.
local function put_together(self, who, number, i, n, bytes)
  local begun = self.parts[who]
  if i == 1 then
    begun = { number = number }
    self.parts[who] = begun
  end
  if not begun or begun.number ~= number or #begun ~= i - 1 then
    self.parts[who] = nil -- one before it was lost
    return nil
  end
  begun[i] = bytes
  if i < n then return nil end
  self.parts[who] = nil
  return table.concat(begun)
end

-- What stands in a packet, if it ends a message; nonsense ends none.
local function opened(self, packet)
  if #packet < HEAD_BYTES then return nil end
  local who, number, i, n = HEAD:unpack(packet)
  local bytes = packet:sub(HEAD_BYTES + 1)
  if n > 1 then bytes = put_together(self, who, number, i, n, bytes) end
  if not bytes then return nil end
  local ok, value = attempt(wire.decode, bytes)
  return ok and type(value) == "table" and value or nil
end

--- The next message that is there.
---@return string? subject nil where there is none
---@return table? value
function Link:take()
  for subject, packet in self.net.take, self.net do
    count(self.received, #packet)
    local value = opened(self, packet)
    if value then return subject, value end
  end
end

--- Waits for a message. A connection that the server has ended for good is the end of the program.
---@param seconds number
function Link:wait(seconds)
  self.net:wait(seconds)
  self:check()
end

--- Raises where the server has ended the connection for good; tells, once, that it is gone, and
--- that it is back.
function Link:check()
  local state, why = self.net:state()
  if state == "closed" then fail("%s: %s", self.url, why) end
  if self.is_cut == (state == "cut") then return end
  self.is_cut = state == "cut"
  self.say(self.is_cut and "the NATS server at %s is gone: trying until it is back"
    or "the NATS server at %s is back", self.url)
end

--- What can be read when there is a message (workers:watch).
---@return integer
function Link:descriptor()
  return self.net:descriptor()
end

return M
