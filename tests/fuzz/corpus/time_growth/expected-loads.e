e.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 a, .param .u32 n)
{
.reg .pred %p<9>; .reg .b32 %r<99>; .reg .b64 %rd<99>;
ld.param.u64 %rd1, [a];
ld.global.u32 %r2, [%rd1]; atom.global.cas.b32 %r1, [%rd1], %r3, %r4;
ret;
}
