-- usage: what a kernel does with a name, from how it stands in the body.

package.path = "tests/lua/?.lua;lua/?.lua;" .. package.path
local tap = require "tap"
local gi = require "gilua"

local function role(body, name)
  return gi.usage.role(gi.grammar.tokens(body), name or "x")
end

tap.case("roles", function()
  tap.is(role "{ y = x[i]; }", "in", "read")
  tap.is(role "{ x[i] = 1; *x = 2; x[i].v.w[3] = y; }", "out", "written")
  tap.is(role "{ x[i] = x[j]; }", "inout", "both")
  tap.is(role "{ x[i] += 1; }" .. role "{ x[i]++; }" .. role "{ --x[i]; }", "inoutinoutinout",
    "changed")
  tap.is(role "{ atomicAdd(&x[i], 1); }" .. role "{ return & x[0]; }", "inoutinout", "an address")
  tap.is(role "{ f(x); }" .. role "{ p = x + 1; }" .. role "{ x->y = 1; }", "inoutinoutinout",
    "passed on")
  tap.is(role "{ atomicAdd(&(x[i].f), 1); }" .. role "{ (x[i])++; }" .. role "{ (*x).y = (x[0]); }",
    "inoutinoutinout", "within parentheses")
  tap.is(role "{ if (x[i]) ++y; f(x[i]) = 2; }", "in", "not those of others")
  tap.is(role "{ if (x[i] == 1) y = 2; }", "in", "== is no assignment")
end)

tap.case("what only looks like a use", function()
  tap.is(role "{ int i = threadIdx.x; x[i] = blockIdx . x; p->x = 3; }", "out",
    "members of that name")
  tap.is(role "{ if (i < n && x[i]) y = m & x[i]; }", "in", "&& and & between numbers")
  tap.is(role "{ // x\n /* x = */ y = \"x\"; x[i] = 1; }", "out", "comments and strings")
  tap.is(role "{ x [ a[i] ] /* = */ = x1; }", "out", "blanks, and names that begin so")
end)

tap.case("indices", function()
  local t = gi.grammar.tokens [==[
    { for (int j = rows[i]; j < rows[i + 1]; j++) y[i] += v[j] * w[col[j]];
    for (k = 0; k < idx[a[2] + 1]; k++) z[b.col] = 1; }]==]
  local next_one, both = gi.usage.pairs(t, "rows")
  tap.is(tostring(next_one) .. tostring(both), "truetrue", "at an index and the next")
  tap.is(gi.usage.pairs(t, "v") or gi.usage.pairs(t, "idx"), false, "others are not")
  tap.is(gi.usage.loop_from(t, "rows"), "j", "the loop from one to the other")
  tap.is(gi.usage.loop_from(t, "v"), nil, "none")
  local by = gi.grammar.tokens "{ int first = rows[i]; for (int k = first; k < n; k++) y += v[k]; }"
  tap.is(gi.usage.loop_from(by, "rows"), "k", "by a variable that is made of it")
  tap.is(gi.usage.is_index(t, "col"), true, "an index of an index")
  tap.is(gi.usage.is_index(t, "w"), false, "none")
  tap.is(gi.usage.is_index(t, "rows"), true, "by the variable that gets it")
  local of = gi.grammar.tokens "{ int at = 2 * near[i] + 1; y[i] = x[p.q][at]; s.z[far[i]] = 1; }"
  tap.is(gi.usage.index_of(of, "near"), "", "an array without a name")
  tap.is(gi.usage.index_of(of, "far"), "z", "which array it is an index of")
  tap.is(gi.usage.index_of(of, "q", true), "x", "a member")
end)

tap.done()
