-- gene: the notation of a transformation in a genome: T:NAME<LINE>(ARGUMENT,…), one word.

local M = {}

---@class gilua.transform_gene
---@field text string
---@field name string
---@field line integer of the unmodified source
---@field args string[]

--- Is a word of a genome one?
---@param word string
function M.is(word)
  return word:find("T:", 1, true) == 1
end

--- Has a genome one?
---@param genome string
function M.any(genome)
  return genome:find "^T:" ~= nil or genome:find "%sT:" ~= nil
end

---@param name string
---@param line integer
---@param args string[]
---@return string
function M.text(name, line, args)
  return ("T:%s<%d>(%s)"):format(name, line, table.concat(args, ","))
end

--- What a word says; nil and a sentence where it is written in another way.
---@param word string
---@return gilua.transform_gene?
---@return string? message
function M.read(word)
  local name, line, list = word:match "^T:(%l[%w_]*)<(%d+)>%(([^()<>%%]*)%)$"
  if not name then
    return nil, ("'%s' is no transformation: it is written T:NAME<LINE>(ARGUMENT,…)"):format(word)
  end
  local args = {}
  for arg in list:gmatch "[^,]+" do args[#args + 1] = arg end
  return { text = M.text(name, line, args), name = name, line = math.tointeger(tonumber(line)),
    args = args }
end

return M
