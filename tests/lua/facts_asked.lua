-- asked: what must hold where a node is evaluated.

package.path = "tests/lua/?.lua;" .. package.path
local asked = require "gilua.facts.asked"
local effects = require "gilua.facts.effects"
local kernel = require "gilua.transform.kernel"
local tap = require "tap"

-- What is asked where a[…] is loaded in a body: "x > 1, !(y)"; "unknown".
local function is(what, body, answer)
  local known = kernel.of_text("__global__ void k(float *y, const float *a, int n, int m)\n{\n"
    .. body .. "\n}\n")
  local fn, node = known.by_name.k, nil
  for _, access in ipairs(effects.of(fn, fn.body).accesses) do
    if access.base == "a" then node = access.node end
  end
  local list, texts = asked.at(fn.body, node), {}
  for i, one in ipairs(list or {}) do
    texts[i] = (one.negated and "!(%s)" or "%s"):format(known:plain(one.tree))
  end
  tap.is(list and table.concat(texts, ", ") or "unknown", answer, what)
end

tap.case("the conditions around a load, outermost first", function()
  is("none", "y[0] = a[0];", "")
  is("an if", "if (n > 1) y[0] = a[0];", "n > 1")
  is("the other branch", "if (n > 1) y[0] = 1; else y[0] = a[0];", "!(n > 1)")
  is("one within another", "if (n > 1) { if (m > 2) y[0] = a[0]; }", "n > 1, m > 2")
  is("two at once", "if (n > 1 && m > 2) y[0] = a[0];", "n > 1, m > 2")
  is("neither of two", "if (n > 1 || m > 2) y[0] = 1; else y[0] = a[0];", "!(n > 1), !(m > 2)")
  is("a choice", "y[0] = n > 1 ? a[0] : 2;", "n > 1")
  is("its other part", "y[0] = n > 1 ? 2 : a[0];", "!(n > 1)")
  is("behind &&", "y[0] = n > 1 && a[0] > 0;", "n > 1")
  is("behind ||", "y[0] = n > 1 || a[0] > 0;", "!(n > 1)")
  is("the condition itself", "if (a[0] > 1) y[0] = 1;", "")
  is("behind a statement that ends", "if (n > 1) y[1] = 1;\ny[0] = a[0];", "")
  is("behind one that may leave", "if (n > 1) return;\ny[0] = a[0];", "unknown")
  is("before one that may leave", "y[0] = a[0];\nif (n > 1) return;", "")
  is("in a switch", "switch (n) { case 1: y[0] = a[0]; }", "unknown")
  is("in a while", "while (n > 1) y[0] = a[0];", "unknown")
end)

tap.done()
