-- oddptx: odd but well-formed PTX, a line in a function at a time, and what ptxas and the virtual
-- GPU say of it. For tests/lua/verifier.lua.
--
-- A snippet is { text, where }: `text` stands in a kernel ("entry") or in a function that a kernel
-- calls ("func"), where all variables and registers of HEAD and BODY are known. Many snippets make
-- one module: ptxas says the line of each that it refuses, and a module without those is taken.

local M = {}

local HEAD = [[
.version 8.5
.target sm_90
.address_size 64
.global .align 16 .b8 g[64];
.global .align 4 .b32 gw;
.const .align 16 .b8 c[64];
.shared .align 16 .b8 s[64];
.extern .shared .align 16 .b8 dyn[];
.func (.param .b32 r) callee(.param .b32 a)
{
	.reg .b32 %t;
	ld.param.b32 %t, [a];
	st.param.b32 [r], %t;
	ret;
}
]]

-- Registers: %p0 is false; %rd1 a buffer's address, %rd2, %r2 0: an offset that is fine anywhere;
-- %rd3 a generic address in shared memory, %rd4 one in local memory, %rd5 a function's.
local BODY = [[
	.reg .pred %p<4>;
	.reg .b8 %x<4>;
	.reg .b16 %h<8>;
	.reg .u16 %hu<4>;
	.reg .b32 %r<8>;
	.reg .u32 %u<4>;
	.reg .s32 %i<4>;
	.reg .f32 %f<8>;
	.reg .b64 %rd<8>;
	.reg .u64 %ud<4>;
	.reg .f64 %d<8>;
	.reg .f16 %hf<4>;
	.reg .f16x2 %hh<4>;
	.reg .b128 %w<2>;
	.local .align 16 .b8 l[64];
	.shared .align 16 .b8 ls[64];
	.param .align 16 .b8 q[64];
	mov.b64 %rd1, g;
	mov.b64 %rd2, 0;
	mov.b32 %r2, 0;
	mov.b32 %r1, 1;
	mov.b64 %rd3, s;
	cvta.shared.u64 %rd3, %rd3;
	mov.b64 %rd4, l;
	cvta.local.u64 %rd4, %rd4;
	mov.b64 %rd5, callee;
	setp.ne.b32 %p0, %r2, 0;
	mov.b32 %r3, 3;
	mov.b32 %f1, 0f3F800000;
	mov.b64 %d1, 0d3FF0000000000000;
	mov.b16 %h1, 1;
	mov.b64 %rd6, 8;
	mov.b32 %u1, 1;
	mov.b32 %i1, 1;
	mov.b64 %ud1, 8;
	mov.b16 %hu1, 1;
]]

local function as_entry(n, text)
  return (".visible .entry k%d(.param .u64 y, .param .align 16 .b8 p[64])\n{\n%s%s\n\tret;\n}\n")
    :format(n, BODY, text)
end

local function as_func(n, text)
  return (".func (.param .align 16 .b8 r%d[64]) f%d(.param .u64 y, .param .align 16 .b8 p[64])\n{\n")
    :format(n, n) .. BODY .. text:gsub("%f[%w]result%f[%W]", "r" .. n) .. "\n\tret;\n}\n" .. ([[
.visible .entry k%d(.param .u64 y, .param .align 16 .b8 p[64])
{
	.param .u64 a;
	.param .align 16 .b8 b[64];
	.param .align 16 .b8 c[64];
	.reg .b64 %%z;
	mov.b64 %%z, 0;
	st.param.b64 [a], %%z;
	st.param.b64 [b], %%z;
	call.uni (c), f%d, (a, b);
	ret;
}
]]):format(n, n)
end

--- The module of some snippets, whose kernels are k1, k2 …; and for each its first and last line.
---@param list table[] snippets
---@return string text, table[] lines
function M.module(list)
  local parts, lines, line = { HEAD }, {}, select(2, HEAD:gsub("\n", "")) + 1
  for i, snippet in ipairs(list) do
    local head = snippet.head and snippet.head .. "\n" or ""
    local text = head .. (snippet.whole or
      (snippet.where == "func" and as_func or as_entry)(i, snippet.text))
    local height = select(2, text:gsub("\n", ""))
    lines[i] = { line, line + height - 1 }
    line = line + height
    parts[#parts + 1] = text
  end
  return table.concat(parts), lines
end

--- The path of ptxas, or nil.
---@return string?
function M.ptxas()
  for _, name in ipairs { "ptxas", "/usr/local/cuda/bin/ptxas" } do
    if os.execute(name .. " --version >/dev/null 2>&1") then return name end
  end
end

local function assemble(program, folder, text)
  local path = folder .. "/odd.ptx"
  local file <close> = assert(io.open(path, "wb"))
  file:write(text)
  file:flush()
  local pipe <close> = assert(io.popen(("%s -arch=sm_90 -O0 -o %s/odd.cubin %s 2>&1"):format(program,
    folder, path)))
  local said = pipe:read "a"
  return pipe:close() and true or false, said
end

--- Which snippet a line of what ptxas said is about.
local function blame(said, lines, list, refused)
  local n = 0
  for line, why in said:gmatch "line (%d+)[^\n]-:%s*([^\n]*)" do
    line = tonumber(line)
    for i, at in ipairs(lines) do
      local snippet = list[i]
      if line >= at[1] and line <= at[2] and not refused[snippet] then
        refused[snippet], n = why, n + 1
      end
    end
  end
  for name, why in said:gmatch "[Ff]unction '[kf](%d+)'([^\n]*)" do
    local snippet = list[tonumber(name)]
    if snippet and not refused[snippet] then refused[snippet], n = why, n + 1 end
  end
  return n
end

--- What ptxas refuses: why, by snippet. A module that it refuses without a line is cut in two.
---@param program string
---@param folder string
---@param list table[]
---@return table<table, string> refused
function M.refused(program, folder, list)
  local refused = {}
  local function try(some)
    while #some > 0 do
      local text, lines = M.module(some)
      local fine, said = assemble(program, folder, text)
      if fine then return end
      if #some == 1 then
        refused[some[1]] = said:match "error%s*:%s*([^\n]*)" or said
        return
      end
      if blame(said, lines, some, refused) == 0 then
        try(table.move(some, 1, #some // 2, 1, {}))
        return try(table.move(some, #some // 2 + 1, #some, 1, {}))
      end
      local left = {}
      for _, snippet in ipairs(some) do
        if not refused[snippet] then left[#left + 1] = snippet end
      end
      some = left
    end
  end
  for from = 1, #list, 200 do try(table.move(list, from, math.min(from + 199, #list), 1, {})) end
  return refused
end

--- What the virtual GPU says of one snippet: "ok", "refused" or a fault's status; and why.
---@param device Device
---@param snippet table
---@return string status, string? message
function M.run(gi, device, snippet)
  local module, why = device:load((M.module { snippet }))
  if not module then return "refused", why end
  local y = gi.array("i32", 64)
  local m, said = module:launch { kernel = "k1", grid = 1, block = 64, args = {
    device:buffer(y), ("\0"):rep(64) }, shared = 64 }
  if not m then return "refused", said end
  return m.status, m.message
end

return M
