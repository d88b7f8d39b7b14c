--- power: strength reduction of powers
--
-- where     powers
-- needs     effects
-- becomes   pow(x, 2), pow(x, 0.5) and the like, as products and roots
-- promises  nothing

local effects = require "gilua.facts.effects"
local expression = require "gilua.source.expression"
local statement = require "gilua.source.statement"
local types = require "gilua.facts.types"

local POWERS = { ["2"] = 2, ["2.0"] = 2, ["2.0f"] = 2, ["2.f"] = 2, ["2."] = 2, ["3"] = 3,
                 ["3.0"] = 3, ["3.0f"] = 3, ["3.f"] = 3, ["3."] = 3, ["4.0"] = 4, ["4.0f"] = 4,
                 ["4"] = 4, ["4.f"] = 4, ["0.5"] = 0.5, ["0.5f"] = 0.5, ["1.5f"] = 1.5,
                 ["1.5"] = 1.5 }

local function power_of(node)
  local name = node.kind == "call" and node.callee.kind == "name" and node.callee.text
  local is_power = name == "pow" or name == "powf" or name == "std::pow"
  return is_power and #node.args == 2 and POWERS[node.args[2].text or ""] or nil
end

local function is_word(node)
  return node.kind == "name" or node.kind == "number" or node.kind == "index"
    or node.kind == "member" or node.parens
end

local function as_product(fn, node)
  local kernel, power, base = fn.kernel, power_of(node), node.args[1]
  local single = node.callee.text == "powf" or types.of(fn, base) == "float"
    and node.args[2].text:find "f$"
  if power < 2 then
    local root = ("%s(%s)"):format(single and "sqrtf" or "sqrt", kernel:plain(base))
    return power == 0.5 and root
      or ("(%s * %s)"):format(is_word(base) and kernel:plain(base) or "(" .. kernel:plain(base)
        .. ")", root)
  end
  local own = effects.of(fn, base)
  if next(own.writes) or own.opaque then return nil end
  local want = single and "float" or "double" -- pow(float, int) is a double
  local text = is_word(base) and kernel:plain(base) or "(" .. kernel:plain(base) .. ")"
  if types.of(fn, base) ~= want then text = ("(%s)%s"):format(want, text) end
  return "(" .. text .. (" * " .. text):rep(power - 1) .. ")"
end

-- The powers of a function, by their lines: { fn, line, last, list }.
local function add_lines(list, fn)
  local kernel, by_line = fn.kernel, {}
  local function visit(node)
    if not power_of(node) then return end
    local line = kernel:line_of(node.first)
    local at = by_line[line] or { fn = fn, line = line, last = line, list = {} }
    if not by_line[line] then list[#list + 1] = at end
    by_line[line], at.last = at, math.max(at.last, kernel:line_of(node.last))
    table.insert(at.list, { node = node, text = as_product(fn, node) })
    return false
  end
  for _, s in ipairs(fn.statements) do
    for _, tree in ipairs(statement.trees(s)) do expression.walk(tree, visit) end
  end
end

local function places(kernel)
  local list = {}
  for _, fn in ipairs(kernel.functions) do add_lines(list, fn) end
  return list
end

local function products(at)
  local list = {}
  for _, one in ipairs(at.list) do list[#list + 1] = one.text and one end
  return #list > 0 and list or nil
end

local NONE = "no power with a small constant exponent is there"

return { name = "power", where = places, set = "powers", none = NONE, judged = true,
  doc = "pow(x, 2), pow(x, 0.5) and the like as products and roots.",
  needs = { { "effects", products, gives = "products", says = NONE } },
  becomes = function(at, e)
    for _, one in ipairs(at.products) do e:replace(one.node.first, one.node.last, one.text) end
    local first = at.products[1]
    return ("%s is %s"):format(at.kernel:plain(first.node), first.text)
  end,
}
