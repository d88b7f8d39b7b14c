-- server: a small HTTP/1.0 server on this machine's loopback address, for one person's browser. It
-- answers GET, one request a connection, and reads nothing but the request: no body, no more than
-- MOST bytes, no longer than PATIENCE seconds. What the answer is, its caller says.

local fail = require "gilua.base.fail"
local host = require "gilua.base.host"

local M = {}

M.ADDRESS = "127.0.0.1"

local MOST = 8192 -- bytes of a request
local PATIENCE = 10 -- seconds in which a request must be whole, and an answer goes on
local CONNECTIONS = 64
local WAIT = 0.25 -- seconds in which Ctrl-C is heard

local REASONS = { [200] = "OK", [400] = "Bad Request", [403] = "Forbidden", [404] = "Not Found",
  [405] = "Method Not Allowed" }

---@class HttpAnswer
---@field status integer
---@field type? string of the content
---@field body string

local function written(answer)
  return table.concat({
    ("HTTP/1.0 %d %s"):format(answer.status, REASONS[answer.status]),
    "Content-Type: " .. (answer.type or "text/plain; charset=utf-8"),
    "Content-Length: " .. #answer.body, "Connection: close", "Cache-Control: no-store",
    "X-Content-Type-Options: nosniff", "Referrer-Policy: no-referrer",
    "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
      .. "script-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "", answer.body }, "\r\n")
end

local function refusal(status)
  return { status = status, body = REASONS[status] .. "\n" }
end

-- By another name than the machine's own a page of somebody else's asks, through the browser.
local function is_for_us(request)
  local name = request:match "\n[Hh][Oo][Ss][Tt]:[ \t]*([^\r\n]*)"
  name = name and name:lower():gsub("[ \t]+$", ""):gsub(":%d+$", "")
  return name == nil or name == "localhost" or name == M.ADDRESS
end

--- The answer to a request.
---@param request string with all its headers
---@param answer fun(path: string): HttpAnswer? none: there is nothing of that name
---@return string bytes
function M.answered(request, answer)
  local method, target = request:match "^(%u+) (/[^ \r\n]*) HTTP/1%.%d\r?\n"
  if not method then return written(refusal(400)) end
  if method ~= "GET" then return written(refusal(405)) end
  if not is_for_us(request) then return written(refusal(403)) end
  local path = target:gsub("[?#].*", ""):gsub("%%(%x%x)", function(hex)
    return string.char(tonumber(hex, 16))
  end)
  return written(answer(path) or refusal(404))
end

--------------------------------------------------------------------------------------------------
-- Connections: each reads its request, then writes its answer, never waiting for the other side.

local function is_whole(request) return request:find "\r?\n\r?\n" ~= nil end

-- nil: it is over.
local function read(client, answer)
  local bytes, why, partial = client.socket:receive(4096)
  bytes = bytes or partial or ""
  client.request = client.request .. bytes
  if is_whole(client.request) then
    client.response, client.from = M.answered(client.request, answer), 1
  elseif #client.request > MOST or why == "closed" then
    return nil
  end
  return true
end

local function write(client)
  local last, why, partial = client.socket:send(client.response, client.from)
  client.from = (last or partial or client.from - 1) + 1
  if client.from > #client.response then return nil end
  return why == nil or why == "timeout" or nil
end

local function drop(clients, client)
  clients[client.socket] = nil
  client.socket:close()
end

-- Those that wait to read, to write; who has been silent too long goes.
local function waiting(listener, clients, now)
  local readers, writers = { listener }, {}
  for _, client in pairs(clients) do
    if now - client.heard > PATIENCE then
      drop(clients, client)
    elseif client.response then
      writers[#writers + 1] = client.socket
    else
      readers[#readers + 1] = client.socket
    end
  end
  return readers, writers
end

local function accept(listener, clients, now)
  local socket = listener:accept()
  if not socket then return end
  local n = 0
  for _ in pairs(clients) do n = n + 1 end
  if n >= CONNECTIONS then return socket:close() end
  socket:settimeout(0)
  clients[socket] = { socket = socket, request = "", heard = now }
end

local function step(listener, clients, answer, select)
  local readers, writers = waiting(listener, clients, host.seconds())
  local readable, writable = select(readers, writers, WAIT)
  local now = host.seconds()
  for _, list in ipairs { readable, writable } do
    for _, socket in ipairs(list) do
      local client = clients[socket]
      if not client then
        accept(listener, clients, now)
      else
        local goes_on
        if client.response then
          client.heard = now
          goes_on = write(client)
        else
          goes_on = read(client, answer) -- a byte now and then keeps no connection
        end
        if not goes_on then drop(clients, client) end
      end
    end
  end
end

--------------------------------------------------------------------------------------------------

---@class Server
---@field port integer
local Server = {}
Server.__index = Server
Server.__close = function(self) self.listener:close() end

--- Opens a port.
---@param port integer 0: any that is free
---@return Server
function M.open(port)
  local socket = require "socket.core" -- here: from now on a closed connection is no signal
  local listener = socket.tcp4()
  listener:setoption("reuseaddr", true)
  local bound, why = listener:bind(M.ADDRESS, port)
  if bound then bound, why = listener:listen(16) end
  if not bound then
    listener:close()
    fail("cannot listen on port %d of %s: %s; choose another with --port", port, M.ADDRESS, why)
  end
  listener:settimeout(0)
  local _, own = listener:getsockname()
  return setmetatable({ listener = listener, select = socket.select,
    port = math.tointeger(tonumber(own)) }, Server)
end

--- Answers until something ends it: Ctrl-C, say.
---@param answer fun(path: string): HttpAnswer?
function Server:run(answer)
  local clients = {}
  while true do step(self.listener, clients, answer, self.select) end
end

return M
