-- coverage: which lines of a kernel run, and which never do. The PTX says which line each stretch of
-- it comes from; there a store is put that notes the line. On the virtual GPU.

local core = require "gilua.core"

local M = {}

-- The numbers of the files that a PTX text calls kernel.cu (or whatever the source is called).
local function own_files(ptx, name)
  local own = {}
  for number, path in ptx:gmatch('%.file%s+(%d+)%s+"([^"]*)"') do
    own[number] = path:match("([^/]+)$") == name
  end
  return own
end

-- PTX that notes every line it comes to in gilua_seen, and the lines it can come to.
local function instrumented(ptx, name, lines)
  local own, known = own_files(ptx, name), {}
  local body = ptx:gsub("(\n%s*%.loc%s+(%d+)%s+(%d+)[^\n]*)", function(whole, file, line)
    line = tonumber(line)
    if not own[file] or line < 1 or line > lines then return nil end
    known[line] = true
    return ("%s\n\tst.global.u8 [gilua_seen+%d], 1;"):format(whole, line)
  end)
  local declared = body:gsub("(%.address_size%s+%d+[^\n]*\n)", function(directive)
    return directive .. ("\n.global .align 8 .b8 gilua_seen[%d];\n"):format(lines + 1)
  end, 1)
  return declared, known
end

---Lines of the kernel that run on a case, and those that have code but do not.
---@param problem gilua.problem
---@param case table as problem:case makes it
---@return { seen: table<integer, boolean>, never: integer[] }? coverage
---@return string? why there is none
function M.of(problem, case)
  local gi = require "gilua"
  local device <close> = assert(gi.device "emu")
  local runner = gi.runner.new(problem, device)
  local values = problem:values()
  local source = problem.grammar:guard(false) .. "#line 1\n" .. problem.grammar:apply("")
  local name, lines = "kernel.cu", problem.grammar:line_count()
  local ptx, why = core.compile.compile(source, { target = device:target(), name = name,
    options = (problem:compile_options(values)) })
  if not ptx then return nil, why end
  local code, known = instrumented(ptx, name, lines)
  local module <close> = assert(device:load(code))
  runner:use(case)
  local m = module:launch(runner:prepare(module, { values = values }))
  if m.status ~= "ok" then return nil, m.message end
  local marks, seen, never = core.array.new("u8", lines + 1), {}, {}
  assert(module:read("gilua_seen", marks))
  for line = 1, lines do
    if known[line] then
      seen[line] = marks[line + 1] == 1
      if not seen[line] then never[#never + 1] = line end
    end
  end
  runner:use(nil)
  return { seen = seen, never = never }
end

return M
