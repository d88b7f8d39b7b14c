-- One hand in the Lua files: what is said in each of them is said in the same way.

package.path = "tests/lua/?.lua;" .. package.path
local gi = require "gilua"
local core = require "gilua.core"
local lfs = require "lfs"
local tap = require "tap"

-- Calls f with the path and text of every Lua file below a folder.
local function each_file(folder, f)
  for entry in lfs.dir(folder) do
    local path = folder .. "/" .. entry
    if entry:match "%.lua$" then
      local file <close> = assert(io.open(path))
      f(path:sub(#core.home + 2), file:read "a")
    elseif not entry:match "^%." and lfs.attributes(path, "mode") == "directory" then
      each_file(path, f)
    end
  end
end

-- "FILE: LINE" for each line of the library in which `odd` finds something.
local function lines_with(folders, odd)
  local found = {}
  for _, folder in ipairs(folders) do
    each_file(core.home .. "/" .. folder, function(path, text)
      for line in text:gmatch "[^\n]+" do
        if odd(line, path) then found[#found + 1] = path .. ": " .. line end
      end
    end)
  end
  return table.concat(found, "\n")
end

tap.case("a documentation comment begins with three dashes and a space", function()
  tap.is(lines_with({ "lua", "kernels", "experiments", "tests/lua" }, function(line)
    return line:match "^%s*%-%-%-[^%-@|%s]"
  end), "", "other beginnings")
end)

tap.case("the library refuses through gilua.base.fail", function()
  tap.is(lines_with({ "lua/gilua" }, function(line)
    return line:match 'require[ (]*"gilua"%)?%.fail' or line:match "^%s*gi%.fail%("
  end), "", "other ways")
  tap.is(gi.fail, require "gilua.base.fail", "which is what scripts call gi.fail")
end)

tap.case("a word of a command is quoted by gilua.base.shell", function()
  tap.is(lines_with({ "lua", "kernels" }, function(line, path)
    return line:find([['\\'']], 1, true) and path ~= "lua/gilua/base/shell.lua"
  end), "", "other quotes")
  for _, word in ipairs { "plain", "two words", "a'b", "$(false)`false`", "\\", '"', "" } do
    local pipe = assert(io.popen("printf %s " .. gi.shell.quoted(word)))
    tap.is(pipe:read "a", word, "what the shell makes of " .. word)
    pipe:close()
  end
end)

tap.done()
