--- Instruction forms that every lane computes on its own: what goes in, what comes out.
--
-- M.list() gives { title, text, types, limit, nan, unspecified } for each. text holds $0 (result)
-- and $1 … $4; types has a letter for each (values.lua), result first: "w:ww". A table below names
-- forms in bulk: under the types a list of opcodes, where {a,b} stands for each of its words and
-- `~` for none; their operands follow from the types.
--
-- limit: how far devices may be apart (compare.lua). The bounds are those of the PTX ISA's
-- sections on the instructions, plus half a unit in the last place for the virtual GPU, whose own
-- results are the true value rounded once.
-- unspecified: the ISA leaves the result open; it is shown and not judged.

local compare = require "ptx.compare"

local M = {}

-- Integers --------------------------------------------------------------------------------------

local PLAIN = {
  ["h:h"] = "neg.s16 abs.s16 not.b16 cnot.b16 mov.{b16,u16,s16}",
  ["h:hh"] = [[ {add,sub,min,max}.{s16,u16} mul.{lo,hi}.{s16,u16} {and,or,xor}.b16 ]],
  ["h:hhh"] = "mad.{lo,hi}.{s16,u16} sad.{s16,u16}",
  ["h:hs"] = "shl.b16 shr.{u16,s16,b16}",
  ["h:hhp"] = "selp.{b16,u16,s16}",
  ["w:w"] = [[ neg.s32 abs.s32 not.b32 cnot.b32 mov.{b32,u32,s32} popc.b32 clz.b32 brev.b32
    bfind.{u32,s32} bfind.shiftamt.{u32,s32} ]],
  ["w:ww"] = [[ {add,sub}.{s32,u32} {add,sub}.sat.s32 mul.{lo,hi}.{s32,u32}
    mul24.{lo,hi}.{s32,u32} {min,max}.{s32,u32} {min,max}.s32.relu {and,or,xor}.b32
    set.{eq,ne,lt,le,gt,ge}.u32.{s32,u32} vset.{s32.s32,u32.s32}.{eq,lt,ge}
    v{add,sub,absdiff,min,max}.{s32.u32.s32,u32.s32.s32,u32.u32.u32}{~,.sat} ]],
  ["w:hh"] = "mul.wide.{s16,u16}",
  ["w:hhw"] = "mad.wide.{s16,u16}",
  ["w:www"] = [[ mad.{lo,hi}.{s32,u32} mad.hi.sat.s32 mad24.{lo,hi}.{s32,u32} mad24.hi.sat.s32
    v{add,sub,max}.{s32.s32.s32,u32.s32.u32}{~,.sat}.{add,min,max} vset.s32.u32.lt.{add,min}
    vmad.{s32.s32.s32,s32.u32.u32,u32.s32.u32}{~,.sat,.po}{~,.shr7,.shr15}
    sad.{s32,u32} prmt.b32 prmt.b32.{f4e,b4e,rc8,ecl,ecr,rc16} slct.{u32,s32,b32}.s32 ]],
  ["w:bbw"] = [[ dp4a.{u32,s32}.{u32,s32}
    v{absdiff,add,sub,avrg,min,max}4.{u32.u32.u32,s32.s32.s32,u32.s32.s32}{~,.sat,.add}
    vset4.{s32.s32,u32.s32}.{ne,lt}{~,.add} ]],
  ["w:vbw"] = "dp2a.{lo,hi}.{u32,s32}.{u32,s32}",
  ["w:vvw"] = [[ v{absdiff,add,sub,avrg,min,max}2.{u32.u32.u32,s32.s32.s32,u32.s32.s32}{~,.sat,.add}
    vset2.{s32.s32,u32.s32}.{ne,lt}{~,.add} ]],
  ["w:wwf"] = "slct.{u32,b32}.f32",
  ["w:ws"] = [[ shl.b32 shr.{u32,s32,b32}
    v{shl,shr}.{s32.s32.u32,u32.s32.u32,s32.u32.u32}{~,.sat}.{clamp,wrap} ]],
  ["w:ss"] = "bmsk.{clamp,wrap}.b32 szext.{clamp,wrap}.{u32,s32}",
  ["w:wws"] = "shf.{l,r}.{wrap,clamp}.b32",
  ["w:wss"] = "bfe.{u32,s32}",
  ["w:wwss"] = "bfi.b32",
  ["w:wwp"] = "selp.{b32,u32,s32} set.{lt,ge}.{and,or,xor}.u32.s32",
  ["w:l"] = "popc.b64 clz.b64 bfind.{u64,s64} bfind.shiftamt.{u64,s64}",
  ["l:l"] = "neg.s64 abs.s64 not.b64 cnot.b64 mov.{b64,u64,s64} brev.b64",
  ["l:ll"] = [[ {add,sub,min,max}.{s64,u64} mul.{lo,hi}.{s64,u64} {and,or,xor}.b64 ]],
  ["l:lll"] = "mad.{lo,hi}.{s64,u64} sad.{s64,u64}",
  ["l:ww"] = "mul.wide.{s32,u32}",
  ["l:wwl"] = "mad.wide.{s32,u32}",
  ["l:ls"] = "shl.b64 shr.{u64,s64,b64}",
  ["l:lss"] = "bfe.{u64,s64}",
  ["l:llss"] = "bfi.b64",
  ["l:llp"] = "selp.{b64,u64,s64}",
  ["l:llw"] = "slct.{u64,b64}.s32",
  ["v:vv"] = "add.{s16x2,u16x2} {min,max}.{s16x2,u16x2} {min,max}.s16x2.relu",
  ["p:p"] = "mov.pred not.pred",
  ["p:pp"] = "{and,or,xor}.pred",
  ["p:hh"] = "setp.{eq,ne,lt,le,gt,ge}.{s16,u16} setp.{lo,ls,hi,hs}.u16 setp.{eq,ne}.b16",
  ["p:ww"] = "setp.{eq,ne,lt,le,gt,ge}.{s32,u32} setp.{lo,ls,hi,hs}.u32 setp.{eq,ne}.b32",
  ["p:ll"] = "setp.{eq,ne,lt,le,gt,ge}.{s64,u64} setp.{lo,ls,hi,hs}.u64 setp.{eq,ne}.b64",
  ["p:wwp"] = "setp.{lt,ge}.{and,or,xor}.s32",
  ["p:ffp"] = "setp.{lt,geu}.{and,or,xor}.f32",

-- Floating point --------------------------------------------------------------------------------

  ["f:f"] = "rcp.{rn,rz,rm,rp}{~,.ftz}.f32 sqrt.{rn,rz,rm,rp}{~,.ftz}.f32",
  ["F:f"] = "abs{~,.ftz}.f32 neg{~,.ftz}.f32 mov.f32",
  ["f:ff"] = [[ {add,sub,mul}{~,.rn,.rz,.rm,.rp}{~,.ftz}{~,.sat}.f32 div.{rn,rz,rm,rp}{~,.ftz}.f32
    {min,max}{~,.ftz}{~,.NaN}{~,.xorsign.abs}.f32 ]],
  ["F:ff"] = "copysign.f32 set.{lt,neu,nan}.f32.f32",
  ["f:fff"] = "fma.{rn,rz,rm,rp}{~,.ftz}{~,.sat}.f32 mad.{rn,rz,rm,rp}{~,.ftz}{~,.sat}.f32",
  ["F:ffp"] = "selp.f32",
  ["F:ffw"] = "slct.f32.s32",
  ["w:ff"] = "set.{lt,leu,num}.u32.f32",
  ["F:ww"] = "set.{lt,ge}.f32.s32",
  ["p:f"] = "testp.{finite,infinite,number,notanumber,normal,subnormal}.f32",
  ["p:ff"] = [[ setp.{eq,ne,lt,le,gt,ge,equ,neu,ltu,leu,gtu,geu,num,nan}{~,.ftz}.f32 ]],
  ["w:f"] = "mov.b32 cvt.rna{~,.satfinite}.tf32.f32 cvt.{rn,rz}{~,.relu}.tf32.f32",
  ["l:d"] = "mov.b64",
  ["D:d"] = "abs.f64 neg.f64 mov.f64",
  ["D:dd"] = "copysign.f64",
  ["D:ddp"] = "selp.f64",
  ["D:ddw"] = "slct.f64.s32",
  ["p:d"] = "testp.{finite,infinite,number,notanumber,normal,subnormal}.f64",
  ["p:dd"] = "setp.{eq,ne,lt,le,gt,ge,equ,neu,ltu,leu,gtu,geu,num,nan}.f64",
  ["d:d"] = "rcp.{rn,rz,rm,rp}.f64 sqrt.{rn,rz,rm,rp}.f64",
  ["d:dd"] = "{add,sub,mul}{~,.rn,.rz,.rm,.rp}.f64 div.{rn,rz,rm,rp}.f64 {min,max}.f64",
  ["d:ddd"] = "fma.{rn,rz,rm,rp}.f64 mad.{rn,rz,rm,rp}.f64",

  ["H:H"] = "{neg,abs}{~,.ftz}.f16",
  ["H:HH"] = "{add,sub,mul}{~,.rn}{~,.ftz}{~,.sat}.f16 {min,max}{~,.ftz}{~,.NaN}.f16"
    .. " {min,max}{~,.ftz}{~,.NaN}.xorsign.abs.f16",
  ["H:HHH"] = "fma.rn{~,.ftz}{~,.sat,.relu}.f16 fma.rn.oob{~,.relu}.f16",
  ["X:X"] = "{neg,abs}{~,.ftz}.f16x2",
  ["X:XX"] = "{add,sub,mul}{~,.rn}{~,.ftz}{~,.sat}.f16x2 {min,max}{~,.ftz}{~,.NaN}.f16x2"
    .. " {min,max}{~,.ftz}{~,.NaN}.xorsign.abs.f16x2",
  ["X:XXX"] = "fma.rn{~,.ftz}{~,.sat,.relu}.f16x2",
  ["B:B"] = "{neg,abs}.bf16",
  ["B:BB"] = "{add,sub,mul}{~,.rn}.bf16 {min,max}{~,.NaN}.bf16"
    .. " {min,max}{~,.NaN}.xorsign.abs.bf16",
  ["B:BBB"] = "fma.rn{~,.relu}.bf16",
  ["Y:Y"] = "{neg,abs}.bf16x2",
  ["Y:YY"] = "{add,sub,mul}{~,.rn}.bf16x2 {min,max}{~,.NaN}.bf16x2"
    .. " {min,max}{~,.NaN}.xorsign.abs.bf16x2",
  ["Y:YYY"] = "fma.rn{~,.relu}.bf16x2 fma.rn.oob{~,.relu}.bf16x2",
  ["p:HH"] = "setp.{eq,ne,lt,le,gt,ge,equ,neu,ltu,leu,gtu,geu,num,nan}.f16",
  ["p:BB"] = "setp.{eq,lt,geu,neu,nan}.bf16",

-- Conversions (integer to integer: see conversions()) -------------------------------------------

  ["f:d"] = "cvt.{rn,rz,rm,rp}{~,.ftz}.f32.f64 cvt.rn.sat.f32.f64",
  ["d:f"] = "cvt.f64.f32 cvt.ftz.f64.f32",
  ["f:H"] = "cvt.f32.f16", ["f:B"] = "cvt.f32.bf16", ["d:H"] = "cvt.f64.f16",
  ["H:f"] = "cvt.{rn,rz}.f16.f32 cvt.rn.{sat,relu,ftz}.f16.f32 "
    .. "cvt.{rn,rz}{~,.relu}.satfinite.f16.f32", ["H:d"] = "cvt.{rn,rz}.f16.f64",
  ["B:f"] = "cvt.{rn,rz}.bf16.f32 cvt.rn.relu.bf16.f32 "
    .. "cvt.{rn,rz}{~,.relu}.satfinite.bf16.f32",
  ["X:ff"] = "cvt.{rn,rz}{~,.relu}{~,.satfinite}.f16x2.f32",
  ["Y:ff"] = "cvt.{rn,rz}{~,.relu}{~,.satfinite}.bf16x2.f32",
}

