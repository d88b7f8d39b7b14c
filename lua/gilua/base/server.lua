-- server: a small HTTP/1.0 server on the loopback address, for one person's browser. It answers GET
-- and POST, one request a connection, and reads only the request's head. Its caller supplies the
-- answers.
--
-- A slow connection does not delay the others. A request may have MOST bytes and take PATIENCE
-- seconds; a reader of an answer may be silent for as long. A file is read and sent in pieces. When
-- all CONNECTIONS are in use, a new one ends the oldest that has had its TURN.

local attempt = require "gilua.base.attempt"
local fail = require "gilua.base.fail"
local host = require "gilua.base.host"

local M = {}

M.ADDRESS = "127.0.0.1"

local MOST = 8192 -- bytes of a request
local PATIENCE = 10 -- seconds
local CONNECTIONS = 64
local TURN = 1 -- seconds
local BACKLOG = 256 -- connections that wait
local PIECE = 1 << 16 -- bytes of a file
local WAIT = 0.25 -- seconds in which Ctrl-C is heard

local REASONS = { [200] = "OK", [400] = "Bad Request", [403] = "Forbidden", [404] = "Not Found",
  [405] = "Method Not Allowed", [503] = "Service Unavailable" }

---@class HttpAnswer
---@field status integer
---@field type? string of the content
---@field body? string
---@field file? file* in its place: the server closes it
---@field size? integer of the file
---@field again? boolean the browser asks again by itself

-- The bytes of an answer, but for those of its file.
local function written(answer)
  return table.concat({
    ("HTTP/1.0 %d %s"):format(answer.status, REASONS[answer.status]),
    "Content-Type: " .. (answer.type or "text/plain; charset=utf-8"),
    "Content-Length: " .. (answer.size or #answer.body), "Connection: close",
    "Cache-Control: no-store",
    "X-Content-Type-Options: nosniff", "Referrer-Policy: no-referrer",
    "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
      .. "script-src 'unsafe-inline'; connect-src 'self'; base-uri 'none'; "
      .. "form-action 'none'; frame-ancestors 'none'",
    answer.again and "Refresh: 5\r\n" or "", answer.body or "" }, "\r\n")
end

local function refusal(status, why)
  return { status = status, again = status == 503, body = (why or REASONS[status]) .. "\n" }
end

-- What cannot be answered now may be at the next request: a folder that is gone for a moment, say.
local function answer_or_why(answer, path, method)
  local ok, found = attempt(answer, path)
  if not ok then return refusal(503, tostring(found)) end
  return found or refusal(method == "POST" and 405 or 404)
end

-- By another name than the machine's own a page of somebody else's asks, through the browser.
local function is_for_us(request)
  local name = request:match "\n[Hh][Oo][Ss][Tt]:[ \t]*([^\r\n]*)"
  name = name and name:lower():gsub("[ \t]+$", ""):gsub(":%d+$", "")
  return name == nil or name == "localhost" or name == M.ADDRESS
end

-- What is wrong with a request, as a status.
local function fault(request, method, act)
  if not method then return 400 end
  if method ~= "GET" and not (method == "POST" and act) then return 405 end
  return not is_for_us(request) and 403 or nil
end

--- The answer to a request.
---@param request string with all its headers
---@param answer fun(path: string): HttpAnswer? none: there is nothing of that name
---@param act? fun(path: string): HttpAnswer? what a POST does; none: nothing is done by that name
---@return string bytes
---@return HttpAnswer answer whose file comes behind these bytes
function M.answered(request, answer, act)
  local method, target = request:match "^(%u+) (/[^ \r\n]*) HTTP/1%.%d\r?\n"
  local status = fault(request, method, act)
  if status then return written(refusal(status)), refusal(status) end
  local path = target:gsub("[?#].*", ""):gsub("%%(%x%x)", function(hex)
    return string.char(tonumber(hex, 16))
  end)
  local found = answer_or_why(method == "POST" and act or answer, path, method)
  return written(found), found
end

--------------------------------------------------------------------------------------------------
-- Connections: each reads its request, then writes its answer, never waiting for the other side.

local function is_whole(request) return request:find "\r?\n\r?\n" ~= nil end

local function begin_answer(client, answer, act)
  local found
  client.piece, found = M.answered(client.request, answer, act)
  client.from, client.file, client.left = 1, found.file, found.size or 0
end

-- nil: it is over.
local function read(client, answer, act)
  local bytes, why, partial = client.socket:receive(4096)
  bytes = bytes or partial or ""
  client.request = client.request .. bytes
  if is_whole(client.request) then
    begin_answer(client, answer, act)
  elseif #client.request > MOST or why == "closed" then
    return nil
  end
  return true
end

-- The next bytes of the answer's file; nil at its end, or where it is shorter than it was.
local function next_piece(client)
  local piece = client.left > 0 and client.file:read(math.min(PIECE, client.left)) or nil
  client.piece, client.from, client.left = piece, 1, client.left - #(piece or "")
  return piece
end

-- nil: it is over.
local function write(client, now)
  local last, why, partial = client.socket:send(client.piece, client.from)
  client.from, client.heard = (last or partial or client.from - 1) + 1, now
  if why and why ~= "timeout" then return nil end
  return client.from <= #client.piece or next_piece(client)
end

local function drop(clients, client)
  clients[client.socket] = nil
  client.socket:close()
  if client.file then client.file:close() end
end

-- How many there are, and the first of them.
local function eldest_of(clients)
  local n, eldest = 0, nil
  for _, client in pairs(clients) do
    n = n + 1
    if not eldest or client.begun < eldest.begun then eldest = client end
  end
  return n, eldest
end

-- May one more come?
local function has_room(clients, now)
  local n, eldest = eldest_of(clients)
  return n < CONNECTIONS or now - eldest.begun >= TURN
end

-- Those that wait to read, to write; who has been silent too long goes.
local function waiting(listener, clients, now)
  local readers, writers = { has_room(clients, now) and listener or nil }, {}
  for _, client in pairs(clients) do
    if now - client.heard > PATIENCE then
      drop(clients, client)
    else
      local list = client.piece and writers or readers
      list[#list + 1] = client.socket
    end
  end
  return readers, writers
end

local function accept(listener, clients, now)
  local socket = listener:accept()
  if not socket then return end
  local n, eldest = eldest_of(clients)
  if n >= CONNECTIONS then drop(clients, eldest) end
  socket:settimeout(0)
  clients[socket] = { socket = socket, request = "", begun = now, heard = now }
end

-- One that can be read or written goes on, or is over.
local function go_on(clients, client, o, now)
  local goes_on
  if client.piece then goes_on = write(client, now)
  else goes_on = read(client, o.answer, o.act) end
  if not goes_on then drop(clients, client) end
end

local function step(listener, clients, o, select)
  local readers, writers = waiting(listener, clients, host.seconds())
  local readable, writable = select(readers, writers, WAIT)
  local now = host.seconds()
  for _, list in ipairs { writable, readable } do
    for _, socket in ipairs(list) do
      if socket == listener then accept(listener, clients, now)
      elseif clients[socket] then go_on(clients, clients[socket], o, now) end
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
  if bound then bound, why = listener:listen(BACKLOG) end
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
---@param act? fun(path: string): HttpAnswer? what a POST does
function Server:run(answer, act)
  local clients, o = {}, { answer = answer, act = act }
  while true do step(self.listener, clients, o, self.select) end
end

return M
