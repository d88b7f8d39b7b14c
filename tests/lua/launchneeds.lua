-- gilua.new.launchneeds: what of its launch a winner is right with alone.

package.path = "tests/lua/?.lua;lua/?.lua;" .. package.path
local gi = require "gilua"
local scratch = require "scratch"
local tap = require "tap"

local KERNEL = [[
extern "C" __global__ void k(float *sums, const float *x)
{
    extern __shared__ float part[];
    __syncwarp();
    part[threadIdx.x] = x[blockIdx.x * blockDim.x + threadIdx.x];
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s /= 2) {
        if (threadIdx.x < s) part[threadIdx.x] += part[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0) atomicAdd(sums, part[0]);
}
]]

-- Both barriers are __syncwarp(), the line before them.
local WARP = "<_kernel.cu_6><_kernel.cu_4> <_kernel.cu_9><_kernel.cu_4>"

local function problem_of(made_from)
  return gi.problem(scratch.problem(KERNEL, ([[{
    source = "kernel.cu", kernel = "k", size = 4096, block_size_x = 128,
    shared = "block_size_x * 4",
    args = { { name = "sums", type = "f32", count = 1, role = "inout", rel_error = 1e-4 },
             { name = "x", type = "f32", count = "size_x" } },
    checked_size = 512,
    tune_params = { block_size_x = { 32, 64, 128 }, math = { "precise", "ftz" } },
    %s }]]):format(made_from)))
end

local MADE = 'made_from = { path = "/nowhere/all.cu", template = {} }'

tap.case("a block's size without which the rest is wrong", function()
  local problem = problem_of(MADE)
  local farm <close> = gi.farm(problem, { device = "emu", jobs = 1 })
  local case = gi.own.case(problem, 1, "emu")
  local function said(genome)
    return table.concat(gi.launchneeds.of(problem, farm, case, genome), "; ")
  end
  tap.is(said(WARP .. " block_size_x=32"), "that it is launched with "
    .. "block_size_x = 32 (it was 128), and is wrong without (race)", "threads wait for their warp")
  tap.is(said "T:unroll<7>(2) block_size_x=32", "", "none where the rest is right")
  tap.is(said "block_size_x=32", "", "nor where there is none")
  tap.is(said(WARP .. " math=ftz"), "", "what the compiler is told is none of it")
  tap.is(said(WARP .. " block_size_x=128"), "", "nor what it is anyway")
  tap.is(said "", "", "nor the kernel as it is")
end)

tap.case("a gene that marks its winner has to bring 5 %", function()
  local problem = problem_of(MADE)
  local function cleaned(gain, is_marked)
    local fields = gi.own.scheme(problem, { is_marked = is_marked })
    return fields.minimise("block_size_x=32", function(text)
      return text == "" and 100 or 100 - gain
    end)
  end
  local function always() return true end
  tap.is(cleaned(3, always), "", "less is left out")
  tap.is(cleaned(7, always), "block_size_x=32", "more is kept")
  tap.is(cleaned(3, function() return false end), "block_size_x=32", "no mark, no more than 0")
  tap.is(cleaned(3), "block_size_x=32", "nor where nobody asks")
end)

tap.case("a problem that a person wrote", function()
  local problem = problem_of ""
  local farm <close> = gi.farm(problem, { device = "emu", jobs = 1 })
  tap.is(#gi.launchneeds.of(problem, farm, gi.own.case(problem, 1, "emu"),
    WARP .. " block_size_x=32"), 0, "is asked nothing")
end)

tap.done()
