-- Loops under transformation: unrolled, with sums in parts. What is made is right at every size.

package.path = "tests/lua/?.lua;lua/?.lua;lua/?/init.lua;" .. package.path
local kernels = require "gilua.transform.kernel"
local rewritten = require "rewritten"
local tap = require "tap"
local transform = require "gilua.transform.transform"

local specialise = transform.find "specialise"

local SIZES = { 0, 1, 2, 3, 7, 8, 61, 1000 }

local right, refused = rewritten.judge(SIZES)

local SUM = rewritten.source [[
  float sum = 0.f;
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    sum += a[i] * b[i]; // a product
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;]]

tap.case("the text of an unrolled loop", function()
  local text, says = rewritten.text("unroll", SUM, 4, { "2" })
  tap.has(text, [[
  {
    int i = threadIdx.x;
    for (; (int)(i + blockDim.x) < n; i += 2 * blockDim.x) {
      sum += a[i] * b[i];
      sum += a[i + blockDim.x] * b[i + blockDim.x];
    }
    for (; i < n; i += blockDim.x)
      sum += a[i] * b[i];
  } // a product
]], "as a person would write it")
  tap.is(says, "the loop at line 4 does 2 iterations at a time", "in words")
  tap.is(rewritten.found("unroll", SUM), "4(2) 4(4) 4(8)", "where it is proposed")
end)

tap.case("unrolled loops are right", function()
  right("a stride", "unroll", SUM, 4, { "4" })
  local function head(line, factor)
    local text = rewritten.text("unroll", rewritten.source("  int stride = n;\n"
      .. "  float sum = 0.f;\n  " .. line .. " sum += a[i];\n  out[threadIdx.x] = sum;"), 5,
      { tostring(factor) })
    return text:match "for %(; [^;]*"
  end
  local INT = "for (int i = 0; i < n; i += stride)"
  tap.is(head(INT, 4), "for (; i + 3LL * stride < n", "steps that wrap in 32 bits")
  tap.is(head(INT, 2), "for (; i + stride < n", "one step, as the loop itself makes")
  tap.is(head("for (int i = 0; i < n; i += gridDim.x * 8)", 2),
    "for (; (int)(i + gridDim.x * 8) < n", "one step without a sign")
  tap.is(head("for (unsigned i = 0; i < blockDim.x; i += gridDim.x * 8)", 4),
    "for (; i + 3LL * (gridDim.x * 8) < blockDim.x", "without a sign")
  tap.is(head("for (int i = n; i > 0; i -= stride)", 4), "for (; i - 3LL * stride > 0", "downwards")
  tap.is(head("for (unsigned i = 0; i < n; i += stride)", 4),
    "for (; (unsigned)(i + 3 * stride) < n", "a bound of another type")
  tap.is(head("for (int i = 0; i < n; i += sizeof(float) * stride)", 4),
    "for (; (int)(i + 3 * (sizeof(float) * stride)) < n", "a step of another type")
  tap.is(head("for (int i = 0; i < n; i += blockDim.x)", 4),
    "for (; (int)(i + 3 * blockDim.x) < n", "a block's length")
  tap.is(head("for (int i = 0; i < n; i += 4)", 4), "for (; i + 12 < n", "a number")
  right("a variable that lives on, bound below or equal", "unroll", rewritten.source [[
  int i;
  if (threadIdx.x < 16)
    for (i = 3; i <= n; i++) {
      float x = a[i] + i;
      out[i] = x * (float)i;
    }
  else
    i = 7;
  out[4000 + threadIdx.x % 16] = i;]], 5, { "4" }, { block = 17, grid = 1 })
  right("a call with two results", "unroll", rewritten.source [[
  float sum = 0.f;
  for (int i = threadIdx.x; i < n; i += 32) {
    float s, c[2];
    sincosf(a[i], &s, c + 1);
    sum += s * b[i] - c[1];
  }
  out[threadIdx.x] = sum;]], 4, { "2" })
  right("downwards", "unroll", rewritten.source [[
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0.f;
  for (int i = n - 1; i >= 0; --i) sum = sum * 0.5f + a[i];
  out[t] = sum;]], 5, { "8" })
  right("a continue", "unroll", rewritten.source [[
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0.f;
  for (int i = 0; i < n; i++) {
    if (i == t) continue;
    sum = sum * 0.5f + a[i];
  }
  out[t] = sum;]], 5, { "2" })
  right("unsigned, with a bound of its own", "unroll", rewritten.source [[
  unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
  for (unsigned i = t; i < (unsigned)n + 2u; i += 64) out[i] += b[i] - i;]], 4, { "4" },
    { sizes = { 0, 1, 5, 200, 3000 } })
  right("a fixed number of iterations", "unroll", rewritten.source [[
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  for (int i = 1; i < 10; i += 2) out[t] += a[t + i];]], 4, { "4" }, { sizes = { 1 } })
  right("within another that was unrolled", "unroll", rewritten.text("unroll",
    rewritten.source [[
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0.f;
  for (int i = 0; i < n % 9; i++)
    for (int j = 0; j < i; j++)
      sum = sum * 0.25f + a[i * 8 + j];
  out[t] = sum;]], 6, { "2" }), 5, { "2" })
end)

