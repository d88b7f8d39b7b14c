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
  -- lua/gilua/facts/contraction.lua
  { file = "lua/gilua/facts/contraction.lua", what = "`true` becomes `false`",
    line = "found.known[found[which].name] = { [which] = true }",
    why = "Its readers ask for the keys alone." },
  -- lua/gilua/facts/operands.lua
  { file = "lua/gilua/facts/operands.lua", what = "`0` becomes `1`",
    line = "if not form or not is_known or #effects.of(fn, index).accesses > 0 then",
    why = "An index that loads an element has no form." },
  { file = "lua/gilua/facts/operands.lua", what = "`16` becomes `17`",
    line = "one.wide = one.wide and add_ends(found, one, 16 // M.BYTES[type])",
    why = "17 bytes have as many whole floats and doubles." },
  { file = "lua/gilua/facts/operands.lua", what = "`return` is taken out",
    line = [[if not text or access.write then return nil, "it writes memory" end]],
    why = "What is zero for zeros (is_zero) writes nothing, so that the line is never reached." },
  { file = "lua/gilua/facts/operands.lua", what = "`or` becomes `and`",
    line = [[if not text or access.write then return nil, "it writes memory" end]],
    why = "What is zero for zeros (is_zero) writes nothing, so that the line is never reached." },
  { file = "lua/gilua/facts/operands.lua", what = "`nil` becomes `true`",
    line = [[if not text or access.write then return nil, "it writes memory" end]],
    why = "What is zero for zeros (is_zero) writes nothing, so that the line is never reached." },
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
