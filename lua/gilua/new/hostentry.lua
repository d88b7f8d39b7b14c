-- hostentry: the function of a file's host part through which its kernels are launched, and what it
-- takes: pointers to arrays, tensors of PyTorch, and numbers. `gilua judge` calls it from a program
-- of its own where it launches several kernels.

local fail = require "gilua.base.fail"
local hostcode = require "gilua.host.hostcode"
local textfile = require "gilua.base.textfile"

local M = {}

local TYPES = { -- of C, without const, and gilua's names of them
  float = "f32", double = "f64", int = "i32", ["unsigned int"] = "u32", unsigned = "u32",
  int32_t = "i32", uint32_t = "u32", int64_t = "i64", uint64_t = "u64", ["long long"] = "i64",
  long = "i64", size_t = "u64", ["unsigned char"] = "u8", uint8_t = "u8", int8_t = "i8",
  short = "i16", ["unsigned short"] = "u16", int16_t = "i16", uint16_t = "u16",
}
local TENSORS = { ["torch::Tensor"] = true, ["at::Tensor"] = true, Tensor = true }

---@class HostEntry
---@field name string
---@field path string
---@field params { name: string, type: string, c_type: string, pointer: boolean, const: boolean,
---  has_default: boolean, host: boolean, tensor?: boolean, rank?: integer }[] host: the function
---  copies it to the GPU itself; tensor: of PyTorch, an array, too; rank: the dimensions it names
---@field kernels string[] that its functions launch, without main
---@field has_tensors boolean

