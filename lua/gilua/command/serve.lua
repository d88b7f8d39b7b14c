-- serve: `gilua serve --mcp`: offers gilua as a tool for agents, by the Model Context Protocol over
-- standard input and output (gilua.base.mcp). Each call of a tool is a process of gilua beside the
-- server. A failure there is the call's answer; cancelling a call ends its process.

local core = require "gilua.core"
local ends = require "gilua.base.ends"
local gi = require "gilua"
local judge = require "gilua.command.judge"
local mcp = require "gilua.base.mcp"

local M = {}

local WAIT_S = 0.1 -- between looks at what goes on
local IDLE_S = 1
local MOST_TEXT = 100000 -- bytes of an answer
local INSTRUCTIONS = "gilua improves and judges CUDA kernels. A problem is a folder that `new` "
  .. "makes of a .cu file. `judge` tells whether one file's kernel is right and faster than "
  .. "another's: call it on every kernel before you claim a speed-up. No GPU is needed."

--------------------------------------------------------------------------------------------------
-- The tools

local function text(doc) return { type = "string", description = doc } end
local function flag(doc) return { type = "boolean", description = doc } end
local function count(doc) return { type = "integer", minimum = 1, description = doc } end

local OF_ALL = { device = text "emu, the virtual GPU (the default), or cuda",
  seed = count "of all random choices", jobs = count "worker processes" }

-- A tool: operands are the command's words in order, its other arguments options. Its result is
-- what the command prints with --json, or (result) a file that it writes.
local TOOLS = {
  { name = "new", title = "Make a problem of a CUDA file", operands = { "file", "folder" },
    required = { "file" },
    description = "Reads a kernel, its launch and its data from a .cu file, host code and all "
      .. "(also of a PyTorch extension), and writes a problem folder that the other tools take.",
    properties = { file = text "the CUDA source", folder = text "the folder to make",
      kernel = text "which kernel, where the file has several",
      template = text "arguments of its template: float,256",
      include = text "folders of headers, with commas between",
      define = text "macros, with commas between" } },
  { name = "check", title = "Check a problem", operands = { "problem" }, required = { "problem" },
    json = true, description = "What is wrong with a problem, in order: does the kernel compile, "
      .. "run, is it free of races, do its data tell right kernels from wrong ones.",
    properties = { problem = text "its folder",
      why = flag "also why a transformation is not proposed" } },
  { name = "judge", title = "Judge a kernel", operands = { "old", "new" },
    required = { "old", "new" },
    result = function(arguments)
      return judge.folder(arguments.new, arguments.out) .. "/judge.json"
    end,
    description = "Is the kernel of another file right, and is it faster? Runs both on data of "
      .. "many kinds and sizes with every check on. Verdict: right and faster; right, not faster; "
      .. "wrong, with the first input that shows it.",
    properties = { old = text "a CUDA file, a problem's folder or a recording",
      new = text "the CUDA file with the other kernel", kernel = text "the old kernel, or OLD,NEW",
      map = text "what a name of NEW is: NAME=ARGUMENT, several with commas between",
      cases = count "of full size", out = text "the folder to write to",
      whole = flag "all that the host code of both files launches, for files of several kernels",
      ["function"] = text "with whole, the functions that launch: OLD,NEW",
      args = text "with whole, a file that says what they are given",
      ["own-size"] = flag "at no other sizes",
      ["own-data"] = flag "no numbers beyond the ranges that the old host draws",
      claim = { type = "number", minimum = 0,
        description = "microseconds that somebody says it takes" } } },
  { name = "evolve", title = "Evolve a faster kernel", operands = { "problem" },
    required = { "problem" }, json = true,
    description = "Searches for a faster kernel by genetic improvement; takes minutes. The result "
      .. "lies in a run's folder.",
    properties = { problem = text "its folder", population = count "kernels in a generation",
      generations = count "generations", out = text "the run's folder" } },
  { name = "profile", title = "Profile a kernel", operands = { "problem" },
    required = { "problem" }, json = true,
    description = "Where a kernel's time goes on the virtual GPU, and the least time that its work "
      .. "can take.",
    properties = { problem = text "its folder" } },
}

local TOOL = {}
for _, tool in ipairs(TOOLS) do
  for name, property in pairs(OF_ALL) do tool.properties[name] = property end
  tool.schema = { properties = tool.properties, required = tool.required }
  TOOL[tool.name] = tool
end

--------------------------------------------------------------------------------------------------
-- A call

