#!/usr/bin/env bash
# Times the exchange algorithms over thin links: N network namespaces whose links are held to a rate
# in both directions and, with a DELAY, are so far apart. Needs root, iproute2, gcc and Open MPI. What
# is made is taken down again.
#
#     tools/netns.sh PROGRAM [MBIT] [N] [DELAY_MS] [-- ARGUMENTS OF THE PROGRAM]
#
# PROGRAM is dizhu-bench-comm. Without a delay: veth pairs on a bridge, tbf on both ends. With one: TUN
# devices and the relay tools/netlag.c between them (many kernels have no netem), tbf for what is sent.
# The kernel's own count of the bytes that rank 0 sent is printed last.
set -euo pipefail
here=$(dirname "$(realpath "$0")")
program=$(realpath "$1"); shift
settings=(100 4 0)
for i in 0 1 2; do
  [ $# -eq 0 ] || [ "$1" = -- ] && break
  settings[i]=$1; shift
done
[ "${1-}" = -- ] && shift
mbit=${settings[0]} n=${settings[1]} delay=${settings[2]}
name=dz$$ net=10.78.0 relay=

down() {
  [ -n "$relay" ] && kill "$relay" 2>/dev/null
  for i in $(seq "$n"); do ip netns del "$name-$i" 2>/dev/null || true; done
  ip link del "$name" 2>/dev/null || true
  rm -rf "$work"
}
work=$(mktemp -d)
trap down EXIT
limit() { # device, namespace or nothing
  ${2:+ip netns exec "$2"} tc qdisc add dev "$1" root tbf rate "${mbit}mbit" burst 64kb latency 30ms
}

for i in $(seq "$n"); do ip netns add "$name-$i"; done
if [ "$delay" != 0 ]; then
  gcc -O2 -o "$work/netlag" "$here/netlag.c"
  ports=()
  for i in $(seq "$n"); do ports+=("eth0@$name-$i"); done
  "$work/netlag" "$mbit" "$delay" "${ports[@]}" "$name" > "$work/said" & relay=$!
  until grep -q ready "$work/said"; do sleep .05; kill -0 "$relay"; done
else
  ip link add "$name" type bridge
fi
ip addr add "$net.254/24" dev "$name" # the launcher reaches the ranks from here
ip link set "$name" up
command=()
for i in $(seq "$n"); do
  if [ "$delay" = 0 ]; then
    ip link add "$name.$i" type veth peer name eth0 netns "$name-$i"
    ip link set "$name.$i" master "$name" up
    limit "$name.$i"
  fi
  ip -n "$name-$i" addr add "$net.$i/24" dev eth0
  ip -n "$name-$i" link set eth0 up
  ip -n "$name-$i" link set lo up
  limit eth0 "$name-$i"
  command+=(: -np 1 ip netns exec "$name-$i" "$program" --transport mpi --ranks "$n" "$@")
done
sent() { ip netns exec "$name-1" cat /sys/class/net/eth0/statistics/tx_bytes; }

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export PMIX_MCA_ptl_tcp_if_include=$net.0/24
before=$(sent)
mpirun --oversubscribe --bind-to none --mca mpi_yield_when_idle 1 --mca btl self,tcp \
  --mca btl_tcp_if_include "$net.0/24" --mca oob_tcp_if_include "$net.0/24" "${command[@]:1}"
echo "rank 0 sent $((($(sent) - before) / 1000000)) MB by the kernel's count"
