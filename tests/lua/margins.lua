-- Lines end where CONTRIBUTING.md says: C and Lua at 100 columns.
package.path = "tests/lua/?.lua;" .. package.path
local tap = require "tap"
local lfs = require "lfs"

--- Every file below a folder whose name matches, as paths, in order.
local function below(folder, pattern, list)
  local names = {}
  for name in lfs.dir(folder) do names[#names + 1] = name end
  table.sort(names)
  for _, name in ipairs(names) do
    local path = folder .. "/" .. name
    if lfs.attributes(path, "mode") == "directory" then
      if not name:find "^%." then below(path, pattern, list) end
    elseif name:find(pattern) then
      list[#list + 1] = path
    end
  end
  return list
end

--- "path:line: length" of every line that is longer, in characters.
local function too_long(path, most)
  local found, n = {}, 0
  for line in io.lines(path) do
    n = n + 1
    local length = utf8.len(line) or #line
    if length > most then found[#found + 1] = ("%s:%d: %d"):format(path, n, length) end
  end
  return found
end

local function within(most, what, places, pattern)
  local files, wrong = {}, {}
  for _, folder in ipairs(places) do below(folder, pattern, files) end
  for _, path in ipairs(files) do
    table.move(too_long(path, most), 1, 1000, #wrong + 1, wrong)
  end
  tap.ok(#files > 10, ("%s: %d files"):format(what, #files))
  tap.is(table.concat(wrong, "\n"), "", ("no line of more than %d"):format(most))
end

tap.case("source lines end within 100 columns", function()
  within(100, "C", { "src", "tests/c", "tests/fuzz" }, "%.[ch]$")
  within(100, "the kernels", { "kernels" }, "%.cu?$")
  within(100, "Lua", { "lua", "experiments", "kernels", "tests/lua", "tests/gpu", "docs" },
    "%.lua$")
end)

tap.done()
