-- merge: `gilua merge OUT RUN …`: puts several runs' archives into one.

local answer = require "gilua.command.answer"
local gi = require "gilua"
local progress = require "gilua.report.progress"

local WHAT = { verdict = "verdicts of checked runs", unit = "answers of compilers",
  measurement = "measurements", evaluation = "evaluations" }

local function say(o, merged)
  answer.say(o, "%s: %s run%s, %s of them new; %s evaluations added", merged.path,
    progress.grouped(merged.runs), merged.runs == 1 and "" or "s",
    progress.grouped(merged.new_runs), progress.grouped(merged.evaluations))
  for _, c in ipairs(merged.conflicts) do
    answer.say(o, "  %s %s differ from those that were there, which stay: %s%s",
      progress.grouped(c.n), WHAT[c.table], c.example, c.n > 1 and ", …" or "")
  end
end

--- Puts the archives of runs together.
return function()
  local o = gi.cli {
    takes = "quiet",
    doc = "Puts the archives of runs together in one, which log, export and rescore read.",
    positional = { { name = "into", doc = "a folder, made where it is not there" },
      { name = "runs", many = true, doc = "folders of runs, or archives" } },
  }
  gi.merge.sources(o.runs) -- before anything is made
  local folder <close> = gi.folder.open(o.into, "", "; choose another folder")
  local path = ("%s/%s"):format(folder.dir, gi.history.FILE)
  for _, merged in ipairs(gi.merge.into(path, o.runs)) do say(o, merged) end
end
