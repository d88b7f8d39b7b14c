-- explained: changes that no test can notice, because the changed program does the same (equivalent
-- mutants), each with the reason. `line` is the text of the line, `what` the change as judge.lua
-- says it.

return {
}