local ROUNDED = {
  ["f:f"] = "cvt.{rni,rzi,rmi,rpi}{~,.ftz}{~,.sat}.f32.f32 cvt.sat.f32.f32 cvt{~,.sat}.ftz.f32.f32",
  ["d:d"] = "cvt.{rni,rzi,rmi,rpi}.f64.f64 cvt.sat.f64.f64",
  ["H:H"] = "cvt.{rni,rzi,rmi,rpi}.f16.f16 cvt.sat.f16.f16",
}

-- Texts of more than one instruction, or with operands of an unusual shape --------------------

local LONG = "{ .reg .b32 l, h;\n"
local TEXTS = {
  { "add.cc.u32 addc.u32", "l:wwww",
    LONG .. "add.cc.u32 l, $1, $3;\naddc.u32 h, $2, $4;\nmov.b64 $0, {l, h}; }" },
  { "addc.cc.u32", "w:wwww",
    LONG .. "add.cc.u32 l, $1, $3;\naddc.cc.u32 h, $2, $4;\naddc.u32 $0, 0, 0; }" },
  { "addc.cc.s32", "w:wwww",
    LONG .. "add.cc.s32 l, $1, $3;\naddc.cc.s32 h, $2, $4;\naddc.s32 $0, 0, 0; }" },
  { "sub.cc.u32 subc.u32", "l:wwww",
    LONG .. "sub.cc.u32 l, $1, $3;\nsubc.u32 h, $2, $4;\nmov.b64 $0, {l, h}; }" },
  { "subc.cc.u32", "w:wwww",
    LONG .. "sub.cc.u32 l, $1, $3;\nsubc.cc.u32 h, $2, $4;\nsubc.u32 $0, 0, 0; }" },
  { "mad.lo.cc.u32 madc.hi.u32", "l:wwww",
    LONG .. "mad.lo.cc.u32 l, $1, $2, $3;\nmadc.hi.u32 h, $1, $2, $4;\nmov.b64 $0, {l, h}; }" },
  { "madc.hi.cc.u32", "w:wwww",
    LONG .. "mad.lo.cc.u32 l, $1, $2, $3;\nmadc.hi.cc.u32 h, $1, $2, $4;\naddc.u32 $0, 0, 0; }" },
  { "madc.lo.cc.u32", "w:wwww",
    LONG .. "add.cc.u32 l, $1, $3;\nmadc.lo.cc.u32 h, $2, $4, $1;\naddc.u32 $0, h, 0; }" },
  { "add.cc.u64 addc.u64", "l:lll", "{ .reg .b64 l;\nadd.cc.u64 l, $1, $2;\naddc.u64 $0, $3, 0; "
    .. "}" },
  { "sub.cc.u64 subc.u64", "l:lll", "{ .reg .b64 l;\nsub.cc.u64 l, $1, $2;\nsubc.u64 $0, $3, 0; "
    .. "}" },
  { "sub.cc.s32 addc.s32", "w:www", LONG .. "sub.cc.s32 l, $1, $2;\naddc.s32 $0, $3, 0; }" },
  { "add.cc.u32 subc.u32", "w:wwww", LONG .. "add.cc.u32 l, $1, $2;\nsubc.u32 $0, $3, $4; }" },
  { "sub.cc.u32 madc.lo.u32", "w:wwww",
    LONG .. "sub.cc.u32 l, $1, $2;\nmadc.lo.u32 $0, $3, $4, 7; }" },
  { "mad.lo.cc.u32 subc.u32", "w:wwww",
    LONG .. "mad.lo.cc.u32 l, $1, $2, $3;\nsubc.u32 $0, $4, 1; }" },
  { "add.cc.u32 subc.cc.u32 addc.u32", "w:wwww",
    LONG .. "add.cc.u32 l, $1, $2;\nsubc.cc.u32 h, $3, $4;\naddc.u32 $0, 0, 0; }" },
  { "sub.cc.u32 madc.hi.cc.u32", "w:wwww",
    LONG .. "sub.cc.u32 l, $1, $2;\nmadc.hi.cc.u32 h, $3, $4, $1;\naddc.u32 $0, 0, 0; }" },
  { "sub.cc.s64 addc.s64", "l:lll", "{ .reg .b64 l;\nsub.cc.s64 l, $1, $2;\naddc.s64 $0, $3, 0; "
    .. "}" },
  { "add.cc.u64 subc.u64", "l:lll", "{ .reg .b64 l;\nadd.cc.u64 l, $1, $2;\nsubc.u64 $0, $3, 1; "
    .. "}" },
  { "sub.cc.u64 madc.lo.u64", "l:lll",
    "{ .reg .b64 l;\nsub.cc.u64 l, $1, $2;\nmadc.lo.u64 $0, $3, $3, 5; }" },
  { "mad.lo.cc.u64 subc.u64", "l:lll",
    "{ .reg .b64 l;\nmad.lo.cc.u64 l, $1, $2, $3;\nsubc.u64 $0, $2, $3; }" },
  { "fns.b32", "w:wsw", "{ .reg .b32 b, n;\nand.b32 b, $2, 31;\nrem.s32 n, $3, 40;\n"
    .. "fns.b32 $0, $1, b, n; }" },
  { "setp.lt.s32 q|p", "p:ww", "{ .reg .pred q;\nsetp.lt.s32 q|$0, $1, $2; }" },
  { "setp.lt.and.s32 q|p", "p:wwp", "{ .reg .pred q;\nsetp.lt.and.s32 q|$0, $1, $2, $3; }" },
  { "setp.lt.and.s32 not", "p:wwp", "setp.lt.and.s32 $0, $1, $2, !$3;" },
  { "setp.lt.f16x2 low", "p:XX", "{ .reg .pred q;\nsetp.lt.f16x2 $0|q, $1, $2; }" },
  { "setp.geu.f16x2 high", "p:XX", "{ .reg .pred q;\nsetp.geu.f16x2 q|$0, $1, $2; }" },
  { "lop3.or.b32", "p:wwwp",
    "{ .reg .b32 t;\nlop3.or.b32 t|$0, $1, $2, $3, 0x1b, $4; }" },
  { "lop3.and.b32", "p:wwwp",
    "{ .reg .b32 t;\nlop3.and.b32 t|$0, $1, $2, $3, 0xe8, $4; }" },
  { "mov.b64 packs and unpacks", "l:ww",
    "{ .reg .b32 t, u;\nmov.b64 $0, {$1, $2};\nmov.b64 {t, u}, $0;\nmov.b64 $0, {u, t}; }" },
  { "mov.b32 packs and unpacks", "w:hh",
    "{ .reg .b16 t, u;\nmov.b32 $0, {$1, $2};\nmov.b32 {t, u}, $0;\nmov.b32 $0, {u, t}; }" },
  -- these four take 8-bit registers only
  { "cvt.rzi.u8.bf16", "h:B", "{ .reg .b8 t;\ncvt.rzi.u8.bf16 t, $1;\ncvt.u16.u8 $0, t; }" },
  { "cvt.rzi.s8.bf16", "h:B", "{ .reg .b8 t;\ncvt.rzi.s8.bf16 t, $1;\ncvt.s16.s8 $0, t; }" },
  { "cvt.rn.bf16.u8", "B:h", "{ .reg .b8 t;\ncvt.u8.u16 t, $1;\ncvt.rn.bf16.u8 $0, t; }" },
  { "cvt.rn.bf16.s8", "B:h", "{ .reg .b8 t;\ncvt.s8.s16 t, $1;\ncvt.rn.bf16.s8 $0, t; }" },
  { "cvt.pack.sat.u8.s32.b32", "w:www", "cvt.pack.sat.u8.s32.b32 $0, $1, $2, $3;" },
  { "cvt.pack.sat.s8.s32.b32", "w:www", "cvt.pack.sat.s8.s32.b32 $0, $1, $2, $3;" },
  { "cvt.pack.sat.u16.s32", "w:ww", "cvt.pack.sat.u16.s32 $0, $1, $2;" },
  { "cvt.pack.sat.s16.s32", "w:ww", "cvt.pack.sat.s16.s32 $0, $1, $2;" },
}

