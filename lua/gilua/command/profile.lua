-- profile: `gilua profile DIR`: where a kernel's time goes, and how near it is to the least time
-- that its work can take (gilua.base.roofline). On the virtual GPU, which counts everything.

local answer = require "gilua.command.answer"
local boxed = require "gilua.command.boxed"
local fail = require "gilua.base.fail"
local gi = require "gilua"

local PARTS = { { "part_issue", "instructions to issue" }, { "part_latency", "waits for results" },
  { "part_memory", "bytes to move" } }

-- What takes how much of the time, were it alone.
local function part_lines(m)
  local lines = {}
  for i, part in ipairs(PARTS) do
    lines[i] = ("  %-24s %12s ticks, %3.0f %% of the kernel's"):format(part[2],
      gi.progress.grouped(m[part[1]]), 100 * m[part[1]] / m.ticks)
  end
  return lines
end

local function number_pairs(m)
  local list = {}
  for _, name in ipairs(gi.settings.keys(m)) do
    if type(m[name]) == "number" then list[#list + 1] = { name, m[name] } end
  end
  return list
end

local function spec_of(o, problem)
  if problem.definition.recorded then return gi.own.case(problem, o.seed, "emu") end
  return { seed = o.seed }
end

local function tell(o, problem, m, limit, case)
  answer.say(o, "%s on %s: %s ticks, %.2f us on a virtual NVIDIA H200", problem.kernel, case,
    gi.progress.grouped(m.ticks), m.ns / 1e3)
  answer.say(o, "  most of it: %s; %s", gi.roofline.binds(m) or "not known",
    limit and gi.roofline.words(limit) or "its limit is not known")
  for _, line in ipairs(part_lines(m)) do answer.say(o, "%s", line) end
  answer.say(o, "  %d registers a thread, %d bytes of shared memory a block", m.registers,
    m.shared_bytes)
end

local function profile(o)
  boxed.require(o)
  local problem = gi.problem(o.problem)
  local farm <close> = gi.farm(problem, { device = "emu", jobs = o.jobs })
  local m = farm:evaluate({ "" }, spec_of(o, problem))[1]
  if m.status ~= "ok" then
    fail("the kernel of %s does not run: %s: %s (gilua check %s)", o.problem, m.status,
      m.message or "", gi.shell.word(o.problem))
  end
  local case, limit = farm:case_info().name, (gi.roofline.of(m))
  tell(o, problem, m, limit, case)
  return gi.json.object { { "problem", o.problem }, { "kernel", problem.kernel }, { "case", case },
    { "ticks", m.ticks }, { "ns", m.ns }, { "binds", gi.roofline.binds(m) },
    { "limit", limit and gi.json.object { { "ns", limit.ns }, { "times", limit.times },
      { "by", limit.by } } }, { "counts", gi.json.object(number_pairs(m)) } }
end

return function()
  local o = gi.cli {
    takes = "seed jobs quiet",
    doc = "Tells where a kernel's time goes, and the least time that its work can take.",
    positional = { { name = "problem", doc = "its folder" } }, boxed.OPTION, answer.JSON,
  }
  return answer.given(o, profile)
end
