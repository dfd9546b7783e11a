#!/bin/sh
# run.sh [--gpu N] [--json FILE]: checks what Orchid does with this machine's GPU number N (0 unless it is given, counted as nvidia-smi
# does), and prints a table. The same is written to FILE as JSON: gpu-bundle.json in the current folder unless it is given.
#
# It needs an NVIDIA driver, a card that nobody else uses meanwhile, x86-64, and a C library that is not older than what the
# file "needs" says. It installs nothing, needs no network, and leaves nothing behind but FILE. It takes some minutes, at most 30.
#
# Exit status: 0 all targets are met, 1 one is missed, 2 nothing can be checked here: no driver, no card, another kind of machine,
# 3 none is missed, and some could not be checked here: their rows say "not available", and why.
set -u
not_possible() {
  printf 'run.sh: %s\n' "$*" >&2
  exit 2
}
here=$(cd "$(dirname "$0")" && pwd) || exit 2
json='gpu-bundle.json'
gpu=0
while [ $# -gt 0 ]; do
  case $1 in
    --gpu | --json)
      [ $# -ge 2 ] || not_possible "$1 needs a value"
      if [ "$1" = --gpu ]; then gpu=$2; else json=$2; fi
      shift 2
      ;;
    --help | -h)
      sed -n '2,/^set/s/^# \{0,1\}//p' "$0"
      exit 0
      ;;
    *) not_possible "there is no option '$1'; --help lists them" ;;
  esac
done

machine=$(uname -s)-$(uname -m)
[ "$machine" = Linux-x86_64 ] || not_possible "this bundle is for Linux on x86_64, and this is $machine"
needed() { sed -n "s/^$1 //p" "$here/needs"; }
is_at_least() { [ "$(printf '%s\n%s\n' "$1" "$2" | sort -V | head -n 1)" = "$2" ]; }
glibc=$(getconf GNU_LIBC_VERSION 2>/dev/null | sed -n 's/^glibc //p')
[ -n "$glibc" ] || not_possible "this machine's C library is not glibc; $(needed glibc) or newer is needed"
is_at_least "$glibc" "$(needed glibc)" ||
  not_possible "this machine has glibc $glibc, and $(needed glibc) or newer is needed: build the bundle on a machine like this one"

# Ours come first: they fit one another. The driver's library needs none of them. GCC's ask for a newer glibc than the programs do.
libraries=$here/lib
if is_at_least "$glibc" "$(needed glibc-of-gcc)"; then
  libraries=$here/lib/gcc:$libraries
else
  own=$(/sbin/ldconfig -p | sed -n 's/.*libstdc++\.so\.6 (libc6,x86-64[^)]*) => //p' | head -n 1)
  { [ -n "$own" ] && grep -q "$(needed libstdc++)" "$own"; } ||
    not_possible "with glibc $glibc the machine's own libstdc++ must have $(needed libstdc++), and it has not: use a machine with glibc \
$(needed glibc-of-gcc) or newer, or build the bundle on a machine like this one"
fi
LD_LIBRARY_PATH=$libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH
# Whoever ends this script ends the check, and its processes die with that.
timeout --kill-after=10 1800 "$here/bin/gpu-check" "$here" --gpu "$gpu" --json "$json" &
check=$!
trap 'kill "$check" 2>/dev/null; wait "$check"; exit 1' INT TERM HUP
wait "$check"
status=$?
case $status in
  0 | 1 | 2 | 3) exit $status ;;
  124 | 137) printf 'run.sh: not done after 30 minutes: missed\n' >&2 ;;
  *) printf 'run.sh: gpu-check has ended with status %s: missed\n' "$status" >&2 ;;
esac
exit 1
