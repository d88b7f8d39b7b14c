--- What lanes do together or with memory: pieces of PTX with %x in and %r out (see rig.body).
--
-- Every list holds { title, text, decl, block, grid, sort }. In decl and text, NAME is the kernel's
-- own name, for functions and variables at module level. Blocks are of two and a half warps.

local M = {}

local function put(list, title, text, more)
  local body = { title = title, text = text }
  for k, v in pairs(more or {}) do body[k] = v end
  list[#list + 1] = body
end

-- %a15: a hash of the lane's index; %a14: one bit or none; %a13: the other bits; %p13, %p14: true
-- in one lane of 64, false in one of 64 - so that a vote or a reduction is not always the same
local HASH = "mul.lo.u32 %a15, %i, -1640531527;\nshr.u32 %a14, %a15, 15;\nxor.b32 %a15, %a15, %a14;"
  .. "\nmul.lo.u32 %a15, %a15, -2048144777;\nshr.u32 %a13, %a15, 27;\nshl.b32 %a14, 1, %a13;\n"
  .. "and.b32 %a14, %a14, %a15;\nnot.b32 %a13, %a14;\nshr.u32 %a12, %a15, 26;\n"
  .. "setp.eq.u32 %p13, %a12, 5;\nsetp.ne.u32 %p14, %a12, 5;\n"

-- Memory ------------------------------------------------------------------------------------------

-- title, space, declaration, the address of 16 bytes of the lane's own in %l1
local PLACES = {
  { "shared", ".shared", ".shared .align 16 .b8 s[2048];\n",
    "mov.u32 %a1, %tid.x;\nmul.wide.u32 %l2, %a1, 16;\nmov.u64 %l1, s;\nadd.s64 %l1, %l1, %l2;\n" },
  { "global", ".global", "", "mul.wide.u32 %l2, %i, 16;\nadd.s64 %l1, %scratch, %l2;\n" },
  { "local", ".local", ".local .align 16 .b8 v[32];\n",
    "mov.u64 %l1, v;\nadd.s64 %l1, %l1, 16;\n" },
  { "generic to shared", "", ".shared .align 16 .b8 s[2048];\n",
    "mov.u32 %a1, %tid.x;\nmul.wide.u32 %l2, %a1, 16;\nmov.u64 %l1, s;\ncvta.shared.u64 %l1, %l1;\n"
    .. "add.s64 %l1, %l1, %l2;\n" },
  { "generic to local", "", ".local .align 16 .b8 v[32];\n",
    "mov.u64 %l1, v;\ncvta.local.u64 %l1, %l1;\nadd.s64 %l1, %l1, 16;\n" },
  { "generic to global", "", "",
    "mul.wide.u32 %l2, %i, 16;\nadd.s64 %l1, %scratch, %l2;\ncvta.global.u64 %l1, %l1;\n" },
}

local NARROW = { { "u8", "u8" }, { "u8", "s8" }, { "b8", "b8" }, { "s8", "s8" }, { "u16", "u16" },
  { "u16", "s16" }, { "b16", "b16" }, { "u32", "u32" }, { "b32", "s32" } }

local SCALAR = [[
st@.v2.u32 [%%l1], {7, 0};
st@.v2.u32 [%%l1+8], {0, 7};
st@.%s [%%l1+4], %%x;
ld@.%s %%r, [%%l1+4];
ld@.u32 %%a2, [%%l1];
mad.lo.u32 %%r, %%r, 3, %%a2;
ld@.u32 %%a2, [%%l1+8];
mad.lo.u32 %%r, %%r, 5, %%a2;
ld@.u32 %%a2, [%%l1+12];
add.u32 %%r, %%r, %%a2;]]

-- a narrow store touches no neighbour, a narrow load extends by its own type
local function scalars(list)
  for _, place in ipairs(PLACES) do
    for _, pair in ipairs(NARROW) do
      -- the neighbours are initialised first: the word between them too
      local text = place[3] .. place[4] .. "st@.u32 [%l1+4], 0;\n"
        .. SCALAR:format(pair[1], pair[2])
      put(list, ("st.%s, ld.%s: %s"):format(pair[1], pair[2], place[1]),
        (text:gsub("@", place[2])))
    end
  end
end

local SPLIT8 = "shr.u32 %a6, %a2, 8;\nshr.u32 %a7, %a2, 16;\nshr.u32 %a8, %a2, 24;\n"
local JOIN8 = "bfi.b32 %a2, %a6, %a2, 8, 8;\nbfi.b32 %a2, %a7, %a2, 16, 8;\n"
  .. "bfi.b32 %a2, %a8, %a2, 24, 8;\n"
local REST = "st@.u32 [%l1+4], %a3;\nst@.v2.u32 [%l1+8], {%a4, %a5};"
local REST_LOAD = "ld@.u32 %a3, [%l1+4];\nld@.v2.u32 {%a4, %a5}, [%l1+8];"

local F32S = "mov.b32 %f2, %a2;\nmov.b32 %f3, %a3;\nmov.b32 %f4, %a4;\nmov.b32 %f5, %a5;\n"
local F32S_BACK = "\nmov.b32 %a2, %f2;\nmov.b32 %a3, %f3;\nmov.b32 %a4, %f4;\nmov.b32 %a5, %f5;"

-- 16 bytes as two 64-bit values R1 and R2 of type TYPE, and as a vector of them
local TO_LONG = "mov.b64 R1, {%a2, %a3};\nmov.b64 R2, {%a4, %a5};\n"
local FROM_LONG = "\nmov.b64 {%a2, %a3}, R1;\nmov.b64 {%a4, %a5}, R2;"
local LONG = { "TYPE", TO_LONG .. "st@.TYPE [%l1], R1;\nst@.TYPE [%l1+8], R2;",
  "ld@.TYPE R1, [%l1];\nld@.TYPE R2, [%l1+8];" .. FROM_LONG }
local LONG_PAIR = { "v2.TYPE", TO_LONG .. "st@.v2.TYPE [%l1], {R1, R2};",
  "ld@.v2.TYPE {R1, R2}, [%l1];" .. FROM_LONG }

--- What 16 bytes are stored and loaded by: { name, store, load }.
local function vectors_of()
  local list = {
    { "f32", "mov.b32 %f2, %a2;\nst@.f32 [%l1], %f2;\n" .. REST,
      "ld@.f32 %f2, [%l1];\nmov.b32 %a2, %f2;\n" .. REST_LOAD },
    { "v2.f32", F32S .. "st@.v2.f32 [%l1], {%f2, %f3};\nst@.v2.f32 [%l1+8], {%f4, %f5};",
      "ld@.v2.f32 {%f2, %f3}, [%l1];\nld@.v2.f32 {%f4, %f5}, [%l1+8];" .. F32S_BACK },
    { "v2.u32", "st@.v2.u32 [%l1], {%a2, %a3};\nst@.v2.u32 [%l1+8], {%a4, %a5};",
      "ld@.v2.u32 {%a2, %a3}, [%l1];\nld@.v2.u32 {%a4, %a5}, [%l1+8];" },
    { "v4.u32", "st@.v4.u32 [%l1], {%a2, %a3, %a4, %a5};",
      "ld@.v4.u32 {%a2, %a3, %a4, %a5}, [%l1];" },
    { "v4.f32", F32S .. "st@.v4.f32 [%l1], {%f2, %f3, %f4, %f5};",
      "ld@.v4.f32 {%f2, %f3, %f4, %f5}, [%l1];" .. F32S_BACK },
    { "v4.u16", "mov.b32 {%h1, %h2}, %a2;\nmov.b32 {%h3, %h4}, %a3;\nst@.v4.u16 [%l1], {%h1, %h2,"
      .. " %h3, %h4};\nst@.v2.u32 [%l1+8], {%a4, %a5};", "ld@.v4.u16 {%h1, %h2, %h3, %h4}, [%l1];\n"
      .. "mov.b32 %a2, {%h1, %h2};\nmov.b32 %a3, {%h3, %h4};\nld@.v2.u32 {%a4, %a5}, [%l1+8];" },
    { "v2.u16", "mov.b32 {%h1, %h2}, %a2;\nst@.v2.u16 [%l1], {%h1, %h2};\n" .. REST,
      "ld@.v2.u16 {%h1, %h2}, [%l1];\nmov.b32 %a2, {%h1, %h2};\n" .. REST_LOAD },
    { "v4.u8", SPLIT8 .. "st@.v4.u8 [%l1], {%a2, %a6, %a7, %a8};\n" .. REST,
      "ld@.v4.u8 {%a2, %a6, %a7, %a8}, [%l1];\n" .. JOIN8 .. REST_LOAD },
    { "v2.u8", SPLIT8 .. "st@.v2.u8 [%l1], {%a2, %a6};\nst@.v2.u8 [%l1+2], {%a7, %a8};\n" .. REST,
      "ld@.v2.u8 {%a2, %a6}, [%l1];\nld@.v2.u8 {%a7, %a8}, [%l1+2];\n" .. JOIN8 .. REST_LOAD },
  }
  for type, register in pairs { u64 = "%l", f64 = "%d" } do
    local words = { TYPE = type, R1 = register .. "5", R2 = register .. "6" }
    for _, form in ipairs { LONG, LONG_PAIR } do
      local made = {}
      for i, text in ipairs(form) do made[i] = text:gsub("%u+%d?", words) end
      list[#list + 1] = made
    end
  end
  table.sort(list, function(x, y) return x[1] < y[1] end)
  return list
end

local MAKE = "mov.u32 %a2, %x;\nnot.b32 %a3, %x;\nshl.b32 %a4, %x, 3;\nadd.u32 %a5, %x, 77;\n"
local CLEAR = "\nmov.u32 %a2, 0;\nmov.u32 %a3, 0;\nmov.u32 %a4, 0;\nmov.u32 %a5, 0;\n"
local MIX = "\nmad.lo.u32 %r, %a2, 3, %a3;\nmad.lo.u32 %r, %r, 5, %a4;\nmad.lo.u32 %r, %r, 7, %a5;"
local STORE = "st@.u32 [%l1], %a2;\nst@.u32 [%l1+4], %a3;\nst@.u32 [%l1+8], %a4;\n"
  .. "st@.u32 [%l1+12], %a5;"
local LOAD = "ld@.u32 %a2, [%l1];\nld@.u32 %a3, [%l1+4];\nld@.u32 %a4, [%l1+8];\n"
  .. "ld@.u32 %a5, [%l1+12];"

--- 64 bits and vectors: what one form stores 32-bit loads find in order; and the other way round.
local function vectors(list)
  for _, place in ipairs(PLACES) do
    for _, form in ipairs(vectors_of()) do
      local function trip(what, store, load)
        local text = place[3] .. place[4] .. MAKE .. store .. CLEAR .. load .. MIX
        put(list, ("%s.%s: %s"):format(what, form[1], place[1]), (text:gsub("@", place[2])))
      end
      trip("st", form[2], LOAD)
      trip("ld", STORE, form[3])
    end
  end
end

-- orders, scopes and caches; store, load
local MODIFIERS = {
  { "st.volatile.global.u32", "ld.volatile.global.u32" },
  { "st.relaxed.gpu.global.u32", "ld.relaxed.gpu.global.u32" },
  { "st.release.gpu.global.u32", "ld.acquire.gpu.global.u32" },
  { "st.global.wb.u32", "ld.global.ca.u32" }, { "st.global.cg.u32", "ld.global.cg.u32" },
  { "st.global.cs.u32", "ld.global.cs.u32" }, { "st.global.wt.u32", "ld.global.cv.u32" },
  { "st.relaxed.cta.global.u32", "ld.relaxed.sys.global.u32" },
  { "st.weak.global.u32", "ld.weak.global.u32" }, { "st.global.u32", "ld.global.lu.u32" },
  { "st.global.L1::no_allocate.u32", "ld.global.L1::no_allocate.u32" },
  { "st.release.gpu.u32", "ld.acquire.gpu.u32" }, { "st.cg.u32", "ld.cg.u32" },
  { "st.relaxed.cta.b32", "ld.relaxed.cta.b32" }, { "st.u32", "ld.relaxed.gpu.u32" },
  { "st.u32", "ld.acquire.cta.u32" }, { "st.u32", "ld.ca.u32" },
  { "st.u32", "ld.relaxed.sys.b32" }, { "st.global.s32", "ld.global.s32" },
}
local MORE = { -- of their own widths: title, text
  { "st.relaxed.gpu.v2.u32 ld.relaxed.gpu.v2.u32", "st.relaxed.gpu.v2.u32 [%l1], {%x, %i};\n"
    .. "ld.relaxed.gpu.v2.u32 {%a1, %a2}, [%l1];\nadd.u32 %r, %a1, %a2;" },
  { "st.relaxed.gpu.v2.u64 ld.relaxed.gpu.v2.u64", "cvt.u64.u32 %l3, %x;\nmul.lo.u64 %l4, %l3, %l3;"
    .. "\nst.relaxed.gpu.v2.u64 [%l1], {%l3, %l4};\nld.relaxed.gpu.v2.u64 {%l5, %l6}, [%l1];\n"
    .. "shr.u64 %l6, %l6, 32;\nadd.u64 %l5, %l5, %l6;\ncvt.u32.u64 %r, %l5;" },
  { "ld.relaxed.sys.b64", "cvt.u64.u32 %l3, %x;\nst.u64 [%l1], %l3;\nld.relaxed.sys.b64 %l4, [%l1];"
    .. "\ncvt.u32.u64 %r, %l4;" },
  { "ld.volatile.global.v4.u32", "st.global.v4.u32 [%l1], {%x, %i, %t, %n};\n"
    .. "ld.volatile.global.v4.u32 {%a1, %a2, %a3, %a4}, [%l1];\nmad.lo.u32 %r, %a1, 3, %a2;\n"
    .. "mad.lo.u32 %r, %r, %a4, %a3;" },
  { "st.volatile.global.f32 ld.volatile.global.f32", "mov.b32 %f1, %x;\n"
    .. "st.volatile.global.f32 [%l1], %f1;\nld.volatile.global.f32 %f2, [%l1];\nmov.b32 %r, %f2;" },
  { "st.f32 ld.f32", "mov.b32 %f1, %x;\nst.f32 [%l1], %f1;\nld.f32 %f2, [%l1];\nmov.b32 %r, %f2;" },
  { "st.f64 ld.f64", "cvt.rn.f64.u32 %d1, %x;\nst.f64 [%l1], %d1;\nld.f64 %d2, [%l1];\n"
    .. "cvt.rzi.u32.f64 %r, %d2;" },
}

local function modifiers(list)
  local address = PLACES[2][4]
  for _, pair in ipairs(MODIFIERS) do
    put(list, pair[1] .. " " .. pair[2], ("%s%s [%%l1], %%x;\nmembar.gl;\n%s %%r, [%%l1];")
      :format(address, pair[1], pair[2]))
  end
  for _, row in ipairs(MORE) do put(list, row[1], address .. row[2]) end
  local shared = PLACES[1][3] .. PLACES[1][4]
  put(list, "volatile shared, membar, fence", shared .. "st.volatile.shared.u32 [%l1], %x;\n"
    .. "membar.cta;\nfence.sc.cta;\nfence.acq_rel.gpu;\nmembar.sys;\nmembar.gl;\n"
    .. "ld.volatile.shared.u32 %r, [%l1];")
  put(list, "volatile shared f32", shared .. "mov.b32 %f1, %x;\nst.volatile.shared.f32 [%l1], "
    .. "%f1;\n"
    .. "ld.volatile.shared.f32 %f2, [%l1];\nmov.b32 %r, %f2;")
  put(list, "shared address in 32 bits", PLACES[1][3] .. "mov.u32 %a1, %tid.x;\nshl.b32 %a1, "
    .. "%a1, 4;"
    .. "\nmov.u32 %a2, s;\nadd.u32 %a2, %a2, %a1;\nst.shared.u32 [%a2+4], %x;\n"
    .. "ld.shared.u32 %r, [%a2+4];")
end

-- read-only loads of the input: type, how the value becomes %r
local READ_ONLY = {
  { "u32", "ld.global.nc.u32 %r, [%o];" }, { "u32 L2::128B", "ld.global.nc.L2::128B.u32 %r, "
    .. "[%o];" },
  { "f32", "ld.global.nc.f32 %f1, [%o];\nmov.b32 %r, %f1;" },
  { "u8", "ld.global.nc.u8 %r, [%o+1];" }, { "s8", "ld.global.nc.s8 %r, [%o+3];" },
  { "u16", "ld.global.nc.u16 %h1, [%o+2];\ncvt.u32.u16 %r, %h1;" },
  { "ldu", "ldu.global.u32 %r, [%o];" },
}
-- aligned to their own size: the address is that of a group of lanes
local GROUPS = {
  { "v2.u32", 8, "ld.global.nc.v2.u32 {%a1, %a2}, [%o];\nmad.lo.u32 %r, %a1, 3, %a2;" },
  { "v4.u32", 16, "ld.global.nc.v4.u32 {%a1, %a2, %a3, %a4}, [%o];\nmad.lo.u32 %r, %a1, 3, %a2;\n"
    .. "mad.lo.u32 %r, %r, 5, %a3;\nmad.lo.u32 %r, %r, 7, %a4;" },
  { "v2.f32", 8, "ld.global.nc.v2.f32 {%f1, %f2}, [%o];\nmov.b32 %a1, %f1;\nmov.b32 %a2, %f2;\n"
    .. "mad.lo.u32 %r, %a1, 3, %a2;" },
  { "v4.f32", 16, "ld.global.nc.v4.f32 {%f1, %f2, %f3, %f4}, [%o];\nmov.b32 %a1, %f1;\n"
    .. "mov.b32 %a2, %f4;\nmad.lo.u32 %r, %a1, 3, %a2;" },
  { "u64", 8, "ld.global.nc.u64 %l1, [%o];\nmov.b64 {%a1, %a2}, %l1;\nmad.lo.u32 %r, %a1, 3, "
    .. "%a2;" },
  { "f64", 8, "ld.global.nc.f64 %d1, [%o];\nmov.b64 {%a1, %a2}, %d1;\nmad.lo.u32 %r, %a1, 3, "
    .. "%a2;" },
  { "v2.u64", 16, "ld.global.nc.v2.u64 {%l1, %l2}, [%o];\nxor.b64 %l1, %l1, %l2;\n"
    .. "mov.b64 {%a1, %a2}, %l1;\nmad.lo.u32 %r, %a1, 3, %a2;" },
  { "v2.f64", 16, "ld.global.nc.v2.f64 {%d1, %d2}, [%o];\nmov.b64 %l1, %d1;\nmov.b64 %l2, %d2;\n"
    .. "xor.b64 %l1, %l1, %l2;\nmov.b64 {%a1, %a2}, %l1;\nmad.lo.u32 %r, %a1, 3, %a2;" },
}

local function read_only(list)
  for _, row in ipairs(READ_ONLY) do put(list, "ld.global.nc " .. row[1], row[2]) end
  for _, row in ipairs(GROUPS) do
    put(list, "ld.global.nc " .. row[1], ("mul.lo.u32 %%a9, %%i, 4;\nand.b32 %%a9, %%a9, %d;\n"
      .. "cvt.u64.u32 %%o, %%a9;\nadd.s64 %%o, %%o, %%in;\n"):format(-row[2]) .. row[3])
  end
end

-- constants: every type a load of one address by all lanes, and by index
local TABLE = ".const .align 16 .b8 NAME_c[64] = {1,2,3,4, 5,6,7,8, 128,129,130,255, 0,0,128,63, "
  .. "17,18,19,20, 21,22,23,24, 25,26,27,28, 29,30,31,32, 0,0,0,0,0,0,240,63, 9,8,7,6,5,4,3,2, "
  .. "255,255,255,127, 0,0,0,128, 33,34,35,36, 37,38,39,40};\n"
local CONSTANTS = {
  { "u32", "ld.const.u32 %r, [%l1];" }, { "f32", "ld.const.f32 %f1, [%l1];\nmov.b32 %r, %f1;" },
  { "u8", "ld.const.u8 %r, [%l1+1];" }, { "s8", "ld.const.s8 %r, [%l1+2];" },
  { "u16", "ld.const.u16 %h1, [%l1+2];\ncvt.u32.u16 %r, %h1;" },
  { "u64", "ld.const.u64 %l2, [NAME_c+8];\nmov.b64 {%a1, %a2}, %l2;\nadd.u32 %r, %a1, %a2;" },
  { "f64", "ld.const.f64 %d2, [NAME_c+32];\nmov.b64 {%a1, %a2}, %d2;\nadd.u32 %r, %a1, %a2;" },
  { "v2.u32", "ld.const.v2.u32 {%a1, %a2}, [NAME_c+8];\nadd.u32 %r, %a1, %a2;" },
  { "v4.f32", "ld.const.v4.f32 {%f1, %f2, %f3, %f4}, [NAME_c+16];\nmov.b32 %a1, %f1;\n"
    .. "mov.b32 %a2, %f4;\nadd.u32 %r, %a1, %a2;" },
}

local function constants(list)
  for _, row in ipairs(CONSTANTS) do
    put(list, "ld.const." .. row[1], "and.b32 %a1, %x, 15;\nmul.wide.u32 %l2, %a1, 4;\n"
      .. "mov.u64 %l1, NAME_c;\nadd.s64 %l1, %l1, %l2;\n" .. row[2], { decl = TABLE })
  end
  put(list, "initial values of variables", "ld.global.u32 %r, [NAME_zero];\nld.global.s8 %a1, "
    .. "[NAME_small+1];\nadd.u32 %r, %r, %a1;\nld.global.u32 %a1, [NAME_one];\nadd.u32 %r, %r, "
    .. "%a1;\n"
    .. "ld.global.u64 %l2, [NAME_pointer];\nld.u32 %a1, [%l2];\nadd.u32 %r, %r, %a1;",
    { decl = TABLE .. ".global .align 4 .u32 NAME_zero;\n.global .align 1 .s8 NAME_small[2] = "
      .. "{1, -2};\n.global .align 4 .f32 NAME_one = 0f3F800000;\n"
      .. ".global .align 8 .u64 NAME_pointer = generic(NAME_c) + 4;\n" })
end

local CVTA = {
  { "shared", ".shared .align 16 .b8 s[64];\nmov.u64 %l1, s;\n" },
  { "global", "mov.u64 %l1, %scratch;\n" },
  { "local", ".local .b8 v[4];\nmov.u64 %l1, v;\n" },
  { "const", "mov.u64 %l1, NAME_c;\n" },
}

local function conversions(list)
  for _, row in ipairs(CVTA) do
    local space, address = row[1], row[2]
    put(list, "cvta." .. space .. " there and back", address
      .. ("cvta.%s.u64 %%l2, %%l1;\ncvta.to.%s.u64 %%l3, %%l2;\nsetp.eq.u64 %%p1, %%l1, %%l3;\n"
      .. "selp.u32 %%r, 1, 0, %%p1;"):format(space, space), { decl = TABLE })
    for _, asked in ipairs { "shared", "global", "local", "const" } do
      -- whether a constant also counts as global is the GPU's affair
      if asked ~= "global" and space ~= "const" or asked == space then
        put(list, ("isspacep.%s of %s"):format(asked, space), address
          .. ("cvta.%s.u64 %%l2, %%l1;\nisspacep.%s %%p1, %%l2;\nselp.u32 %%r, 1, 0, %%p1;")
          :format(space, asked), { decl = TABLE })
      end
    end
  end
  put(list, "prefetch touches nothing", "prefetch.global.L1 [%scratch];\nprefetch.global.L2 "
    .. "[%scratch];\nmov.u32 %r, %x;")
end

-- parameters of every type: name, declaration, argument, the load and how its value becomes %a2
local PARAMETERS = {
  { ".u8 pa", "\x81", "ld.param.u8 %a2, [pa];" }, { ".s8 pb", "\x81", "ld.param.s8 %a2, [pb];" },
  { ".u16 pc", "\x01\x82", "ld.param.u16 %h1, [pc];\ncvt.u32.u16 %a2, %h1;" },
  { ".s16 pd", "\x01\x82", "ld.param.s16 %h1, [pd];\ncvt.s32.s16 %a2, %h1;" },
  { ".u32 pe", "\x78\x56\x34\x12", "ld.param.u32 %a2, [pe];" },
  { ".s32 pf", "\x78\x56\x34\xf2", "ld.param.s32 %a2, [pf];" },
  { ".f32 pg", "\0\0\xc0\xbf", "ld.param.f32 %f1, [pg];\nmov.b32 %a2, %f1;" },
  { ".f64 ph", "\1\2\3\4\5\6\x04\x40", "ld.param.f64 %d1, [ph];\nmov.b64 {%a2, %a3}, %d1;\n"
    .. "xor.b32 %a2, %a2, %a3;" },
  { ".align 16 .b8 pi[16]", "\1\0\0\0\2\0\0\0\xf1\xf2\xf3\xf4\9\0\0\0",
    "ld.param.v2.u32 {%a2, %a3}, [pi];\nmad.lo.u32 %a2, %a3, 9, %a2;\n"
    .. "ld.param.v2.f32 {%f1, %f2}, [pi+8];\nmov.b32 %a3, %f1;\nxor.b32 %a2, %a2, %a3;\n"
    .. "ld.param.v4.u8 {%a4, %a5, %a6, %a7}, [pi+8];\nmad.lo.u32 %a2, %a2, 3, %a7;\n"
    .. "ld.param.v2.u8 {%a4, %a5}, [pi+10];\nmad.lo.u32 %a2, %a2, 3, %a5;\n"
    .. "ld.param.b32 %a5, [pi+12];\nmad.lo.u32 %a2, %a2, 3, %a5;" },
}

local function parameters(list)
  local declared, given, text = {}, {}, {}
  for i, row in ipairs(PARAMETERS) do
    declared[i], given[i] = ", .param " .. row[1], row[2]
    text[i] = row[3] .. "\nmad.lo.u32 %r, %r, 31, %a2;\n"
  end
  put(list, "ld.param of every type", table.concat(text) .. "add.u32 %r, %r, %x;",
    { params = table.concat(declared), values = given })
end

function M.memory()
  local list = {}
  scalars(list)
  vectors(list)
  modifiers(list)
  read_only(list)
  constants(list)
  conversions(list)
  parameters(list)
  return list
end

-- Atomics of many lanes ---------------------------------------------------------------------------

-- every lane takes a number: compared in sorted order, which lane gets which is the scheduler's
local RANKS = {
  "atom.global.add.u32 %r, [%scratch], 1;", "atom.global.inc.u32 %r, [%scratch], 100000;",
  "atom.global.sys.add.u32 %r, [%scratch], 1;", "atom.relaxed.gpu.global.add.u32 %r, "
    .. "[%scratch], 1;",
  "atom.add.release.gpu.u32 %r, [%scratch], 1;", "atom.global.dec.u32 %r, [%scratch], 100000;",
  "atom.global.add.u64 %l2, [%scratch], 1;\ncvt.u32.u64 %r, %l2;",
  "atom.global.add.f32 %f1, [%scratch], 0f3F800000;\ncvt.rzi.u32.f32 %r, %f1;",
  "atom.global.add.f64 %d1, [%scratch], 0d3FF0000000000000;\ncvt.rzi.u32.f64 %r, %d1;",
  "ld.volatile.global.u32 %a1, [%scratch];\nAGAIN:\nadd.u32 %a2, %a1, 1;\natom.global.cas.b32 %a3, "
    .. "[%scratch], %a1, %a2;\nsetp.eq.u32 %p1, %a3, %a1;\nmov.u32 %r, %a1;\nmov.u32 %a1, %a3;\n"
    .. "@!%p1 bra AGAIN;",
}

local REDUCE = {
  { "add.u32", "5", "%x" }, { "add.s32", "-9", "%x" }, { "min.s32", "2147483647", "%x" },
  { "max.s32", "-2147483648", "%x" }, { "min.u32", "-1", "%a15" }, { "max.u32", "0", "%a15" },
  { "or.b32", "0", "%a14" }, { "and.b32", "-1", "%a13" }, { "xor.b32", "0", "%x" },
  { "inc.u32", "0", "50" }, { "add.f32", "0", "%f1" }, -- of whole numbers: exact in any order
}

local function reduce(list, op, first, value, space)
  local address = space == "shared" and ".shared .align 8 .b8 s[8];\nmov.u64 %l1, s;\n"
    or "mov.u32 %a7, %ctaid.x;\nmul.wide.u32 %l2, %a7, 8;\nadd.s64 %l1, %scratch, %l2;\n"
  for _, kind in ipairs { "red", "atom" } do
    local what = kind == "red" and ("red.%s.%s [%%l1], %s;"):format(space, op, value)
      or ("atom.%s.%s %s, [%%l1], %s;"):format(space, op, op == "add.f32" and "%f2" or "%a6", value)
    put(list, ("%s.%s.%s of a block"):format(kind, space, op), HASH .. address
      .. ("mov.u32 %%a9, %s;\nst.%s.u32 [%%l1], %%a9;\nbar.sync 0;\nand.b32 %%a8, %%x, 1023;\n"
      .. "cvt.rn.f32.u32 %%f1, %%a8;\n%s\nbar.sync 0;\nld.%s.u32 %%r, [%%l1];")
      :format(first, space, what, space))
  end
end

function M.atomics()
  local list = {}
  for _, text in ipairs(RANKS) do
    put(list, (text:match("atom%S+")) .. " ranks all lanes", text, { sort = true })
  end
  for _, row in ipairs(REDUCE) do
    reduce(list, row[1], row[2], row[3], "shared")
    reduce(list, row[1], row[2], row[3], "global")
  end
  put(list, "red.and.release.cta.b32", "mul.wide.u32 %l2, %i, 4;\nadd.s64 %l1, %scratch, %l2;\n"
    .. "st.u32 [%l1], %x;\nred.and.release.cta.b32 [%l1], %i;\nld.u32 %r, [%l1];")
  return list
end

-- Warps -------------------------------------------------------------------------------------------

--- The body twice: by all lanes, and in a branch that odd inputs take. %a0 is the mask.
local function both(list, title, text)
  put(list, title, "activemask.b32 %a0;\n" .. text)
  put(list, title .. ", in a branch", "activemask.b32 %a18;\nand.b32 %a19, %x, 1;\n"
    .. "setp.ne.u32 %p18, %a19, 0;\nvote.sync.ballot.b32 %a0, %p18, %a18;\n@!%p18 bra OUT;\n"
    .. "bar.warp.sync %a0;\n" .. text .. "\nOUT:")
end

local VOTER = "and.b32 %a1, %x, 2;\nsetp.ne.u32 %p1, %a1, 0;\n"
local AS_INT = "\nselp.u32 %r, 1, 0, %p2;"

local function votes(list)
  both(list, "vote.sync.ballot.b32", VOTER .. "vote.sync.ballot.b32 %r, %p1, %a0;")
  both(list, "vote.ballot.sync.b32", VOTER .. "vote.ballot.sync.b32 %r, %p1, %a0;")
  for _, kind in ipairs { "any", "all", "uni" } do
    for _, vote in ipairs { { "rare", "%p13" }, { "common", "%p14" } } do
      both(list, ("vote.sync.%s.pred of %s votes"):format(kind, vote[1]),
        HASH .. ("vote.sync.%s.pred %%p2, %s, %%a0;"):format(kind, vote[2]) .. AS_INT)
    end
    both(list, ("vote.sync.%s.pred of equals"):format(kind), "setp.eq.u32 %p1, %a0, %a0;\n"
      .. ("vote.sync.%s.pred %%p2, %%p1, %%a0;"):format(kind) .. AS_INT)
  end
  put(list, "activemask.b32", "activemask.b32 %r;")
  both(list, "elect.sync", "elect.sync %r|%p2, %a0;\nselp.u32 %a1, 64, 0, %p2;\nadd.u32 %r, %r, "
    .. "%a1;")
end

-- mode, b, and %a4, the lane that is read, with %p4: it lies in the segment (%a6 first, %a7 last)
local SHUFFLES = {
  { "up", "3", "sub.s32 %a4, %a3, 3;\nsetp.ge.s32 %p4, %a4, %a6;" },
  { "down", "5", "add.s32 %a4, %a3, 5;\nsetp.le.s32 %p4, %a4, %a7;" },
  { "bfly", "4", "xor.b32 %a4, %a3, 4;\nsetp.le.s32 %p4, %a4, %a7;" },
  { "idx", "6", "or.b32 %a4, %a6, 6;\nsetp.le.s32 %p4, %a4, %a7;" },
}
-- where the lane read is not among those of the mask the result is open, and replaced
local GUARD = "\nshr.u32 %a5, %a0, %a4;\nand.b32 %a5, %a5, 1;\nsetp.ne.u32 %p5, %a5, 0;\n"
  .. "selp.u32 %r, %r, 57005, %p5;"

local function shuffles(list)
  for _, width in ipairs { 32, 8, 2 } do
    local segment = 32 - width -- the mask of lane bits that name the segment
    for _, row in ipairs(SHUFFLES) do
      local c = segment << 8 | (row[1] == "up" and 0 or 31)
      local where = ("mov.u32 %%a3, %%laneid;\nand.b32 %%a6, %%a3, %d;\nor.b32 %%a7, %%a6, %d;\n"
        .. "%s\n"
        .. "selp.b32 %%a4, %%a4, %%a3, %%p4;\n"):format(segment, width - 1, row[3])
      local shfl = ("shfl.sync.%s.b32 %%a8|%%p2, %%x, %s, %d, %%a0;"):format(row[1], row[2], c)
      if row[1] ~= "idx" or width == 32 or width == 8 then
        both(list, ("shfl.sync.%s.b32, width %d"):format(row[1], width),
          where .. shfl .. "\nmov.u32 %r, %a8;" .. GUARD)
      end
      both(list, ("shfl.sync.%s.b32's predicate, width %d"):format(row[1], width), where .. shfl
        .. AS_INT .. (row[1] == "idx" and width == 2 and "" or GUARD))
    end
  end
  both(list, "shfl.sync.idx.b32 by register", "shr.u32 %a4, %x, 8;\nand.b32 %a4, %a4, 31;\n"
    .. "shfl.sync.idx.b32 %r, %x, %a4, 31, %a0;" .. GUARD)
end

local function matches(list)
  local few = "and.b32 %a1, %x, 6;\n"
  both(list, "match.any.sync.b32", few .. "match.any.sync.b32 %r, %a1, %a0;")
  both(list, "match.any.sync.b64", few .. "mov.b64 %l1, {%a0, %a1};\nmatch.any.sync.b64 %r, "
    .. "%l1, %a0;")
  for _, value in ipairs { "%a1", "%a0" } do
    both(list, "match.all.sync.b32 of " .. (value == "%a0" and "equals" or "few"), few
      .. ("match.all.sync.b32 %%r|%%p2, %s, %%a0;\nselp.u32 %%a2, 3, 0, %%p2;\nxor.b32 %%r, %%r, "
      .. "%%a2;"):format(value))
  end
  for _, op in ipairs { "add.s32", "add.u32", "min.s32", "max.s32", "min.u32", "max.u32", "and.b32",
    "or.b32", "xor.b32" } do
    local value = op:find("^and") and "%a13" or op:find("^or") and "%a14" or "%x"
    both(list, "redux.sync." .. op, HASH .. ("redux.sync.%s %%r, %s, %%a0;"):format(op, value))
  end
end

local REGISTERS = { "laneid", "lanemask_lt", "lanemask_le", "lanemask_eq", "lanemask_ge",
  "lanemask_gt", "tid.x", "tid.y", "ctaid.x", "ctaid.z", "ntid.x", "ntid.z", "nctaid.x",
  "nctaid.y" }

local function registers(list)
  for _, name in ipairs(REGISTERS) do
    put(list, "%" .. name, ("mov.u32 %%r, %%%s;"):format(name))
  end
  put(list, "%clock64 and %globaltimer never go back", "mov.u64 %l1, %clock64;\n"
    .. "mov.u64 %l3, %globaltimer;\nnanosleep.u32 20;\nmov.u64 %l2, %clock64;\n"
    .. "mov.u64 %l4, %globaltimer;\nsetp.ge.u64 %p1, %l2, %l1;\nsetp.ge.and.u64 %p2, %l4, %l3, %p1;"
    .. AS_INT)
  put(list, "%smid < %nsmid", "mov.u32 %a1, %smid;\nmov.u32 %a2, %nsmid;\n"
    .. "setp.lt.u32 %p2, %a1, %a2;" .. AS_INT)
  put(list, "%warpid < %nwarpid", "mov.u32 %a1, %warpid;\nmov.u32 %a2, %nwarpid;\n"
    .. "setp.lt.u32 %p2, %a1, %a2;" .. AS_INT)
end

function M.warps()
  local list = {}
  votes(list)
  shuffles(list)
  matches(list)
  registers(list)
  return list
end

-- Barriers ----------------------------------------------------------------------------------------

local BARRIERS = { "bar.sync 0;", "barrier.sync 0;", "bar.sync 3;", "bar.sync 1, 96;",
  "mov.u32 %a9, 2;\nbarrier.sync %a9;", "bar.warp.sync -1;\nbar.sync 0;", "barrier.sync.aligned "
    .. "0;" }

function M.barriers()
  local list = {}
  for _, kind in ipairs(BARRIERS) do
    put(list, (kind:gsub("\n", " ")), "{ .shared .align 4 .b8 s[320];\nmov.u32 %a1, %tid.x;\n"
      .. "shl.b32 %a2, %a1, 2;\nmov.u32 %a3, s;\nadd.u32 %a4, %a3, %a2;\nst.shared.u32 [%a4], %x;\n"
      .. kind .. "\nsub.u32 %a5, 79, %a1;\nshl.b32 %a5, %a5, 2;\nadd.u32 %a5, %a3, %a5;\n"
      .. "ld.shared.u32 %r, [%a5]; }")
  end
  put(list, "bar.red.popc.u32", VOTER .. "bar.red.popc.u32 %r, 0, %p1;")
  put(list, "bar.red.or.pred", HASH .. "bar.red.or.pred %p2, 0, %p13;" .. AS_INT)
  put(list, "bar.red.and.pred", HASH .. "bar.red.and.pred %p2, 0, %p14;" .. AS_INT)
  put(list, "bar.red.and.pred of ones", "setp.eq.u32 %p1, %x, %x;\nbar.red.and.pred %p2, 0, %p1;"
    .. AS_INT)
  put(list, "bar.arrive and bar.sync of two warps", "{ .shared .align 4 .b8 s[128];\n"
    .. "mov.u32 %a1, %laneid;\nshl.b32 %a1, %a1, 2;\nmov.u32 %a2, s;\nadd.u32 %a1, %a1, %a2;\n"
    .. "setp.ge.u32 %p1, %t, 32;\n@%p1 bra CONSUMER;\nst.shared.u32 [%a1], %x;\nbar.arrive 1, 64;\n"
    .. "bra END;\nCONSUMER:\nbar.sync 1, 64;\nld.shared.u32 %r, [%a1];\nEND: }",
    { block = 64, grid = 65 })
  return list
end

-- Control flow ------------------------------------------------------------------------------------

local function branches(list)
  put(list, "if and else", "and.b32 %a1, %x, 1;\nsetp.eq.u32 %p1, %a1, 0;\n@%p1 bra ELSE;\n"
    .. "mul.lo.u32 %r, %x, 3;\nbra.uni END;\nELSE:\nadd.u32 %r, %x, 7;\nEND:")
  put(list, "guarded instructions", "and.b32 %a1, %x, 1;\nsetp.ne.u32 %p1, %a1, 0;\n"
    .. "and.b32 %a1, %x, 2;\nsetp.ne.u32 %p2, %a1, 0;\n@%p1 add.u32 %r, %r, 1;\n"
    .. "@!%p2 add.u32 %r, %r, 10;")
  put(list, "a loop that lanes leave one by one", "rem.u32 %a1, %x, 1000;\nadd.u32 %a1, %a1, 1;\n"
    .. "TOP:\nsetp.eq.u32 %p1, %a1, 1;\nsetp.ge.or.u32 %p1, %r, 50, %p1;\n@%p1 bra END;\n"
    .. "and.b32 %a2, %a1, 1;\nsetp.ne.u32 %p2, %a2, 0;\n@%p2 bra ODD;\nshr.u32 %a1, %a1, 1;\n"
    .. "bra NEXT;\nODD:\nmad.lo.u32 %a1, %a1, 3, 1;\nNEXT:\nadd.u32 %r, %r, 1;\nbra TOP;\nEND:")
  put(list, "nested loops with break and continue", "rem.u32 %a1, %x, 7;\nshr.u32 %a2, %x, 4;\n"
    .. "rem.u32 %a2, %a2, 5;\nmov.u32 %a3, 0;\nOUTER:\nsetp.ge.u32 %p1, %a3, %a1;\n@%p1 bra END;\n"
    .. "mov.u32 %a4, %a3;\nINNER:\nsetp.ge.u32 %p2, %a4, %a2;\n@%p2 bra DONE;\nadd.u32 %a5, %a3, "
    .. "%a4;\nrem.u32 %a5, %a5, 3;\nsetp.eq.u32 %p3, %a5, 0;\n@%p3 bra CONTINUE;\n"
    .. "setp.eq.u32 %p4, %a4, 3;\n@%p4 bra DONE;\nmad.lo.u32 %a6, %a3, 10, %a4;\nadd.u32 %r, %r, "
    .. "%a6;\nCONTINUE:\nadd.u32 %a4, %a4, 1;\nbra INNER;\nDONE:\nadd.u32 %a3, %a3, 1;\nbra "
    .. "OUTER;\n"
    .. "END:")
  put(list, "brx.idx through a table", "rem.u32 %a1, %x, 6;\nmov.u32 %r, %x;\nsetp.gt.u32 %p1, "
    .. "%a1, "
    .. "3;\n@%p1 bra OTHER;\nts: .branchtargets L0, L1, L2, L3;\nbrx.idx %a1, ts;\nL0:\n"
    .. "add.u32 %r, %r, 1;\nbra END;\nL1:\nmul.lo.u32 %r, %r, 5;\nbra END;\nL3:\nmul.lo.u32 %r, "
    .. "%r, 5;"
    .. "\nL2:\nxor.b32 %r, %r, 255;\nbra END;\nOTHER:\nmov.u32 %r, 99;\nEND:")
  put(list, "a loop with two entries", "rem.u32 %a1, %x, 9;\nand.b32 %a2, %x, 16;\n"
    .. "setp.ne.u32 %p1, %a2, 0;\n@%p1 bra MIDDLE;\nTOP:\nadd.u32 %r, %r, 1;\nMIDDLE:\n"
    .. "add.u32 %r, %r, 10;\nsetp.gt.u32 %p2, %a1, 0;\nsub.u32 %a1, %a1, 1;\n@%p2 bra TOP;")
  for _, how in ipairs { "exit", "ret" } do
    put(list, how .. " of some lanes", ("and.b32 %%a1, %%x, 1;\nsetp.ne.u32 %%p1, %%a1, 0;\n"
      .. "@%%p1 %s;"
      .. "\nmov.u32 %%a2, %%laneid;\nadd.u32 %%r, %%x, %%a2;"):format(how))
  end
end

local PLUS = ".func (.param .b32 r) NAME_plus(.param .b32 n)\n{\n.reg .b32 %x;\n"
  .. "ld.param.u32 %x, [n];\nadd.u32 %x, %x, 100;\nst.param.b32 [r], %x;\nret;\n}\n"
local TIMES = ".func (.param .b32 r) NAME_times(.param .b32 n)\n{\n.reg .b32 %x;\n"
  .. "ld.param.u32 %x, [n];\nshl.b32 %x, %x, 1;\nst.param.b32 [r], %x;\nret;\n}\n"

local function calls(list)
  put(list, "a call with a structure by value and two results", "and.b32 %a1, %x, 255;\n"
    .. "shr.u32 %a2, %x, 8;\nand.b32 %a2, %a2, 255;\nrem.u32 %a3, %i, 7;\n{ .param .align 4 .b8 "
    .. "p[8];"
    .. "\n.param .b32 k;\n.param .align 8 .b8 r[8];\nst.param.b32 [p], %a1;\nst.param.b32 "
    .. "[p+4], %a2;"
    .. "\nst.param.b32 [k], %a3;\ncall.uni (r), NAME_weigh, (p, k);\nld.param.v2.b32 {%a4, "
    .. "%a5}, [r];"
    .. "\n}\nadd.u32 %r, %a4, %a5;", { decl = ".func (.param .align 8 .b8 r[8]) NAME_weigh("
    .. ".param .align 4 .b8 p[8], .param .b32 k)\n{\n.reg .b32 %x<9>;\nld.param.b32 %x1, [p];\n"
    .. "ld.param.b32 %x2, [p+4];\nld.param.b32 %x3, [k];\nmul.lo.u32 %x4, %x1, 2;\n"
    .. "mul.lo.u32 %x5, %x2, 3;\nadd.u32 %x4, %x4, %x3;\nst.param.b32 [r], %x4;\n"
    .. "st.param.b32 [r+4], %x5;\nret;\n}\n" })
  put(list, "recursion to a depth that differs between lanes", "rem.u32 %a1, %x, 10;\n"
    .. "{ .param .b32 a;\n.param .b32 b;\nst.param.b32 [a], %a1;\ncall (b), NAME_fact, (a);\n"
    .. "ld.param.b32 %r, [b];\n}", { decl = ".func (.param .b32 r) NAME_fact(.param .b32 n)\n{\n"
    .. ".reg .b32 %x, %y, %z;\n.reg .pred %p;\nld.param.u32 %x, [n];\nmov.u32 %y, 1;\n"
    .. "setp.lt.u32 %p, %x, 2;\n@%p bra OUT;\nsub.u32 %z, %x, 1;\n{ .param .b32 a;\n.param .b32 "
    .. "b;\n"
    .. "st.param.b32 [a], %z;\ncall (b), NAME_fact, (a);\nld.param.b32 %y, [b];\n}\n"
    .. "mul.lo.u32 %y, %y, %x;\nOUT:\nst.param.b32 [r], %y;\nret;\n}\n" })
  put(list, "a call through a pointer that differs between lanes", "and.b32 %a1, %x, 1;\n"
    .. "mul.wide.u32 %l1, %a1, 8;\nmov.u64 %l2, NAME_both;\nadd.s64 %l2, %l2, %l1;\n"
    .. "ld.global.u64 %l3, [%l2];\n{ .param .b32 a;\n.param .b32 b;\nst.param.b32 [a], %x;\n"
    .. "proto: .callprototype (.param .b32 _) _ (.param .b32 _);\ncall (b), %l3, (a), proto;\n"
    .. "ld.param.b32 %r, [b];\n}", { decl = PLUS .. TIMES
    .. ".global .align 8 .u64 NAME_both[2] = {NAME_times, NAME_plus};\n" })
  put(list, "a local array passed by address", ".local .align 16 .b8 v[16];\nmov.u64 %l1, v;\n"
    .. "cvta.local.u64 %l2, %l1;\n{ .param .b64 a;\n.param .b32 b;\nst.param.b64 [a], %l2;\n"
    .. "st.param.b32 [b], %x;\ncall.uni NAME_fill, (a, b);\n}\nld.local.v4.u32 {%a1, %a2, %a3, "
    .. "%a4}, "
    .. "[%l1];\nadd.u32 %r, %a1, %a2;\nmad.lo.u32 %r, %r, 3, %a3;\nmad.lo.u32 %r, %r, 5, %a4;",
    { decl = ".func NAME_fill(.param .b64 p, .param .b32 n)\n{\n.reg .b64 %q;\n.reg .b32 %x, %y;\n"
    .. "ld.param.u64 %q, [p];\nld.param.u32 %x, [n];\nst.u32 [%q], %x;\nxor.b32 %y, %x, 1;\n"
    .. "st.u32 [%q+4], %y;\nxor.b32 %y, %x, 2;\nst.u32 [%q+8], %y;\nxor.b32 %y, %x, 3;\n"
    .. "st.u32 [%q+12], %y;\nret;\n}\n" })
  put(list, "st.param of f32 and f64", "mov.b32 %f1, %x;\nabs.f32 %f1, %f1;\n{ .param .f32 a;\n"
    .. ".param .f64 b;\n.param .b32 c;\ncvt.f64.f32 %d1, %f1;\nst.param.f32 [a], %f1;\n"
    .. "st.param.f64 [b], %d1;\ncall.uni (c), NAME_same, (a, b);\nld.param.b32 %r, [c];\n}",
    { decl = ".func (.param .b32 r) NAME_same(.param .f32 a, .param .f64 b)\n{\n.reg .f32 %f;\n"
    .. ".reg .f64 %d, %e;\n.reg .b32 %x;\n.reg .pred %p;\nld.param.f32 %f, [a];\n"
    .. "ld.param.f64 %d, [b];\ncvt.f64.f32 %e, %f;\nsetp.eq.f64 %p, %d, %e;\n"
    .. "selp.u32 %x, 1, 0, %p;\nst.param.b32 [r], %x;\nret;\n}\n" })
end

function M.control()
  local list = {}
  branches(list)
  calls(list)
  return list
end

return M
