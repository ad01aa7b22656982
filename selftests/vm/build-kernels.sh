#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# build-kernels.sh [PATTERN]: compiles and links the module for the kernels of the list "kernels"
# whose names match, and prints the result of each. A kernel of this machine's architecture also
# boots and runs rping.sh. $CACHE/kernels gets NAME.imports (the symbols that the module imports),
# NAME.log, and NAME.results (the results of the guest).
#
# Each kernel has a layer over a suite's tree, which is kept; FRESH=1 makes it again, with the
# current packages of the archive.
#
# build-kernels.sh --paths: prints the paths of all kernels of the list in the cache: "NAME", which
# has several suffixes, and the layer

# shellcheck source=selftests/vm/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
for part in host-packages chroot rootfs qemu initramfs accel sources boot report; do
	# shellcheck disable=SC1090
	. "$VM_DIR/$part.sh"
done

KERNELS=${KERNELS:-$VM_DIR/kernels}
FRESH=${FRESH:-}

# headers_in_tree SUITE PACKAGE ARCH COMPILER: installs the headers. Runs in the tree, as root of a
# writable layer.
headers_in_tree()
{
	set -e -o pipefail
	local suite=$1 package=$2 arch=$3 compiler=$4
	local state=/var/lib/build-kernels uri apt release common kbuild image parts
	export DEBIAN_FRONTEND=noninteractive

	if [[ $compiler != - ]]; then
		apt-get -q update
		apt-get -qq -y --no-install-recommends install "$compiler"
	fi

	# Use this suite only: apt would choose the newest of all.
	uri=$(find /etc/apt -name '*.list' -exec cat {} + | awk -v want="$([[ $suite != *-security ]] || echo -security)" '
		/^deb / {
			sub(/\[[^]]*\] */, "")
			if (($3 ~ /-security$/ ? "-security" : "") == want)
				uri = $2
		}
		END { print uri }')
	mkdir -p $state/lists/partial $state/archives/partial
	: > $state/status
	echo "deb $uri $suite main" > $state/sources.list
	apt=(-q -o APT::Sandbox::User=root -o "Dir::State=$state"
		-o "Dir::State::status=$state/status" -o "Dir::Cache=$state"
		-o "Dir::Etc::sourcelist=$state/sources.list"
		-o Dir::Etc::sourceparts=/dev/null)
	local foreign=("${apt[@]}" -o "APT::Architecture=$arch" -o "APT::Architectures=$arch")
	depends()
	{
		apt-cache "${foreign[@]}" depends "$1" |
			sed -n 's/^ *|\?Depends: //p' | grep -m1 -E "$2"
	}
	apt-get "${foreign[@]}" update
	release=$(depends "$package" '^linux-headers-[0-9]')
	common=$(depends "$release" '^linux-headers-.*-common')
	kbuild=$(depends "$release" '^linux-kbuild-')
	cd $state
	apt-get "${foreign[@]}" download "$release" "$common"
	# The image may be a package that only depends on those with the kernel and its modules.
	[[ $package != linux-headers-amd64 ]] || {
		image=linux-image-${release#linux-headers-}
		mapfile -t parts < <(apt-cache "${foreign[@]}" depends "$image" |
			sed -n "s/^ *Depends: \(.*-${release#linux-headers-}\)$/\1/p")
		apt-get "${foreign[@]}" download "$image" "${parts[@]}"
	}
	# The programs of kbuild run on this machine.
	apt-get "${apt[@]}" update
	apt-get "${apt[@]}" download "$kbuild"
	for deb in *.deb; do
		dpkg-deb -x "$deb" $state/root
	done
	# Copy into the merged /usr: "cp" does not follow links to directories.
	[[ ! -d $state/root/lib ]] || {
		cp -a $state/root/lib/. /usr/lib/
		rm -rf $state/root/lib
	}
	cp -a $state/root/. /
	rm -rf $state/root ./*.deb
	echo "${release#linux-headers-}" > $state/release
}

# An RDMA stack next to the kernel's, in the layout of MLNX_OFED and DOCA-OFED, with the kernel's
# own headers and symbols. Its modules have other paths, as in these: modpost refuses a symbol that
# one module exports twice.
ofed_in_layer()
{
	local dir=$1 common=$2 headers=$3
	mkdir -p "$dir/include/linux" &&
	cp -rL "$common-common/include/rdma" "$dir/include/" &&
	echo '#define RDMA_EP_OFED_HEADERS' > "$dir/include/linux/compat-2.6.h" &&
	sed -n 's|\tdrivers/infiniband/|\t/ofed/drivers/infiniband/|p' \
		"$headers/Module.symvers" > "$dir/Module.symvers"
}

# build_in_layer NAME KARCH CROSS TESTS: builds /src, and installs it and the tests for a kernel
# that boots
build_in_layer()
{
	local name=$1 release headers ofed
	shift
	release=$(</var/lib/build-kernels/release)
	headers=/usr/src/linux-headers-$release
	ofed=/usr/src/ofa_kernel/$(uname -m)/$release
	rm -rf /usr/src/ofa_kernel
	[[ $name != *-ofed ]] || ofed_in_layer "$ofed" \
		"${headers%-*}" "$headers" || return 1
	# The debug information takes as long as all the rest.
	local make=(make -j2 -C /src modules "KVER=$release" "KDIR=$headers"
		KCFLAGS=-g0 CONFIG_DEBUG_INFO_BTF_MODULES=)
	[[ $1 == - ]] || make+=("ARCH=$1")
	[[ $2 == - ]] || make+=("CROSS_COMPILE=$2")
	"${make[@]}" || return 1
	[[ ! -e /boot/vmlinuz-$release ]] ||
		make -j2 -C /src "KVER=$release" "KDIR=$headers" lib tools install || return 1
	[[ ! -e /boot/vmlinuz-$release ]] ||
		make -C /src/selftests "INSTALL_PATH=$3" install-scripts || return 1
	if [[ $name == *-ofed ]] &&
	   ! grep -q "$ofed/include/rdma/ib_verbs.h" /src/kmod/drivers/.caps.o.cmd; then
		echo "error: not built with the headers in $ofed"
		return 1
	fi
	"${2#-}nm" -u /src/rdma_ep.ko | awk '{ print $2 }' | sort -u > /src/imports
}

# kernel_layer LAYER NAME SUITE PACKAGE ARCH COMPILER
kernel_layer()
{
	local layer=$1 tmp=$1.new.$$
	shift
	[[ ! -d $layer ]] || return 0
	# Remove leftovers of interrupted runs, which the lock excludes, and objects of the source: they
	# were compiled with the headers of an earlier layer.
	rm -rf --one-file-system "$layer.new"* "$CACHE/kernels/$1.src"
	mkdir -p "$tmp"/{upper,overlay} &&
	TREE_LAYER=$tmp in_tree "$TREE" -- bash -c "
		$(declare -f headers_in_tree); headers_in_tree \"\$@\"" - "${@:2}" &&
	mv "$tmp" "$layer"
}

# build_kernel NAME SUITE PACKAGE ARCH KARCH COMPILER CROSS
build_kernel()
{
	local name=$1 dir=$CACHE/kernels layer src rc=0
	layer=$(layer_of "$name")
	src=$dir/$name.src
	[[ -z $FRESH ]] || rm -rf --one-file-system "$layer"
	kernel_layer "$layer" "$name" "$2" "$3" "$4" "$6" || return 1
	rm -f "$src/imports" "$src/rdma_ep.ko"
	TREE_LAYER=$layer source_build "$src" "$src.log" in_tree "$TREE" "$src src" -- bash -c "
		$(declare -f ofed_in_layer build_in_layer)
		build_in_layer \"\$@\"" - "$name" "$5" "$7" "$GUEST_TESTS" || rc=$?
	cat "$src.log"
	((!rc)) || return "$rc"
	cp "$src/imports" "$dir/$name.imports" || return 1
	[[ $name == *-ofed || $3 != linux-headers-amd64 ]] || boot_kernel "$name" "$layer" "$src"
}

# layer_of NAME: prints its layer, named after the tree's contents and headers_in_tree()
layer_of()
{
	echo "$CACHE/kernels/$1-$TREE_ID-$(declare -f headers_in_tree | sha256sum | cut -c1-6)"
}

# boot_kernel NAME LAYER SRC: boots the kernel and runs rping.sh
boot_kernel()
{
	STAGE=$2/upper KERNEL_ROOT=$2/root RESULTS_TMP=$CACHE/kernels/$1.results
	KVER=$(<"$STAGE/var/lib/build-kernels/release")
	rm -rf --one-file-system "$STAGE/rig/guest" "$RESULTS_TMP"
	mkdir -p "$STAGE/rig" "$STAGE/results" "$KERNEL_ROOT" "$RESULTS_TMP" &&
	cp -r "$3/selftests/vm/guest" "$STAGE/rig/" &&
	ln -sfT ../upper/boot "$KERNEL_ROOT/boot" &&
	ln -sfT ../upper/usr/lib "$KERNEL_ROOT/lib" || return 1
	# In the layer, as the name of the initramfs does not depend on the kernel's version
	SUITE_DIR=$2 initramfs
	accel
	echo "DEVICE=rxe PAIRS=ours:ours KVER=$KVER SUITE=$SUITE" > "$RESULTS_TMP/env"
	printf '%s\n' 'set -a; . /results/env; set +a; . /rig/guest/lib.sh' \
		'setup_rdma && modprobe rdma_ep || exit 1' \
		"cd $GUEST_TESTS && exec ./clients/rping.sh" > "$RESULTS_TMP/job"
	guest_run "$RESULTS_TMP" && show_splats "$RESULTS_TMP"
}

# Prints the paths of all kernels whose tree there is.
kernels_paths()
{
	local name SUITE SUITE_DIR TREE TREE_ID
	while read -r name SUITE _; do
		[[ $name && $name != \#* ]] || continue
		SUITE_DIR=$CACHE/$SUITE
		TREE=$SUITE_DIR/rootfs-$(rootfs_key)
		echo "$CACHE/kernels/$name"
		[[ -d $TREE ]] || continue
		tree_id
		layer_of "$name"
	done < "$KERNELS"
}

# kernels_build [PATTERN]
kernels_build()
{
	local failed=0 built=0 name tree suite package arch karch compiler cross log release
	need_root
	host_packages
	mkdir -p "$CACHE/kernels"
	while read -r name tree suite package arch karch compiler cross; do
		# shellcheck disable=SC2053
		[[ $name && $name != \#* && $name == ${1:-*} ]] || continue
		# What rootfs() works on
		SUITE=$tree SUITE_DIR=$CACHE/$tree
		rootfs
		log=$CACHE/kernels/$name.log
		if with_lock "$CACHE/kernels/$name.lock" build_kernel "$name" "$suite" \
				"$package" "${arch:-amd64}" "${karch:--}" \
				"${compiler:--}" "${cross:--}" > "$log" 2>&1 </dev/null; then
			built=$((built + 1))
			release=$(<"$(layer_of "$name")/upper/var/lib/build-kernels/release")
			printf '%-20s %-28s ok, %s\n' "$name" "$release" \
				"$([[ -e $CACHE/kernels/$name.results ]] && echo booted || echo "not booted")"
		else
			failed=$((failed + 1))
			printf '%-20s FAILED: %s\n' "$name" "$log"
			grep -E '(error|warning):|ERROR:|WARNING:|undefined' "$log" | head -n 5
		fi
	done < "$KERNELS"
	echo "$built kernels built, $failed failed"
	((built && !failed))
}

if [[ ${1:-} == --paths ]]; then
	kernels_paths
elif [[ ${BASH_SOURCE[0]} == "$0" ]]; then
	kernels_build "$@"
fi
