--- pythontext: the CUDA that a Python file has in its strings (CuPy's RawKernel, PyTorch's
--- load_inline, PyCUDA's SourceModule), as a source of C++ with the same lines, and back.
---
--- Strings that hold device code stay, and each stretch between them becomes one comment with its
--- number and its ends of lines. So a line of the source is that line of the file, and a changed
--- source becomes a changed file where its comments are put back. A string means what it says: of
--- one that is not raw an escape is refused, and so is an f-string, whose text is known to Python
--- alone.

local fail = require "gilua.base.fail"

local M = {}

--- Is it a file of Python's, by its name?
---@param path string
---@return boolean
function M.is(path)
  return path:find "%.py$" ~= nil
end

local function line_of(text, at)
  return select(2, text:sub(1, at):gsub("\n", "")) + 1
end

-- Where a string's text ends and where the string does; it begins behind the quotes.
local function ends_at(text, from, quotes)
  local at = from
  while true do
    local hit = text:find("[\\\n" .. quotes:sub(1, 1) .. "]", at)
    if not hit then return #text, #text end
    local c = text:sub(hit, hit)
    if c == "\\" then
      at = hit + 2
    elseif text:sub(hit, hit + #quotes - 1) == quotes then
      return hit - 1, hit + #quotes - 1
    elseif c == "\n" and #quotes == 1 then
      return hit - 1, hit -- not closed: Python refuses it
    else
      at = hit + 1
    end
  end
end

-- The strings of a file: { first, last, prefix } of each one's text.
local function strings(text)
  local list, at = {}, 1
  while true do
    local hit = text:find("[#\"']", at)
    if not hit then return list end
    if text:sub(hit, hit) == "#" then
      at = text:find("\n", hit, true) or #text + 1
    else
      local quotes = text:match('^"""', hit) or text:match("^'''", hit) or text:sub(hit, hit)
      local prefix = text:sub(math.max(at, hit - 3), hit - 1):match "%a*$":lower()
      local last, over = ends_at(text, hit + #quotes, quotes)
      list[#list + 1] = { first = hit + #quotes, last = last, prefix = prefix }
      at = over + 1
    end
  end
end

-- Device code, and no sentence about it.
local function is_code(text)
  return (text:find "__global__" or text:find "__device__") and text:find "%b()%s*%b{}"
end

-- Its strings of device code; those that cannot be taken as they stand are refused.
local function code_of(text, path)
  local list = {}
  for _, s in ipairs(strings(text)) do
    local code = text:sub(s.first, s.last)
    if is_code(code) then
      local line = line_of(text, s.first)
      if s.prefix:find "f" then
        fail("%s:%d: the kernel stands in an f-string, whose text Python alone knows: write it "
          .. "into a plain string, r\"\"\"…\"\"\", or a file", path, line)
      elseif not s.prefix:find "r" and code:find "\\[^\n]" then
        fail("%s:%d: the kernel's string has escapes (\\): make it raw, r\"\"\"…\"\"\"", path,
          line_of(text, s.first + code:find "\\[^\n]" - 1))
      end
      list[#list + 1] = s
    end
  end
  if not list[1] then
    fail("%s has no string with a kernel in it (__global__ …): name the file that has it", path)
  end
  return list
end

local function comment(k, gap)
  return ("/*@%d%s*/"):format(k, ("\n"):rep(select(2, gap:gsub("\n", ""))))
end

-- The source, and what its comments stand for.
local function read(text, path)
  local parts, gaps, at = {}, {}, 1
  local function gap(to)
    gaps[#gaps + 1] = text:sub(at, to)
    parts[#parts + 1] = comment(#gaps, gaps[#gaps])
  end
  for _, s in ipairs(code_of(text, path)) do
    gap(s.first - 1)
    parts[#parts + 1] = text:sub(s.first, s.last)
    at = s.last + 1
  end
  gap(#text)
  return table.concat(parts), gaps
end

--- The CUDA of a Python file, line by line where it stands.
---@param text string
---@param path string for a refusal
---@return string
function M.source(text, path)
  return (read(text, path))
end

--- The Python file of a changed source.
---@param source string of M.source, changed
---@param old string the file as it is
---@param path string
---@return string text
function M.file(source, old, path)
  local _, gaps = read(old, path)
  local parts, at = {}, 1
  for k, gap in ipairs(gaps) do
    local mark = comment(k, gap)
    local from, to = source:find(mark, at, true)
    if not from then
      fail("%s: what was changed stands on a line with Python's own words: begin and end the "
        .. "kernel's string on lines of their own", path)
    end
    parts[#parts + 1] = source:sub(at, from - 1) .. gap
    at = to + 1
  end
  local text = table.concat(parts)
  if at <= #source or M.source(text, path) ~= source then
    fail("%s: a string of Python's does not hold the changed kernel as it is: make it raw, "
      .. "r\"\"\"…\"\"\"", path)
  end
  return text
end

return M
