--- select: an `if` that does nothing but assign variables, without its branch; and a `?:` as an if.
--
--   if (d < best) {              const bool chosen = d < best;
--     best = d;                  best = chosen ? d : best;
--     nearest = i;               nearest = chosen ? i : nearest;
--   }
--
-- A value that is more than a name is formed whether it is needed or not, before it is chosen: that
-- is what spares the branch. So it must be one that can be formed anywhere: it loads nothing but
-- what is loaded there anyway, divides by nothing that may be zero, calls nothing of the file.
-- Each value becomes one of its variable's type, as in an assignment.
--
-- The other way round, an assignment of a ?: is an if with an else: what only one side needs is
-- then computed there alone, if the compiler takes it so.

local certain = require "gilua.transform.hoist"
local edit = require "gilua.transform.edit"
local effects = require "gilua.transform.effects"
local expression = require "gilua.transform.expression"
local settings = require "gilua.base.settings"
local sides = require "gilua.transform.sides"
local types = require "gilua.transform.types"

local MOST_ASSIGNMENTS = 6 -- of both branches together
local FEWEST = 3 -- operations of a branch: with fewer the compiler leaves the branch out itself
local OF_A_CALL = 3

local SCALARS = settings.set("float double bool char short int long signed unsigned int8_t int16_t "
  .. "uint8_t uint16_t uchar ushort")
for type in ("unsigned int,unsigned long,long long,unsigned long long,unsigned char,signed char,"
  .. "unsigned short"):gmatch "[^,]+" do
  SCALARS[type] = true
end

-- ---- what is assigned -------------------------------------------------------------------------

-- The type that a declaration's words mean, by a macro or a typedef too, where it is a number's.
local function number_type(fn, d)
  local macro = fn.kernel.macros[d.type]
  local type = types.plain(types.resolved(fn.kernel, macro and macro.value or d.type))
  return SCALARS[type] and type or nil
end

-- The type of a name that is a variable of this thread alone; nil of any other.
local function scalar(fn, node)
  local d = node.kind == "name" and not fn.kernel.macros[node.text]
    and fn:declaration(node.text, node.token)
  if not d or d.pointer > 0 or d.reference or #d.extents > 0 or d.shared or d.static or d.extern
    or d.volatile or d.const or fn.addressed[node.text] then
    return nil
  end
  return number_type(fn, d), d
end

-- What an expression assigns: { name, type, declared, value (a tree), op (of +=: "+") }; nil.
local function assigned(fn, tree)
  local name, one = tree.a, {}
  if tree.kind == "assign" then
    one.op, one.value = tree.op:match "^(.*)=$", tree.b
    one.op = one.op ~= "" and one.op or nil
  elseif (tree.kind == "postfix" or tree.kind == "unary") and tree.op:find "^[-+][-+]$" then
    one.op, one.value = tree.op:sub(1, 1), { kind = "number", text = "1" }
  else
    return nil
  end
  one.name = name.text
  one.type, one.declared = scalar(fn, name)
  return one.type and one or nil
end

