-- covers: which tests may notice a change of a file. A row is a pattern of files (the whole path)
-- and the tests, in any order: of all rows that fit, all are taken. Those of a Lua file that call
-- nothing in it are left out by judge.lua.

local TRANSFORM = "tests/lua/transform.lua tests/lua/transformarithmetic.lua "
  .. "tests/lua/transformloops.lua tests/lua/transformmemory.lua tests/lua/transformremainder.lua "
  .. "tests/lua/transformshuffle.lua tests/lua/transformstage.lua tests/lua/transformsubwarp.lua "
  .. "tests/lua/transformthreads.lua tests/lua/fuse_kernels.lua tests/lua/proposals.lua "
  .. "tests/lua/facts_rewritings.lua"

local FUNNEL = "tests/lua/funnel.lua tests/lua/verdicts.lua tests/lua/screen.lua "
  .. "tests/lua/sieve.lua"

return {
  { file = "src/emu/exact/copies%.c", tests = "tests/lua/certificate_copies.lua" },
  { file = "src/emu/exact/.*%.c", tests = "tests/lua/certificate.lua" },
  { file = "lua/gilua/new/judgement%.lua", tests = "tests/lua/judgement.lua" },
  { file = "lua/gilua/report/judgewords%.lua", tests = "tests/lua/judgement.lua" },
  -- A fact is tested alone: what only its rewritings' tests would notice is a test that is missing.
  { file = "lua/gilua/facts/.*%.lua", tests = "tests/lua/facts_apart.lua "
    .. "tests/lua/facts_blockwise.lua tests/lua/facts_early.lua tests/lua/facts_effects.lua "
    .. "tests/lua/facts_loop.lua "
    .. "tests/lua/facts_memory_of.lua tests/lua/facts_once.lua "
    .. "tests/lua/facts_shared_loop.lua tests/lua/facts_shared_out.lua "
    .. "tests/lua/facts_uniform.lua "
    .. "tests/lua/transform.lua tests/lua/transformarithmetic.lua "
    .. "tests/lua/transformremainder.lua tests/lua/proposals.lua" },
  { file = "lua/gilua/facts/accumulators.lua", tests = TRANSFORM },
  { file = "lua/gilua/facts/added.lua", tests = TRANSFORM },
  { file = "lua/gilua/facts/all_come.lua", tests = "tests/lua/transformstage.lua" },
  { file = "lua/gilua/facts/depends.lua", tests = "tests/lua/facts_depends.lua" },
  { file = "lua/gilua/facts/wider.lua", tests = "tests/lua/facts_wider.lua" },
  { file = "lua/gilua/facts/asked.lua", tests = "tests/lua/facts_asked.lua" },
  { file = "lua/gilua/facts/contraction.lua",
    tests = "tests/lua/facts_contraction.lua tests/lua/transformtile.lua" },
  { file = "lua/gilua/facts/elements.lua", tests = "tests/lua/transformstage.lua "
    .. "tests/lua/transformshuffle.lua" },
  { file = "lua/gilua/facts/grows.lua", tests = "tests/lua/transformgeometry.lua" },
  { file = "lua/gilua/facts/in_step.lua", tests = "tests/lua/traps.lua" },
  { file = "lua/gilua/facts/kept.lua", tests = TRANSFORM },
  { file = "lua/gilua/facts/loaded.lua", tests = "tests/lua/fuse_kernels.lua "
    .. "tests/lua/transformthreads.lua" },
  { file = "lua/gilua/facts/lane_.*%.lua", tests = "tests/lua/transformsubwarp.lua" },
  { file = "lua/gilua/facts/merge.*%.lua", tests = "tests/lua/transformgeometry.lua" },
  { file = "lua/gilua/facts/next_kernel.lua", tests = "tests/lua/fuse_kernels.lua" },
  { file = "lua/gilua/facts/operands.lua",
    tests = "tests/lua/facts_contraction.lua tests/lua/transformtile.lua" },
  { file = "lua/gilua/facts/order.lua", tests = TRANSFORM },
  { file = "lua/gilua/facts/ranges.lua", tests = TRANSFORM },
  { file = "lua/gilua/facts/row_.*%.lua", tests = "tests/lua/transformsubwarp.lua" },
  { file = "lua/gilua/facts/sides.lua", tests = TRANSFORM },
  { file = "lua/gilua/facts/signs.lua", tests = TRANSFORM },
  { file = "lua/gilua/facts/staged.lua", tests = "tests/lua/transformstage.lua" },
  { file = "lua/gilua/facts/strided.lua", tests = "tests/lua/transformgeometry.lua" },
  { file = "lua/gilua/facts/teams.lua", tests = "tests/lua/transformgeometry.lua" },
  { file = "lua/gilua/facts/threads.lua", tests = TRANSFORM
    .. " tests/lua/transformgeometry.lua" },
  { file = "lua/gilua/facts/turned.lua", tests = "tests/lua/transformstage.lua" },
  { file = "lua/gilua/facts/warp_same.lua", tests = "tests/lua/transformshuffle.lua" },
  { file = "lua/gilua/facts/watched.lua", tests = "tests/lua/facts_watched.lua" },
  { file = "lua/gilua/facts/wid.*%.lua", tests = "tests/lua/transformgeometry.lua" },
  { file = "lua/gilua/rewrite/.*%.lua", tests = TRANSFORM .. " tests/lua/transformgeometry.lua "
    .. "tests/lua/rewrite.lua tests/lua/traps.lua" },
  { file = "lua/gilua/transform/.*%.lua", tests = TRANSFORM .. " tests/lua/transformgeometry.lua" },
  { file = "lua/gilua/new/otherdata.lua", tests = "tests/lua/otherdata.lua" },
  { file = "lua/gilua/farm/funnel%.lua", tests = FUNNEL },
  { file = "lua/gilua/farm/stages/.*%.lua", tests = FUNNEL },
  { file = "lua/gilua/farm/sieve.lua", tests = "tests/lua/sieve.lua tests/lua/funnel.lua" },
  { file = "src/emu/check/order%.c", tests = "build/tests/emu_order build/tests/emu_turns "
    .. "build/tests/emu_core_barrier build/tests/emu_faults build/tests/emu_warps "
    .. "build/tests/emu_async build/tests/emu_programs build/tests/emu_threads" },
  { file = "src/emu/check/race%.c", tests = "build/tests/emu_order build/tests/emu_turns "
    .. "build/tests/emu_faults build/tests/emu_warps build/tests/emu_async "
    .. "build/tests/emu_programs build/tests/emu_core_barrier tests/lua/pairs.lua" },
  { file = "src/emu/check/watch%.c", tests = "tests/lua/facts_watched.lua" },
  { file = "src/emu/decode/bounds%.c", tests = "build/tests/emu_bounds build/tests/emu_modules "
    .. "build/tests/emu_faults build/tests/emu_core_memory build/tests/emu_core_names "
    .. "build/tests/emu_instructions_memory build/tests/emu_forms" },
  { file = "src/emu/decode/library%.c", tests = "build/tests/emu_beyond build/tests/emu_format" },
  { file = "src/emu/.*/matrix.*%.[ch]", tests = "build/tests/emu_matrix "
    .. "build/tests/emu_matrix_faults build/tests/emu_matrix_group build/tests/emu_core_cost" },
  { file = "src/array/small%.c", tests = "build/tests/array_elements" },
  { file = "src/emu/exec/nested%.c", tests = "build/tests/emu_beyond build/tests/emu_whole" },
  { file = "src/emu/exec/surface%.c", tests = "build/tests/emu_beyond build/tests/emu_surface" },
  { file = "src/runtime/used%.c", tests = "build/tests/runtime_used" },
  { file = "src/emu/exec/texture%.c", tests = "build/tests/emu_beyond build/tests/emu_tex "
    .. "build/tests/emu_instructions_texture" },
  { file = "src/replay/.*%.c", tests = "build/tests/replay build/tests/replay_turns "
    .. "tests/lua/hostile_recordings.lua" },
  { file = "src/array/compare%.c", tests = "build/tests/array_compare" },
}
