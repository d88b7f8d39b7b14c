-- contraction and operands: which loops sum products, one output a thread, and where their operands
-- lie.

package.path = "tests/lua/?.lua;" .. package.path
local contraction = require "gilua.facts.contraction"
local kernel = require "gilua.transform.kernel"
local tap = require "tap"

local FRAME = [[
__device__ float taken(float v) { return v; }
__global__ void k(%s *out, const %s *a, const %s *b, int m, int n, int w, const int *list)
{
  %s row = blockIdx.y * blockDim.y + threadIdx.y;
  int col = blockIdx.x * blockDim.x + threadIdx.x;
  %s
  %s
}
]]
local LOOP = [[%s sum%s;
  for (%s i = %s; i %s %s; i++) %s
  %s]]

-- What there is of the last loop of such a kernel; nil and why.
local function of(o)
  local type = o.type or "float"
  local loop = LOOP:format(o.sum or type, o.first or " = 0", o.counter or "int", o.start or "0",
    o.relation or "<", o.bound or "w", o.body or "sum += a[row * w + i] * b[i * n + col];",
    o.after or "out[row * n + col] = sum;")
  local text = FRAME:format(type, type, type, o.index or "int",
    o.guard or "if (row >= m || col >= n) return;", loop)
  local loops = kernel.of_text(o.change and o.change(text) or text).loops
  return contraction.of(loops[#loops])
end

local function texts(list)
  local all = {}
  for i, one in ipairs(list) do all[i] = one.text or "?" end
  return table.concat(all, ", ")
end

tap.case("what it finds", function()
  local found = of {}
  tap.is(found and texts(found.guards.down) .. "; " .. texts(found.guards.across),
    "row < m; col < n", "ends of outputs")
  tap.is(found and #found.rest + #found.before + #found.each, 0, "nothing else before it")
  tap.is(contraction.is_loaded(found), true, "all that a tile loads is loaded")
  found = of { guard = "if (n == 7 || row >= m || col >= n || col > row) return;" }
  tap.is(found and texts(found.rest), "col <= row", "what hangs on both indices")
  tap.is(found and texts(found.before), "!(n == 7)", "what hangs on neither")
  local loaded, promise = contraction.is_loaded(found)
  tap.is(loaded, nil, "a tile may load rows that have no output")
  tap.has(promise, "leaves none of its rows and columns out", "which is a promise")
  found = of { guard = "if (!(row < m && col < n)) return;" }
  tap.is(found, nil, "a condition on both is no end of either")
  found = of { guard = "if (row < m && (col < n || col < 3)) {",
    after = "out[row] = sum; }" }
  tap.is(found and texts(found.guards.across), "((col < n || col < 3))", "in brackets")
  found = of { guard = "const float most = m;\n  if (row >= most || col >= n) return;" }
  tap.is(found and texts(found.guards.down), "!(row >= most)", "of floats the opposite is `not`")
  found = of { guard = "const int at = row * n + col, far = n * 2;\n"
    .. "  const int near = n + 1;\n  if (row >= m || col >= n) return;" }
  tap.is(found and ("%d %d"):format(#found.each, #found.before), "1 1",
    "names of an output and of all")
  found = of { guard = "#pragma once\n  ;\n  if (row >= m || col >= n) return;" }
  tap.is(found ~= nil, true, "what does nothing may stand before it")
end)

tap.case("operands", function()
  local function is(o, along, wide, why)
    local found, said = of(o)
    local parts = {}
    for i, which in ipairs { "down", "across" } do
      local one = found and found.operands[which]
      local wide_by = one and one.wide and table.concat(one.wide, ",")
      parts[i] = one and ("%s %s"):format(one.along, wide_by) or "?"
    end
    tap.is(found and parts[1] or said, along, why .. ": rows")
    tap.is(found and parts[2] or said, wide, why .. ": columns")
  end
  is({}, "i w", "col n", "A B")
  is({ body = "sum += a[row * w + i] * b[col * w + i];" }, "i w", "i w", "A B^T")
  is({ body = "sum += a[i * m + row] * b[i * n + col];" }, "row m", "col n", "A^T B")
  is({ body = "sum += a[row * w + i + 4] * b[i * n + col + 1];" }, "i w", "col nil",
    "shifted by a chunk, and by less")
  is({ body = "sum += a[row * w + 2 * i] * b[i * n + n * col];" }, "nil nil", "nil nil",
    "no neighbours")
  is({ body = "sum += -a[row * w + 2 * w + i] * +b[i * n + col];" }, "i w", "col n",
    "a row two below, with signs")
  is({ body = "sum += a[row * w * 4 + i] * b[i * w * n + col];" }, "i w", "col n * w,n",
    "multiples that are there, and a product")
  is({ body = "sum += a[row * w + i] * b[i * w * n + i * w * n * m + col];" }, "i w",
    "col n * w,n", "a product that is a factor of another")
  is({ body = "sum += a[row * i + i] * b[i * n + col];" }, "nil nil", "col n", "a row of rows")
  is({ start = "2" }, "i nil", "col n", "a start that is no multiple")
  is({ start = "4", bound = "64" }, "i w", "col n", "multiples of a chunk")
  is({ start = "4", bound = "66" }, "i nil", "col n", "an end that is none")
  is({ relation = "<=" }, "i nil", "col n", "an end that counts, too")
  is({ bound = "m", body = "sum += a[row * w + i] * b[i * n + col];" }, "i w,m", "col n",
    "a bound of its own")
  is({ guard = "if (row >= m || col > n) return;" }, "i w", "col nil", "an output at its end")
  is({ guard = "if (row >= m || n <= col) return;" }, "i w", "col nil", "turned: not asked")
  is({ guard = "if (row >= m || col >= n || col == 5) return;" }, "i w", "col nil",
    "an output that is left out")
  is({ type = "double", body = "sum += a[row * w + i + 2] * b[i * n + col + 1];" }, "i w",
    "col nil", "chunks of two doubles")
  local found = of { body = "sum += (a[row * w + i] - b[col * w + i]) * (a[row * w + i] "
    .. "- b[col * w + i]);" }
  tap.is(found and #found.operands.down.accesses, 2, "an operand that is used twice")
  tap.is(found and found.operands.across.base, "b", "its array")
end)

tap.case("refused", function()
  local function no(o, why, what)
    local found, said = of(o)
    tap.is(found, nil, what .. ": refused")
    tap.has(said, why, what)
  end
  local own = "it is not a kernel's own loop"
  no({ change = function(text) return (text:gsub("__global__", "__device__")) end }, own,
    "a function")
  no({ guard = "for (int j = 0; j < 2; j++) { out[j] = 1;", after = "}" }, own, "within another")
  local more, zero = "to one variable", "other than zero where its operands are zero"
  no({ body = "{ sum += a[row * w + i] * b[i * n + col]; n++; }" }, more, "two statements")
  no({ body = "sum *= a[row * w + i] * b[i * n + col];" }, zero, "a product of products")
  no({ body = "sum += a[row * w + i] / b[i * n + col];" }, zero, "a quotient")
  no({ body = "sum += a[row * w + i] * b[i * n + col] - 1;" }, zero, "less one")
  no({ body = "sum += a[row * w + i] * (b[i * n + col] + n);" }, zero, "a product with a number")
  no({ body = "sum += 3 * w * a[row * w + i] + 2 * b[i * n + col] * m;" }, zero, "may be inf")
  no({ body = "sum += !a[row * w + i] * b[i * n + col];" }, zero, "whether it is zero")
  no({ body = "sum += taken(a[row * w + i]) * b[i * n + col];" }, zero, "of a function of its own")
  local first = "has no first value, or is of another type"
  no({ first = "(0)" }, first, "in brackets")
  no({ sum = "short" }, first, "a short sum")
  local counts = "does not count up by one"
  no({ counter = "short" }, counts, "a short counter")
  no({ counter = "unsigned char" }, counts, "a char")
  no({ relation = "!=" }, counts, "until it is equal")
  no({ body = "{ if (i == 3) continue; sum += a[row * w + i] * b[i * n + col]; }" },
    more, "one that leaves out")
  no({ bound = "2 * row" }, "its bounds depend on the output", "a bound of an output's own")
  no({ bound = "list[0]" }, "its bounds are loaded", "a bound in memory")
  no({ start = "list[n]" }, "its bounds are loaded", "a start in memory")
  local ends = "no `if` says where its outputs end"
  no({ guard = "if (row >= m) return;" }, ends, "of columns")
  no({ guard = "if (col >= n) return;" }, ends, "of rows")
  no({ first = " = row" }, "first value depends on the output", "a first value of its own")
  no({ first = " = list[0]" }, "first value depends on the output", "one in memory")
  local behind = "what stands behind it is not understood"
  no({ after = "" }, behind, "nothing behind it")
  no({ after = "if (sum > 0) return; out[row] = sum;" }, behind, "a return")
  no({ after = "m = 3; out[row] = sum;" }, behind, "another variable that changes")
  no({ after = "out[row] = sum; asm(\"\");" }, behind, "what is not understood")
  local line = "does more than to say which outputs there are"
  no({ guard = "static int at = 1;\n  if (row >= m || col >= n) return;" }, line, "a static name")
  no({ guard = "__shared__ float s[4];\n  if (row >= m || col >= n) return;" },
    "it has shared memory", "a shared array")
  no({ guard = "int at = 1; at = 2;\n  if (row >= m || col >= n) return;" }, line,
    "a name that changes")
  no({ guard = "const int &at = row;\n  if (row >= m || col >= n) return;" }, line, "a reference")
  no({ guard = "if (row >= m || col >= n) return; else out[0] = 1;" }, line, "an else")
  no({ guard = "if (row >= m || col >= list[0] - list[1] || list[2] > 3) return;" }, line,
    "a condition of all that is loaded")
  no({ guard = "const int at = col;\n  if (row >= m || at >= n) return;" }, line,
    "by another name")
  no({ guard = "if (row >= m || col >= n || m++ > 3) return;" }, line, "one that changes a name")
  no({ guard = "if (row >= m || col >= n || atomicAdd(out, 1.f) > 3) return;" }, line,
    "one that adds to memory")
  no({ guard = "__syncthreads();\n  if (row >= m || col >= n) return;" }, "", "a barrier")
  no({ guard = "out[1] = 2;\n  if (row >= m || col >= n) return;" }, line, "a store")
  local count = "of its threads do"
  no({ index = "short" }, count, "a short index")
  no({ index = "char" }, count, "a char index")
  no({ after = "out[row] = sum + blockIdx.y;" }, count, "blocks that know their number")
  no({ after = "out[row] = sum + gridDim.x;" }, "gridDim", "and their number along x")
  no({ after = "out[row] = sum + gridDim.y;" }, "gridDim", "and along y")
  no({ after = "out[row] = sum + threadIdx.z;" }, "z", "a third side")
  no({ after = "out[row] = sum + blockDim.x;" }, count, "and their width")
  no({ guard = "row++; if (row >= m || col >= n) return;" }, count, "an index that changes")
end)

tap.case("operands that are refused", function()
  local function no(body, why, o)
    o = o or {}
    o.body = body
    local found, said = of(o)
    tap.is(found, nil, body .. ": refused")
    tap.has(said, why, body)
  end
  local place = "is no element whose place is known"
  no("sum += a[row * w + i] * p[i];", place, { guard = "const float *p = b + col;\n"
    .. "  if (row >= m || col >= n) return;" })
  no("sum += *(a + row * w + i) * b[i * n + col];", "", nil)
  local index = "has an index that is not understood"
  no("sum += a[row * w + i] * b[list[i] * n + col];", "", nil)
  no("sum += a[at * w + i] * b[i * n + col];", index, { guard = "const int at = row / 2;\n"
    .. "  if (row >= m || col >= n) return;" })
  local loop = "does not depend on the loop and on one of the two indices"
  no("sum += a[row * w + i];", "it has no operand for each of")
  no("sum += a[row] * b[i * n + col];", loop)
  no("sum += a[i] * b[i * n + col];", "it has no operand for each of")
  no("sum += a[row * w + i + col] * b[i * n + col];", "it has no operand for each of")
  no("sum += a[row * w + i] * out[i * n + col];", "is of an array that the kernel may write")
  no("sum += a[row * w + i] * b[i * n + col];", "of a type that tiles are not made of",
    { change = function(text) return (text:gsub("const float %*b", "const short *b")) end })
end)

tap.done()
