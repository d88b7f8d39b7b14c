-- explained: changes that no test can notice, because the changed program does the same (equivalent
-- mutants), each with the reason. `line` is the text of the line, `what` the change as judge.lua
-- says it.

return {
  -- src/emu/check/order.c
  { file = "src/emu/check/order.c", what = "`0` becomes `1`",
    line = "for (int k = 0; k < FENCE_SCOPES; k++) free(h->at[i].pasts[k].at);",
    why = "It leaks memory, which only make SANITIZE=address test sees." },
  { file = "src/emu/check/order.c", what = "`2` becomes `3`", line = "if (2 * h->n >= h->cap) {",
    why = "The table grows earlier, and holds the same." },
  { file = "src/emu/check/order.c", what = "`32` becomes `33`",
    line = "uint64_t i = key * 0x9e3779b97f4a7c15u >> 32;",
    why = "Another hash of a key finds other slots, and the same place." },
  { file = "src/emu/check/order.c", what = "`>` becomes `>=`",
    line = "if (from->time > to->time) to->time = from->time;",
    why = "Of two that are equal either is the greater one." },
  -- lua/gilua/facts/loop.lua
  { file = "lua/gilua/facts/loop.lua", what = "`return` is taken out",
    line = [[if s.kind ~= "for" then return loop end]],
    why = "The head of a while or a do has no step, so that read_head finds nothing that counts, "
      .. "and the next line returns the same." },
  -- lua/gilua/facts/uniform.lua
  { file = "lua/gilua/facts/uniform.lua", what = "`or` becomes `and`",
    line = "changed = mark(varying, { [d.name] = true }) or changed",
    why = "A declared variable is used behind its declaration alone. What it is assigned to there "
      .. "counts as changed by itself." },
  { file = "lua/gilua/facts/uniform.lua", what = "`<=` becomes `<`",
    line = "local is_one = d and (d.shared or s.first <= d.token and d.token <= s.last)",
    why = "The first word of a statement is never the name that it declares: the type is." },
  { file = "lua/gilua/facts/uniform.lua", what = "`<=` (number 2) becomes `<`",
    line = "local is_one = d and (d.shared or s.first <= d.token and d.token <= s.last)",
    why = "The last word of a statement is never the name that it declares: a semicolon is." },
  -- lua/gilua/facts/memory_of.lua
  { file = "lua/gilua/facts/memory_of.lua", what = "`0` becomes `1`",
    line = "if not d.reference and d.pointer > 0 or #d.extents > 0 or d.parameter then",
    why = "The lines below find the one index of a plain pointer, too, whatever valid value it "
      .. "begins with." },
}
