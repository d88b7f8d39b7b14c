-- reduction, running, shared_loop and first_thread: what lanes of a warp may do of a loop that one
-- thread does, or of what the first thread does alone.

package.path = "tests/lua/?.lua;" .. package.path
local apart = require "gilua.facts.apart"
local first_thread = require "gilua.facts.first_thread"
local kernel = require "gilua.transform.kernel"
local reduction = require "gilua.facts.reduction"
local running = require "gilua.facts.running"
local shared_loop = require "gilua.facts.shared_loop"
local tap = require "tap"

local HEAD = "__global__ void k(float *out, const float *a, int n)\n{\n"
local VARIABLES = "  float s = 0, most = a[0]; int at = 0, t = threadIdx.x; short small = 0;\n"

local function read(body) return kernel.of_text(HEAD .. VARIABLES .. body .. "\n}\n") end

local function loop_of(body, head)
  return read((head or "for (int i = 0; i < n; i++)") .. " { " .. body .. " }").loops[1]
end

tap.case("a variable is only put together, or not", function()
  local function is(body, name, answer)
    local found = reduction.of(loop_of(body), name)
    local text = found and ("%s %s%s%s"):format(found.name, found.op,
      found.at and " at " .. found.at.name or "",
      found.element and " of " .. found.element "x" or "")
    tap.is(text, answer, body)
  end
  is("s += a[i];", "s", "s +")
  is("s -= a[i]; s = s + 1; s = 2 + s; s = s - a[i];", "s", "s +")
  is("s = 1 - s;", "s", nil)
  is("s *= a[i];", "s", nil)
  is("s += a[i]; out[i] = s;", "s", nil)
  is("s += a[i]; s = fmaxf(s, a[i]);", "s", nil)
  is("at++; --at;", "at", "at +")
  is("most = fmaxf(a[i], most);", "most", "most fmaxf")
  is("most = fmaxf(a[i], 1.f);", "most", nil)
  is("if (most < a[i]) most = a[i];", "most", "most >")
  is("if (a[i] < most) { most = a[i]; }", "most", "most <")
  is("if (a[i] < most) most = a[i + 1];", "most", nil)
  is("if (a[i] <= most) most = a[i];", "most", nil)
  is("if (a[i] < most) most = a[i]; else s = 1;", "most", nil)
  is("if (a[i] > most) { most = a[i]; at = i; }", "at", "most > at at")
  is("if (a[i] > most) { at = i; most = a[i]; }", "most", "most > at at")
  is("if (a[i] > most) { at = i + 1; most = a[i]; }", "most", nil)
  is("if (a[i] > most) { at = i; most = a[i]; } s += at;", "most", nil)
  is("if (a[i] < a[at]) at = i;", "at", "at < of a[x]")
  is("if (a[at] < a[i]) at = i;", "at", "at > of a[x]")
  is("if (a[i] < a[at]) at = i; out[i] = 1;", "at", nil)
  is("if (a[i] < a[at]) at = n;", "at", nil)
  is("most = std::max(most, a[i]);", "most", "most std::max")
  is("most = std::max(a[i], most);", "most", nil)
  is("at = std::max(i, at);", "at", "at std::max")
  is("\n#define fmaxf(a, b) ((a) > (b) ? (a) : (b))\nmost = fmaxf(most, a[i]);", "most", nil)
  is("small += 1;", "small", nil)
  is("n += 1;", "n", nil)
end)

tap.case("a running sum", function()
  local function is(body, answer)
    local found = running.of(loop_of(body), "s")
    local text = found and ("%d before%s%s"):format(#found.before, found.is_less and ", less" or "",
      found.condition and ", sometimes" or "")
    tap.is(text, answer, body)
  end
  is("s += a[i]; out[i] = s;", "0 before")
  is("float v = a[i]; s -= v; out[i] = s;", "1 before, less")
  is("out[i] = s; s += a[i];", "0 before")
  is("s += a[i]; s += 1; out[i] = s;", nil)
  is("if (a[i] > 0) s -= 1; out[i] = s;", "0 before, less, sometimes")
  is("const float v = a[i]; if (v > 0) { s += v; } out[i] = s;", "1 before, sometimes")
  is("if (s > 0) s += 1; out[i] = s;", nil)
  is("if (a[i] > 0) s += 1; else n++; out[i] = s;", nil)
  is("out[i] = s; if (out[i] > 0) s += 1;", nil)
  is("if (atomicAdd(out, 1.f) > 3) s += 1; out[i] = s;", nil)
  is("s += s; out[i] = s;", nil)
  is("out[i] = s; s += out[i];", nil)
  is("out[i] = s; s += out[i + 1];", nil)
  is("s += a[i]; if (s > 1) continue; out[i] = s;", nil)
  is("s *= a[i]; out[i] = s;", nil)
end)