tap.case("a second loop does what remains, where something may", function()
  local function rest(head, factor)
    local text = rewritten.text("unroll", rewritten.source("  int t = threadIdx.x;\n  for (" .. head
      .. ") out[t] += a[i];"), 4, { factor })
    return text and select(2, text:gsub("for %(;", ""))
  end
  tap.is(rest("int i = 0; i < 8; i++", "4"), 1, "eight by four")
  tap.is(rest("int i = 0; i < 8; i++", "8"), 1, "eight by eight")
  tap.is(rest("int i = 0; i < 9; i++", "4"), 2, "nine by four")
  tap.is(rest("int i = 8; i <= 9; i++", "2"), 1, "two, to a bound that is reached")
  tap.is(rest("int i = 0; i < n; i++", "4"), 2, "a number that is not known")
  tap.is(rest("int i = 0; i < 7; i++", "8"), nil, "fewer than that are left alone")
end)

tap.case("loops that are not unrolled", function()
  local function of(body) return rewritten.source(body) end
  refused("a break", "unroll", of "for (int i = 0; i < n; i++) { if (a[i] > 1.f) break; }", 3,
    { "2" }, "change within")
  refused("a bound that changes", "unroll", of "for (int i = 0; i < n; i++) { n -= 1; }", 3,
    { "2" }, "change within")
  refused("a bound in memory that is written", "unroll",
    of "for (int i = 0; i < out[0]; i++) { out[i] = 1.f; }", 3, { "2" }, "change within")
  refused("a variable that the body moves", "unroll",
    of "for (int i = 0; i < n; i++) { if (b[i] > 0.f) i++; }", 3, { "2" }, "change within")
  refused("one that is halved", "unroll", of "for (int i = n; i > 0; i /= 2) out[i] = 0.f;", 3,
    { "2" }, "not one that counts")
  refused("one without an end", "unroll", of "for (int i = 0; i < n; i--) out[i] = 0.f;", 3,
    { "2" }, "towards its bound")
  refused("unsigned downwards", "unroll",
    of "for (unsigned i = n; i > 0; i--) out[i] = 0.f;", 3, { "2" }, "below zero")
  refused("what nobody knows", "unroll",
    of "for (int i = 0; i < n; i++) asm volatile(\"bar.sync 0;\");", 3, { "2" }, "change within")
  refused("no loop", "unroll", SUM, 3, { "2" }, "no loop begins there")
  refused("a factor of one", "unroll", SUM, 4, { "1" }, "2 to 32")
  refused("a variable in a macro", "unroll", "#define A a[i]\n"
    .. of "for (int i = 0; i < n; i++) out[i] = A;", 4, { "2" }, "hidden in a macro")
end)

