#!/usr/bin/env bash
# Times the exchange algorithms over thin links: N network namespaces on one bridge, each link held to
# a rate in both directions by tbf. Needs root, iproute2 and Open MPI. What is made is taken down again.
#
#     tools/netns.sh PROGRAM [MBIT] [N] [-- ARGUMENTS OF THE PROGRAM]
#
# PROGRAM is dizhu-bench-comm. The kernel's own count of the bytes that rank 0 sent is printed last.
set -euo pipefail
program=$(realpath "$1") mbit=${2:-100} n=${3:-4}
shift $(($# < 3 ? $# : 3))
[ "${1-}" = -- ] && shift
name=dz$$ net=10.78.0

down() {
  for i in $(seq "$n"); do ip netns del "$name-$i" 2>/dev/null || true; done
  ip link del "$name" 2>/dev/null || true
}
trap down EXIT
limit() { # device, namespace or nothing
  ${2:+ip netns exec "$2"} tc qdisc add dev "$1" root tbf rate "${mbit}mbit" burst 64kb latency 30ms
}

ip link add "$name" type bridge
ip link set "$name" up
command=()
for i in $(seq "$n"); do
  ip netns add "$name-$i"
  ip link add "$name.$i" type veth peer name eth0 netns "$name-$i"
  ip link set "$name.$i" master "$name" up
  ip -n "$name-$i" addr add "$net.$i/24" dev eth0
  ip -n "$name-$i" link set eth0 up
  ip -n "$name-$i" link set lo up
  limit "$name.$i"
  limit eth0 "$name-$i"
  command+=(: -np 1 ip netns exec "$name-$i" "$program" --transport mpi --ranks "$n" "$@")
done
sent() { ip netns exec "$name-1" cat /sys/class/net/eth0/statistics/tx_bytes; }

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# The launcher reaches the namespaces through the bridge's own address.
ip addr add "$net.254/24" dev "$name"
export PMIX_MCA_ptl_tcp_if_include=$net.0/24
before=$(sent)
mpirun --oversubscribe --bind-to none --mca mpi_yield_when_idle 1 --mca btl self,tcp \
  --mca btl_tcp_if_include "$net.0/24" --mca oob_tcp_if_include "$net.0/24" "${command[@]:1}"
echo "rank 0 sent $((($(sent) - before) / 1000000)) MB by the kernel's count"
