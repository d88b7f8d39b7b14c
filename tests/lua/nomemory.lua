-- nomemory: what there is no memory for on the virtual GPU is this process's affair, and no verdict
-- on a mutant; on a GPU it is one.
package.path = "tests/lua/?.lua;" .. package.path
local gi = require "gilua"
local replayer = require "gilua.farm.replayer"
local runner = require "gilua.farm.runner"
local tap = require "tap"

local WHY = "no memory for variable counter of 4 bytes"

-- A device that has none for what its field `lacks` names.
local function device(name, lacks)
  local module = { close = function() end }
  function module.launch()
    if lacks == "launch" then return nil, WHY, "nomem" end
    return { status = lacks == "stack" and "out_of_memory" or "ok" }
  end
  return { name = function() return name end, load = function()
    if lacks == "module" then return nil, WHY, "nomem" end
    return module
  end }
end

local function said(f, ...)
  local ran, why = pcall(f, ...)
  return ran and "no error" or tostring(why)
end

tap.case("a module, and a launch", function()
  local problem = gi.problem "kernels/reduction"
  local on_gpu = runner.new(problem, device("cuda:0", "module"))
  local _, failed = on_gpu:module { code = "…" }
  tap.is(failed.status, "out_of_memory", "a GPU's memory is the mutant's affair")
  local r = runner.new(problem, device("emu", "module"))
  tap.is(said(r.module, r, { code = "…" }), "not enough memory", "a module on the virtual GPU")
  for _, lacks in ipairs { "launch", "stack" } do
    r = runner.new(problem, device("emu", lacks))
    local module = r:module { code = "…" }
    tap.is(said(r.launched, r, module, {}), "not enough memory", "a launch: " .. lacks)
    r = runner.new(problem, device("cuda:0", lacks))
    tap.is(r:launched(r:module { code = "…" }, {}).status, "out_of_memory", "  on a GPU")
  end
  r = runner.new(problem, device "emu")
  tap.is(r:launched(r:module { code = "…" }, {}).status, "ok", "enough of it")
end)

tap.case("a replay", function()
  local answer
  local r = setmetatable({ modules = {}, recording = { path = "app.rec", replay = function()
    return table.unpack(answer, 1, 3)
  end } }, { __index = replayer })
  function r.renamed(_, text) return text end
  function r.grids() end
  for _, row in ipairs {
    { { nil, WHY, "nomem" }, "not enough memory", "an array" },
    { { { status = "out_of_memory" } }, "not enough memory", "a stack frame" },
    { { nil, "with memory of 9 bytes more than 1 GB of memory are taken", "nomem" },
      "app.rec: with memory of 9 bytes more than 1 GB of memory are taken",
      "more than a replay may" },
    { { { status = "ok" } }, "no error", "enough of it" },
  } do
    answer = row[1]
    tap.is(said(r.replay, r, "", {}), row[2], row[3])
  end
end)

tap.done()
