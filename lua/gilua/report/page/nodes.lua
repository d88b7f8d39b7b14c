-- nodes: the agents that work for a run, on its live page (`gilua cluster status` lists those of
-- all runs of a server).

local markup = require "gilua.report.page.markup"

local M = {}

local WORDS = { ready = "at work", asked = "gets ready", gone = "lost", refused = "no work",
                new = "not asked yet" }

local function many(n, noun)
  return ("%d %s%s"):format(n, noun, n == 1 and "" or "s")
end

local function row_of(node)
  return { markup.escape(node.host), tostring(node.workers),
    markup.escape(#node.gpus > 0 and table.concat(node.gpus, ", ") or "none"),
    markup.escape((WORDS[node.state] or node.state) .. (node.why and ": " .. node.why or "")) }
end

local function summary(c)
  local n, workers, gpus = 0, 0, 0
  for _, node in ipairs(c.nodes) do
    if node.state == "ready" then
      n, workers, gpus = n + 1, workers + node.workers, gpus + #node.gpus
    end
  end
  return ("%s with %s and %s; %s, %.3g a second; %s waiting; short are %s."):format(
    many(n, "agent"), many(workers, "worker"), many(gpus, "GPU"),
    many(c.measurements, "measurement"), c.rate, many(c.waiting, "job"), c.binds)
end

--- The section; nothing where the run is on this machine.
---@param c? table of farm:cluster()
---@return string html
function M.section(c)
  if not c then return "" end
  local rows = {}
  for i, node in ipairs(c.nodes) do rows[i] = row_of(node) end
  return markup.section("The cluster", markup.p(markup.escape(summary(c))),
    markup.grid({ "node", "workers", "GPUs", "" }, "lrll", rows))
end

return M
