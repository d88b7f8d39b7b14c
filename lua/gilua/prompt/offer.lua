-- offer: a completion for the Tab key: { remove = characters before the cursor to delete, insert =
-- text to insert, words = the candidates to list when nothing can be inserted }.

local M = {}

function M.nothing()
  return { remove = 0, insert = "", words = {} }
end

--- The words that begin with what is typed.
---@param words string[]
---@param typed string
---@return string[]
function M.fitting(words, typed)
  local kept = {}
  for _, word in ipairs(words) do
    if word:sub(1, #typed) == typed then kept[#kept + 1] = word end
  end
  return kept
end

--- What all the words begin with.
---@param words string[]
---@return string
function M.common_prefix(words)
  local prefix = words[1] or ""
  for _, word in ipairs(words) do
    while word:sub(1, #prefix) ~= prefix do prefix = prefix:sub(1, -2) end
  end
  return prefix
end

--- The words that begin with what is typed, as far as they agree; where they do not, a list.
---@param words string[]
---@param typed string
---@param ending? string what a single word is followed by
---@return { remove: integer, insert: string, words: string[] }
function M.of(words, typed, ending)
  words = M.fitting(words, typed)
  if #words == 0 then return M.nothing() end
  local prefix = M.common_prefix(words)
  if #words == 1 then prefix = prefix .. (ending or "") end
  local insert = prefix:sub(#typed + 1)
  return { remove = 0, insert = insert, words = insert == "" and words or {} }
end

return M
