# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# "make demo": build, boot, run, and print a summary

# Prints "name<TAB>bytes" lines as a table, and their sum.
demo_programs()
{
	awk -F '\t' '{ printf "  %-58s %12d bytes\n", $1, $2; sum += $2 }
		END { printf "  %-58s %12d bytes\n", "together", sum }' "$1"
}

demo_summary()
{
	local r=$1
	cat <<-END

	What just ran
	=============
	Kernel:  Linux $KVER (Debian $SUITE) in a QEMU guest ($ACCEL)
	Device:  ${DEVICE}0, a software RDMA device ($DEVICE), made by the guest;
	         it sent $(<"$r/demo.packets") packets
	Module:  rdma_ep.ko, built from this checkout, loaded by insmod, unloaded at the end
	Programs: Debian's own, unmodified; "rdma-ep-run PROGRAM" puts one on rdma_ep

	$(sed 's/^/  /' "$r/demo.commands")

	$(demo_programs "$r/demo.programs")

	The kernel's own list of objects while rping ran ("rdma resource show"). With the
	stock libraries they would belong to the two rping processes; here the kernel
	owns them, [rdma_ep]:

	$(awk -F '\t' '{ sub(/^link /, "", $2); printf "  %-6s %s\n", $1, $2 }' "$r/demo.objects")

	The same on your own machine (headers of your kernel, libibverbs-dev and
	librdmacm-dev installed, an RDMA device present; "rdma link add rxe0 type rxe
	netdev eth0" makes one):

	  make && sudo make install
	  sudo modprobe rdma_ep          # or: sudo insmod rdma_ep.ko
	  rdma-ep-run rping -s -a ADDRESS &  rdma-ep-run rping -c -a ADDRESS -C 10 -v

	END
}

cmd_demo()
{
	local rc=0
	PARTS="modules lib"
	prepare
	results_dir
	guest_job 'exec bash /rig/guest/demo'
	boot_banner
	guest_run "$RESULTS_TMP" >&2 || rc=$?
	show_splats "$RESULTS_TMP" || rc=$((rc ? rc : 1))
	((rc)) || demo_summary "$RESULTS_TMP"
	keep_results
	((!rc)) || say "the demonstration FAILED (status $rc)"
	return "$rc"
}
