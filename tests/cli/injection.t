#!/bin/bash
# A stranger's file: `gilua new` runs nothing of what is written in it, whatever its name is.
. "$(dirname "$0")/tap.sh"
cd "$TMP" || exit 1

# A few changes of a kernel show as well as all of them that its data are asked about.
FEW=(-e 'require("gilua.study.adequacy").MOST = 4')
RUNS='os.execute("touch ran") os.exit(42)' # where it gets to run, that shows

# kernel BODY [HEAD [BEFORE]]: a program of a stranger's words
kernel() {
  cat <<-END
	$3
	extern "C" __global__ void $2 k(float *x, int n)
	{
	  $1
	  int i = blockIdx.x * blockDim.x + threadIdx.x;
	  if (i < n) x[i] = 2 * x[i];
	}
	int main() {
	  float *d; int n = 500;
	  cudaMalloc(&d, n * sizeof(float));
	  k<<<(n + 127) / 128, 128>>>(d, n);
	}
	END
}

unran() { # unran WHAT: nothing ran
  is "$1: nothing ran" "" "$(find . -name ran)"
  rm -f ran
}

# opens WHAT FILE [ARGUMENT…]: whatever becomes of it, nothing runs, and what is written is data
opens() {
  local what=$1 file=$2 folder=${folder:-k.made} out
  shift 2
  rm -rf ./*.made
  out=$("$GILUA" "${FEW[@]}" new "$file" "$folder" "$@" 2>&1)
  ok $? "$what: it is opened" "$out"
  unran "$what"
  "$GILUA" is_data.lua "$folder" >said 2>&1
  ok $? "$what: its problem.lua is data" "$(cat said "$folder/problem.lua")"
  sanitized "$what: check, which own.t runs of other files" && return
  "$GILUA" "${FEW[@]}" check "$folder" --jobs 1 >said 2>&1
  ok $? "$what: it works" "$(cat said)"
  unran "$what, checked"
}

cat >is_data.lua <<'END'
local file <close> = assert(io.open(arg[1] .. "/problem.lua", "rb"))
local t, why = require("gilua.base.luadata").read(file:read "a")
if not t then print(why) os.exit(1) end
assert(loadfile(arg[1] .. "/experiment.lua")) -- read, not run
END

# words of the file
kernel "__shared__ float s[TILE *
 2]; s[threadIdx.x % TILE] = 1;" "" "#define TILE 64" >extent.cu
opens "an extent on two lines" extent.cu
like "an extent on two lines: as one" "size of its own, TILE \* 2$" "$(cat k.made/problem.lua)"
kernel "__shared__ float s[64 /*
$RUNS --[[ */ ]; s[threadIdx.x % 64] = 1;" >comment.cu
opens "Lua in a comment in an extent" comment.cu
kernel "__shared__ float s[sizeof(\"\\
os.exit(42) --\")];  s[threadIdx.x % 8] = 1;" >string.cu
opens "Lua in a string in an extent" string.cu
kernel "__shared__ float s[
#define A(x) 64
A($RUNS)
]; s[threadIdx.x % 64] = 1;" >macro.cu
opens "Lua in a macro's argument" macro.cu
kernel "" "__launch_bounds__(
#define A(x) 1024
A($RUNS))" >bounds.cu
opens "Lua in __launch_bounds__" bounds.cu
kernel "" >plain.cu
sed -n '/^int main/,$p' plain.cu >"$(printf 'm\r%s.h' "$RUNS")"
{ sed '/^int main/,$d' plain.cu; printf '#include "m\r%s.h"\n' "$RUNS"; } >header.cu
opens "Lua in a header's name, behind a line's end" header.cu
kernel "if (end[0] > 1) return;" "" "__constant__ float end[2];" >keyword.cu
opens "a constant with the name of a word of Lua" keyword.cu

# names of files
for name in $'a\n'"$RUNS"$'\n.cu' $'a\r'"$RUNS.cu" '"]]'"$RUNS"'--[[.cu' "';$RUNS;'.cu" '$(touch ran).cu' \
  $'\e[2J\xff.cu' "$(printf 'x%.0s' {1..240}).cu" '%s%d%n.cu' '--[==[.cu'; do
  cp plain.cu "./$name"
  opens "a file called $(cat -v <<<"${name:0:20}" | tr '\n' '?')" "./$name"
  rm "./$name"
done

# folders, and what stands on the command line
mkdir $'in\n'"$RUNS"
cp plain.cu $'in\n'"$RUNS/"
opens "a folder's name" $'in\n'"$RUNS/plain.cu"
opens "a macro of the command line" plain.cu --define 'UNUSED="]] os.exit(42) --[["'
folder=$'f\n"'"$RUNS"'--[[.made' opens "the problem's own folder" plain.cu

# what is no file, and what has no end
mkfifo pipe.cu
fails "a pipe" "pipe.cu is a named pipe" timeout 20 "$GILUA" new pipe.cu
fails "a device" "/dev/zero is a char device" timeout 20 "$GILUA" new /dev/zero
kernel "" | sed 's/int n = 500/int n = (function() while true do end end)()/' >loop.cu
timeout 100 "$GILUA" new loop.cu loop >said 2>&1
[ $? != 124 ]
ok $? "a loop in the host's code is not run" "$(cat said)"

finish
