#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Programs in containers of podman, rootful and rootless: an image without files of rdma_ep, plus
# the additions of docs/admin/containers.md. The page quotes the command lines.
#
# It would catch a CDI specification that podman refuses; a program that needs more than the node
# and the library: a capability, a system call that the default filter denies, a writable file; a
# command line of the page that does not work.

# shellcheck source=selftests/clients/common.sh
. "$(dirname "$0")/common.sh"
# shellcheck source=selftests/clients/engine.sh
. "$(dirname "$0")/engine.sh"

# quote memlock
MEMLOCK=262144		# bytes
# end quote
IMAGE=localhost/rdma

not_on_stock "containers of podman"
if ! type podman &>/dev/null; then
	skip "containers of podman" "no podman in this suite"
	finish_tests
fi

# ---- stacks (see common.sh)

# The guest has no systemd, which would manage the cgroups.
export CONTAINERS_CONF=$WORK/containers.conf
printf '%s\n' '[engine]' 'cgroup_manager="cgroupfs"' 'events_logger="none"' > "$CONTAINERS_CONF"
chmod 755 "$WORK"
mkdir -m 777 "$WORK/pid"

run_podman()
{
	# quote run
	podman run --rm --device rdma-ep/device=all --network host --ulimit memlock="$MEMLOCK" \
		--user 1000 --cap-drop=all --security-opt no-new-privileges --read-only \
		-v "$LIBRARY:/usr/lib/x86_64-linux-gnu/librdma_ep.so.1:ro" \
		-e LD_PRELOAD=librdma_ep.so.1 --pidfile "$PIDFILE" "$IMAGE" "$@"
	# end quote
}

run_rootless()
{
	# quote rootless
	podman run --rm --device /dev/infiniband/rdma_ep --network host --userns keep-id \
		--cap-drop=all --security-opt no-new-privileges --read-only \
		-v "$LIBRARY:/usr/lib/x86_64-linux-gnu/librdma_ep.so.1:ro" \
		-e LD_PRELOAD=librdma_ep.so.1 --pidfile "$PIDFILE" "$IMAGE" "$@"
	# end quote
}

on_podman()
{
	PIDFILE=$WORK/pid/$BASHPID run_podman "$@"
	exit
}

# as_user COMMAND...: in a login of a user with its own limit
as_user()
{
	echo "$BASHPID" > "$CG/login/cgroup.procs"
	ulimit -l $((MEMLOCK / 1024))
	cd / && exec setpriv --reuid 1000 --regid 1000 --init-groups env -i \
		PATH="$PATH" HOME="$LOGIN" XDG_RUNTIME_DIR="$LOGIN/run" \
		CONTAINERS_CONF="$CONTAINERS_CONF" LIBRARY="$LIBRARY" IMAGE="$IMAGE" \
		PIDFILE="$WORK/pid/$BASHPID" "$@"
}

on_rootless()
{
	as_user bash -c "$(declare -f run_rootless); run_rootless \"\$@\"" rootless "$@"
}

# ---- cases

# contained_server STACK PROGRAM ARGS...
contained_server()
{
	start "$1" server "${@:2}"
	wait_for 60 listening_or_gone server
	listening || problem "the server does not listen on port $PORT"
	[[ $1 == stock ]] || expect_contained server "$(<"$WORK/pid/${pids[server]}")" 1000 "$MEMLOCK"
}

# rping_case SERVER CLIENT
rping_case()
{
	begin "rping, server $1, client $2"
	contained_server "$1" rping -s -a "$RDMA_ADDR" -p "$PORT" -C 20 -v
	client "$2" rping -c -a "$RDMA_ADDR" -p "$PORT" -C 20 -v -V
	both_succeed
	expect_lines client 20 '^ping data: rdma-ping-[0-9]+: '
	end
}

# fio_case SERVER CLIENT
fio_case()
{
	begin "fio, server $1, client $2"
	fio_commands
	contained_server "$1" "${RECEIVER[@]}"
	client "$2" "${SENDER[@]}"
	both_succeed
	expect_lines client 1 "$FIO_WRITES"
	end
}

# ---- the tests

CG=/sys/fs/cgroup
LOGIN=$WORK/login
TAR=$WORK/rdma.tar

clean_up()
{
	podman rm -fa &>/dev/null
	[[ ! -d $CG/login ]] || (as_user podman rm -fa) &>/dev/null
	umount -R /var/lib/containers "$LOGIN" 2>/dev/null
	rm -rf "$WORK"
	rmdir "$CG/login"/* "$CG/login" 2>/dev/null
	# podman's own, which would keep the controllers of the root in use
	find "$CG/libpod_parent" -depth -type d -exec rmdir {} + 2>/dev/null
}
trap clean_up EXIT

begin "an image of the distribution's programs, for root and for a user"
{ make_image "$WORK/image" /usr/bin/rping /usr/bin/fio && tar -C "$WORK/image" -cf "$TAR" .; } ||
	problem "cannot make $WORK/image"
# Images need a file system other than an overlay, as overlays do not nest.
{ mkdir -p /var/lib/containers "$LOGIN" && mount -t tmpfs tmpfs /var/lib/containers &&
	mount -t tmpfs tmpfs "$LOGIN" && mkdir "$LOGIN/run" && chown -R 1000:1000 "$LOGIN"; } ||
	problem "no place for images"
{ mkdir "$CG/login" && chown -R 1000:1000 "$CG/login"; } || problem "no cgroup for the user"
{ useradd -u 1000 -M -d "$LOGIN" login &&
	usermod -v 100000-165535 -w 100000-165535 login; } || problem "no user"
# quote cdi
install -D -m 644 "$CDI_SPEC" /etc/cdi/rdma_ep.json
# end quote
podman import -q "$TAR" "$IMAGE" > "$WORK/import" 2>&1 || problem "$(<"$WORK/import")"
(as_user podman import -q "$TAR" "$IMAGE") > "$WORK/import" 2>&1 ||
	problem "rootless: $(<"$WORK/import")"
end

rping_case rootless podman
rping_case podman stock
rping_case stock rootless
fio_case rootless podman
fio_case podman stock

finish_tests
