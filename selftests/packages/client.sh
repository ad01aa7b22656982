#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# In a guest that boots the installed packages: systemd-modules-load loads the module, udev gives
# the device the mode of the policy, and an unmodified program of an unprivileged user runs on it.

# shellcheck source=selftests/packages/common.sh
. "$(dirname "$0")/common.sh"
# shellcheck source=selftests/vm/guest/lib.sh
. /rig/guest/lib.sh
node=/dev/infiniband/rdma_ep

check "this is $KVER" [ "$(uname -r)" = "$KVER" ]
check "a network" setup_network
check "an RDMA device" add_device

check "udev" /usr/lib/systemd/systemd-udevd --daemon
check "no device before" [ ! -e "$node" ]
check "the module is loaded as at boot" /usr/lib/systemd/systemd-modules-load
check "the module's file" show modinfo -n rdma_ep
check "it is the one of DKMS" grep "/updates/dkms/" <(modinfo -n rdma_ep)
udevadm settle
# is_mode MODE GROUP
is_mode()
{
	wait_for 20 test -e "$node"
	udevadm settle
	show ls -l "$node"
	[[ $(stat -c '%a %G' "$node") == "$*" ]]
}
check "anybody may open the device" is_mode 666 root

again()
{
	udevadm control --reload && udevadm trigger --settle /sys/class/misc/rdma_ep
}
local_rule()
{
	sed 's/GROUP="root", MODE="0666"/GROUP="rdma", MODE="0660"/' \
		/usr/lib/udev/rules.d/60-rdma_ep.rules \
		> /etc/udev/rules.d/60-rdma_ep.rules && again
}
check "a rule of the administrator's" local_rule
check "a group may open the device" is_mode 660 rdma
rm -f /etc/udev/rules.d/60-rdma_ep.rules
check "without it again" again
check "anybody may again" is_mode 666 root

# as_user COMMAND...
as_user()
{
	timeout 60 setpriv --reuid 65534 --regid 65534 --clear-groups "$@"
}
listening()
{
	rdma resource show cm_id | grep -q LISTEN
}
pings()
{
	local out=/tmp/client server
	as_user rdma-ep-run rping -s -a "$RDMA_ADDR" -C 10 &
	server=$!
	wait_for 20 listening || return 1
	# The server has opened the device of rdma_ep.
	find "/proc/$(pgrep -x rping)/fd" -lname "$node" | grep . || return 1
	show as_user rdma-ep-run rping -c -a "$RDMA_ADDR" -C 10 -v > "$out"
	echo "#> rdma-ep-run rping -s -a $RDMA_ADDR -C 10 &"
	cat "$out"
	wait "$server"
	(($(grep -c '^#| ping data: rdma-ping-' "$out") == 10))
}
check "nothing is in the way of it" show as_user rdma-ep doctor
check "rping of an ordinary user" pings

# unit_value NAME KEY
unit_value()
{
	sed -n "s/^$2=//p" "/usr/lib/systemd/system/rdma-ep-$1"
}

# A guest does not run systemd. systemd-socket-activate listens instead of the socket unit, and
# starts the command of the service unit for a connection, with the unit's capability.
scraper()
{
	local command address listener
	command=$(unit_value metrics@.service ExecStart)
	address=$(unit_value metrics.socket ListenStream)
	ip link set lo up
	# shellcheck disable=SC2086
	setpriv --reuid 65534 --regid 65534 --clear-groups --no-new-privs --inh-caps=-all,+perfmon \
		--ambient-caps=-all,+perfmon --bounding-set=-all,+perfmon \
		systemd-socket-activate --accept --inetd -l "$address" $command > /tmp/listener 2>&1 &
	listener=$!
	if ! { wait_for 20 eval "ss -Htln | grep -qF $address" &&
			exec 3<> "/dev/tcp/${address/://}"; }; then
		cat /tmp/listener
		return 1
	fi
	printf 'GET /metrics HTTP/1.1\r\nHost: %s\r\n\r\n' "$address" >&3
	timeout 60 cat <&3 > /tmp/scraped
	exec 3>&-
	kill "$listener"
	cat /tmp/scraped
	head -n 1 /tmp/scraped | grep -q '^HTTP/1.1 200 OK' &&
	grep -q '^rdma_ep_messages_total{.*uid="65534"' /tmp/scraped &&
	[[ $(tail -n 1 /tmp/scraped) == "# EOF" ]]
}
check "a scraper gets the metrics from the socket of the unit" scraper

textfile()
{
	local command
	command=$(unit_value textfile.service ExecStart)
	mkdir -p "$(dirname "${command##* }")"
	# shellcheck disable=SC2086
	setpriv --no-new-privs --inh-caps=-all --bounding-set=-all,+perfmon,+dac_override \
		$command &&
	grep '^# TYPE rdma_ep_messages_total counter$' "${command##* }"
}
check "the unit's command writes the file of a collector" textfile

limits()
{
	sed 's/session_max_objects=[0-9]*/session_max_objects=77/' \
		/rig/packages/modprobe.conf \
		> /etc/modprobe.d/rdma_ep.conf &&
	modprobe -r rdma_ep && modprobe rdma_ep &&
	(($(</sys/module/rdma_ep/parameters/session_max_objects) == 77))
}
check "limits from modprobe.d" limits
check "they are changed at run time" eval \
	'echo 88 > /sys/module/rdma_ep/parameters/session_max_objects'
# On SIGTERM, newer versions of udevd kill all processes of their control group: without systemd,
# all processes.
pkill -KILL -f systemd-udevd
finish_checks