tap.case("sums in parts", function()
  local text = right("a sum", "split_accumulator", SUM, 4, { "4" }, { limit = 1e-2 })
  tap.has(text, "sum_part3 += a[i + 2 * blockDim.x]", "a name of its own")
  tap.has(text, "    sum += sum_part4;\n", "added at the end")
  right("a greatest and a count", "split_accumulator", rewritten.source [[
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  float top = -1e30f;
  int count = 0;
  for (int i = t; i < n; i += 3) {
    top = fmaxf(top, a[i]);
    if (b[i] > 0.f) (count) += 2;
  }
  out[t] = top + count;]], 6, { "2" })
  right("a difference in whole numbers", "split_accumulator", rewritten.source([[
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  int left = 5;
  for (int i = 0; i < n; i++) left -= a[i];
  out[t] = left;]], "int"), 5, { "4" }, { type = "i32" })
end)

tap.case("products in parts may overflow", function()
  local PRODUCT = rewritten.source [[
  float product = 0.f;
  int whole = 1;
  for (int i = 0; i < n; i++) product *= a[i];
  for (int i = 0; i < n; i++) whole *= 3;
  out[0] = product + whole;]]
  local function promise(kind, line, args)
    local change = transform.find(kind).make(kernels.of_text(PRODUCT), line, args)
    return change and change.promise or change and "none"
  end
  tap.has(promise("split_accumulator", 5, { "2" }), "no part of the product `product` overflows",
    "a floating product")
  tap.is(promise("split_accumulator", 6, { "2" }), "none", "a whole product wraps as it did")
  tap.has(promise("vector", 5, { "4", "split" }), "no part of the product", "of four at once")
  tap.is(promise("vector", 5, { "4" }), "none", "one product, as it was")
end)

tap.case("sums that stay whole", function()
  local why = "adds to no variable"
  refused("one that is read", "split_accumulator", rewritten.source [[
  float sum = 0.f;
  for (int i = 0; i < n; i++) { sum += a[i]; out[i] = sum; }]], 4, { "2" }, why)
  refused("one that is multiplied too", "split_accumulator", rewritten.source [[
  float sum = 0.f;
  for (int i = 0; i < n; i++) { sum += a[i]; sum *= 2.f; }
  out[0] = sum;]], 4, { "2" }, why)
  refused("one of each iteration", "split_accumulator", rewritten.source [[
  for (int i = 0; i < n; i++) { float sum = 0.f; sum += a[i]; }]], 3, { "2" }, why)
end)

local T = "  int t = blockIdx.x * blockDim.x + threadIdx.x;\n"

