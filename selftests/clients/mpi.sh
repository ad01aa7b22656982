#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Open MPI over libfabric's verbs provider: two ranks of one job, each on rdma_ep or on the stock
# libraries, exchange messages of different lengths and compare them.
#
# It would catch requests that wait for each other in both directions, and failures to register
# memory while other requests run.

# shellcheck source=selftests/clients/common.sh
. "$(dirname "$0")/common.sh"

PROGRAM_LIMIT=240
# As in fabric.sh: a CQ for the requests of eight peers
export FI_UNIVERSE_SIZE=8

cat > "$WORK/exchange.py" <<'END'
import glob, os
from mpi4py import MPI
comm = MPI.COMM_WORLD
rank, other = comm.Get_rank(), 1 - comm.Get_rank()
for size in 1, 64, 4096, 100000, 1 << 20:
    sent = bytes((rank + i) & 255 for i in range(256)) * (size // 256 + 1)
    got = bytearray(size)
    comm.Sendrecv([sent[:size], MPI.BYTE], other, 7, [got, MPI.BYTE], other, 7)
    want = bytes((other + i) & 255 for i in range(256)) * (size // 256 + 1)
    assert got == want[:size], size
assert comm.allreduce(rank + 1) == 3
files = {os.path.basename(os.path.realpath(f)) for f in glob.glob("/proc/self/fd/*")}
stack = "ours" if "rdma_ep" in files else "stock" if "rdma_cm" in files else "none"
print("rank %d of %d ok on %s" % (rank, comm.Get_size(), stack), flush=True)
END

cat > "$WORK/rank" <<'END'
#!/bin/sh
# rank STACK STACK PROGRAM ARGS...: runs the program on the stack of this rank
stack=$1
[ "$OMPI_COMM_WORLD_RANK" = 0 ] || stack=$2
shift 2
[ "$stack" = stock ] || exec rdma-ep-run "$@"
exec "$@"
END
chmod +x "$WORK/rank"

# job_on STACK STACK: runs the two ranks. (Open MPI 4 and 5 have different names for the provider's
# parameter. A rank spins while it waits.)
job_on()
{
	start stock job env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
		FI_VERBS_IFACE="$RDMA_NETDEV" \
		mpirun --oversubscribe --mca pml cm --mca mtl ofi --mca btl self \
		--mca mtl_ofi_provider_include "verbs;ofi_rxm" \
		--mca opal_common_ofi_provider_include "verbs;ofi_rxm" \
		--mca mpi_yield_when_idle 1 -np 2 \
		"$WORK/rank" "$1" "$2" python3 "$WORK/exchange.py"
	finish job
}

begin "mpirun on the stock libraries"
job_on stock stock
if [[ ${statuses[job]} != 0 ]]; then
	skip "mpirun over verbs;ofi_rxm" \
		"fails on the stock libraries, too: $(grep -m1 -iE 'error|fail|unable' "$WORK/job.err")"
	finish_tests
fi
for pair in "${PAIRS[@]}"; do
	begin "mpirun, rank 0 ${pair%:*}, rank 1 ${pair#*:}"
	job_on "${pair%:*}" "${pair#*:}"
	expect_status job 0
	expect_lines job 1 "^rank 0 of 2 ok on ${pair%:*}\$"
	expect_lines job 1 "^rank 1 of 2 ok on ${pair#*:}\$"
	end
done

finish_tests
