#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Programs in containers of an OCI runtime (crun), as podman, CRI-O and containerd start them, with
# the one device node that packaging/cdi/rdma_ep.json adds. (container.sh tests network namespaces
# and other needs of programs.)
#
# It would catch a CDI specification that engines refuse or that names another node than the
# kernel's; a program that needs more than the node: a capability, another device, a writable file;
# a device in a container that was not given it.

# shellcheck source=selftests/clients/common.sh
. "$(dirname "$0")/common.sh"

HERE=$(cd "$(dirname "$0")" && pwd)
SPEC=$HERE/../src/packaging/cdi/rdma_ep.json
[[ -e $SPEC ]] || SPEC=$HERE/../../packaging/cdi/rdma_ep.json
NODE=/dev/infiniband/rdma_ep

not_on_stock "containers of an OCI runtime"

# ---- stacks (see common.sh); a container is named after its runtime's process

run_container()
{
	local device=$1 bundle=$WORK/oci.$BASHPID
	shift
	mkdir "$bundle" &&
	python3 "$HERE/oci.py" config "$WORK/root" "$SPEC" "$device" \
		"$(type -P "$1")" "${@:2}" > "$bundle/config.json" &&
	exec crun run --bundle "$bundle" --pid-file "$bundle/pid" \
		"rdma_ep-$BASHPID"
}

on_oci()
{
	run_container rdma-ep/device=all "$@"
}

on_none()
{
	run_container none "$@"
}

on_forbidden()
{
	run_container forbidden "$@"
}

# Checks that a running program is contained.
expect_contained()
{
	local proc n
	proc=/proc/$(<"$WORK/oci.${pids[$1]}/pid")
	n=$(cd "$proc/root/dev" && find . ! -type d ! -type l | sort | tr '\n' ' ')
	[[ $n == "./full ./infiniband/rdma_ep ./null ./random ./tty ./urandom ./zero " ]] ||
		problem "$1: has the nodes $n"
	grep -q '^Uid:	1000	1000	1000	1000$' "$proc/status" ||
		problem "$1: is another user"
	grep -q '^CapBnd:	0*$' "$proc/status" || problem "$1: has capabilities"
	grep -q '^NoNewPrivs:	1$' "$proc/status" || problem "$1: can get privileges"
	grep -Eq '^Max locked memory +65536 ' "$proc/limits" ||
		problem "$1: has another RLIMIT_MEMLOCK"
	grep -q ' / / ro[, ]' "$proc/mountinfo" || problem "$1: can write to its root"
	grep -q ':/$' "$proc/cgroup" && problem "$1: is in the host's cgroup"
	[[ $(readlink "$proc/fd/"*) == *"$NODE"* ]] ||
		problem "$1: has not opened $NODE"
}

# rping_case SERVER CLIENT
rping_case()
{
	begin "rping, server $1, client $2"
	start "$1" server rping -s -a "$RDMA_ADDR" -p "$PORT" -C 20 -v
	wait_for 40 listening_or_gone server
	listening || problem "the server does not listen on port $PORT"
	[[ $1 != oci ]] || expect_contained server
	client "$2" rping -c -a "$RDMA_ADDR" -p "$PORT" -C 20 -v -V
	both_succeed
	expect_lines client 20 '^ping data: rdma-ping-[0-9]+: '
	end
}

# refused_case STACK MESSAGE STATUS
refused_case()
{
	begin "rping, $1: $2"
	client "$1" rping -c -v -a "$RDMA_ADDR" -p "$PORT" -C 1
	[[ ${statuses[client]} != 0 ]] || problem "the client has succeeded"
	expect_error client "rdma_ep: $NODE$2"
	end
}

# ---- the tests

begin "the CDI specification meets the engines' rules"
refused=0
for edit in 'del s["cdiVersion"]' 'del s["kind"]' 's["kind"] = "rdma_ep"' \
		's["devices"] = []' 's["device"] = 1' 's["devices"] *= 2' \
		'del s["devices"][0]["containerEdits"]' \
		's["devices"][0]["name"] = ""' \
		's["devices"][0]["containerEdits"]["deviceNodes"][0]["path"] = "x"' \
		's["devices"][0]["containerEdits"]["deviceNodes"][0]["mode"] = 1'; do
	python3 -c "import json, sys
s = json.load(sys.stdin)
$edit
json.dump(s, sys.stdout)" < "$SPEC" > "$WORK/bad.json" ||
		problem "cannot spoil it with $edit"
	! python3 "$HERE/oci.py" check "$WORK/bad.json" > "$WORK/said" ||
		problem "passes: $edit"
	[[ -s $WORK/said ]] || problem "nothing is said of: $edit"
	refused=$((refused + 1))
done
((refused == 10)) || problem "only $refused of them tried"
python3 "$HERE/oci.py" check "$SPEC" > "$WORK/said" || problem "$(<"$WORK/said")"
end

begin "the node of the specification is the kernel's"
paths=$(python3 -c 'import json, sys
for d in json.load(sys.stdin)["devices"]:
	for n in d["containerEdits"]["deviceNodes"]:
		print(n["path"], *(n.keys() & {"major", "minor", "fileMode"}))' < "$SPEC")
# The number of the device is not fixed, and the host decides about its permissions.
[[ $paths == "$NODE" ]] || problem "it says '$paths', not $NODE"
[[ -c $NODE && $((0x$(stat -c %t "$NODE"))):$((0x$(stat -c %T "$NODE"))) == \
	"$(< /sys/class/misc/rdma_ep/dev)" ]] ||
	problem "$NODE is not the device of the module"
mkdir "$WORK/root"
mount --bind / "$WORK/root" || problem "cannot make a root"
end

rping_case oci oci
rping_case oci ours
rping_case stock oci
refused_case none " not found: load the module"
refused_case forbidden ": permission denied"

begin "rdma-ep doctor, with the node and with one that the filter of devices denies"
client oci rdma-ep doctor
expect_status client 0
finds node ok "$NODE can be opened" "" "$WORK/client.out"
finds device ok "$RDMA_DEV port 1 is active" "" "$WORK/client.out"
finds memlock warn "at most 64 KiB of memory can be registered" "ulimit -l" "$WORK/client.out"
client forbidden rdma-ep doctor
expect_status client 1
finds node fail "$NODE: Operation not permitted" \
	"let the container's device cgroup have it (--device $NODE)" "$WORK/client.out"
end

begin "nothing is left of the containers"
umount "$WORK/root" || problem "the root is in use"
[[ -z $(crun list -q) ]] || problem "containers: $(crun list -q)"
end
finish_tests
