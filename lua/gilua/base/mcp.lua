-- mcp: a server of the Model Context Protocol on two streams: JSON-RPC 2.0, one message a line, as
-- the specification has it for standard input and output (modelcontextprotocol.io, 2025-06-18).
--
-- A tool's call runs while the server answers other messages: `start` begins it, `poll` tells
-- whether it has ended, `stop` ends it early. Only the end of its input ends the server; no message
-- does.

local json = require "gilua.base.json"
local settings = require "gilua.base.settings"

local M = {}

--- Versions of the protocol that are spoken, the newest first.
M.VERSIONS = { "2025-06-18", "2025-03-26", "2024-11-05" }

M.MOST_BYTES = 1 << 20 -- of a message

local PARSE, INVALID, NO_METHOD, BAD_PARAMS, INTERNAL = -32700, -32600, -32601, -32602, -32603
local NOT_READY = -32002 -- of what comes before initialize

---@class McpTool
---@field name string
---@field title string
---@field description string
---@field schema table of its arguments: properties by name { type, description, … }, required

---@class McpWork what a tool's `start` returns
---@field poll fun(): table? { text, is_error, structured } once it has ended
---@field stop fun()
---@field progress? fun(): string[] lines since the last time

---@class McpServer
---@field tools McpTool[]
---@field start fun(name: string, arguments: table): McpWork
---@field send fun(line: string)
---@field running table<any, table> by id of their requests: { work, token, told }
---@field order any[] these ids, as they came
local Server = {}
Server.__index = Server

--- A server that nobody has spoken to.
---@param o { name: string, version: string, instructions: string, tools: McpTool[],
---  start: fun(name: string, arguments: table): McpWork, send: fun(line: string) }
---@return McpServer
function M.new(o)
  return setmetatable({ name = o.name, version = o.version, instructions = o.instructions,
    tools = o.tools, start = o.start, send = o.send, running = {}, order = {} }, Server)
end

--------------------------------------------------------------------------------------------------
-- Messages

local function object(pairs_list) return json.object(pairs_list) end

function Server:write(pairs_list)
  table.insert(pairs_list, 1, { "jsonrpc", "2.0" })
  self.send(json.line(object(pairs_list)))
end

function Server:answer(id, result) self:write { { "id", id }, { "result", result } } end

function Server:refuse(id, code, message)
  self:write { { "id", id == nil and json.null or id },
    { "error", object { { "code", code }, { "message", message } } } }
end

function Server:notify(method, params) self:write { { "method", method }, { "params", params } } end

-- What stops the work on a request: { code, message }.
local function refusal(code, format, ...)
  error({ code = code, message = format:format(...) }, 0)
end

--------------------------------------------------------------------------------------------------
-- Arguments of a tool

local KINDS = { string = "string", boolean = "boolean", array = "table" }

-- Is a value of the type that a schema says?
local function fits(value, property)
  local kind = property.type
  if kind == "integer" then return math.tointeger(value) ~= nil and type(value) == "number" end
  if kind == "number" then return type(value) == "number" end
  return type(value) == KINDS[kind]
end

local function check_arguments(tool, given)
  local known = tool.schema.properties
  for _, name in ipairs(settings.keys(given)) do
    local property = known[name]
    if not property then
      refusal(BAD_PARAMS, "%s has no argument '%s'%s", tool.name, tostring(name),
        settings.meant(tostring(name), known))
    elseif not fits(given[name], property) then
      refusal(BAD_PARAMS, "%s: '%s' must be of the type %s", tool.name, name, property.type)
    elseif property.minimum and given[name] < property.minimum then
      refusal(BAD_PARAMS, "%s: '%s' must be at least %s", tool.name, name, property.minimum)
    end
  end
  for _, name in ipairs(tool.schema.required or {}) do
    if given[name] == nil then refusal(BAD_PARAMS, "%s: '%s' is missing", tool.name, name) end
  end
end

local function schema_value(schema)
  local properties = {}
  for i, name in ipairs(settings.keys(schema.properties)) do
    local p, list = schema.properties[name], {}
    for k, key in ipairs(settings.keys(p)) do list[k] = { key, p[key] } end
    properties[i] = { name, object(list) }
  end
  return object { { "type", "object" }, { "properties", object(properties) },
    { "required", json.array(schema.required or {}) }, { "additionalProperties", false } }
end

--------------------------------------------------------------------------------------------------
-- Methods

local METHODS, NOTIFICATIONS = {}, {}

local function spoken(asked)
  for _, version in ipairs(M.VERSIONS) do
    if version == asked then return version end
  end
  return M.VERSIONS[1]
end

METHODS["initialize"] = function(self, params)
  if type(params.protocolVersion) ~= "string" then
    refusal(BAD_PARAMS, "initialize: 'protocolVersion' is missing")
  end
  self.is_ready = true
  return object { { "protocolVersion", spoken(params.protocolVersion) },
    { "capabilities", object { { "tools", object { { "listChanged", false } } } } },
    { "serverInfo", object { { "name", self.name }, { "version", self.version } } },
    { "instructions", self.instructions } }
end

METHODS["ping"] = function() return object {} end

