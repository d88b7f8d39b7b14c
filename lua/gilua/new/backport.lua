-- backport: what evolution changed in a kernel, put into the file that the kernel came from.
--
-- A sliced source has the file's lines under their numbers (gilua.slice), so a line of the mutant
-- that is its source line unchanged stands for the file's own line, host code and all.

local genomes = require "gilua.search.genome"
local gi = require "gilua"
local fail = require "gilua.base.fail"
local ptxtext = require "gilua.problem.ptxtext"
local textfile = require "gilua.base.textfile"

local M = {}

-- Lines of a text, each with the end that it has: { text, stop }. The last one may have none.
local function lines_of(text)
  local list = {}
  for line, stop in text:gmatch "([^\n]*)(\n?)" do
    if line == "" and stop == "" then break end
    local bare, cr = line:match "^(.-)(\r?)$"
    if stop == "" then bare, cr = line, "" end
    list[#list + 1] = { text = bare, stop = cr .. stop }
  end
  return list
end

-- A changed line as the file has it: `extern "C"` and what stands for a template are taken out.
local function unedited(line, edits)
  for _, e in ipairs(edits) do
    local was, now = lines_of(e.was .. "\n"), lines_of(e.now .. "\n")
    for i, part in ipairs(now) do
      local from, to = line:find(part.text, 1, true)
      if from and part.text ~= "" then
        return line:sub(1, from - 1) .. (was[i] and was[i].text or "") .. line:sub(to + 1)
      end
    end
    if #now == 1 and e.was == "" then
      local from, to = line:find(e.now, 1, true)
      if from then return line:sub(1, from - 1) .. line:sub(to + 1) end
    end
  end
  return line
end

-- The kernel's file again, and how it was cut out of the user's; headers of it go to a folder that
-- is not kept.
local function cut_again(kept, text)
  local folder <close> = gi.tempfolder.new()
  return gi.slice.cut(text, kept.made_from.path, kept.kernel,
    { folder = folder.path, template = kept.made_from.template,
      templates = kept.made_from.templates, options = kept.options })
end

-- The file and how its kernel was cut out of it; a folder written by hand is its own file.
local function original(kept)
  local made = kept.made_from
  local path = made and made.path or kept.source_path
  local text = textfile.read(path, "the file that the kernel came from")
  local cut = made and cut_again(kept, text) or { source = text, edits = {} }
  if cut.source ~= kept.source then
    fail("%s is not what it was in the run%s: put the changes of best.patch in by hand, or begin "
      .. "again%s", path, made and (", or %s was edited"):format(kept.source_path) or "",
      made and " with gilua new" or "")
  end
  return path, text, cut.edits
end

-- How a changed line ends: as the line that it stands for; one put after a line that had no end
-- follows the line before that.
local function stop_of(users, from)
  for i = from, 1, -1 do
    if users[i].stop ~= "" then return users[i].stop end
  end
  return "\n"
end

-- The user's lines, but for those that are not what was cut out of them. The cut text may lack the
-- last one: nothing is left of it, and it had no end.
local function joined(users, sliced, changed, origin, edits)
  local out = {}
  for i, line in ipairs(changed) do
    local from = origin[i]
    local same = line.text == sliced[from].text
    out[#out + 1] = same and users[from].text or unedited(line.text, edits)
    out[#out + 1] = i == #changed and users[#sliced].stop or stop_of(users, from)
  end
  for i = #sliced + 1, #users do out[#out + 1] = users[i].text .. users[i].stop end
  return table.concat(out)
end

-- The module that a kernel without a source was taken from, with what became of the kernel.
local function module(kept, below)
  local path = kept.made_from and kept.made_from.path or kept.source_path
  local text = textfile.read(path, "the module that the kernels came from")
  local changed, why = kept.ptx:apply(below)
  if not changed then fail("the winner does not fit %s: %s", kept.source_path, why) end
  return ptxtext.with(text, changed), text, path, {}
end

--- The user's file with a genome's changes, and all else as it is, the ends of lines too. Nothing
--- of the problem is run.
---@param kept Kept the problem: gi.kept.of(problem), or what a run kept
---@param genome string
---@return string text
---@return string old the file as it is
---@return string path
---@return table params what the genome sets
function M.file(kept, genome)
  if kept.is_ptx then return module(kept, (select(2, genomes.parts(genome)))) end
  local path, text, edits = original(kept)
  local mutant, detail = kept.grammar:apply(genome, true)
  if not mutant then fail("the winner does not fit %s: %s", kept.source_path, detail) end
  return joined(lines_of(text), lines_of(kept.source), lines_of(mutant), detail.origin, edits),
    text, path, detail.params
end

return M
