# Runs programs by gilua run; for tests that have sourced tap.sh.

runs() { # runs TEXT STATUS ARGUMENT…: leaves what came out in the files out and err
  local text=$1 want=$2 code
  shift 2
  "$GILUA" run "$@" >out 2>err </dev/null
  code=$?
  [ $code = "$want" ]
  ok $? "$text" "exit $code, want $want: $(cat out err)"
}