tap.case("threads share a loop where no iteration asks for another", function()
  local function is(body, answer, head)
    tap.is(shared_loop.of(loop_of(body, head)) ~= nil, answer, (head or "") .. body)
  end
  is("out[i] = a[i];", true)
  is("s += a[i];", true)
  is("out[i] = out[i + 1];", false)
  is("out[i + 1] = out[i];", false)
  is("out[2 * i] = out[2 * i + 1];", true)
  is("out[n - i] = a[i];", true)
  is("out[(int)a[i]] = 1;", false)
  is("atomicAdd(out, 1.f);", true)
  is("atomicAdd(&out[(int)a[i]], a[i]); atomicAdd(out, 1.f);", true)
  is("s += atomicAdd(out, 1.f);", false)
  is("atomicExch(out, 1.f);", false)
  is("atomicAdd(out, 1.f); s += out[i];", false)
  is("atomicAdd(&out[i], 1.f); out[i] = 2;", true)
  is("atomicAdd(&out[i], 1.f); out[i + 1] = 2;", false)
  is("if (a[i] > 1) break; out[i] = 1;", false)
  is("float *p = &s; p[0] = i;", false)
  is("s += a[i]; out[i] = s; most += s;", true)
  is("s += a[i]; out[i] = s; most = s;", false)
  is("at = at * 3 + 1;", false)
  is("n;", false)
  is("out[i] = a[i];", false, "for (int i = n; i > 0; i--)")
  is("s += a[i]; out[i] = s;", true, "for (int i = n; i > 0; i--)")
  is("s += a[i]; out[i] = s;", true, "for (long i = n; i >= 0; i -= 3)")
  is("s += a[i]; out[i] = s;", false, "for (unsigned i = n; i > 0; i--)")
  is("s += a[i]; out[i] = s;", false, "for (int i = n; i < 0; i--)")
  is("s += a[i]; out[i] = s; most = fmaxf(most, a[i]);", false, "for (int i = n; i > 0; i--)")
  is("out[i] = a[i];", true, "for (int i = t; i <= n; i += 4)")
  is("out[i] = a[i]; __syncthreads();", false)
  is("out[i] = a[i];", false, "for (unsigned char i = 0; i < 250; i++)")
  is("out[i] = a[i];", false, "for (short i = 0; i < n; i++)")
  is("out[i] = a[i];", true, "for (size_t i = 0; i < n; i++)")
  is("out[i] = a[i];", true, "for (auto i = n; i < n + 3; i++)")
  is("out[i] = a[i];", true, "for (std::int32_t i = 0; i < n; i++)")
  is("out[i] = a[i];", false, "for (auto i = (short)n; i < n + 3; i++)")
end)

local ROW = "if (t < n) {\n  for (int i = 0; i < n; i++) s += a[t * n + i];\n%s\n}"

tap.case("what one of several threads does for all outside of the loops", function()
  local function is(rest, answer)
    local fn = read(ROW:format(rest)).functions[1]
    local once, why = shared_loop.written_once(fn, shared_loop.outermost(fn))
    tap.is(once and ("%d%s%s"):format(#once.statements, once.tail and " tail" or "",
      next(once.waited) and " waited" or "") or why, answer, rest)
  end
  is("out[t] = s;", "1")
  is("out[t] = s; out[t + 1] = a[t];", "0 tail")
  is("out[t] = s; out[t] += 1;", "0 tail")
  is("out[t] = s; for (int i = 0; i < n; i++) most += out[i]; out[t] = most;", "2 waited")
  is("} if (t < n) { out[at++] = s;", "line 6 does more than to write")
  is("float own[4]; own[0] = s; out[t] = own[0];", "1")
  is("float own[4]; for (int i = 0; i < 4; i++) own[i] = s; out[t] = own[0];",
    "line 6 fills an array of the thread's")
end)