tap.case("a loop that becomes two", function()
  local source = rewritten.source(T .. [[
  float sum = 0.f;
  for (int i = t; i < n; i += 64) {
    out[i] = a[i] * 2.f; // the first
    float x = out[i] + b[i];
    sum += x;
  }
  out[t + 2000] = sum;]])
  local text = right("one statement and two", "split", source, 5, { "1" })
  tap.has(text, [[
  for (int i = t; i < n; i += 64) {
    out[i] = a[i] * 2.f;
  }
  for (int i = t; i < n; i += 64) { // the first
    float x = out[i] + b[i];
]], "one behind the other")
  tap.is(rewritten.found("split", source), "5(1)", "where it is proposed")
  right("without braces around, with what comes from an earlier iteration", "split",
    rewritten.source(T .. [[
  if (t == 0)
    for (int i = 1; i < n; i++) {
      out[i + 2000] = a[i];
      out[i] = out[i + 1999] + b[i];
    }
  else out[t + 1500] = 1.f;]]), 5, { "1" })
  text = right("downwards, with a pragma", "split", rewritten.source(T .. [[
  if (t == 0) {
    #pragma unroll 2
    for (int i = n - 1; i >= 0; i--) {
      out[i + 3] = a[i];
      out[i + 2000] = out[i + 4] + b[i];
    }
  }]]), 6, { "1" })
  tap.has(text, "    }\n    #pragma unroll 2\n    for (int i = n - 1;", "the pragma for both")
  right("loops with variables of one name", "split", rewritten.source(T .. [[
  for (int i = t; i < n; i += 64) {
    for (int j = 0; j < 3; j++) out[i] += a[i + j];
    for (int j = 0; j < 2; j++) out[2000 + i] += b[i + j];
  }]]), 4, { "1" })
end)

tap.case("loops that stay whole", function()
  local function of(body) return rewritten.source(T .. "  float s = 0.f;\n" .. body) end
  local function no(what, body, why, number)
    body = "  for (int i = t; i < n; i++) {\n" .. body .. "\n  }\n  out[t] = s;"
    refused(what, "split", of(body), 5, { number or "1" }, why)
  end
  local back, shared = "in an earlier iteration", "a variable that the other changes"
  no("what it reads of one before", "out[i] = out[i + 99] + a[i]; out[i + 100] = b[i];", back)
  no("what the first writes again", "out[i + 1] = a[i]; out[i + 2] = b[i];", back)
  no("the same element each time", "out[t] += a[i]; out[t] += b[i];", back)
  no("elements around", "for (int j = 0; j < 4; j++) out[i + j] = a[i]; out[i] += b[i];", back)
  no("a sum that both need", "s += a[i]; s += b[i];", shared)
  no("a sum that goes on", "s += a[i]; out[i] = s;", shared)
  no("a variable of the body", "float x = a[i]; out[i] = x; out[i + 2000] = x;", shared, "2")
  no("a pointer to a variable", "float *p = &s; out[i] = s; *p = a[i];", shared, "2")
  no("nothing in one of both", "float x = a[i]; out[i] = b[i];", "nothing by itself")
  no("nothing in the other", "out[i] = b[i]; float x = a[i];", "nothing by itself")
  no("behind a pragma", "out[i] = b[i];\n#pragma unroll\nfor (int j = 0; j < 4; j++) s += a[j];",
    "no two parts", "2")
  no("what others see at once", "volatile float *p = out; p[i] = 1.f; s += a[i];", "wait for", "2")
  no("no second part", "out[i] = a[i];", "no two parts")
  no("a barrier", "out[i] = a[i]; __syncthreads(); s += b[i];", "more than count")
  no("a lock", "while (atomicCAS((int *)&out[i], 0, 1)); s += b[i];", "wait for")
  no("a continue", "if (i == 5) continue; out[i] = a[i]; s += b[i];", "more than count", "2")
  refused("a step that is not known", "split", rewritten.source(T .. [[
  for (int i = t; i < n; i += blockDim.x) { out[i + 32] = a[i]; out[i] = out[i + 64]; }]]), 4,
    { "1" }, back)
  refused("a step that may be below zero", "split", rewritten.source(T .. [[
  for (int i = t; i < n; i += n) { out[i + 32] = a[i]; out[i] = b[i]; }]]), 4, { "1" },
    back)
  refused("a start that changes", "split", rewritten.source([[
  for (int i = out[5]; i < n; i++) { out[i] = 0; out[i + 2000] = 1; }]], "int"), 3, { "1" },
    "where it begins")
  refused("no number", "split", of "for (int i = 0; i < n; i++) { out[i] = 0; out[i + 1] = 1; }", 5,
    {}, "split<LINE>(STATEMENTS)")
end)

tap.case("a loop for values that are known", function()
  local source = rewritten.source(T .. [[
  for (int i = t; i < 100; i += 64) {
    float sum = 0.f;
    for (int j = 0; j < n; j++)
      sum += a[(i + j) % n]; // around
    out[i] = sum;
  }]])
  local text = right("one of two ways", "specialise", source, 4, { "n", "61" })
  tap.has(text, "  if (n == 61) {\n      const int n = 61;\n      for (int i = t; i < 100;",
    "the first")
  tap.has(text, "  } else {\n      for (int i = t;", "the other")
  text = right("with a pragma, where a value is never met", "specialise", rewritten.source(T .. [[
  #pragma unroll 2
  for (int j = 0; j < n; j++)
    out[t] += a[j];]]), 5, { "n", "17" })
  tap.has(text, [[
  } else {
      #pragma unroll 2
      for (int j = 0; j < n; j++)
        out[t] += a[j];
  }
]], "the pragma in both")
  right("without braces around", "specialise", rewritten.source(T .. [[
  if (t < 30)
    for (int j = 0; j < n; j++) out[t] += a[j];
  else out[t] = 0.f;]]), 5, { "n", "8" })
  local known = kernels.of_text(source, { values = function() return { n = 61, m = 3 } end })
  local found = specialise.find(known)
  tap.is(#found .. " " .. found[1].line .. " " .. table.concat(found[1].args, " "), "1 4 n 61",
    "proposed at the outermost loop, for its own parameters")
  for value, want in pairs { [1] = 0, [2] = 1, [4096] = 1, [4097] = 0 } do
    known.options.values = function() return { n = value } end
    tap.is(#specialise.find(known), want, value .. ": not for one round, nor for a size")
  end
  refused("a loop in another", "specialise", source, 6, { "n", "61" }, "in another loop")
  refused("a variable", "specialise", source, 4, { "t", "61" }, "t is no parameter")
  refused("an array", "specialise", source, 4, { "a", "61" }, "a is no parameter")
  refused("what the loop does not ask for", "specialise", rewritten.source(T .. [[
  for (int j = 0; j < 9; j++) out[t] += a[j];]]), 4, { "n", "8" }, "does not ask for n")
  refused("a parameter that changes", "specialise", rewritten.source(T .. [[
  for (int j = 0; j < n; j++) { out[t] += a[j]; if (j == 3) n = 5; }]]), 4, { "n", "8" },
    "n is no parameter")
  refused("no value", "specialise", source, 4, { "n" }, "stands its value")
  local function no(what, body, why)
    refused(what, "specialise", rewritten.source(T .. "  for (int j = 0; j < n; j++) {\n" .. body
      .. "\n  }\n  end: ;"), 4, { "n", "8" }, why)
  end
  no("a goto", "if (a[j] > 0.f) goto end;", "it has a goto")
  no("a label", "on: out[t] += a[j];", "it has a goto")
  no("an #if", "#if A\n  out[t] += a[j];\n#endif", "it has an #if")
  no("an #if that begins elsewhere", "#endif\n  out[t] += a[j];\n#if A", "it has an #if")
  no("shared memory", "__shared__ float s[32]; out[t] += s[j];", "it declares shared memory")
  no("a static variable", "static int s; out[t] += s++;", "it declares shared memory")
  no("a long body", ("out[t] += a[j];"):rep(200), "too long to be there twice")
  tap.ok(rewritten.text("specialise", rewritten.source(T .. "  for (int j = 0; j < n; j++) {\n"
    .. ("out[t] += a[j];"):rep(190) .. "\n  }"), 4, { "n", "8" }), "one that is not too long")
  refused("a function that is called", "specialise", "__device__ void f(int n) {\n"
    .. "  for (int j = 0; j < n; j++) n + j;\n}\n" .. source, 2, { "n", "8" }, "it is in no kernel")
end)

tap.case("loads of several iterations before what they do", function()
  local batch = transform.find "batch"
  local chosen = rewritten.source [[
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0.f;
  for (int i = t; i < n; i += blockDim.x) {
    if (a[i] > 0.f) sum += b[i];
    out[t] = sum;
  }]]
  local text = right("a condition and a store", batch, chosen, 5, { "4" })
  tap.has(text, "const float a_early_0 = a[i], a_early_1 = a[i + blockDim.x], a_early_2 = "
    .. "a[i + 2 * blockDim.x], a_early_3 = a[i + 3 * blockDim.x];", "all four at once")
  tap.ok(text and not text:find "b_early", "what a condition keeps stays behind it")
  text = right("what a condition keeps, too", batch, chosen, 5, { "2", "all" })
  tap.has(text, "const float b_early_0 = b[i]", "is loaded early")
  tap.is(rewritten.found(batch, chosen), "5(4) 5(4,all) 5(8) 5(8,all)",
    "where it is proposed")
  local again = rewritten.source [[
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  for (int i = t; i < n; i += blockDim.x) {
    if (a[i] > 0.f) out[t] += a[i];
  }]]
  tap.has(right("what is loaded again below", batch, again, 4, { "4" }),
    "if (a_early_3 > 0.f) out[t] += a_early_3;", "is there")
  tap.is(rewritten.found(batch, again), "4(4) 4(8)", "without a promise")
  text = right("an element of an element", batch, rewritten.source([[
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  for (int i = t; i < n; i += 64) {
    int to = (a[i] + 40) * 3;
    if (b[to + 1] < 20) out[t] += to;
  }]], "int"), 4, { "2" }, { type = "i32" })
  tap.has(text, "b_early_1 = b[((a_early_1 + 40) * 3) + 1];", "loaded behind those it needs")
  right("products of the loop's variable", batch, rewritten.source [[
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  for (int k = 0; k < 6; k++) {
    float x = a[k * n + t % 64], y = b[(3 * k + 1) * 5 + t];
    if (x > y) out[t] += x;
  }]], 4, { "2" }, { sizes = { 0, 1, 64 } })
  refused("what the loop writes", batch, rewritten.source [[
  for (int i = 1; i < n; i++)
    if (out[i - 1] > 0.f) out[i] = 2.f;]], 3, { "2" }, "no load of an iteration can be made")
  right("a row of each iteration's own", batch, rewritten.source [[
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  for (int i = 0; i < n % 8; i++) {
    const float *row = a + i * 4;
    out[t] += row[i];
  }]], 4, { "4" })
  refused("a row that moves on", batch, rewritten.source [[
  int t = blockIdx.x * blockDim.x + threadIdx.x, off = 0;
  for (int i = 0; i < n % 8; i++) {
    off += 2;
    const float *row = a + off;
    out[t] += row[i];
  }]], 4, { "4" }, "no load of an iteration")
  refused("an index that the loop computes", batch, rewritten.source([[
  int at = 0;
  for (int i = 0; i < n; i++)
    if (a[at] > 0) at = (at + i) & 7, out[at] = 2;]], "int"), 4, { "2" }, "no load of an iteration")
  local doubled = rewritten.source [[
  for (int i = 1; i < n; i += i)
    if (a[i] > 0.f) out[i] += a[i];]]
  refused("a step that changes", batch, doubled, 3, { "2" }, "change within")
  refused("a step that changes, unrolled", "unroll", doubled, 3, { "2" }, "change within")
  refused("a barrier", batch, rewritten.source [[
  for (int i = 0; i < n; i++) {
    out[threadIdx.x] += a[i];
    __syncthreads();
  }]], 3, { "2" }, "no load of an iteration")
end)

tap.case("a loop that looks for an element", function()
  local search = transform.find "search"
  local first = rewritten.source [[
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  int found = n;
  for (int i = 0; i < n; i++) {
    if (a[i] > 6.5f - t * 0.125f) {
      found = i;
      break;
    }
  }
  out[t] = found;]]
  local text = right("the first", search, first, 5, { "4" })
  tap.has(text, "for (; i + 3 < n; i += 4)", "four at once")
  tap.is(rewritten.found(search, first), "5(4) 5(8) 5(16)", "where it is proposed")
  right("the last, and away", search, rewritten.source [[
  int t = threadIdx.x;
  for (int i = n - 1; i >= t; --i)
    if (a[i] > 6.f && b[i] < t * 0.25f) { out[t] = i; return; }
  out[t] = -1.f;]], 4, { "8" }, { grid = 1 })
  right("a product", search, rewritten.source [[
  int t = threadIdx.x, found = -1;
  for (int k = 0; k < 61; k++)
    if (a[k * 3 + n] > 6.f - t * 0.25f) { found = k; break; }
  out[t] = found;]], 4, { "4" }, { grid = 1 })
  refused("it counts, too", search, rewritten.source [[
  int found = 0;
  for (int i = 0; i < n; i++) {
    found++;
    if (a[i] > 6.f) break;
  }
  out[threadIdx.x] = found;]], 4, { "4" }, "does more than to look")
  refused("it goes on", search, rewritten.source [[
  for (int i = 0; i < n; i++)
    if (a[i] > 6.f) out[i] = 1.f;]], 3, { "4" }, "does more than to look")
  refused("it changes what it looks at", search, rewritten.source [[
  for (int i = 0; i < n; i++)
    if (atomicAdd(&out[i], 1.f) > 6.f) break;]], 3, { "4" }, "what it looks")
end)

tap.case("elements told from others of their array", function()
  local lower = rewritten.source [[
  __shared__ float tile[32][32];
  int t = threadIdx.x, m = n % 32;
  for (int i = 0; i < 32; i++) tile[i][t] = a[i * 32 + t] * 0.01f;
  __syncthreads();
  for (int i = 0; i < m; i++) {
    if (t > i) {
      for (int j = 0; j < i; j++)
        tile[t][i] -= tile[t][j] * tile[j][i];
    }
    __syncthreads();
    for (int j = i - 1; j > t; j--)
      tile[i][t] += tile[j][t] * 0.5f;
    __syncthreads();
  }
  for (int i = 0; i < 32; i++) out[i * 32 + t] = tile[i][t];]]
  local once = { grid = 1, sizes = { 0, 5, 31 } }
  local text = right("below the loop's variable, left of the thread", "keep", lower, 9, {}, once)
  tap.has(text, "tile_kept -= tile[t][j] * tile[j][i];", "the others are read")
  right("downwards", "keep", lower, 13, {}, once)
  refused("by a pointer that the body moves", "keep", rewritten.source [[
  float *z = out;
  for (int j = 0; j < 4; j++) { z[n] += a[j]; z = out + 128; }]], 4, {},
    "no element that can be kept")
  refused("by one that the head moves", "keep", rewritten.source [[
  float *z = out;
  for (int j = 0; j < 4; j++, z += 2) z[n] += a[j];]], 4, {},
    "no element that can be kept")
  refused("not in each round", "keep", rewritten.source [[
  int t = threadIdx.x;
  for (int j = 0; j < n; j++) if (j == t) out[t] += a[j];]], 4, {}, "no element that can be kept")
  right("all of a kernel", "keep", lower, 1, { "all" }, once)
  tap.is(rewritten.found("keep", lower), "1(all) 9() 13()", "where it is proposed")
  local function update(head, what)
    return rewritten.source(
      ("  int t = threadIdx.x;\n  if (t > 2)\n    for (%s) %s"):format(head, what))
  end
  local no = "no element that can be kept"
  refused("up to the element itself", "keep", update("int j = 0; j <= t; j++",
    "out[t] += out[j];"), 5, {}, no)
  refused("a condition of something else", "keep", update("int j = 0; j < n; j++",
    "out[t] += out[j];"), 5, {}, no)
  right("a condition and a head", "keep", update("int j = 0; j < 2; j++", "out[t] += out[j];"), 5,
    {}, { grid = 1 })
  refused("a variable that changes", "keep", rewritten.source [[
  int t = threadIdx.x;
  for (int k = 40; k > t; k--) {
    t += 2;
    for (int j = 0; j < k; j++) out[k] += out[j + t];
  }]], 6, {}, no)
end)

tap.done()
