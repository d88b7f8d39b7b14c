-- tap: the test protocol `prove` reads, for Lua. Run from the repository's root.
--
--   local tap = require "tap"
--   tap.case("what holds", function() tap.is(1 + 1, 2, "addition") end)
--   tap.done()
--
-- A case that raises fails with its traceback and the next one runs. After every case garbage is
-- collected, no global may be new, and the test's own temporary folder (tests/run gives it one)
-- must be as it was.

local has_lfs, lfs = pcall(require, "lfs") -- here, because LuaFileSystem makes a global of itself

local M = {}

local TEMPORARY = os.getenv("TMPDIR")

local count, failed = 0, 0
local scratch = {}

local function report(pass, what, where)
  count = count + 1
  io.write(pass and "ok " or "not ok ", count, " - ", what or "", "\n")
  if not pass then
    failed = failed + 1
    io.write("# failed at ", where, "\n")
  end
  return pass
end

local function caller(level)
  local info = debug.getinfo(level + 1, "Sl")
  return ("%s:%d"):format(info.short_src, info.currentline)
end

local function note(text)
  io.write("# ", (tostring(text):gsub("\n", "\n# ")), "\n")
end

--- Says something in the output without judging.
M.note = note

local function show(value)
  return type(value) == "string" and ("%q"):format(value) or tostring(value)
end

---@param condition any
---@param what string
function M.ok(condition, what)
  return report(condition and true or false, what, caller(2))
end

--- Equal by ==.
function M.is(got, want, what)
  local pass = report(got == want, what, caller(2))
  if not pass then
    note("got  " .. show(got))
    note("want " .. show(want))
  end
  return pass
end

--- Equal within a relative tolerance (1e-12).
function M.near(got, want, what, tolerance)
  local pass = math.abs(got - want) <= (tolerance or 1e-12) * math.max(1, math.abs(want))
  if not report(pass, what, caller(2)) then
    note(("got %.17g, want %.17g"):format(got, want))
  end
  return pass
end

--- Does the text contain the part, as it stands?
function M.has(text, part, what)
  local pass = type(text) == "string" and text:find(part, 1, true) ~= nil
  if not report(pass, what, caller(2)) then
    note("no " .. show(part) .. " in")
    note(show(text))
  end
  return pass
end

--- Does the function raise an error whose text contains the part?
function M.raises(f, part, what)
  local fine, why = pcall(f)
  local pass = not fine and tostring(why):find(part, 1, true) ~= nil
  if not report(pass, what, caller(2)) then
    note(fine and "no error was raised" or "no " .. show(part) .. " in " .. tostring(why))
  end
  return pass
end

--- Under sanitizers, which make everything several times slower: says what is left out there
--- because it asks about results and no other memory is touched, and is true. Other runs are
--- complete.
---@param what string is left out
---@return boolean
function M.sanitized(what)
  if not os.getenv "GILUA_SANITIZED" then return false end
  note("left out under sanitizers: " .. what)
  return true
end

--- Passes with a reason why it was not tried.
function M.skip(reason)
  count = count + 1
  io.write("ok ", count, " # SKIP ", reason, "\n")
end

--- The path of a new folder that goes when the case ends.
function M.folder()
  local path = os.tmpname() -- below /tmp, whatever TMPDIR says
  os.remove(path)
  if TEMPORARY then path = TEMPORARY .. path:match("/[^/]*$") end
  assert(lfs.mkdir(path))
  scratch[#scratch + 1] = path
  return path
end

---@param path string
---@return string? text nil where there is no such file
function M.read(path)
  local file = io.open(path, "rb")
  if not file then return nil end
  local text = file:read("a")
  file:close()
  return text
end

local function remove(path)
  if lfs.symlinkattributes(path, "mode") == "directory" then
    for name in lfs.dir(path) do
      if name ~= "." and name ~= ".." then remove(path .. "/" .. name) end
    end
  end
  os.remove(path)
end

local function temporary_files()
  if not (has_lfs and TEMPORARY) then return {} end
  local names = {}
  for name in lfs.dir(TEMPORARY) do
    -- a farm that is still open has its workers' scratch there, which goes with it
    if not name:find "^gilua%-[%d%-]*%w%w%w%w%w%w$" then names[name] = true end
  end
  return names
end

local function new_names(before, now)
  local list = {}
  for name in pairs(now) do
    if before[name] == nil then list[#list + 1] = tostring(name) end
  end
  table.sort(list)
  return table.concat(list, ", ")
end

local function copy_keys(t)
  local keys = {}
  for key in pairs(t) do keys[key] = true end
  return keys
end

--- Runs one case.
---@param name string the behaviour it shows
---@param body fun()
function M.case(name, body)
  local globals, files = copy_keys(_G), temporary_files()
  note(name)
  local fine, why = xpcall(body, debug.traceback)
  if not fine then
    report(false, name .. ": raised an error", caller(2))
    note(why)
  end
  for i = #scratch, 1, -1 do
    remove(scratch[i])
    scratch[i] = nil
  end
  collectgarbage()
  collectgarbage()
  local extra = new_names(globals, _G)
  if extra ~= "" then
    report(false, name .. ": made globals: " .. extra, caller(2))
    for key in pairs(_G) do
      if not globals[key] then _G[key] = nil end
    end
  end
  local left = new_names(files, temporary_files())
  if left ~= "" then report(false, name .. ": left files behind: " .. left, caller(2)) end
end

--- Ends the file: the plan, and the exit code.
function M.done()
  io.write("1..", count, "\n")
  os.exit(failed == 0, true)
end

return M
