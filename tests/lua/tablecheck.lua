-- tablecheck: each kind of bad problem table is one sentence with file, field and nearest name.

package.path = "tests/lua/?.lua;lua/?.lua;" .. package.path
local tap = require "tap"
local scratch = require "scratch"
local tablecheck = require "gilua.problem.tablecheck"

local function good()
  return { source = "kernel.cu", kernel = "k", size = 100, block_size_x = 32,
    args = { { name = "n", type = "i32", value = "size_x" },
      { name = "p", type = "struct", fields = { { "dt", "f32", 0.1 } } },
      { name = "y", type = "f32", count = "n", role = "out" } },
    constants = { c = { type = "f32", count = 3 } },
    tune_params = { block_size_x = { 32, 64 } }, restrictions = { "block_size_x < 100" },
    tolerance = { max_error = 1e-3 }, reference = "reference.c" }
end

-- The sentence about the good table with one thing changed.
local function told(change)
  local t = good()
  change(t)
  return scratch.sentence(tablecheck.check, t, "here/problem.lua")
end

-- { what, change, the whole of the sentence behind the file }
local WRONG = {
  { "a field misspelt", function(t) t.tolerence = {} end,
    ": unknown field 'tolerence'; did you mean 'tolerance'?" },
  { "a field nobody knows", function(t) t.xyzzy = 1 end, ": unknown field 'xyzzy'" },
  { "no source", function(t) t.source = nil end, ": the field 'source' is missing" },
  { "no kernel", function(t) t.kernel = nil end, ": the field 'kernel' is missing" },
  { "no size", function(t) t.size = nil end, ": the field 'size' is missing" },
  { "a source that is none", function(t) t.source = 3 end,
    ": the field 'source' must be a string, not 3" },
  { "args that are none", function(t) t.args = "x" end,
    ": the field 'args' must be a list, not 'x'" },
  { "args by name", function(t) t.args = { x = { type = "f32", count = 3 } } end,
    ": the field 'args' must be a list, not a table" },
  { "size 0", function(t) t.size = 0 end, ": size: each is a whole number above 0, not 0" },
  { "a size that is half", function(t) t.size = { 8, 0.5 } end,
    ": size: each is a whole number above 0, not 0.5" },
  { "a size in words", function(t) t.size = "many" end,
    ": size: each is a whole number above 0, not 'many'" },
  { "four dimensions", function(t) t.size = { 1, 2, 3, 4 } end,
    ": size is a number, or a list of up to three, such as { 512, 512 }" },
  { "a small size of other dimensions", function(t) t.checked_size = { 8, 8 } end,
    ": checked_size has 2 dimensions and size 1" },
  { "a size on a GPU of other dimensions", function(t) t.on_gpu = { size = { 8, 8 } } end,
    ": on_gpu.size has 2 dimensions and size 1" },
  { "a value on a GPU of no argument", function(t) t.on_gpu = { values = { m = 3 } } end,
    ": on_gpu.values names 'm', which is no argument with a value; did you mean 'n'?" },
  { "a value on a GPU that is no number", function(t) t.on_gpu = { values = { n = "3" } } end,
    ": on_gpu.values.n must be a whole number, not '3'" },
  { "a value of the small run of no argument", function(t) t.checked_values = { m = 3 } end,
    ": checked_values names 'm', which is no argument with a value; did you mean 'n'?" },
  { "a misspelt field of on_gpu", function(t) t.on_gpu = { sise = 3 } end,
    ": on_gpu: unknown field 'sise'; did you mean 'size'?" },
  { "a block too large", function(t) t.block_size_x = 2048 end, ": block_size_x must be a whole "
    .. "number from 1 to 1024, the most threads that a block can have, not 2048" },
  { "a setting too large", function(t) t.tune_params.block_size_x = { 32, 2048 } end,
    ": tune_params.block_size_x must be a whole number from 1 to 1024, the most threads that a "
    .. "block can have, not 2048" },
  { "a setting that is no list", function(t) t.tune_params.TILE = 8 end,
    ": tune_params.TILE must be a list of values, not 8" },
  { "a setting without values", function(t) t.tune_params.TILE = {} end,
    ": tune_params.TILE must be a list of values, not a table" },
  { "a rule that is none", function(t) t.restrictions = { true } end,
    ": restriction 1 must be an expression in quotes or a function, not true" },
  { "rules that are no list", function(t) t.restrictions = "x < 1" end,
    ": the field 'restrictions' must be a list, not 'x < 1'" },
  { "an argument that is none", function(t) t.args[1] = "n" end,
    ": argument 1 must be a table { name =, type =, … }" },
  { "an argument's field", function(t) t.args[1].valeu = 1 end,
    ": argument 1: unknown field 'valeu'; did you mean 'value'?" },
  { "an argument without a name", function(t) t.args[1].name = nil end,
    ": argument 1 has no name" },
  { "two of a name", function(t) t.args[1].name = "y" end, ": two arguments are called 'y'" },
  { "a type", function(t) t.args[1].type = "f31" end, ": argument 1 (n): 'f31' is no element type "
    .. "(f32 f64 f16 bf16 e4m3 e5m2 "
    .. "i8 u8 i16 u16 i32 u32 i64 u64, or struct); did you mean 'f32'?" },
  { "neither value nor count", function(t) t.args[1].value = nil end,
    ": argument 1 (n) needs either "
    .. "a `value` (a number that the kernel takes) or a `count` (elements of an array)" },
  { "both", function(t) t.args[1].count = 3 end, ": argument 1 (n) needs either "
    .. "a `value` (a number that the kernel takes) or a `count` (elements of an array)" },
  { "a role", function(t) t.args[3].role = "uot" end, ': argument 3 (y): role is "in", "out", '
    .. "\"inout\" or \"scratch\", not 'uot'; did you mean 'out'?" },
  { "a number that is written", function(t) t.args[1].role = "out" end,
    ': argument 1 (n): only an array (with a `count`) can have role "out"' },
  { "no answers", function(t) t.args[3].role = nil end,
    ': no argument has role "out" or "inout": there would be no answers to check' },
  { "a fill", function(t) t.args[3].fill = "unifrom" end, ': argument 3 (y): fill is "uniform", '
    .. '"normal", "mixed", "zero", "index", "permutation", "rising", "falling", "half", '
    .. '"bfloat16", "bits", a number, '
    .. "{ low, high }, { ascending = last } or a "
    .. "function(rng, i, names), not 'unifrom'; did you mean 'uniform'?" },
  { "a struct without fields", function(t) t.args[2].fields = nil end,
    ": argument 2 (p): a struct needs `fields`, a list of { name, type, value }" },
  { "a struct's field", function(t) t.args[2].fields[1] = { "dt", "f32" } end,
    ': argument 2 (p): field 1 is { name, type, value }, such as { "dt", "f32", 0.1 }' },
  { "a struct's field's type", function(t) t.args[2].fields[1][2] = "float" end,
    ": argument 2 (p): field 1 (dt): 'float' is no element type (f32 f64 f16 bf16 e4m3 e5m2 "
    .. "i8 u8 i16 u16 i32 u32 i64 "
    .. "u64)" },
  { "a constant's field", function(t) t.constants.c.cuont = 1 end,
    ": constants.c: unknown field 'cuont'; did you mean 'count'?" },
  { "a constant's type", function(t) t.constants.c.type = "u31" end, ": constants.c: 'u31' is no "
    .. "element type (f32 f64 f16 bf16 e4m3 e5m2 "
    .. "i8 u8 i16 u16 i32 u32 i64 u64); did you mean 'u32'?" },
  { "a constant without count", function(t) t.constants.c.count = nil end,
    ": constants.c needs a `count`, 1 for a single number" },
  { "a tolerance's field", function(t) t.tolerance = { max_eror = 1 } end,
    ": tolerance: unknown field 'max_eror'; did you mean 'max_error'?" },
  { "a tolerance in words", function(t) t.tolerance.max_error = "small" end,
    ": tolerance.max_error must be a number from 0 on, not 'small'" },
  { "a tolerance below nothing", function(t) t.tolerance.max_error = -1 end,
    ": tolerance.max_error must be a number from 0 on, not -1" },
  { "a share below nothing", function(t) t.tolerance.rel_error = -1 end,
    ": tolerance.rel_error must be a number from 0 on, not -1" },
  { "an output's own limit in words", function(t) t.args[3].max_error = "small" end,
    ": argument 3 (y): max_error must be a number from 0 on, not 'small'" },
  { "an output's own share below nothing", function(t) t.args[3].rel_error = -0.5 end,
    ": argument 3 (y): rel_error must be a number from 0 on, not -0.5" },
  { "a limit of what is not compared", function(t) t.args[1].max_error = 1 end,
    ": argument 1 (n): only what is compared, of role \"out\" or \"inout\", has a max_error" },
  { "a tolerance that is a number", function(t) t.tolerance = 0.1 end,
    ": the field 'tolerance' must be a table, not 0.1" },
  { "an option of the grammar", function(t) t.grammar = { pragma = true } end,
    ": grammar: unknown field 'pragma'; did you mean 'pragmas'?" },
  { "a reference in Python", function(t) t.reference = "reference.py" end,
    ": reference 'reference.py' must be a C file, whose name ends in .c" },
  { "a reference that is none", function(t) t.reference = true end, ": reference is a C file's "
    .. "name, a function, or { kernel =, source =, values = }, not true" },
  { "a reference's field", function(t) t.reference = { kernle = "k" } end,
    ": reference: unknown field 'kernle'; did you mean 'kernel'?" },
}

tap.case("a table with every field right", function()
  tap.is(told(function() end), nil, "is accepted")
  tap.is(told(function(t) t.tolerance, t.reference, t.constants = nil, nil, nil end), nil,
    "as it is without what may be left out")
end)

tap.case("each kind of bad table", function()
  for _, row in ipairs(WRONG) do
    local nearest = told(row[2])
    tap.is(nearest, "here/problem.lua" .. row[3], row[1])
  end
end)

tap.done()