METHODS["tools/list"] = function(self)
  local list = {}
  for i, tool in ipairs(self.tools) do
    list[i] = object { { "name", tool.name }, { "title", tool.title },
      { "description", tool.description }, { "inputSchema", schema_value(tool.schema) } }
  end
  return object { { "tools", json.array(list) } }
end

local function tool_called(self, name)
  for _, tool in ipairs(self.tools) do
    if tool.name == name then return tool end
  end
  refusal(BAD_PARAMS, "there is no tool '%s'", tostring(name))
end

-- Begins; the answer comes when the work has ended.
METHODS["tools/call"] = function(self, params, id)
  local tool, given = tool_called(self, params.name), params.arguments
  if given == nil or given == json.null then given = {} end
  if type(given) ~= "table" then refusal(BAD_PARAMS, "'arguments' must be an object") end
  check_arguments(tool, given)
  if self.running[id] then refusal(INVALID, "the id %s is taken", tostring(id)) end
  local meta = type(params._meta) == "table" and params._meta or {}
  self.running[id] = { work = self.start(tool.name, given), token = meta.progressToken, told = 0 }
  self.order[#self.order + 1] = id
  return nil
end

function Server:forget(id)
  self.running[id] = nil
  for i, other in ipairs(self.order) do
    if other == id then table.remove(self.order, i) break end
  end
end

NOTIFICATIONS["notifications/cancelled"] = function(self, params)
  local one = params.requestId ~= nil and self.running[params.requestId]
  if not one then return end
  one.work.stop()
  self:forget(params.requestId) -- nobody wants its answer
end

--------------------------------------------------------------------------------------------------
-- One message

local function is_id(id) return type(id) == "string" or math.type(id) == "integer" end

local function check_message(m)
  if type(m) ~= "table" or m.jsonrpc ~= "2.0" then
    refusal(INVALID, "a message is a JSON-RPC 2.0 object")
  elseif type(m.method) ~= "string" then
    refusal(INVALID, "a message has a method")
  elseif m.params ~= nil and type(m.params) ~= "table" then
    refusal(BAD_PARAMS, "'params' must be an object")
  end
end

function Server:request(m)
  local method = METHODS[m.method]
  if not method then refusal(NO_METHOD, "there is no method '%s'", m.method) end
  if not self.is_ready and m.method ~= "initialize" and m.method ~= "ping" then
    refusal(NOT_READY, "initialize comes first")
  end
  local result = method(self, m.params or {}, m.id)
  if result then self:answer(m.id, result) end
end

-- What goes wrong is an answer; of what has no id nothing is said.
function Server:handle(m)
  local id = type(m) == "table" and is_id(m.id) and m.id or nil
  local is_answer = type(m) == "table" and m.method == nil
    and (m.result ~= nil or m.error ~= nil)
  if is_answer then return end
  local ok, why = pcall(function()
    check_message(m)
    if m.id == nil then
      local notification = NOTIFICATIONS[m.method]
      if notification then notification(self, m.params or {}) end
      return
    end
    if not id then refusal(INVALID, "an id is a text or a whole number") end
    self:request(m)
  end)
  if ok then return end
  local is_silent = type(m) == "table" and m.id == nil and type(m.method) == "string"
  if type(why) == "table" and why.code then
    if not is_silent then self:refuse(id, why.code, why.message) end
  else
    if tostring(why):find("interrupted!", 1, true) then error(why, 0) end
    if not is_silent then self:refuse(id, INTERNAL, tostring(why)) end
  end
end

--- Takes a line of the client's.
---@param line string
function Server:take(line)
  if not line:find "%S" then return end
  if #line > M.MOST_BYTES then
    return self:refuse(nil, INVALID, ("a message has more than %d bytes"):format(M.MOST_BYTES))
  end
  local m, why = json.decode(line)
  if m == nil then return self:refuse(nil, PARSE, why or "a line is null") end
  self:handle(m)
end

--------------------------------------------------------------------------------------------------
-- What goes on

function Server:tell_progress(one)
  for _, line in ipairs(one.token ~= nil and one.work.progress and one.work.progress() or {}) do
    one.told = one.told + 1
    self:notify("notifications/progress", object { { "progressToken", one.token },
      { "progress", one.told }, { "message", line } })
  end
end

--- Looks at the work that goes on: tells of progress, answers what has ended.
---@return boolean is_busy some of it has not
function Server:turn()
  local is_busy = false
  for _, id in ipairs(table.move(self.order, 1, #self.order, 1, {})) do
    local one = self.running[id]
    self:tell_progress(one)
    local found = one.work.poll()
    if found then
      self:tell_progress(one)
      self:forget(id)
      local result = { { "content", json.array { object { { "type", "text" },
        { "text", found.text } } } } }
      -- It is an object or not there.
      if found.structured then result[2] = { "structuredContent", found.structured } end
      result[#result + 1] = { "isError", found.is_error }
      self:answer(id, object(result))
    end
    is_busy = is_busy or not found
  end
  return is_busy
end

--- Ends all that goes on.
function Server:close()
  for _, one in pairs(self.running) do one.work.stop() end
  self.running, self.order = {}, {}
end

return M
