-- genes: completes genes: the rules and parameters of a problem that are legal at the cursor.

local offer = require "gilua.prompt.offer"

local M = {}

local rules_of = setmetatable({}, { __mode = "k" }) -- by problem: { { rule =, forms = } }

-- "IF_kernel.cu_245" with its short forms IF_245 and IF245; of a statement also the bare number.
local function forms_of(rule)
  local full = rule.name:sub(2, -2)
  local kind, line = full:match("^(%a*%d?)_.*_(%d+)$")
  if not line or rule.type:find("_K$") then return { full } end
  return { full, kind .. "_" .. line, kind .. line }
end

local function rules_to_complete(problem)
  local list = rules_of[problem]
  if list then return list end
  list = {}
  for _, rule in ipairs(problem.grammar:rules()) do
    if rule.type ~= "fixed" and not rule.protected then
      list[#list + 1] = { rule = rule, forms = forms_of(rule) }
    end
  end
  rules_of[problem] = list
  return list
end

local function begins(forms, typed)
  for _, form in ipairs(forms) do
    if form:lower():sub(1, #typed) == typed then return true end
  end
  return false
end

-- Rules that can stand after `before` (what is typed of the gene before the bracket).
local function fitting_rules(problem, before, typed)
  local list, first = {}, before == ""
  for _, entry in ipairs(rules_to_complete(problem)) do
    local pool = entry.rule.type:find("_K$") ~= nil
    if begins(entry.forms, typed:lower()) and not (first and pool) then
      if first or problem.grammar:check(before .. entry.rule.name) then list[#list + 1] = entry end
    end
  end
  return list
end

local LISTED_WITH_TEXT = 24

local function list_rules(list)
  local words = {}
  for i, entry in ipairs(list) do
    words[i] = entry.rule.name
    if #list <= LISTED_WITH_TEXT then
      local code = entry.rule.text:gsub("%s+", " ")
      if #code > 50 then code = code:sub(1, 47) .. "..." end
      words[i] = ("%-24s %s"):format(entry.rule.name, code)
    end
  end
  return words
end

local function complete_rule(problem, before, typed)
  local list = fitting_rules(problem, before, typed)
  local names = {}
  for i, entry in ipairs(list) do names[i] = entry.forms[1] end
  if #names == 0 then return offer.nothing() end
  local prefix = offer.common_prefix(names) .. (#names == 1 and ">" or "")
  if prefix == typed then
    return { remove = 0, insert = "", words = list_rules(list),
             tall = #list <= LISTED_WITH_TEXT }
  end
  return { remove = #typed, insert = prefix, words = {} }
end

local function complete_setting(problem, token)
  local name, typed = token:match("^([%a_][%w_]*)=(.*)$")
  local words = {}
  for _, parameter in ipairs(problem.parameters) do
    if not name then
      words[#words + 1] = parameter.name .. (parameter.switch and "" or "=")
    elseif parameter.name == name then
      for _, value in ipairs(parameter.values or {}) do words[#words + 1] = tostring(value) end
    end
  end
  return words, typed or token
end

--- What Tab does to the last gene of a genome.
---@param problem table whose rules and parameters are offered
---@param text string
---@return table as in offer.lua; `tall`: its words are listed one a line
function M.complete(problem, text)
  local token = text:match("%S*$")
  local before, typed = token:match("^(.*)<([^<>]*)$")
  if before then return complete_rule(problem, before, typed) end
  if token:find("^<[^<>]*>$") then
    return { remove = 0, insert = "", tall = true, words = {
      "<RULE>   replaces it by a copy of RULE", "+<RULE>  puts a copy of RULE before it",
      "a blank  ends the gene, which deletes it" } }
  end
  local words
  words, typed = complete_setting(problem, token)
  return offer.of(words, typed)
end

return M
