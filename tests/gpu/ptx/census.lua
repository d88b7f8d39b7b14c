--- Which instruction forms of real kernels (tests/data/ptx_forms.txt) ran, and why not the rest.

local gi = require "gilua"

local M = {}
M.__index = M

-- Why a form is not generated, by pattern; the first that fits counts.
local REASONS = {
  { "fragments are compared by matrix_bits.lua", "^wmma" },
  { "the virtual GPU has no asynchronous copies, mbarriers or clusters", "^cp%.async", "^mbarrier",
    "^griddepcontrol" },
  { "the virtual GPU has no surfaces", "^sust" },
  { "a texture of this kind cannot be made through gi.device", "^tex%.cube" },
  { "ptxas wants a rounding in it for sm_20 and newer", "^mad%.f32$" },
  { "ends the launch with a fault; tests/c/emu_faults.c", "^trap" },
}

function M.new()
  local self = setmetatable({ seen = {} }, M)
  -- the frames around forms and bodies (ptx/rig.lua)
  self:saw("mov.u32 x; mad.lo.s32 x; ld.param.u64 x; mul.wide.u32 x; add.s64 x; ret; "
    .. "st.global.u32 x; ld.global.u32 x; ld.global.f32 x; ld.global.f64 x; setp.ne.b32 x; "
    .. "st.global.f32 x; st.global.f64 x; selp.b32 x;")
  return self
end

--- Notes every opcode of a PTX text.
function M:saw(text)
  for line in text:gmatch("[^\n;{}]+") do
    local opcode = line:match("^%s*@!?%S+%s+([%a][%w_.:]*)") or line:match("^%s*([%a][%w_.:]*)")
    if opcode then self.seen[opcode] = true end
  end
end

--- Forms that did not run: { { reason, forms, unexplained } }; how many there are, how many ran.
function M:missing()
  local by_reason, order, all, covered = {}, {}, 0, 0
  for line in io.lines(gi.home .. "/tests/data/ptx_forms.txt") do
    local form = line:match("^([^#\t]+)\t")
    if form then
      all = all + 1
      if self.seen[form] then covered = covered + 1 end
      local reason = not self.seen[form] and self:reason(form)
      if reason then
        if not by_reason[reason] then
          by_reason[reason] = { reason = reason, forms = {},
                                unexplained = reason == "NOT GENERATED" }
          order[#order + 1] = by_reason[reason]
        end
        table.insert(by_reason[reason].forms, form)
      end
    end
  end
  return order, all, covered
end

function M:reason(form)
  for _, row in ipairs(REASONS) do
    for i = 2, #row do
      if form:find(row[i]) then return row[1] end
    end
  end
  return "NOT GENERATED"
end

return M
