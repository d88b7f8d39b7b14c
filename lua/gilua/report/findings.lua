-- findings: the findings of `gilua check` and `gilua doctor`: printed for a person as they come,
-- and with --json written for a program at the end.

local json = require "gilua.base.json"
local printable = require "gilua.base.printable"

local M = {}

local Findings = {}
Findings.__index = Findings

-- A mark at the line's head, and the word in JSON.
local VERDICT = { ok = "ok", no = "wrong", ["!!"] = "warning" }

---@class Finding
---@field [1] string "ok", "no": wrong, or "!!": a warning
---@field [2] string what was looked at, in a word or two
---@field [3] string a sentence
---@field advice? string[] lines that follow
---@field figures? table[] { name, value }, for programs

--- An empty list.
---@param options { silent?: boolean } silent: nothing is printed
---@return table
function M.new(options)
  return setmetatable({ silent = options.silent, all_well = true }, Findings)
end

local function shown(mark, what, text)
  printable.print(("%-4s %-14s %s"):format(mark, what, text))
end

--- One more. Whatever is wrong makes all_well false.
---@param finding Finding
function Findings:add(finding)
  self[#self + 1] = finding
  self.all_well = self.all_well and finding[1] ~= "no"
  if self.silent then return end
  shown(table.unpack(finding))
  for _, line in ipairs(finding.advice or {}) do shown("", "", line) end
end

--- For --json: { what, verdict, text, advice } and the figures of each.
---@return table
function Findings:value()
  local list = {}
  for i, f in ipairs(self) do
    local fields = { { "what", f[2] }, { "verdict", VERDICT[f[1]] }, { "text", f[3] },
      { "advice", json.array(f.advice or {}) } }
    list[i] = json.object(table.move(f.figures or {}, 1, #(f.figures or {}), 5, fields))
  end
  return json.array(list)
end

return M
