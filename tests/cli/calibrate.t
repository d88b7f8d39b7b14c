#!/bin/bash
# gilua calibrate, --gpu: a model of a virtual GPU whose numbers are known is measured as it is.
. "$(dirname "$0")/tap.sh"
cd "$TMP" || exit 1

"$GILUA" -e 'local gpus, luadata = require "gilua.base.gpus", require "gilua.base.luadata"
  local card = gpus.card("8.0", { name = "tiny", clock_ghz = 1.4, sms = 4, memory_bytes = 1e9,
    l2_bytes = 1 << 21, latency_l2 = 200, latency_dram = 500, l2_bytes_per_clock = 128,
    l2_store_bytes_per_clock = 64, dram_bytes_per_clock = 40, latency_special = 21 })
  io.open("tiny.lua", "w"):write("return " .. luadata.text(card) .. "\n")'
said=$("$GILUA" calibrate found.lua --gpu tiny.lua 2>&1)
ok $? "a GPU is measured" "$said"
cat >compare.lua <<'E2'
local gpus = require "gilua.base.gpus"
local tiny, found, off = gpus.find "tiny.lua", gpus.find "found.lua", {}
for field, most in pairs { latency_l1 = 0.02, latency_l2 = 0.05, latency_dram = 0.02,
  latency_shared = 0.02, latency_alu = 0.05, latency_special = 0.02, latency_atomic = 0.02,
  rate_fp32 = 0.05, rate_fp64 = 0.05, rate_mul = 0.05, rate_special = 0.02, rate_shuffle = 0.02,
  rate_fp16 = 0.2, rate_shared = 0.2, dram_bytes_per_clock = 0.1, dram_lines_per_clock = 0.1,
  l2_bytes_per_clock = 0.1, l2_lines_per_clock = 0.1, l2_store_bytes_per_clock = 0.1,
  l2_store_lines_per_clock = 0.1 } do
  if math.abs(found[field] / tiny[field] - 1) > most then
    off[#off + 1] = ("%s %g for %g"):format(field, found[field], tiny[field])
  end
end
print(#off == 0 and "alike" or table.concat(off, "; "))
E2
is "every number is found again" alike "$("$GILUA" compare.lua)"
like "the file says what is measured" "latency_l2 = [0-9.]+, -- \[g\]" "$(cat found.lua)"
like "and is taken as a GPU" "us on a virtual tiny$" "$("$GILUA" profile "$TOP/kernels/histogram" --gpu found.lua)"
like "a card is another clock, and another time" "ticks, .* us on a virtual NVIDIA A100$" \
  "$("$GILUA" profile "$TOP/kernels/histogram" --gpu a100)"
misused "a GPU that is not known" "gpu h900: no such model is known; there are h200, h100, a100" \
  "$GILUA" profile "$TOP/kernels/histogram" --gpu h900
misused "a file of another kind" "the name of a model ends in .lua" "$GILUA" calibrate model.txt
fails "agents know one GPU" "leave out --cluster, or --gpu" \
  "$GILUA" tune "$TOP/kernels/histogram" --gpu a100 --cluster nats://127.0.0.1:1 --out t
finish
