--- launcher: who launches the kernels of problems and recordings. A worker does so itself. Any
--- other process has a worker do it (gilua.bench), which is in a room below this one: init.lua says
--- where.

return {
  here = false, -- this process is a worker
  bench = nil, ---@type fun(): table gilua.bench
}
