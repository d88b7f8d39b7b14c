e.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 a, .param .u32 n)
{
.reg .pred %p<9>; .reg .b32 %r<99>; .reg .b64 %rd<99>;
ld.param.u64 %rd1, [a];
L:
@%p1 bra L;
ret;
}
