-- bodyloop: a loop around the whole body of a kernel, so that a block does the work of several.

local edit = require "gilua.rewrite.edit"
local threads = require "gilua.facts.threads"

local M = {}

--- Why no loop over blocks can stand around a kernel's body, along an index; nil where one can.
---@param index gilua.thread_index
---@return string?
function M.unfit(index)
  local why = threads.needs_grid(index.fn, index.side) or threads.unfit_for_loop(index.fn)
  if why then return why end
  local returns, inner = threads.returns(index.fn)
  if not returns then return inner end
  local guard, unguarded = threads.guard(index)
  return not guard and unguarded or nil
end

--- The same of a place of an index, as a need (gilua.rewrite.rewrite).
function M.of_place(at)
  local why = M.unfit(at.index)
  return not why, why
end

--- In all of a kernel's body the block is another one, of a new name.
---@param index gilua.thread_index
---@param e table gilua.edit
---@return string name
function M.other_block(index, e)
  local block = threads.new_name(index.fn, "block")
  for _, token in ipairs(threads.uses(index.fn).blockIdx[index.side]) do
    e:replace(token, token + 2, block)
  end
  return block
end

--- Puts a loop around a kernel's body; what left the kernel goes on with the next round.
---@param e table gilua.edit
---@param head string[] the lines of its head, and a directive before, which stays where it is put
---@param inner string? the first line inside
---@param last string? its end, in the place of a brace
---@return integer[]? range of the lines that stand one level deeper now, those of the head too:
---  they are written one level less deep; nil where tabs are a level: none stands deeper
function M.put(fn, e, head, inner, last)
  local kernel, body = fn.kernel, fn.body.body
  local first = body[1].first
  local indent, unit, lines = kernel:indent(first), edit.unit(fn), {}
  local outer = unit:find "^ +$" and indent:gsub(unit .. "$", "") or indent
  for i, line in ipairs(head) do lines[i] = (line:find "^#" and indent or outer) .. line end
  lines[#lines + 1] = inner and indent .. inner
  for _, s in ipairs(threads.returns(fn)) do e:replace(s.first, s.last, "continue;") end
  e:lead(first, table.concat(lines, "\n") .. "\n" .. indent)
  e:before(fn.close, indent .. (last or "}") .. "\n" .. kernel:indent(fn.close))
  if outer == indent then return nil end
  return { kernel:line_of(first), kernel:line_of(body[#body].last), #unit }
end

return M
