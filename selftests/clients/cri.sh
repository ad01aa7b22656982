#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Pods of containerd, created by the calls of a kubelet: two instances of the pod of
# packaging/kubernetes/pod.json, with rping and fio in them, and with a peer on the host. Their
# processes have an RLIMIT_MEMLOCK of 0: a rule lets them register memory. The page has the output
# of one.
#
# It would catch a CDI specification that containerd refuses; a program that needs more than the
# node and the library: a capability, a system call that the default filter denies, a writable file;
# a rule without effect in the cgroups of pods.

# shellcheck source=selftests/clients/common.sh
. "$(dirname "$0")/common.sh"
# shellcheck source=selftests/clients/engine.sh
. "$(dirname "$0")/engine.sh"

POD=${CDI_SPEC%/cdi/*}/kubernetes/pod.json
DOC=${CDI_SPEC%/packaging/*}/docs/admin/containers.md
RULES=/sys/module/rdma_ep/parameters/rules
STATE=$WORK/containerd
PLUGIN=cdi		# kind of reply of the device plugin
SOCKET=$STATE/socket

not_on_stock "pods of containerd"
if ! type containerd &>/dev/null; then
	skip "pods of containerd" "no containerd in this suite"
	finish_tests
fi

# cri METHOD JSON: makes a call. One process makes all calls, as it takes seconds to start,
# emulated.
cri()
{
	local answer
	echo "$1 $2" >&7
	read -r -t 130 answer <&8 || answer="! $1: no answer"
	if [[ $answer == "!"* ]]; then
		echo "$answer" >&2
		return 1
	fi
	echo "$answer"
}

start_cri()
{
	mkfifo "$STATE/requests" "$STATE/answers" || return 1
	python3 "$HERE/cri.py" "$SOCKET" <> "$STATE/requests" > "$STATE/answers" &
	CRI=$!
	exec 7> "$STATE/requests" 8< "$STATE/answers"
}

# answer FIELD: prints its value in the JSON on stdin
answer()
{
	sed -nE "s/.*\"$1\": *\"?([^\",}]*).*/\1/p"
}

request()
{
	python3 "$HERE/kubelet.py" "$1" "$POD" "$2" "$STATE/logs" "${@:3}"
}

# ---- pods: their ids by name

declare -A SANDBOXES CONTAINERS

# pod NAME COMMAND...: creates and starts its sandbox and its container
pod()
{
	local name=$1 id
	SANDBOXES[$name]=$(cri RunPodSandbox "$(request sandbox "$name")" 2>"$WORK/cri" |
		answer pod_sandbox_id)
	id=$(cri CreateContainer "$(request container "$name" "${SANDBOXES[$name]}" "$LIBRARY" \
		"$PLUGIN" "${@:2}")" 2>>"$WORK/cri" | answer container_id)
	CONTAINERS[$name]=$id
	[[ ! $id ]] || cri StartContainer "{\"container_id\": \"$id\"}" >/dev/null 2>>"$WORK/cri"
	[[ ! -s $WORK/cri ]] ||
		problem "pod $name: $(tail -n 3 "$WORK/cri")"
}

# status_of NAME FIELD
status_of()
{
	cri ContainerStatus "{\"container_id\": \"${CONTAINERS[$1]}\"}" | answer "$2"
}

exited()
{
	[[ $(status_of "$1" state) == CONTAINER_EXITED ]]
}

# The container's path in the unified hierarchy
pod_cgroup()
{
	echo "/sys/fs/cgroup/kubepods/burstable/pod$1/${CONTAINERS[$1]}"
}

pod_ended()
{
	[[ ! ${CONTAINERS[$1]} ]] || ! grep -qs '^populated 1$' "$(pod_cgroup "$1")/cgroup.events"
}

pod_listening_or_ended()
{
	listening || pod_ended "$1"
}

pod_server()
{
	pod "$@"
	wait_for 40 pod_listening_or_ended "$1"
	listening || problem "the pod $1 does not listen on port $PORT"
}

