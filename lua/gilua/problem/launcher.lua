--- launcher: launches the kernels of problems and recordings. A worker launches them itself; any
--- other process has a worker do it (gilua.bench). That module is in a room below this one, so
--- init.lua registers it here.

return {
  here = false, -- this process is a worker
  bench = nil, ---@type fun(): table gilua.bench
}