-- The words of a command. A value that looks like an option is still a value.
local function words_of(tool, arguments)
  local words, taken = { tool.name }, {}
  for _, name in ipairs(tool.operands) do
    taken[name] = true
    local value = arguments[name]
    if value then words[#words + 1] = value:find "^%-" and "./" .. value or value end
  end
  for _, name in ipairs(gi.settings.keys(arguments)) do
    local value = arguments[name]
    if taken[name] or value == false then -- luacheck: ignore 542
    elseif value == true then
      words[#words + 1] = "--" .. name
    else
      words[#words + 1] = ("--%s=%s"):format(name, value)
    end
  end
  if tool.json then words[#words + 1] = "--json" end
  return words
end

-- What a file has behind a place, in whole lines; and the place behind them.
local function lines_behind(path, at)
  local file = io.open(path, "rb")
  if not file then return {}, at end
  file:seek("set", at)
  local bytes, lines = file:read "a" or "", {}
  file:close()
  for line in bytes:gmatch "([^\n]*)\n" do
    if line ~= "" then lines[#lines + 1] = line end
    at = at + #line + 1
  end
  return lines, at
end

local function content(path)
  local file = io.open(path, "rb")
  local bytes = file and file:read(MOST_TEXT) or ""
  if file then file:close() end
  return bytes
end

-- Verdicts are answers: of judge 1 and 3 too.
local function is_failure(tool, status)
  return status ~= 0 and not (tool.name == "judge" and (status == 1 or status == 3))
end

-- The last object of an output: of events a line each, else all of it; or what is in a file.
local function structured_of(tool, arguments, status, out)
  if tool.result then
    local value = not is_failure(tool, status) and gi.json.decode(content(tool.result(arguments)))
    return type(value) == "table" and value or nil
  end
  if not tool.json then return nil end
  local value = gi.json.decode(out)
  if type(value) == "table" then return value end
  for line in out:gmatch "[^\n]+" do
    local one = gi.json.decode(line)
    value = type(one) == "table" and one.event ~= "end" and one or value
  end
  return type(value) == "table" and value or nil
end

local function objects_of(value)
  if type(value) ~= "table" then return value end
  if #value > 0 then
    local list = {}
    for i, one in ipairs(value) do list[i] = objects_of(one) end
    return gi.json.array(list)
  end
  local pairs_list = {}
  for i, key in ipairs(gi.settings.keys(value)) do
    pairs_list[i] = { key, objects_of(value[key]) }
  end
  return gi.json.object(pairs_list)
end

local function result_of(tool, arguments, status, out, err)
  local value = structured_of(tool, arguments, status, out)
  local said = value and tool.json and err or out .. err
  local told = value and tool.json and gi.json.encode(objects_of(value)) or ""
  return { text = ("%s%s%sexit status %d"):format(told, told ~= "" and "\n" or "",
      said ~= "" and said:gsub("\n*$", "\n") or "", status),
    is_error = is_failure(tool, status), structured = value and objects_of(value) }
end

local function argv_of(words)
  return { core.system.program(), "-e", "require('gilua.core').system.end_with_parent()",
    table.unpack(words) }
end

---@return McpWork
local function start(folder, name, arguments)
  M.calls = (M.calls or 0) + 1
  local out, err = ("%s/%d.out"):format(folder, M.calls), ("%s/%d.err"):format(folder, M.calls)
  local tool, at = TOOL[name], 0
  local pid, why = core.system.begin { argv = argv_of(words_of(tool, arguments)), out = out,
    err = err }
  local function remove()
    os.remove(out)
    os.remove(err)
  end
  if not pid then return { stop = remove, poll = function()
    return { text = why, is_error = true }
  end } end
  return {
    progress = function()
      local lines
      lines, at = lines_behind(tool.json and err or out, at)
      return lines
    end,
    stop = function()
      core.system.stop(pid)
      remove()
    end,
    poll = function()
      local status = core.system.ended(pid)
      if not status then return nil end
      local found = result_of(tool, arguments, status, content(out), content(err))
      remove()
      return found
    end,
  }
end

--------------------------------------------------------------------------------------------------
-- The streams

-- Gives the server whole lines; returns what is behind the last. A line without end that is too
-- long is given as it is, to be refused.
local function feed(server, bytes)
  local at = 1
  for line, behind in bytes:gmatch "([^\n]*)\n()" do
    server:take(line)
    at = behind
  end
  local rest = bytes:sub(at)
  if #rest <= mcp.MOST_BYTES then return rest end
  server:take(rest)
  return ""
end

local function serve()
  local out = core.system.take_stdout() -- whatever is printed goes to standard error
  local folder <close> = gi.tempfolder.new()
  local server = mcp.new { name = "gilua", version = gi.version, tools = TOOLS,
    instructions = INSTRUCTIONS,
    start = function(name, arguments) return start(folder.path, name, arguments) end,
    send = function(line)
      out:write(line, "\n")
      out:flush()
    end }
  local _ <close> = setmetatable({}, { __close = function() server:close() end })
  local rest, is_busy = "", false
  while true do
    local bytes = core.system.input(is_busy and WAIT_S or IDLE_S)
    if bytes == nil then break end
    rest = feed(server, rest .. bytes)
    is_busy = server:turn()
  end
  while server:turn() do core.system.sleep(WAIT_S) end -- what was asked for is answered
end

function M.run()
  local o = gi.cli {
    takes = "",
    doc = "Serves agents: gilua's commands as tools of the Model Context Protocol.",
    { name = "mcp", default = false, doc = "over standard input and output: the one way there is" },
  }
  if not o.mcp then
    ends.with(ends.STATUS.usage, "gilua serve --mcp: say how; there is no other way yet")
  end
  serve()
end

return M