-- The assignments that a branch is, in their order; nil where it is anything else.
local function assignments(fn, s)
  local list = {}
  for _, child in ipairs(s.kind == "block" and s.body or { s }) do
    local one = child.kind == "expression" and assigned(fn, child.tree)
    if not one and child.kind ~= "empty" then return nil end
    list[#list + 1] = one or nil
  end
  return list
end

-- ---- values that can be formed anywhere -------------------------------------------------------

local function is_above_zero(fn, node)
  local value = sides.value(fn, node)
  return value ~= nil and value > 0
end

-- Is a node one that can be computed where it is not wanted?
local function is_harmless(fn, node)
  local macro = node.kind == "name" and fn.kernel.macros[node.text]
  if macro then return types.of(fn, node) ~= nil end
  local d = node.kind == "name" and fn:declaration(node.text, node.token)
  if d then -- those of memory are loads; elements of arrays are accesses
    return #d.extents > 0 or not (d.shared or d.reference or d.volatile)
  end
  if node.kind == "call" then
    local name = node.callee.kind == "name" and node.callee.text
    return name and not fn.kernel.by_name[name] and not fn.kernel.macros[name]
      and effects.is_pure(name) and not name:find "^__ld" or false
  end
  if node.kind == "binary" and (node.op == "/" or node.op == "%") then
    local type = types.of(fn, node)
    return type == "float" or type == "double" or is_above_zero(fn, node.b)
  end
  return node.kind ~= "list"
end

-- The texts of the elements that are loaded whether a condition holds or not: those that it loads,
-- and those of statements right before it.
local function loaded_before(fn, s)
  local texts, changed = {}, {}
  local function see(tree)
    local is_access = {}
    for _, access in ipairs(effects.of(fn, tree).accesses) do
      is_access[access.node or 0] = not access.escapes
    end
    certain.certain_nodes(tree, function(node)
      if node.kind ~= "index" or not is_access[node] then return end
      for name in pairs(effects.of(fn, node).reads) do
        if changed[name] then return end
      end
      texts[fn.kernel:plain(node)] = true
    end)
  end
  local function change(node)
    for name in pairs(effects.of(fn, node).writes) do changed[name] = true end
  end
  see(s.condition)
  change(s.condition)
  local body = s.parent and s.parent.kind == "block" and s.parent.body or {}
  local at = #body
  while at > 0 and body[at] ~= s do at = at - 1 end
  for i = at - 1, 1, -1 do
    local before = body[i]
    if before.kind ~= "declaration" and before.kind ~= "expression" then break end
    change(before) -- an element whose index it makes is another
    if before.tree then see(before.tree) end
    for _, d in ipairs(before.declared or {}) do
      if d.init then see(d.init) end
    end
  end
  return texts
end

-- Can a value be formed whether it is wanted or not?
local function can_be_formed(fn, value, loaded, written)
  local all = effects.of(fn, value)
  if all.opaque or all.barrier or all.warp or next(all.writes) then return false end
  for _, access in ipairs(all.accesses) do
    local node = access.node
    if access.mode ~= "read" or not node or node.kind ~= "index" or not fn:element_type(access)
      or not loaded[fn.kernel:plain(node)] then
      return false
    end
    for name in pairs(effects.of(fn, node).reads) do
      if written[name] then return false end
    end
  end
  local harmless = true
  expression.walk(value, function(node)
    harmless = harmless and is_harmless(fn, node)
    if node.kind == "call" then -- its name is none of a variable
      for _, arg in ipairs(node.args) do
        harmless = harmless and can_be_formed(fn, arg, loaded, written)
      end
      return false
    end
  end)
  return harmless
end

-- Has a variable a value before a statement, as far as the words tell?
local function has_value(fn, one, s)
  local d = one.declared
  if d.init or d.parameter then return true end
  for _, token in ipairs(effects.of(fn, fn.body).writes[one.name] or {}) do
    if d.token < token and token < s.first then return true end
  end
  return false
end

-- ---- an if ------------------------------------------------------------------------------------

-- Do both branches assign the same variables in the same order?
local function is_paired(yes, no)
  for i = 1, math.max(#yes, #no) do
    if not yes[i] or not no[i] or yes[i].name ~= no[i].name then return false end
  end
  return true
end

-- What an if assigns in its branches, where that is all it does; nil and why.
local function branches(fn, s)
  if s.kind ~= "if" or not s.condition or fn.kernel.words[s.open - 1] ~= "if" then
    return nil, "no if begins there whose condition is understood"
  end
  local yes = assignments(fn, s.body)
  local no = yes and s.otherwise and assignments(fn, s.otherwise) or not s.otherwise and {}
  if not yes or not no or #yes + #no == 0 then
    return nil, "it does more than to assign variables of its thread"
  elseif #yes + #no > MOST_ASSIGNMENTS then
    return nil, "it assigns too much"
  elseif effects.of(fn, s.condition).opaque then
    return nil, "nobody knows what its condition does"
  end
  return yes, no
end

-- The name of a variable whose value cannot be formed where it is not wanted; nil without one.
local function unformed(fn, s, yes, no)
  local written, loaded, all = {}, loaded_before(fn, s), {}
  table.move(yes, 1, #yes, 1, all)
  table.move(no, 1, #no, #all + 1, all)
  for _, one in ipairs(all) do written[one.name] = true end
  for _, one in ipairs(all) do
    local divides = (one.op == "%" or one.op == "/")
      and not (one.type == "float" or one.type == "double")
    if not can_be_formed(fn, one.value, loaded, written)
      or divides and not is_above_zero(fn, one.value) then
      return one.name
    end
  end
end

-- { name, yes, no }: what a variable becomes in either branch, nil where it keeps its value.
local function steps_of(yes, no)
  local steps, paired = {}, is_paired(yes, no)
  for i, one in ipairs(yes) do
    steps[i] = { name = one.name, yes = one, no = paired and no[i] or nil }
  end
  for _, one in ipairs(paired and {} or no) do
    steps[#steps + 1] = { name = one.name, no = one }
  end
  return steps
end

-- What becomes of an if: { fn, statement, steps }; nil and why.
local function plan_of(fn, s)
  local yes, no = branches(fn, s)
  if not yes then return nil, no end
  local name = unformed(fn, s, yes, no)
  if name then
    return nil, ("the value of %s cannot be formed where it is not wanted"):format(name)
  end
  local plan = { fn = fn, statement = s, steps = steps_of(yes, no) }
  for _, step in ipairs(plan.steps) do
    local is_given = step.yes and step.no and not step.yes.op and not step.no.op
    if not is_given and not has_value(fn, step.yes or step.no, s) then
      return nil, ("%s may have no value before it"):format(step.name)
    end
  end
  return plan
end

-- Is a word's value, chosen beside a variable, converted as an assignment to that would?
local function converts(fn, word, one)
  local own = types.of(fn, word)
  if one.type == "bool" and (word.text == "true" or word.text == "false") then return true end
  return own ~= nil and (own == types.plain(one.declared.type) or own == one.type
    or types.wider(own, one.type) == one.type)
end

-- The text of what an assignment gives its variable, and whether that is no more than a word.
local function value_text(fn, one)
  local kernel, value = fn.kernel, one.value
  if not one.op then
    return kernel:plain(value), (value.kind == "name" or value.kind == "number"), value
  end
  local right = value.first and kernel:operand(value) or value.text
  return ("%s %s %s"):format(one.name, one.op, right), false, nil
end

-- Adds what a value is called to the lines before, where it is more than a word; its text.
local function formed(plan, lines, one, suffix)
  local fn = plan.fn
  local text, is_short, tree = value_text(fn, one)
  if is_short then
    return converts(fn, tree, one) and text or ("(%s)%s"):format(one.declared.type, text)
  end
  local name = plan.named(one.name .. suffix)
  lines[#lines + 1] = ("const %s %s = %s;"):format(one.declared.type, name, text)
  return name
end

-- Does the condition have to be asked before anything of the values is formed?
local function asks_first(plan)
  local fn, s = plan.fn, plan.statement
  local all = effects.of(fn, s.condition)
  if #plan.steps > 1 or next(all.writes) or all.warp or all.barrier then return true end
  for _, access in ipairs(all.accesses) do
    if access.mode ~= "read" then return true end
  end
  return false
end

local function lines_of(plan)
  local fn, s, lines = plan.fn, plan.statement, {}
  local kernel = fn.kernel
  plan.named = kernel:names()
  local question = kernel:operand(s.condition)
  if asks_first(plan) then
    question = plan.named "chosen"
    lines[1] = ("const bool %s = %s;"):format(question, kernel:plain(s.condition))
  end
  for _, step in ipairs(plan.steps) do
    local yes = step.yes and formed(plan, lines, step.yes, "_then") or step.name
    local no = step.no and formed(plan, lines, step.no, step.yes and "_else" or "_then")
      or step.name
    lines[#lines + 1] = ("%s = %s ? %s : %s;"):format(step.name, question, yes, no)
  end
  return lines
end

-- May a name be declared beside a statement? Not where a jump could come in behind it.
local function may_declare(s)
  if not edit.is_listed(s) then return false end
  for _, other in ipairs(s.parent.body) do
    if other.kind == "case" or other.kind == "label" then return false end
  end
  return true
end

-- A statement's lines in its place.
local function put(e, s, lines, in_braces)
  local indent = e.kernel:indent(s.first)
  if in_braces then
    for i, line in ipairs(lines) do lines[i] = "    " .. line end
    table.insert(lines, 1, "{")
    lines[#lines + 1] = "}"
  end
  e:replace(s.first, s.last, table.concat(lines, "\n" .. indent))
end

local function selected(fn, s)
  local plan, why = plan_of(fn, s)
  if not plan then return nil, why end
  local e, lines = edit.new(fn.kernel), lines_of(plan)
  put(e, s, lines, #lines > 1 and not may_declare(s))
  return { edits = e:lines(), says = ("%s is chosen without a branch"):format(plan.steps[1].name) }
end

-- ---- a choice ---------------------------------------------------------------------------------

-- The type that a ?: makes of both its values; nil where the words do not tell.
local function common_type(fn, choice)
  local a, b = types.of(fn, choice.a), types.of(fn, choice.b)
  if a == b then return a end
  return a and b and types.wider(a, b)
end

-- The ?: that a statement assigns: { target, op, choice }, or declares a variable by: declared too.
local function choice_of(fn, s)
  local is_head = s.parent and s.parent.kind == "for" and s.parent.init == s
  local d = s.kind == "declaration" and #s.declared == 1 and s.declared[1]
  if not is_head and s.kind == "expression" and s.tree.kind == "assign" then
    return { target = s.tree.a, op = s.tree.op, choice = s.tree.b }
  elseif not is_head and d and d.init and d.init_form == "=" and d.pointer == 0
    and #d.extents == 0 and not (d.reference or d.static or d.shared or d.volatile)
    and (number_type(fn, d) or expression.TYPES[d.type] and d.type ~= "auto")
    and fn.kernel.words[s.first] ~= "constexpr" then
    return { declared = d, op = "=", choice = d.init }
  end
end

-- What it assigns to has no effects of its own but that it is written.
local function is_plain_target(fn, node)
  if node.kind == "name" then return fn:declaration(node.text, node.token) ~= nil end
  local base = node
  while base.kind == "index" or base.kind == "member" do
    if base.kind == "index" and next(effects.of(fn, base.index).writes) then return false end
    base = base.a
  end
  local all = effects.of(fn, node)
  return base.kind == "name" and not all.opaque and not all.warp and not next(all.writes)
end

local function choice_plan(fn, s)
  local plan = choice_of(fn, s)
  if not plan or plan.choice.kind ~= "choice" then return nil, "no statement there assigns a ?:" end
  if plan.target and not is_plain_target(fn, plan.target) then
    return nil, "what it assigns to has effects of its own"
  end
  plan.type = common_type(fn, plan.choice)
  if not plan.type then return nil, "of which type the ?: is, its words do not tell" end
  return plan
end

-- `x = value;`, where value is one side of a ?: and becomes of its type first.
local function assignment(fn, plan, value)
  local kernel = fn.kernel
  local text = kernel:plain(value)
  local own = types.of(fn, value)
  local exact = own == plan.type or plan.op == "=" and value.kind == "number" and #text < 8
  if not exact then text = ("(%s)%s"):format(plan.type, kernel:operand(value)) end
  local target = plan.declared and plan.declared.name or kernel:plain(plan.target)
  return ("%s %s %s;"):format(target, plan.op, text)
end

-- Does a side of a ?: leave its variable as it is?
local function keeps(fn, plan, value)
  local target = plan.target
  return plan.op == "=" and target and target.kind == "name" and value.kind == "name"
    and value.text == target.text and types.of(fn, target) == plan.type
end

local function branch_lines(fn, plan)
  local kernel, choice, lines = fn.kernel, plan.choice, {}
  local d = plan.declared
  if d then lines[1] = ("%s %s;"):format(d.type, d.name) end
  local condition = kernel:plain(choice.condition)
  if choice.condition.parens then condition = condition:sub(2, -2) end
  if keeps(fn, plan, choice.a) then
    lines[#lines + 1] = ("if (!(%s)) %s"):format(condition, assignment(fn, plan, choice.b))
    return lines, true
  end
  lines[#lines + 1] = ("if (%s) %s"):format(condition, assignment(fn, plan, choice.a))
  if keeps(fn, plan, choice.b) then return lines, true end
  lines[#lines + 1] = "else " .. assignment(fn, plan, choice.b)
  return lines, false
end

local function branched(fn, s)
  local plan, why = choice_plan(fn, s)
  if not plan then return nil, why end
  local e, lines, has_no_else = edit.new(fn.kernel), branch_lines(fn, plan)
  put(e, s, lines, has_no_else and not edit.is_listed(s))
  return { edits = e:lines(), says = "a choice between two values is an if" }
end

-- How many operations the values of a branch take, about.
local function operations(plan, side)
  local n = 0
  for _, step in ipairs(plan.steps) do
    local one = step[side]
    n = n + (one and one.op and 1 or 0)
    expression.walk(one and one.value, function(node)
      if node.kind == "call" then n = n + OF_A_CALL end
      if node.kind == "binary" or node.kind == "unary" or node.kind == "choice" then n = n + 1 end
    end)
  end
  return n
end

local function is_worth_it(fn, s)
  local plan = plan_of(fn, s)
  return plan and math.max(operations(plan, "yes"), operations(plan, "no")) >= FEWEST
end

-- ---- the kind ---------------------------------------------------------------------------------

local M = { name = "select",
  doc = "An if that only assigns variables, without its branch; or a choice as an if." }

function M.find(kernel)
  local list, seen = {}, {}
  local function add(line, args)
    local key = line .. table.concat(args)
    if not seen[key] then list[#list + 1] = { line = line, args = args } end
    seen[key] = true
  end
  for _, fn in ipairs(kernel.functions) do
    for _, s in ipairs(fn.statements) do
      local line = kernel:line_of(s.first)
      local is_if = s.kind == "if"
      if (is_if or s.kind == "expression" or s.kind == "declaration")
        and kernel:is_open(line, kernel:line_of(s.last)) then
        if is_if and is_worth_it(fn, s) then add(line, {}) end
        if not is_if and choice_plan(fn, s) then add(line, { "if" }) end
      end
    end
  end
  return list
end

function M.make(kernel, line, args)
  if args[2] or args[1] and args[1] ~= "if" then
    return nil, "it is written select<LINE>(), or (if) where a ?: is assigned"
  end
  local plan, make = plan_of, selected
  if args[1] then plan, make = choice_plan, branched end
  local s, fn = kernel:statement_at(line, function(s, fn) return plan(fn, s) end)
  if not s then
    s, fn = kernel:statement_at(line, function(one)
      return args[1] and one.kind ~= "block" or one.kind == "if"
    end)
  end
  if not s then return nil, args[1] and "no statement begins there" or "no if begins there" end
  return make(fn, s)
end

return M
