-- jobs: the funnel's jobs for compilers: PTX or machine code for a text, or edited PTX, for one
-- text or several at once; and the mutant that is at fault when a compiler fails.
--
-- The functions are methods of gilua.funnel, as are those of the other stages.

local crew = require "gilua.farm.crew"
local fail = require "gilua.base.fail"
local limits = require "gilua.farm.stages.limits"

local Funnel = {}

--- Keeps a text that runs may need: Compiled:keep.
function Funnel:keep(code)
  return self.compiled:keep(code)
end

--- Between evaluations: Compiled:forget.
function Funnel:forget()
  self.compiled:forget()
end

--- What compilations took sets what others may take: the unmodified kernel's, and the fastest of
--- several at once.
function Funnel:time_compilation(list, cpu_s)
  if #list > 1 and cpu_s then
    self.each_s = math.min(self.each_s or math.huge, cpu_s / #list)
  end
  local hash = not self.unmodified_s and self.maker:unmodified().hash
  for _, text in ipairs(hash and list or {}) do
    if text.hash == hash then self.unmodified_s = cpu_s / #list end
  end
end

--- What a job of the compiler's is like, whatever it asks for. `ask(list)` is its message.
---@param texts gilua.plan.text[]
function Funnel:code_job(texts, ask)
  local function job(list)
    return {
      kind = texts.machine and "machine" or "compile", role = "host", once = true,
      limit_s = function()
        local limit = limits.compile_limit(self.options.compile_timeout_s, self.unmodified_s)
        return #list > 1 and limits.batch_limit(limit, #list, self.each_s) or limit
      end,
      sleep_s = crew.SLEEP_S, message = function() return ask(list) end,
      done = function(reply)
        self.seconds.compile = self.seconds.compile + reply.seconds
        self.counts.compilations = self.counts.compilations + #list
        if reply.doubt and not reply.results[1].code then
          return self:doubted(list[1], reply.doubt, reply.results[1])
        end
        self:time_compilation(list, reply.cpu_s)
        for i, text in ipairs(list) do
          local r = reply.results[i]
          self.compiled:add(text.hash, r, reply.images)
          self.compiled:of(text.hash).seconds = reply.seconds / #list
          if self.memory then self.memory:keep_unit(text, self.compiled, r.packed) end
        end
        self:gather(function()
          for _, text in ipairs(list) do self:settle(text.hash) end
        end)
      end,
      missing = function(hash)
        self.compiled:miss(hash)
        self:again(list, job)
      end,
      blame = function(status, reason)
        self.counts.compilations = self.counts.compilations + 1
        self:controlled(reason, list[1], function()
          self.compiled:fail(list[1].hash, status, "while compiling: " .. reason)
        end)
      end,
      parts = function()
        local parts = {}
        for i, text in ipairs(#list > 1 and list or {}) do parts[i] = job({ text }) end
        return #parts > 0 and parts or nil
      end,
    }
  end
  return job(texts)
end

--- A job could not be done because a code is missing. Edited PTX is requested by the plans that
--- wait for it.
function Funnel:again(texts, job)
  if not texts[1].of then return self.crew:post(job(texts)) end
  self:gather(function()
    for _, text in ipairs(texts) do self:settle(text.hash) end
  end)
end

--- What failed, alone in a worker, by the compiler's own words about itself. No memory keeps it.
function Funnel:doubted(text, doubt, result)
  self:controlled(doubt, text, function()
    if doubt:lower():find("memory", 1, true) then
      self.compiled:fail(text.hash, "out_of_memory", result.message, result.log)
    else
      self.compiled:add(text.hash, result)
    end
  end)
end

--- A compiler came to nothing over a text: is that the text's doing, or the machine's (a limit on
--- memory or processes, say)? The control is the unmodified kernel, in a new worker: where that is
--- not compiled either, the run cannot go on; else the text is to blame.
---@param reason string
---@param text gilua.plan.text
---@param blame fun()
function Funnel:controlled(reason, text, blame)
  local base = self.maker:unmodified()
  local function broken(why)
    fail("the compiler fails on the unmodified kernel, too, so no mutant can be judged: %s; has it "
      .. "the memory and the processes that it needs (ulimit -v, ulimit -u, TMPDIR)?", why)
  end
  if text.hash == base.hash then broken(reason) end
  local job = self:compile_job { base }
  job.suspect, job.strikes = true, crew.STRIKES - 1
  job.done = function(reply)
    if reply.doubt and not reply.results[1].code then broken(reply.doubt) end
    blame()
    self:settle(text.hash)
  end
  job.blame = function(_, why) broken(why) end
  self.crew:post(job)
end

--- Is machine code made of the PTX that is there, by nvJitLink? NVRTC makes both once more.
function Funnel:is_linked(text)
  local asked = text.llvm or self.linked or self.options.assembler == "nvjitlink"
  return asked and text.ptx ~= nil and self:code(text.ptx) ~= nil
end

--- Returns a compiler's input for a text: its PTX to be linked, its source, or how to make that.
function Funnel:unit_of(text, linked)
  local unit = { names = self.names, kernel = self.problem.kernel }
  if linked then
    unit.source = self:code(text.ptx)
  elseif not (self.far and text.genome) then
    unit.source = self.maker:source(text)
  else
    return { genome = text.genome, guarded = text.guarded, source_hash = text.source_hash }
  end
  return unit
end

--- Who compiles packs for the archive, like what is there already: there are many of them.
function Funnel:packing()
  local hash = self.memory and self.memory:like_hash()
  local like = hash and self.compiled:code(hash)
  if not like and not (self.memory and self.far) then return nil end
  return { like = like, hash = like and hash }
end

---@param texts gilua.plan.text[] of one target and the same options
function Funnel:compile_job(texts)
  return self:code_job(texts, function(list)
    local units, linked = {}, self:is_linked(list[1])
    for i, text in ipairs(list) do units[i] = self:unit_of(text, linked) end
    return { op = "compile", units = units, target = list[1].target, options = list[1].options,
             ptx = self.problem.is_ptx or linked, kernel = self.problem.kernel, llvm = list[1].llvm,
             recorded = self.linked and linked and self.problem.dir or nil,
             limit_s = self.options.compile_timeout_s, pack = self:packing(),
             problem = self.far and self.problem.dir, clock = self.far and self.options.clock }
  end)
end

--- What a text was compiled to, which is at hand: "ptx", or "ir", LLVM's bitcode.
function Funnel:made(text, kind)
  return self:code(self.compiled:of(text.hash)[kind])
end

--- PTX of a text that was compiled, and is at hand; or an agent's ticket of it.
function Funnel:ptx_of(text)
  return self:made(text, "ptx")
end

--- Has what a text was made to brought here, where an agent has it.
---@param hash string
function Funnel:fetch(hash)
  self.crew:post {
    kind = "fetch", role = "host", limit_s = self.options.timeout_s,
    message = function() return { op = "fetch", code = self:code(hash) } end,
    done = function(reply) self.compiled:fetched(hash, reply.code) end,
    missing = function() self.compiled:miss(hash) end,
  }
end

---@param texts gilua.plan.text[] alike (edits_alike); what they edit is at hand
function Funnel:edit_job(texts)
  return self:code_job(texts, function(list)
    local first, units = list[1], {}
    for i, text in ipairs(list) do
      local other = text.of ~= text.base and self:made(text.of, text.edits) or nil
      units[i] = { genes = text.genes, other = other }
    end
    return { op = first.edits == "ir" and "edit_llvm" or "edit",
             base = self:made(first.base, first.edits), units = units, target = first.target,
             options = first.options, kernel = self.problem.kernel, pack = self:packing() }
  end)
end

return Funnel