# finish_pod NAME STATUS: waits for its end; its output becomes that of the program NAME
finish_pod()
{
	local got
	wait_for 60 pod_ended "$1" || no_progress "pod $1 does not end"
	wait_for 30 exited "$1" || problem "containerd has not seen the end of pod $1"
	got=$(status_of "$1" exit_code)
	[[ ${got:-0} == "$2" ]] || problem "pod $1: exit status ${got:-0}, not $2"
	sed -n 's/^[^ ]* stdout . //p' "$STATE/logs/$1.log" > "$WORK/$1.out"
	sed -n 's/^[^ ]* stderr . //p' "$STATE/logs/$1.log" > "$WORK/$1.err"
}

remove_pod()
{
	local id
	id="{\"pod_sandbox_id\": \"${SANDBOXES[$1]}\"}"
	{ cri StopPodSandbox "$id" && cri RemovePodSandbox "$id"; } >/dev/null 2>"$WORK/cri" ||
		problem "pod $1 stays: $(<"$WORK/cri")"
	rm -f "$STATE/logs/$1.log"
}

# ---- the output on the page, of the pod "server"

look()
{
	# quote look
	grep -E '^(Uid|CapBnd|NoNewPrivs|Seccomp):' "/proc/$PID/status"
	grep '^Max locked memory' "/proc/$PID/limits"
	cat "/proc/$PID/cgroup"
	grep -hE '^(objects|cgroup-pinned-memory):' "/proc/$PID/fdinfo/"*
	# end quote
}

metrics()
{
	# quote metrics
	rdma-ep metrics | grep -E '^rdma_ep_(traffic_bytes|messages)_total.*/podserver/'
	# end quote
}

# on_page COMMAND: each line of its output is a line of the page, which has ID for the container's
# id, rxe0 for the device and TIME for the time of a log
on_page()
{
	local line n=0
	while read -r line; do
		n=$((n + 1))
		echo "# | $line"
		grep -qxF -- "$line" "$DOC" || problem "no line '$line' on the page"
	done < <("$1" | sed -E "s/${CONTAINERS[server]}/ID/; s/\"$RDMA_DEV\"/\"rxe0\"/; s/[ \t]+/ /g
		s/^20[0-9]{2}-[^ ]*/TIME/; s/ $//")
	((n > 3)) || problem "$1 prints $n lines"
}

log()
{
	grep -m 4 ' stdout ' "$STATE/logs/server.log"
}

# ---- containerd

containerd_answers()
{
	[[ -S $SOCKET ]] && cri Version '{}' &>/dev/null
}

# (Containers inherit this limit.)
on_containerd()
{
	ulimit -l 0
	exec containerd --config "$WORK/config.toml"
}

start_containerd()
{
	mkdir -p "$STATE"/{root,state,logs} && mount -t tmpfs tmpfs "$STATE/root" || return 1
	cat > "$WORK/config.toml" <<-END
		version = 2
		root = "$STATE/root"
		state = "$STATE/state"
		[grpc]
		  address = "$SOCKET"
		[plugins."io.containerd.grpc.v1.cri"]
		  sandbox_image = "localhost/pause:latest"
		  enable_cdi = true
		  cdi_spec_dirs = ["/etc/cdi"]
	END
	(on_containerd) > "$WORK/containerd.log" 2>&1 &
	CONTAINERD=$!
	start_cri && wait_for 60 containerd_answers
}

# import_image NAME CONFIG PROGRAM...: imports an archive in the format of "docker save"
import_image()
{
	local name=$1 config=$2 dir=$STATE/$1 sum
	make_image "$dir/root" "${@:3}" && tar -C "$dir/root" -cf "$dir/layer.tar" . || return 1
	sum=$(sha256sum < "$dir/layer.tar")
	printf '{ "architecture": "amd64", "os": "linux", "config": %s,
		"rootfs": { "type": "layers", "diff_ids": [ "sha256:%s" ] } }' \
		"$config" "${sum%% *}" > "$dir/config.json"
	printf '[ { "Config": "config.json", "Layers": [ "layer.tar" ],
		"RepoTags": [ "localhost/%s:latest" ] } ]' "$name" > "$dir/manifest.json"
	tar -C "$dir" -cf "$dir.tar" manifest.json config.json layer.tar &&
	ctr -a "$SOCKET" -n k8s.io images import "$dir.tar" && rm -rf "$dir" "$dir.tar"
}