-- Approximate functions -----------------------------------------------------------------------

-- The ISA's bounds on sin and cos hold up to 2 pi, weaker ones up to 100 pi, none beyond.
local function angle(bits)
  local x = math.abs(compare.value.f(bits))
  if x <= 2 * math.pi then return { abs = 2.0 ^ -20.5 } end
  if x <= 100 * math.pi then return { abs = 2.0 ^ -14.7 } end
end

local function quotient(_, divisor)
  local y = math.abs(compare.value.f(divisor))
  if y >= 2.0 ^ -126 and y <= 2.0 ^ 126 then
    return { ulp = 2.5, overflow = true, flush = 2.0 ^ -126 }
  end
  if y == 0 or y ~= y or y > 2.0 ^ 126 then return {} end -- exact: special values
end

local ANGLE = { by = angle, text = "2^-20.5 abs to 2pi, 2^-14.7 to 100pi" }
local QUOTIENT = { by = quotient, text = "2.5 ulp for |b| in 2^-126..2^126" }
local APPROXIMATE = {
  { "ex2.approx{~,.ftz}.f32", "f:f", { ulp = 2.5, overflow = true } },
  { "lg2.approx{~,.ftz}.f32", "f:f", { abs = 2.0 ^ -22, rel = 2.0 ^ -22 } },
  { "rcp.approx{~,.ftz}.f32", "f:f", { ulp = 1.5, overflow = true } },
  { "rsqrt.approx{~,.ftz}.f32", "f:f", { rel = 2.0 ^ -22.9, ulp = 0.5 } },
  { "sqrt.approx{~,.ftz}.f32", "f:f", { rel = 2.0 ^ -23, ulp = 0.5 } },
  { "sin.approx{~,.ftz}.f32", "f:f", ANGLE },
  { "cos.approx{~,.ftz}.f32", "f:f", ANGLE },
  { "tanh.approx.f32", "f:f", { rel = 2.0 ^ -11, ulp = 0.5 } },
  { "div.approx{~,.ftz}.f32", "f:ff", QUOTIENT },
  { "div.full{~,.ftz}.f32", "f:ff", { ulp = 2.5, overflow = true, flush = 2.0 ^ -126 } },
  -- 20 bits of fraction, a step of 2^-20; no bound is given, two steps are granted
  { "rcp.approx.ftz.f64", "d:d", { rel = 2.0 ^ -19 } },
  { "rsqrt.approx.ftz.f64", "d:d", { rel = 2.0 ^ -19 } },
  { "rsqrt.approx.f64", "d:d", { ulp = 2 } }, -- the CUDA guide's rsqrt: 1 ulp
  -- the ISA's 2^-9.9 relative are less than a step where results are subnormal
  { "ex2.approx.f16", "H:H", { ulp = 1 } },
  { "tanh.approx.f16", "H:H", { abs = 2.0 ^ -10.987, ulp = 0.5 } },
  { "ex2.approx.f16x2", "X:X", { ulp = 1 } },
  { "tanh.approx.f16x2", "X:X", { abs = 2.0 ^ -10.987, ulp = 0.5 } },
  { "ex2.approx.ftz.bf16", "B:B", { rel = 2.0 ^ -7, ulp = 0.5 } },
  { "tanh.approx.bf16", "B:B", { abs = 2.0 ^ -8, ulp = 0.5 } },
  { "ex2.approx.ftz.bf16x2", "Y:Y", { rel = 2.0 ^ -7, ulp = 0.5 } },
  { "tanh.approx.bf16x2", "Y:Y", { abs = 2.0 ^ -8, ulp = 0.5 } },
}

