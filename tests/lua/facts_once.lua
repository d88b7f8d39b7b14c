-- once and certain: has a loop a round, what does each round evaluate, and the guard of what comes
-- before it.

package.path = "tests/lua/?.lua;" .. package.path
local certain = require "gilua.facts.certain"
local kernel = require "gilua.transform.kernel"
local once = require "gilua.facts.once"
local tap = require "tap"

local function loops_of(body)
  return kernel.of_text("#define FOUR 4\n__global__ void k(float *out, const int *a, int n, "
    .. "int m)\n{\n" .. body .. "\n}\n").loops
end

local function loop_of(body) return loops_of(body)[1] end

tap.case("at least one round: yes, no or unknown", function()
  local function is(body, answer)
    local loops = loops_of(body)
    tap.is((once.of(loops[#loops])), answer, body)
  end
  is("for (int i = 0; i < 8; i++) out[i] = 0;", true)
  is("for (int i = -2; i <= FOUR; i += 3) out[i] = 0;", true)
  is("for (int i = 8; i < 8; i++) out[i] = 0;", false)
  is("do out[0] = 1; while (n);", true)
  is("for (;;) { out[0] = 1; break; }", true)
  is("for (int i = 0; i < n; i++) out[i] = 0;", nil)
  is("while (n > 0) { out[n] = 0; n--; }", nil)
  is("if (n > 0) for (int i = 0; i < n; i++) out[i] = 0;", true)
  is("if (m > 3 && 0 < n) { out[0] = 1; for (int i = 0; i < n; i++) out[i] = 0; }", true)
  is("if (n > 0) { n = m; for (int i = 0; i < n; i++) out[i] = 0; }", nil)
  is("if (n > 0) out[0] = 1; else for (int i = 0; i < n; i++) out[i] = 0;", nil)
  is("if (n > 1) for (int i = 1; i <= n; i++) out[i] = 0;", nil)
  is("if (0 < a[0]) for (int i = 0; i < a[0]; i++) out[i] = 0;", nil)
  is("if (0 < n) { int *p = &n; *p = m; for (int i = 0; i < n; i++) out[i] = 0; }", nil)
  is("if (0 < n) { printf(\"\"); for (int i = 0; i < n; i++) out[i] = 0; }", nil)
  is("if (0 < n) { while (m) m--; for (int i = 0; i < n; i++) out[i] = 0; }", true)
  is("if (0 < n) while (m) { for (int i = 0; i < n; i++) out[i] = 0; n--; }", nil)
  is("if (0 < n) { } for (int i = 0; i < n; i++) out[i] = 0;", nil)
  is("if (0 <= n) for (int i = 0; i < n; i++) out[i] = 0;", nil)
  is("if (0 < m) for (int i = 0; i < n; i++) out[i] = 0;", nil)
  is("if (0 < n || m) for (int i = 0; i < n; i++) out[i] = 0;", nil)
  is("if (m) for (int i = 0; i < n; i++) out[i] = 0;", nil)
  is("if (n <= 0) return; for (int i = 0; i < n; i++) out[i] = 0;", nil)
  is("while (0 < n) { for (int i = 0; i < n; i++) out[i] = 0; n--; }", nil)
  is("while (0 < n) { n--; for (int i = 0; i < n; i++) out[i] = 0; }", nil)
end)

tap.case("the guard of a loop that has a round, or has none", function()
  local function guard(body, also)
    local loop = loop_of(body)
    return once.guard(loop, loop.fn.kernel:names(), also)
  end
  tap.is(next((guard("for (int i = 0; i < 8; i++) ;"))), nil, "needs nothing")
  local one = guard("for (int i = 0; i < 8; i++) ;", "m > 2")
  tap.is(one.text .. #one.lines, "m > 20", "what must hold besides")
  one = guard("for (int i = 0; i < n; i++) ;", "m > 2")
  tap.is(one.lines[1], "const bool has_rounds = m > 2 && 0 < n;", "both")
  one = guard("for (int i = a[0]; i < n; i++) ;", "m > 2")
  tap.is(table.concat(one.lines, " "),
    "bool has_rounds = false; if (m > 2) { int i = a[0]; has_rounds = i < n; }", "in its order")
  tap.is(select(2, guard("for (int i = 8; i < 8; i++) ;")), "the loop has no round", "none")
end)

tap.case("the guard asks what the first round would", function()
  local function is(body, lines)
    local loop = loop_of(body)
    local guard = once.guard(loop, loop.fn.kernel:names())
    tap.is(guard and table.concat(guard.lines or {}, " "), lines, body)
  end
  is("for (int i = 0; i < n; i++) out[i] = 0;", "const bool has_rounds = 0 < n;")
  is("for (int i = m; n > i; i++) out[i] = 0;", "const bool has_rounds = m < n;")
  is("for (; m < n; m++) out[m] = 0;", "const bool has_rounds = m < n;")
  is("for (unsigned i = 0; i < n; i++) out[i] = 0;",
    "bool has_rounds; { unsigned i = 0; has_rounds = i < n; }")
  is("for (int i = a[0], j = 1; i < a[j]; i++) out[i] = 0;",
    "bool has_rounds; { int i = a[0], j = 1; has_rounds = i < a[j]; }")
  is("while (a[n] > 0) { out[n] = 0; n--; }", "const bool has_rounds = a[n] > 0;")
  is("while (n-- > 0) out[n] = 0;", nil)
  is("for (m = m + 1; m * m < n; m++) out[m] = 0;", nil)
  is("for (m = 1; m * m < n; m++) out[m] = 0;",
    "bool has_rounds; { m = 1; has_rounds = m * m < n; }")
  is("for (m = 0, n = 1; m * m < n; m++) out[m] = 0;", nil)
  is("for (int i = twice(n); i < n; i++) out[i] = 0;", nil)
  is("for (int i = m++; i < n; i++) out[i] = 0;", nil)
  is("for (int i = a[m++]; i < n; i++) out[i] = 0;", nil)
  is("while (atomicAdd(out, 1) < 3) n--;", nil)
  is("while (twice(n)) n--;", nil)
  is("while (__any_sync(-1, n)) n--;", nil)
end)

tap.case("what each round evaluates", function()
  local function is(body, answer)
    local loop, found = loop_of(body), nil
    for _, access in ipairs(loop.inside.accesses) do
      if access.base == "a" then found = access.node end
    end
    tap.is((certain.of(loop, found)), answer, body)
  end
  is("for (int i = 0; i < n; i++) out[i] = a[i];", true)
  is("for (int i = 0; i < n; i++) { int x = a[i]; if (x) out[i] = 1; }", true)
  is("for (int i = 0; i < n; i++) if (a[i]) out[i] = 1;", true)
  is("for (int i = 0; i < n; i++) if (n > i) out[i] = a[i];", nil)
  is("for (int i = 0; i < n; i++) out[i] = n > i ? a[i] : 0;", nil)
  is("for (int i = 0; i < n; i++) if (n > 2 && a[i]) out[i] = 1;", nil)
  is("for (int i = 0; i < n; i++) { if (i > m) continue; out[i] = a[i]; }", nil)
  is("for (int i = 0; i < n; i++) { if (i > m) goto on; out[i] = a[i]; on: ; }", nil)
  is("for (int i = 0; i < n; i++) { if (i > m) return; out[i] = a[i]; }", nil)
  is("for (int i = 0; i < n; i++) { if (i > m) break; out[i] = a[i]; }", nil)
  is("for (int i = 0; i < n; i++) { on: out[i] = a[i]; }", nil)
  is("for (int i = 0; i < n; i++) { out[i] = a[i]; if (i > m) break; }", true)
  is("for (int i = 0; i < n; i++) { { { out[i] = a[i]; } } }", true)
  is("for (int i = 0; i < n; i++) { if (m) { } out[i] = a[i]; }", true)
  is("for (int i = 0; i < n; i++) { if (m) { if (n) continue; } out[i] = a[i]; }", nil)
  is("for (int i = 0; i < n; i++) { { if (m) break; } out[i] = a[i]; }", nil)
  is("for (int i = 0; i < n; i++) out[i] = a[i] ? n : 0;", true)
  is("for (int i = 0; i < n; i++) out[i] = a[i] && n;", true)
  is("for (int i = 0; i < n; i++) out[i] = n || a[i];", nil)
  is("for (int i = 0; i < n; i++) { switch (n) { case 1: out[i] = a[i]; } }", nil)
  is("for (int i = 0; i < n; i++) { switch (n) { case 1: m = 2; } out[i] = a[i]; }", nil)
  is("for (int i = 0; i < n; i++) for (int k = 0; k < m; k++) out[i] = a[k];", nil)
end)

tap.done()
