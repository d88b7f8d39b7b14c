-- Lines end where CONTRIBUTING.md says: C and Lua at 100 columns, Markdown at 120.
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

--- Is the line of Markdown prose, which can be broken? `state.fenced`: inside ``` and ```.
local function is_prose(line, state)
  if line:find "^%s*```" then state.fenced = not state.fenced end
  return not (state.fenced or line:find "^%s*|" or line:find "^    " or not line:find "%S%s+%S")
end

--- Adds "path:line: length" of every line that is longer, in characters.
local function add_too_long(path, most, counts, found)
  local n, state = 0, {}
  for line in io.lines(path) do
    n = n + 1
    local length = utf8.len(line) or #line
    if counts(line, state) and length > most then
      found[#found + 1] = ("%s:%d: %d"):format(path, n, length)
    end
  end
end

local function within(most, what, files, counts)
  local found = {}
  for _, path in ipairs(files) do add_too_long(path, most, counts, found) end
  tap.ok(#files > 10, ("%s: %d files"):format(what, #files))
  tap.is(table.concat(found, "\n"), "", ("no line of more than %d"):format(most))
end

local function all_below(folders, pattern)
  local list = {}
  for _, folder in ipairs(folders) do below(folder, pattern, list) end
  return list
end

local function every() return true end

tap.case("source lines end within 100 columns", function()
  within(100, "C", all_below({ "src", "tests/c", "tests/fuzz" }, "%.[ch]$"), every)
  within(100, "the kernels", all_below({ "kernels" }, "%.cu?$"), every)
  local lua = { "lua", "experiments", "kernels", "tests/lua", "tests/gpu", "docs" }
  within(100, "Lua", all_below(lua, "%.lua$"), every)
end)

tap.case("prose ends within 120 columns", function()
  local pages = all_below({ "docs", "kernels", "tests", "data" }, "%.md$")
  local written = { "README.md", "CHANGELOG.md", "CONTRIBUTING.md" }
  for _, path in ipairs(pages) do
    if path ~= "docs/api.md" then written[#written + 1] = path end -- made from the code
  end
  within(120, "Markdown, but for tables, code and docs/api.md", written, is_prose)
end)

tap.done()
