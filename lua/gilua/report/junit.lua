-- junit: results as JUnit XML for servers of continuous integration: a test suite whose test cases
-- have passed, failed or were skipped.

local textfile = require "gilua.base.textfile"

local M = {}

local ESCAPES = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;" }

-- XML 1.0 has no control characters but tab, line feed and carriage return.
local function escaped(text)
  local valid = utf8.len(text) and text or text:gsub("[\128-\255]", "?")
  return (valid:gsub('[&<>"]', ESCAPES):gsub("[%z\1-\8\11\12\14-\31\127]", "?"))
end

---@class JunitCase
---@field name string
---@field failure? string why it failed
---@field skipped? string why it did not run

local function case_text(suite, case)
  local head = ('  <testcase classname="%s" name="%s"'):format(escaped(suite), escaped(case.name))
  if case.failure then
    return ('%s>\n    <failure message="%s"/>\n  </testcase>\n'):format(head,
      escaped(case.failure))
  elseif case.skipped then
    return ('%s>\n    <skipped message="%s"/>\n  </testcase>\n'):format(head,
      escaped(case.skipped))
  end
  return head .. "/>\n"
end

--- The text of a suite.
---@param name string
---@param cases JunitCase[]
---@return string
function M.text(name, cases)
  local parts, failures, skipped = {}, 0, 0
  for i, case in ipairs(cases) do
    parts[i] = case_text(name, case)
    failures = failures + (case.failure and 1 or 0)
    skipped = skipped + (not case.failure and case.skipped and 1 or 0)
  end
  return ('<?xml version="1.0" encoding="UTF-8"?>\n<testsuite name="%s" tests="%d" failures="%d" '
    .. 'skipped="%d">\n%s</testsuite>\n'):format(escaped(name), #cases, failures, skipped,
    table.concat(parts))
end

--- Writes a suite.
---@param path string
---@param name string
---@param cases JunitCase[]
function M.write(path, name, cases)
  textfile.write(path, M.text(name, cases))
end

return M