-- Making the list -----------------------------------------------------------------------------

--- "a.{b,c}" -> "a.b", "a.c"; `~` is the empty word.
local function expand(pattern, out)
  local head, words, tail = pattern:match("^([^{]*){([^}]*)}(.*)$")
  if not head then
    out[#out + 1] = pattern
    return out
  end
  for word in (words .. ","):gmatch("([^,]*),") do
    expand(head .. (word == "~" and "" or word) .. tail, out)
  end
  return out
end

local function operands(types)
  local text = " $0"
  for k = 1, #types - 2 do text = ("%s, $%d"):format(text, k) end
  return text .. ";"
end

local function add(list, form)
  list[#list + 1] = form
end

local function add_plain(list, set)
  local order = {}
  for types in pairs(set) do order[#order + 1] = types end
  table.sort(order)
  for _, types in ipairs(order) do
    for pattern in set[types]:gmatch("%S+") do
      for _, opcode in ipairs(expand(pattern, {})) do
        add(list, { title = opcode, types = types, text = opcode .. operands(types) })
      end
    end
  end
end

local REGISTER = { u8 = "h", s8 = "h", u16 = "h", s16 = "h", u32 = "w", s32 = "w", u64 = "l",
  s64 = "l", f16 = "H", bf16 = "B", f32 = "f", f64 = "d" }
local INTEGERS = { "u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64" }

local function convert(list, mods, to, from, to_letter)
  local opcode = ("cvt%s.%s.%s"):format(mods, to, from)
  local types = (to_letter or REGISTER[to]) .. ":" .. REGISTER[from]
  add(list, { title = opcode, types = types, text = opcode .. operands(types) })
end

--- Can a value of one integer type lie outside another? Else PTX has no .sat for the pair.
local function exceeds(to, from)
  local to_bits, from_bits = tonumber(to:sub(2)), tonumber(from:sub(2))
  return to_bits < from_bits or to_bits == from_bits and to ~= from
    or to:sub(1, 1) == "u" and from:sub(1, 1) == "s"
end

--- Every pair of integer types, floats to and from integers in each rounding.
local function conversions(list)
  for _, to in ipairs(INTEGERS) do
    for _, from in ipairs(INTEGERS) do
      convert(list, "", to, from)
      if exceeds(to, from) then convert(list, ".sat", to, from) end
    end
    for _, from in ipairs { "f32", "f64", "f16" } do
      for _, mode in ipairs { ".rni", ".rzi", ".rmi", ".rpi" } do
        convert(list, mode, to, from)
        if from == "f32" then convert(list, mode .. ".ftz", to, from) end
      end
      convert(list, ".rzi.sat", to, from)
    end
    if to:find("%d%d") then convert(list, ".rzi", to, "bf16") end
  end
  for _, from in ipairs(INTEGERS) do
    for _, to in ipairs { "f32", "f64" } do
      for _, mode in ipairs { ".rn", ".rz", ".rm", ".rp" } do convert(list, mode, to, from) end
    end
    convert(list, ".rn", "f16", from)
    convert(list, ".rz", "f16", from)
    if from:find("%d%d") then convert(list, ".rn", "bf16", from) end
  end
  convert(list, "", "s8", "s32", "w")
  convert(list, "", "u8", "u32", "w")
  convert(list, ".sat", "u8", "s32", "w")
  convert(list, ".rzi", "s8", "f32", "w")
end

local DIVIDE = "{ .reg .b%d t;\n%s\n%s.%s%d $0, $1, t; }"

--- Division: PTX leaves dividing by zero open, so the divisor's last bit is set; by zero apart.
local function divisions(list)
  for _, op in ipairs { "div", "rem" } do
    for _, sign in ipairs { "s", "u" } do
      for _, letter in ipairs { "h", "w", "l" } do
        local bits = 8 * compare.width(letter)
        local name, types = ("%s.%s%d"):format(op, sign, bits), letter .. ":" .. letter .. letter
        add(list, { title = name, types = types, text =
          DIVIDE:format(bits, ("or.b%d t, $2, 1;"):format(bits), op, sign, bits) })
        add(list, { title = name .. " by zero", types = types, unspecified = true, text =
          DIVIDE:format(bits, ("and.b%d t, $2, 0;"):format(bits), op, sign, bits) })
      end
    end
  end
end

local function tables_of_lop3(list)
  for _, lut in ipairs { 0x00, 0x02, 0x1b, 0x2a, 0x3f, 0x80, 0x96, 0xac, 0xca, 0xe8, 0xf8, 0xfe } do
    add(list, { title = ("lop3.b32 0x%02x"):format(lut), types = "w:www",
                text = ("lop3.b32 $0, $1, $2, $3, 0x%02x;"):format(lut) })
  end
end

local function approximate(list)
  for _, row in ipairs(APPROXIMATE) do
    for _, opcode in ipairs(expand(row[1], {})) do
      add(list, { title = opcode, types = row[2], text = opcode .. operands(row[2]),
                  limit = row[3] })
    end
  end
end

-- Atomics on memory of the lane's own: the old value and the new one ------------------------------

local ATOMIC = [[ add.{u32,s32} {and,or,xor,exch,cas}.b32 {min,max}.{s32,u32} inc.u32 dec.u32
  add.u64 {and,or,xor,exch,cas}.b64 {min,max}.{s64,u64} add.f32 add.f64 ]]

local PLACES = {
  { "shared", ".shared", ".shared .align 8 .b8 mine[1024];\n", "mov.u32 i, %tid.x;\nmul.wide.u32"
    .. " t, i, 8;\nmov.u64 at, mine;\nadd.s64 at, at, t;" },
  { "global", ".global", "", "mul.wide.u32 t, %i, 8;\nadd.s64 at, %scratch, t;" },
  { "generic to shared", "", ".shared .align 8 .b8 mine[1024];\n", "mov.u32 i, %tid.x;\n"
    .. "mul.wide.u32 t, i, 8;\nmov.u64 at, mine;\ncvta.shared.u64 at, at;\nadd.s64 at, at, t;" },
  { "generic to global", "", "", "mul.wide.u32 t, %i, 8;\nadd.s64 at, %scratch, t;\n"
    .. "cvta.global.u64 at, at;" },
}

-- Orders and scopes, as the census has them: the address is generic, or .global is in the opcode.
local ORDERED = [[ atom.add.release.gpu.u32 atom.add.acquire.cta.u32 atom.add.relaxed.cta.u32
  atom.or.acq_rel.cta.b32 atom.global.sys.{add.u32,and.b32,cas.b32,exch.b32,max.s32,min.s32}
  atom.global.sys.{or.b32,xor.b32,inc.u32,dec.u32} atom.relaxed.gpu.global.add.u32 ]]

--- One atomic: $1 is put in memory, the operation applied with $2 (and $3). The result is the new
-- value of memory xor three times the value returned: both have to be right.
local function atomic_text(atom, op, place, types)
  local bits = (types == "l" or types == "m") and 64 or 32
  local s = place[2]
  local text = ("{ .reg .b64 at, t;\n.reg .b32 i;\n.reg .b%d old, new;\n%s%s\nst%s.b%d [at], $1;\n"
    .. "%s old, [at], $2%s;\nld%s.b%d new, [at];\nmul.lo.u%d old, old, 3;\n"
    .. "xor.b%d $0, old, new; }"):format(bits, place[3], place[4], s, bits, atom,
    op:find("cas") and ", $3" or "", s, bits, bits, bits)
  return text, (bits == 64 and "l:" or "w:") .. types .. types .. types
end

local function letter_of(op)
  if op:find("f32") then return "n" end
  if op:find("f64") then return "m" end
  return op:find("64") and "l" or "w"
end

local function add_atomic(list, atom, op, place)
  local text, types = atomic_text(atom, op, place, letter_of(op))
  add(list, { title = ("%s, %s"):format(atom, place[1]), types = types, text = text })
end

function M.atomics()
  local list = {}
  for pattern in ATOMIC:gmatch("%S+") do
    for _, op in ipairs(expand(pattern, {})) do
      for _, place in ipairs(PLACES) do
        add_atomic(list, ("atom%s.%s"):format(place[2], op), op, place)
      end
    end
  end
  for pattern in ORDERED:gmatch("%S+") do
    for _, atom in ipairs(expand(pattern, {})) do
      add_atomic(list, atom, atom, atom:find("global") and PLACES[2] or PLACES[4])
    end
  end
  return list
end

function M.arithmetic()
  local list = {}
  add_plain(list, PLAIN)
  add_plain(list, ROUNDED)
  for _, row in ipairs(TEXTS) do
    add(list, { title = row[1], types = row[2], text = row[3] })
  end
  divisions(list)
  tables_of_lop3(list)
  conversions(list)
  return list
end

function M.approximate()
  local list = {}
  approximate(list)
  return list
end

return M
