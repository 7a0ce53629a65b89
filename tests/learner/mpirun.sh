#!/usr/bin/env bash
# mpirun.sh N PROGRAM ARGS...: N processes on this machine, more than its cores if need be.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
n=$1
shift
exec mpirun --oversubscribe --bind-to none --mca mpi_yield_when_idle 1 \
  --mca btl self,vader,tcp --mca btl_vader_single_copy_mechanism none -np "$n" "$@"
