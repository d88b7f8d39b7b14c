e.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 a, .param .u32 n)
{
.reg .pred %p<9>; .reg .b16 %h<9>;.reg .b32 %r<99>; .reg .f32 %f<99>; .reg .b64 %rd<99>;
ld.param.u64 %rd1, [a];
ld.volatile.global.u32 %r1, [%rd1]; setp.eq.u32 %p1, %r1, 3;
ret;
}
