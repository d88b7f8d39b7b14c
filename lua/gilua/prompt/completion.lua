-- completion: the Tab key: finds the kind of word before the cursor and asks the module that
-- completes it.

local core = require "gilua.core"
local genes = require "gilua.prompt.genes"
local inspect = require "gilua.prompt.inspect"
local entries = require "gilua.base.entries"
local lfs = require "lfs"
local manual = require "gilua.prompt.manual"
local names = require "gilua.prompt.names"
local offer = require "gilua.prompt.offer"

local M = {}

-- --- where the cursor is -----------------------------------------------------------------------

-- The end of a quoted string that begins at `at`; nil where it has none.
local function end_of_quoted(text, at, quote)
  local i = at + 1
  while i <= #text do
    local c = text:sub(i, i)
    if c == quote then return i end
    i = i + (c == "\\" and 2 or 1)
  end
end

-- What stands at the end of a line: "code", "comment", or "string" with the place where its text
-- begins, the quote that would end it, and the name it is given to (`f` in f "text).
function M.context(text)
  local at = 1
  while at <= #text do
    local dashes, level = text:match("^(%-?%-?)%[(=*)%[", at)
    local c = text:sub(at, at)
    if level and dashes ~= "-" then
      local _, stop = text:find("]" .. level .. "]", at, true)
      local start = at + #dashes + #level + 2
      if not stop and dashes == "--" then return "comment" end
      if not stop then return "string", start, "]" .. level .. "]", "" end
      at = stop + 1
    elseif text:find("^%-%-", at) then
      return "comment"
    elseif c == '"' or c == "'" then
      local stop = end_of_quoted(text, at, c)
      local caller = text:sub(1, at - 1):match("([%a_][%w_]*)%s*%(?%s*$")
      if not stop then return "string", at + 1, c, caller or "" end
      at = stop + 1
    else
      at = at + 1
    end
  end
  return "code"
end

-- --- files and words in strings ----------------------------------------------------------------

local function is_folder(path)
  return lfs.attributes(path, "mode") == "directory"
end

local function is_problem(path)
  return lfs.attributes(path .. "/problem.lua", "mode") == "file"
end

-- Names in a folder as gilua finds it: from here, else below gilua's own.
local function complete_file(text, closing, caller)
  local folder, typed = text:match("^(.*/)([^/]*)$")
  folder, typed = folder or "", typed or text
  local place = folder == "" and "./" or folder
  if not is_folder(place) then place = core.home .. "/" .. folder end
  if not is_folder(place) then return offer.nothing() end
  local words = {}
  for name in entries(place) do
    local hidden = name:sub(1, 1) == "." and typed:sub(1, 1) ~= "."
    if name ~= "." and name ~= ".." and not hidden then words[#words + 1] = name end
  end
  words = offer.fitting(words, typed)
  table.sort(words)
  local whole = #words == 1 and place .. words[1]
  local ending = closing
  if whole and is_folder(whole) then
    ending = caller == "problem" and is_problem(whole) and closing or "/"
  end
  return offer.of(words, typed, ending)
end

local GENES = { mutant = true, check = true, apply = true, genes = true, neighbours = true,
                compare = true, evaluate = true }

local function rule_types(problem)
  local seen, words = {}, {}
  for _, rule in ipairs(problem.grammar:rules()) do
    if not seen[rule.type] and rule.type ~= "fixed" then
      seen[rule.type] = true
      words[#words + 1] = rule.type
    end
  end
  table.sort(words)
  return words
end

local function complete_string(text, closing, caller)
  local problem = require("gilua.problem.class").latest()
  if caller == "help" then return offer.of(manual.names(), text, closing) end
  if problem and caller == "rules" then
    return offer.of(rule_types(problem), text, closing)
  end
  if problem and (GENES[caller] or text:find("^%s*<")) then return genes.complete(problem, text) end
  if text:find("^%s*<") then return offer.nothing() end
  return complete_file(text, closing, caller)
end

-- --- the Tab key -------------------------------------------------------------------------------

local MOST_LISTED = 200

local function listing(offered)
  local words, rest = offered.words, ""
  if #words == 0 then return "" end
  if #words > MOST_LISTED then
    rest = ("\n... and %d more"):format(#words - MOST_LISTED)
    words = table.move(words, 1, MOST_LISTED, 1, {})
  end
  if offered.tall then return table.concat(words, "\n") .. rest end
  return inspect.in_columns(words, inspect.terminal().width) .. rest
end

-- What Tab does to the text before the cursor.
function M.complete(before)
  local kind, start, closing, caller = M.context(before)
  local offered
  if kind == "comment" then
    offered = offer.nothing()
  elseif kind == "string" then
    offered = complete_string(before:sub(start), closing, caller)
  else
    offered = names.complete(before)
  end
  return offered.remove, offered.insert, listing(offered)
end

return M
