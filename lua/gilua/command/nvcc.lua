--- `gilua nvcc …`: runs nvcc with a program's own arguments, adapted to the virtual GPU.

local ends = require "gilua.base.ends"
local fail = require "gilua.base.fail"
local gi = require "gilua"
local nvcc = require "gilua.farm.nvcc"

local DOC = "Calls nvcc with the words behind it, as a makefile would (NVCC=\"gilua nvcc\"), for "
  .. "the virtual GPU.\nOptions that name GPUs, -cudart, -G and -dlto are replaced by\n"
  .. "-gencode arch=compute_90,code=compute_90 -cudart shared -lineinfo; what CUDA 13 dropped "
  .. "(cudaThreadSynchronize,\nclockRate …) and helper_cuda.h are there."

return function()
  local words = { table.unpack(arg) }
  if #words == 0 then
    ends.with(ends.STATUS.usage, "what is nvcc to compile? gilua nvcc -o app app.cu")
  end
  if #words == 1 and (words[1] == "--help" or words[1] == "-h") then
    return gi.cli { doc = DOC, positional = {} }
  end
  local status, why = nvcc.run(words)
  if not status then fail("%s", why) end
  if status ~= 0 then return status end
end