clean_up()
{
	kill "$CRI" "$CONTAINERD" 2>/dev/null
	wait "$CRI" "$CONTAINERD" 2>/dev/null
	umount -l "$STATE/root" 2>/dev/null
	rm -rf --one-file-system "$WORK"
	find /sys/fs/cgroup/kubepods -depth -type d -exec rmdir {} + 2>/dev/null
	[[ ! -e $RULES ]] || echo " " > "$RULES"
}
trap clean_up EXIT

# ---- the tests

RPING=(/usr/bin/rping -v -C 20 -a "$RDMA_ADDR")

begin "containerd, with images of the distribution's programs"
install -D -m 644 "$CDI_SPEC" /etc/cdi/rdma_ep.json
start_containerd || problem "containerd: $(tail -n 5 "$WORK/containerd.log")"
import_image pause '{ "Entrypoint": [ "/usr/bin/catatonit", "-P" ] }' /usr/bin/catatonit \
	> "$WORK/import" 2>&1 || problem "pause: $(tail -n 3 "$WORK/import")"
import_image rdma '{}' /usr/bin/rping /usr/bin/fio > "$WORK/import" 2>&1 ||
	problem "rdma: $(tail -n 3 "$WORK/import")"
end

begin "rping between two pods, with a rule"
# quote rule
LIMITS="objects=64 queue=4M pinned=16M memlock=quota users=apart"
echo "/kubepods/pod* $LIMITS; /kubepods/*/pod* $LIMITS" > /sys/module/rdma_ep/parameters/rules
# end quote
pod_server server "${RPING[@]}" -s -p "$PORT"
PID=$(head -n 1 "$(pod_cgroup server)/cgroup.procs")
expect_contained server "$PID" 1000 0
on_page look
PLUGIN=path pod client "${RPING[@]}" -c -p "$PORT" -V
finish_pod client 0
finish_pod server 0
expect_lines client 20 '^ping data: rdma-ping-[0-9]+: '
on_page log
on_page metrics
remove_pod client
remove_pod server
end

begin "rping between a pod and the host, on the stock stack"
pod_server server "${RPING[@]}" -s -p "$PORT"
client stock rping -v -C 20 -a "$RDMA_ADDR" -c -p "$PORT" -V
expect_status client 0
finish_pod server 0
expect_lines client 20 '^ping data: rdma-ping-[0-9]+: '
remove_pod server
end

begin "fio between two pods"
fio_commands
pod_server server "${RECEIVER[@]}"
pod client "${SENDER[@]}"
finish_pod client 0
finish_pod server 0
expect_lines client 1 "$FIO_WRITES"
remove_pod client
remove_pod server
end

begin "fio between a pod and the host, on the stock stack"
fio_commands
pod_server server "${RECEIVER[@]}"
client stock "${SENDER[@]}"
expect_status client 0
finish_pod server 0
expect_lines client 1 "$FIO_WRITES"
remove_pod server
end

begin "a pod that exceeds its cgroup's limit is refused"
echo "/kubepods/*/pod* pinned=32K memlock=quota" > "$RULES"
pod client "${RPING[@]}" -c -p "$PORT" -S 60000
finish_pod client 12	# ENOMEM
expect_error client "reg_mr failed"
remove_pod client
end

begin "RLIMIT_MEMLOCK 0 applies without a rule"
echo " " > "$RULES"
pod client "${RPING[@]}" -c -p "$PORT"
finish_pod client 1	# EPERM, as no memory at all may be locked
expect_error client "reg_mr failed"
remove_pod client
end

finish_tests