-- The functions that launch a kernel, or call one that does.
local function launching(host)
  local list, is = {}, {}
  for _, launches in pairs(host.launches) do
    for _, launch in ipairs(launches) do if launch.body then is[launch.body] = true end end
  end
  local grows = true
  while grows do
    grows = false
    for _, body in ipairs(host.bodies) do
      for _, call in ipairs(is[body] and host.calls[body.name] or {}) do
        local caller = call.within
        if caller and caller ~= body and not is[caller] then is[caller], grows = true, true end
      end
    end
  end
  for _, body in ipairs(host.bodies) do
    if is[body] and body.name ~= "main" and not body.outer then list[#list + 1] = body end
  end
  return list, is
end

-- Those of some functions that no other of them calls.
local function outermost(host, list, is)
  local tops = {}
  for _, body in ipairs(list) do
    local called = false
    for _, call in ipairs(host.calls[body.name] or {}) do
      called = called or call.within and call.within ~= body and call.within.name ~= "main"
        and is[call.within]
    end
    if not called then tops[#tops + 1] = body end
  end
  return tops
end

-- Is a kernel launched by a function that is not main?
local function launched(launches)
  for _, launch in ipairs(launches) do
    if launch.body and launch.body.name ~= "main" then return true end
  end
  return false
end

local function names_of(list)
  local names = {}
  for i, body in ipairs(list) do names[i] = body.name end
  return table.concat(names, ", ")
end

local function chosen(host, path, wanted)
  local list, is = launching(host)
  for _, body in ipairs(list) do
    if body.name == wanted then return body end
  end
  if wanted then
    fail("%s has no function '%s' that launches a kernel; it has %s", path, wanted,
      list[1] and names_of(list) or "none")
  end
  local tops = outermost(host, list, is)
  if #tops == 1 then return tops[1] end
  if #tops == 0 then
    fail("%s has no function but main that launches a kernel, and --whole calls one: put the "
      .. "launches into a function of its own", path)
  end
  fail("%s has several functions that launch kernels: name one, --function OLD,NEW (it has %s)",
    path, names_of(tops))
end

-- Parameters whose array the function itself copies to the GPU or back: they are the host's.
local function of_host(body)
  local text, names = body.t:text(body.first, body.last), {}
  for to, from, kind in text:gmatch
    "cudaMemcpy%w*%s*%(%s*([%w_]+)%s*,%s*([%w_]+)%s*,.-cudaMemcpy(%w+)" do
    if kind == "HostToDevice" then names[from] = true end
    if kind == "DeviceToHost" then names[to] = true end
  end
  return names
end

-- The dimensions of a tensor that a function asks for.
local function rank_of(body, name)
  local rank
  for k in body.t:text(body.first, body.last):gmatch(
    "%f[%w_]" .. name .. "%s*%.%s*size%s*%(%s*(%d+)%s*%)") do
    rank = math.max(rank or 0, math.tointeger(tonumber(k)) + 1)
  end
  return rank
end

local function parameter(body, p, path, hosts)
  local head = body.t:text(body.open, body.first)
  local text = p.text:gsub("=.*$", ""):gsub("__restrict__", " "):gsub("__restrict", " ")
  local before = text:match("^(.-)%f[%w_]" .. p.name .. "%s*$") or text
  local bare = before:gsub("%f[%w_]const%f[^%w_]", " "):gsub("%s+", " "):match "^%s*(.-)%s*$"
  local base, stars = bare:match "^(.-)%s*(%**)$"
  if TENSORS[bare:match "^[%w_:]*"] and bare:find "^[%w_:]+%s*&?$" then
    return { name = p.name, type = "f32", c_type = "torch::Tensor", pointer = true, tensor = true,
      rank = rank_of(body, p.name), const = false, host = false }
  end
  local type = TYPES[base] or base == "bool" and stars == "" and "i32"
  if not type or #stars > 1 or bare:find "[&%[]" then
    fail("%s: %s takes '%s', and only numbers, pointers to them and tensors can be given", path,
      body.name, (p.text:gsub("%s+", " ")))
  end
  return { name = p.name, type = type, c_type = base, pointer = stars == "*",
    has_default = head:find("%f[%w_]" .. p.name .. "%s*=") ~= nil,
    const = before:find "%f[%w_]const%f[^%w_]" ~= nil, host = hosts[p.name] or false }
end

--- Reads the function of a file.
---@param path string
---@param text string
---@param wanted? string its name
---@return HostEntry
function M.of(path, text, wanted)
  local host = hostcode.read(text)
  local body = chosen(host, path, wanted)
  local entry = { name = body.name, path = path, params = {}, kernels = {} }
  local hosts = of_host(body)
  for i, p in ipairs(body.params) do
    entry.params[i] = parameter(body, p, path, hosts)
    entry.has_tensors = entry.has_tensors or entry.params[i].tensor
  end
  for name, launches in pairs(host.launches) do
    if launched(launches) then entry.kernels[#entry.kernels + 1] = name end
  end
  table.sort(entry.kernels)
  return entry
end

--- Does the one function of a file that launches kernels launch several?
---@param path string
---@return boolean
function M.is_several(path)
  local is_read, entry = pcall(M.of, path, textfile.read(path, "a CUDA file"))
  return is_read and #entry.kernels > 1
end

--- Leaves to themselves last arguments that one of two functions has alone and has values for.
---@param old HostEntry
---@param new HostEntry
function M.drop_defaults(old, new)
  for _, pair in ipairs { { old, new }, { new, old } } do
    local params, others = pair[1].params, pair[2].params
    while #params > #others and params[#params].has_default do params[#params] = nil end
  end
end

-- A parameter's type, for sentences.
local function kind(p) return p.pointer and not p.tensor and p.c_type .. "*" or p.c_type end

-- What Python gives to functions of tensors is a number of any width.
local function are_alike(p, q, from_python)
  local is_same = p.type == q.type
    or from_python and not p.pointer and p.type:find "^f" == q.type:find "^f"
  return is_same and p.pointer == q.pointer and p.tensor == q.tensor
end

--- Says why a function cannot stand in another's place; nil where it can: the same types in the
--- same order.
---@param old HostEntry
---@param new HostEntry
---@return string?
function M.differs(old, new)
  if #old.params ~= #new.params then
    return ("%s of %s takes %d arguments, and %s of %s %d"):format(new.name, new.path, #new.params,
      old.name, old.path, #old.params)
  end
  for i, p in ipairs(old.params) do
    local q = new.params[i]
    if not are_alike(p, q, old.has_tensors) then
      return ("argument %d of %s in %s is %s %s, and of %s in %s it is %s %s"):format(i, new.name,
        new.path, kind(q), q.name, old.name, old.path, kind(p), p.name)
    end
  end
end

return M
