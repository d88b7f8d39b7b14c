--- gpus: the GPUs that the virtual one can stand for. A model is a data file, base/gpu/NAME.lua, or
--- a person's own file of numbers, as `gilua calibrate` writes it (fields: src/emu/cost/cost.h).
---
--- `card` makes a model of what is published and measured of a card. A field that nobody has
--- measured there is the H200's, whose are known best (base/gpu/h200.lua), by these rules:
---   clocks of an SM (latencies, rates)          as they are
---   requests and atomics of the L2 cache        by the bandwidth of the L2 cache
---   requests of DRAM                            by the bandwidth of DRAM
---   starting a launch                           the same nanoseconds
---   starting blocks                             the same number a clock on the whole GPU
---   energy                                      as they are: a rough estimate there, too

local attempt = require "gilua.base.attempt"
local ends = require "gilua.base.ends"
local h200 = require "gilua.base.gpu.h200"
local luadata = require "gilua.base.luadata"
local textfile = require "gilua.base.textfile"

local MOST_BYTES = 1 << 16 -- of a file

local M = {}

M.USUAL = "h200"

--- Names of the models, in the order in which they are listed.
M.NAMES = { "h200", "h100", "a100", "b200", "l4", "rtx4090", "a6000", "rtx3090" }

-- What the compute capability says: CUDA C++ programming guide, "Technical specifications per
-- compute capability" and "Throughput of native arithmetic instructions" (results a clock and SM,
-- divided by 32 lanes). rate_tensor: white papers of Ampere, Ada, Hopper, Blackwell, thousands of
-- dense f16 multiply-adds a clock and SM. What 9.0 and 10.0 share with an H200 is not repeated.
local GA10X = {
  max_threads_per_sm = 1536, max_blocks_per_sm = 16, shared_per_sm = 102400,
  shared_per_block = 101376, l1_bytes_per_sm = 131072,
  rate_fp64 = 2 / 32, rate_fp16 = 2, rate_tensor = 0.5,
  latency_fp64 = 24, -- assumed: a warp instruction takes 16 clocks of the two units
}
local AD10X = setmetatable({ max_blocks_per_sm = 24 }, { __index = GA10X })
local CAPABILITIES = {
  ["8.0"] = { shared_per_sm = 167936, shared_per_block = 166912, l1_bytes_per_sm = 196608,
    rate_fp32 = 2, rate_fp64 = 1, rate_tensor = 1 },
  ["8.6"] = GA10X,
  ["8.9"] = AD10X,
  ["9.0"] = {},
  ["10.0"] = { rate_tensor = 4 },
}

-- Fields that go by another one.
local BY = {
  l2_lines_per_clock = "l2_bytes_per_clock", l2_store_bytes_per_clock = "l2_bytes_per_clock",
  l2_store_lines_per_clock = "l2_store_bytes_per_clock", atomics_per_clock = "l2_bytes_per_clock",
  dram_lines_per_clock = "dram_bytes_per_clock", launch_ticks = "clock_ghz", block_start = "sms",
}

--- Makes a model.
---@param capability string "8.0": the compute capability
---@param known table fields of the card
---@return table model with every field of h200.lua
function M.card(capability, known)
  local of_capability, model = CAPABILITIES[capability], {}
  local function value(field)
    local by = BY[field]
    return known[field] or of_capability[field]
      or by and h200[field] * value(by) / h200[by] or h200[field]
  end
  for field in pairs(h200) do model[field] = value(field) end
  return model
end

-- A person's file of numbers; it is read as data, and nothing in it runs.
local function of_file(path)
  local model, why = luadata.read(textfile.read(path, "the model of a GPU", MOST_BYTES))
  if type(model) ~= "table" then
    ends.with(ends.STATUS.usage, "--gpu %s: this is no model of a GPU: %s", path,
      why or "there is no table of numbers")
  end
  for field, own in pairs(h200) do
    if type(model[field]) ~= type(own) then
      ends.with(ends.STATUS.usage, "--gpu %s: the file has no %s '%s'; `gilua calibrate` writes "
        .. "files that have all", path, type(own) == "number" and "number" or "text", field)
    end
  end
  for field in pairs(model) do
    if h200[field] == nil then
      ends.with(ends.STATUS.usage, "--gpu %s: a GPU has no field '%s'", path, field)
    end
  end
  return model
end

--- Returns whether there is a row for a compute capability.
---@param capability string "8.0"
---@return boolean
function M.knows(capability) return CAPABILITIES[capability] ~= nil end

local models, chosen = {}, nil

--- Returns the model of a GPU by its name, or of a file whose name ends in .lua; nil if there is
--- none.
---@param name string
---@return table?
function M.find(name)
  if not models[name] then
    if name:find "%.lua$" then
      models[name] = of_file(name)
    elseif name:find "^%w+$" then
      local found, model = attempt(require, "gilua.base.gpu." .. name)
      models[name] = found and model or nil
    end
  end
  return models[name]
end

--- Returns why there is no model of this name, in a sentence.
---@param name string
---@return string
function M.missing(name)
  return ("--gpu %s: no such model is known; there are %s, or a file that `gilua calibrate` wrote "
    .. "(NAME.lua)"):format(name, table.concat(M.NAMES, ", "))
end

--- Makes a GPU that which the virtual one stands for, here and in workers begun from now on.
---@param name string
function M.choose(name)
  if not M.find(name) then ends.with(ends.STATUS.usage, "%s", M.missing(name)) end
  chosen = name
end

--- Returns the name of what the virtual GPU stands for.
---@return string
function M.chosen() return chosen or M.USUAL end

--- Returns the model of what the virtual GPU stands for.
---@return table
function M.model() return M.find(M.chosen()) end

return M
