-- backport: what evolution changed in a kernel, put into the file that the kernel came from.
--
-- A sliced source has the file's lines under their numbers (gilua.slice), so a line of the mutant
-- that is its source line unchanged stands for the file's own line, host code and all.

local gi = require "gilua"
local fail = require "gilua.base.fail"
local textfile = require "gilua.base.textfile"

local M = {}

local function lines_of(text)
  local list = {}
  for line in (text:gsub("\r\n", "\n") .. "\n"):gmatch("(.-)\n") do list[#list + 1] = line end
  if list[#list] == "" then list[#list] = nil end
  return list
end

-- A changed line as the file has it: `extern "C"` and what stands for a template are taken out.
local function unedited(line, edits)
  for _, e in ipairs(edits) do
    local was, now = lines_of(e.was .. "\n"), lines_of(e.now .. "\n")
    for i, text in ipairs(now) do
      local from, to = line:find(text, 1, true)
      if from and text ~= "" then
        return line:sub(1, from - 1) .. (was[i] or "") .. line:sub(to + 1)
      end
    end
    if #now == 1 and e.was == "" then
      local from, to = line:find(e.now, 1, true)
      if from then return line:sub(1, from - 1) .. line:sub(to + 1) end
    end
  end
  return line
end

-- The file and how its kernel was cut out of it; a folder written by hand is its own file.
local function original(problem)
  local t = problem.definition.kernel_table
  local made = t and t.table.made_from
  if not made then return problem.source_path, problem.source, {} end
  local text = textfile.read(made.path, "the file that the kernel came from")
  local options = t:options(t:defaults())
  local cut = gi.slice.cut(text, made.path, problem.kernel,
    { folder = problem.dir, template = made.template, options = options })
  if cut.source ~= problem.source then
    fail("%s is not what it was when %s/kernel.cu was made of it (or that was edited): put the "
      .. "changes of best.patch in by hand, or begin again with gilua new", made.path, problem.dir)
  end
  return made.path, text, cut.edits
end

--- The user's file with a genome's changes.
---@param problem gilua.problem
---@param genome string
---@return string text
---@return string old the file as it is
---@return string path
---@return table params what the genome sets
function M.file(problem, genome)
  local path, text, edits = original(problem)
  local mutant, detail = problem.grammar:apply(genome, true)
  if not mutant then fail("the winner does not fit %s: %s", problem.source_path, detail) end
  local users, sliced, changed = lines_of(text), lines_of(problem.source), lines_of(mutant)
  local out = {}
  for i, line in ipairs(changed) do
    local from = detail.origin[i]
    out[i] = line == sliced[from] and users[from] or unedited(line, edits)
  end
  local newline = text:find("\r\n", 1, true) and "\r\n" or "\n"
  local ending = text:sub(-1) == "\n" and newline or ""
  return table.concat(out, newline) .. ending, text, path, detail.params
end

return M
