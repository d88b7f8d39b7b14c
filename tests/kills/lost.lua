-- lost: how many of the measurements that a killed run was told of its archive has not.
local gi = require "gilua"
local archive <close> = gi.archive.open(arg[1] .. "/archive.sqlite", { read_only = true })
local known, lost = {}, 0
for _, row in ipairs(archive:rows "SELECT key FROM measurement") do known[row.key] = true end
for key in io.lines(arg[1] .. ".told") do
  if not known[key] then lost, known[key] = lost + 1, true end
end
print(lost)
