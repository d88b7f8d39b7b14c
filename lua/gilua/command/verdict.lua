-- verdict: the last sentence of gilua improve: the gain, how far it can be trusted, and the next
-- command.

local ends = require "gilua.base.ends"
local gi = require "gilua"
local shell = require "gilua.base.shell"

local M = {}

--- A gain that is worth a change of the kernel, as a share of its time.
M.LEAST = 0.01

--- The first finding of a check that stops everything, in a sentence.
---@param findings Finding[]
---@return string
function M.first_wrong(findings)
  for _, finding in ipairs(findings) do
    if finding[1] == "no" then
      return ("%s: %s"):format(finding[2] ~= "" and finding[2] or "data", finding[3])
    end
  end
end

--- What a winner was tried on and found right.
---@param found table of winner.verified
---@return string
function M.tested(found)
  local own, sorts = found.own, found.other and found.other.right or 0
  return ("right on %s answers of %d new cases%s"):format(gi.progress.grouped(own.answers),
    #own.rows, sorts > 0 and (" and on %d sorts of other data"):format(sorts) or "")
end

-- What a person has to read before the winner may be applied.
local function to_read(run, found)
  local list = {}
  for _, promise in ipairs(gi.certificate.open(found.certificate, run.promises) or {}) do
    list[#list + 1] = promise:gsub("^by (%S+) that ", "%1 promises that ")
  end
  local function add_lines(lines, what)
    if lines and #lines > 0 then
      list[#list + 1] = ("line%s %s, %s"):format(#lines > 1 and "s" or "",
        table.concat(lines, ", "), what)
    end
  end
  add_lines(run.untold, "where the data do not notice a change")
  add_lines(found.untested, "which the small case does not reach")
  return list
end

local function marked(gain, dir, list)
  local what = #list == 1 and ("one promise to read: %s;"):format(list[1])
    or ("%d promises to read:\n  %s\n"):format(#list, table.concat(list, "\n  "))
  return ("%s, %s gilua apply %s --diff shows the change, --in-place --anyway applies it"):format(
    gain, what, dir)
end

--- The verdict on a winner.
---@param dir string the run's folder
---@param run FoundRun
---@param found table of winner.verified
---@param wrong? string where it is wrong, in a sentence
---@return integer? status of the command
---@return string text
---@return table[] fields for programs
function M.of(dir, run, found, wrong)
  if wrong then
    return ends.STATUS.no_winner, ("nothing to apply: the fastest kernel is wrong on data that it "
      .. "never saw (gilua verify %s)"):format(shell.word(dir)), { { "right", false } }
  end
  local ratio, c, list = found.own.ratio.median, found.certificate, to_read(run, found)
  local fields = { { "right", true }, { "ratio", ratio }, { "run", dir },
    { "certified", c ~= nil and c.certified }, { "to_read", gi.json.array(list) } }
  if ratio < 1 + M.LEAST then
    return ends.STATUS.no_winner, ("nothing worth a change: the best kernel is %.3f times as fast "
      .. "on new data"):format(ratio), fields
  end
  local gain, word = ("%.2fx"):format(ratio), shell.word(dir)
  if #list > 0 then return nil, marked(gain, word, list), fields end
  local trust = c and c.certified and "certified"
    or "right on all data tried, " .. (c and gi.certificate.sentence(c) or "not certified")
  return nil, ("%s, %s; apply with: gilua apply %s --in-place"):format(gain, trust, word), fields
end

--- The verdict where no kernel is better.
---@param run Run
---@return string text
---@return table[] fields for programs
function M.nothing(run)
  local limits = gi.roofline.of_result(run.result)
  local limit = limits and limits[1]
  local why = limit and ("%.1fx above its %s floor"):format(limit.times, limit.by)
    or ("none of %s kernels is %g %% faster"):format(gi.progress.grouped(run.evaluations),
      100 * M.LEAST)
  return "nothing worth a change: " .. why, { { "right", true }, { "limit",
    limit and limit.times } }
end

return M
