-- What the READMEs of kernels/ say of their data: the score, and a word on the line of every change
-- that is not noticed. Two problems are scored here, all twelve by `make scores` (a minute).

package.path = "tests/lua/?.lua;lua/?.lua;" .. package.path
local gi = require "gilua"
local problems = require "problems"
local tap = require "tap"

local QUICK = { reduction = true, spmv = true }
local ALL = os.getenv "GILUA_SCORES" == "all"

-- The section of a README: its text in one line, and what its first sentence says.
local function told(name)
  local text = tap.read("kernels/" .. name .. "/README.md")
  local section = (text:match "\n## What the data tell\n(.-)\n## " or ""):gsub("%s+", " ")
  local said = section:match "scores the data (%d%.%d%d: %d+ of %d+ changes of the kernel)"
  return section, said and "score " .. said .. " are noticed"
end

-- Is a line of the kernel among the numbers of a text, or between two of them?
local function names_line(text, line)
  for from, to in text:gmatch "(%d+) to (%d+)" do
    if line >= tonumber(from) and line <= tonumber(to) then return true end
  end
  return text:find("%f[%d]" .. line .. "%f[%D]") ~= nil
end

local function unexplained(section, found)
  local lines = {}
  for _, s in ipairs(found.survivors) do
    if not names_line(section, s.line) then lines[#lines + 1] = s.line .. ": " .. s.what end
  end
  return table.concat(lines, "; ")
end

local function score(name)
  local problem = gi.problem("kernels/" .. name)
  local farm <close> = gi.farm(problem)
  return gi.adequacy.of(problem, farm, gi.own.case(problem, 1, "emu"))
end

for _, name in ipairs(problems.names()) do
  tap.case("kernels/" .. name, function()
    local section, said = told(name)
    tap.ok(said, "its README says what its data score")
    if ALL or QUICK[name] then
      local found = score(name)
      tap.is(said, gi.adequacy.line(found), "which is what they score")
      tap.is(unexplained(section, found), "", "and has a word on every change not noticed")
    end
  end)
end

tap.done()