tap.case("what lanes read before they put sums together, one may write then", function()
  local head = HEAD:gsub("int n", "float *b, int n")
  local function is(body, answer)
    local fn = kernel.of_text(head .. VARIABLES .. body .. "\n}\n").functions[1]
    local once, notes = apart.noting(shared_loop.written_once, fn, shared_loop.outermost(fn))
    tap.ok(once, "may be done: " .. body)
    tap.is(#apart.pairs(fn, notes), answer, body)
  end
  local sum = "for (int i = 0; i < n; i++) s += a[i];"
  is(sum .. " out[t] = s;", 0)
  is(sum .. " out[t] = s * a[t];", 0)
  is(sum .. " for (int k = 0; k < 2; k++) out[t + k] = s;", 1)
  is(sum .. " most = a[t]; out[t] = s;", 1)
  is(sum .. " if (a[t] > 0) out[t] = s;", 1)
  is("if (n > 2) { " .. sum .. " most = 1; } out[t] = s;", 1)
  is("for (int i = 0; i < n; i++) { s += a[i]; b[t * n + i] = 1; } out[t] = s;", 2)
  is("for (int i = 0; i < n; i++) b[t * n + i] = a[i]; out[t] = 1;", 3)
  is("out[t] = 1; " .. sum, 1)
end)

tap.case("what the first thread does alone", function()
  local function is(condition, answer)
    local list = first_thread.all(read("  if (" .. condition .. ") { s += 1; }"))
    tap.is(list[1] and list[1].thread, answer, condition)
  end
  is("threadIdx.x == 0", "threadIdx.x")
  is("0 == t", "t")
  is("!t && n > 2", "t")
  is("n > 2 && t < 1 && threadIdx.y == 0", "t")
  is("t == 1", nil)
  is("t == 0 || n > 2", nil)
  is("t == 0 && a[t] > 1", nil)
  is("threadIdx.y == 0", nil)
  is("t <= 0", nil)
  local whole = first_thread.all(kernel.of_text(HEAD .. "  out[0] = 1;\n}\n"))
  tap.is(whole[1] and whole[1].line, 1, "a whole kernel")
  tap.is(#first_thread.all(kernel.of_text(HEAD .. "  out[blockIdx.x] = 1;\n}\n")), 0, "of a block")
end)

tap.case("what lanes would change that other threads ask for", function()
  local function is(body, answer, behind)
    local at = first_thread.all(read("  if (t == 0) {\n" .. body .. "\n  }\n" .. (behind or "")))[1]
    local rows, list = { last = 0 }, at.s.body.body
    for i, s in ipairs(list) do rows.last = s.loop and i or rows.last end
    local fits, why = first_thread.is_unasked(at, rows)
    tap.is(fits or why, answer, body .. (behind or ""))
  end
  local sum = "for (int i = 0; i < n; i++) s += a[i];"
  local why = "line 5 changes 's', which other threads have their own of"
  is(sum, true)
  is(sum, true, "if (t == 0) out[0] = s;")
  is(sum, why, "out[t] = s;")
  is(sum, why, "if (t == 1) out[0] = s;")
  is(sum, why, "float *p = &s; out[t] = *p;")
  is("float s = 0;" .. sum, true, "out[t] = s;")
  is(sum .. "most = s;", true, "out[t] = most;")
  is("n = 3;" .. sum, "line 5 changes 'n', which other threads have their own of", "out[t] = n;")
  is("for (at = 0; at < n; at++) s += a[at];", true, "for (at = 0; at < 3; at++) out[at] = 1;")
  is("for (at = 0; at < n; at++) s += a[at];", "line 5 changes 'at', which other threads have "
    .. "their own of", "out[at] = 1;")
end)

tap.case("lanes wait where one wrote what another reads", function()
  local function is(body, answer)
    local at = first_thread.all(read("  if (t == 0) {\n" .. body .. "\n  }"))[1]
    local rows, list, words = { last = 0 }, at.s.body.body, {}
    for i, s in ipairs(list) do
      rows[s] = s.loop and shared_loop.of(s.loop)
      if rows[s] then rows.last = i end
    end
    local waits, why = first_thread.waits(at, rows, {})
    for i, s in ipairs(waits and list or {}) do
      words[i] = (waits.before[s] and "<" or "") .. (waits.once[s] and "1" or "")
        .. (waits.alone[s] and "a" or "") .. (rows[s] and "l" or "")
        .. (waits.behind[s] and ">" or "")
    end
    tap.is(why or table.concat(words, " "), answer, body)
  end
  local sum = "for (int i = 0; i < n; i++) s += a[i];"
  local fill = "for (int i = 0; i < n; i++) out[i] = 1;"
  is(sum, "l")
  is(fill, "l>")
  is(fill .. sum, "l> l")
  is(sum .. "out[0] = s;" .. sum, "l <1> l")
  is("most = a[1];" .. fill, "a <l>")
  is(sum .. "out[0] = s;", "l ")
  is("for (int i = 0; i < n; i++) s += out[i];" .. "out[0] = s;", "l> ")
  is("atomicAdd(&out[at++], 1.f);" .. sum, "line 5 does more than to compute")
  is("most = a[t];" .. sum, "line 5 asks for t, which each thread has its own of")
end)

tap.done()
