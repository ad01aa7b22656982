# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# A Debian suite as a directory tree: its kernel with headers and compiler (the module is built in
# it), its rdma-core and rdmacm-utils (the unmodified programs that test the module). The same tree
# is later the read-only root of the guest.

ROOTFS_PACKAGES=(
	# the kernel under test, and the tools that build modules and programs for it
	linux-image-amd64 linux-headers-amd64 gcc ccache make libc6-dev kmod
	# the stock RDMA user space
	rdma-core rdmacm-utils perftest ibverbs-utils ibverbs-providers
	librdmacm-dev libibverbs-dev python3-pyverbs
	# tools of the tests
	iproute2 iputils-ping mount procps strace python3 valgrind crun bpftrace
	# programs that run over rdma_ep
	fio ucx-utils libfabric-bin openmpi-bin python3-mpi4py libiscsi-bin qemu-system-x86
	# tools of "make lint"
	perl sparse shellcheck
)
# sid no longer has these.
ROOTFS_PACKAGES_STABLE=(librpma-dev)

# The files that are unpacked from the suite's kernel source package
KSELFTEST_FILES=(
	tools/testing/selftests/lib.mk
	tools/testing/selftests/kselftest.h
	tools/testing/selftests/kselftest_harness.h
	tools/testing/selftests/kselftest
	scripts/checkpatch.pl
	scripts/const_structs.checkpatch
	scripts/spelling.txt
	scripts/coccinelle
	drivers/infiniband/sw/siw
)

# Prints a line "URI RELEASE COMPONENT ORIGIN" for each list of packages of this machine's apt,
# whatever the format of its configuration.
apt_archives()
{
	# apt expands the format's $(...).
	# shellcheck disable=SC2016
	apt-get indextargets --format '$(SITE) $(RELEASE) $(COMPONENT) $(ORIGIN)' \
		'Created-By: Packages' 2>/dev/null | sort -u
}

# Prints "deb URI SUITE main" lines for $SUITE, from the archive of this machine.
rootfs_sources()
{
	local codename archives uri release component
	# shellcheck disable=SC1091
	codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
	archives=$(apt_archives)
	# An image may come without lists.
	[[ $archives ]] || {
		apt_update
		archives=$(apt_archives)
	}
	# Other archives may have releases and components with Debian's names.
	! grep -q ' Debian$' <<< "$archives" || archives=$(grep ' Debian$' <<< "$archives")
	while read -r uri release component _; do
		[[ $component == main ]] || continue
		case $release in
		"$codename" | stable)
			echo "deb $uri $SUITE main" ;;
		"$codename-updates" | "$codename-security" | stable-*)
			# unstable has neither
			[[ $SUITE == sid || $SUITE == unstable ]] ||
				echo "deb $uri $SUITE-${release##*-} main" ;;
		esac
	done <<< "$archives" | sort -u
}

# Prints options of this machine's apt, one per line, with which the new tree reaches the archive:
# proxies, snapshots with an expired Release file.
rootfs_aptopts()
{
	apt-config dump |
		grep -E '^Acquire::(https?::|Check-|Retries|ForceIPv)[^ ]* "[^"]+";$'
}

# mmdebstrap's customize hook, with the path of the new tree as $1: does the work that --include
# cannot do.
rootfs_customize()
{
	local tree=$1 kver src
	# The kernel of linux-image-amd64, and its source package
	kver=$(cd "$tree/lib/modules" && echo *)
	[[ -L $tree/lib/modules/$kver/build ]] || {
		echo "no headers for kernel '$kver'" >&2
		return 1
	}
	src=linux-source-$(echo "$kver" | cut -d. -f1-2)
	mkdir -p "$tree/usr/src/kselftest" "$tree/tmp/src" &&
	(cd "$tree/tmp/src" && chmod 777 . &&
	 chroot "$tree" sh -c "cd /tmp/src && apt-get -qq download $src") &&
	dpkg-deb --fsys-tarfile "$tree"/tmp/src/*.deb |
		tar -xO --wildcards "./usr/src/$src.tar.*" |
		xz -dc |
		tar -x -C "$tree/usr/src/kselftest" --strip-components=1 \
			"${KSELFTEST_FILES[@]/#/$src/}" || return 1
	rm -rf "$tree/tmp/src"

	# Mount points, as the tree is read-only in use
	mkdir -p "$tree"/{rig,src,stage,results,var/cache/ccache} \
		"$tree/lib/modules/$kver/updates" &&
	echo "$kver" > "$tree/rig/kver" || return 1

	# The guest's init loads all modules itself.
	rm -f "$tree"/boot/initrd.img-*
}

# The packages of this suite, separated by blanks
rootfs_packages()
{
	echo "${ROOTFS_PACKAGES[*]}$([[ $SUITE == @(sid|unstable) ]] ||
		printf ' %s' "${ROOTFS_PACKAGES_STABLE[@]}")"
}

# The name of a tree has a hash of all that determines its contents.
rootfs_key()
{
	{
		echo "$SUITE $(rootfs_packages) ${KSELFTEST_FILES[*]}"
		declare -f rootfs_customize rootfs_make
	} | sha256sum | cut -c1-12
}

rootfs_make()
{
	local tmp=$1 customize=$2 sources=$3 aptopts
	mapfile -t aptopts < <(rootfs_aptopts)
	# INITRD: the kernel package need not make an initramfs. unsafe-io: a failed build removes
	# the tree.
	INITRD=No mmdebstrap --variant=apt --architectures=amd64 \
		--include="$(IFS=,; echo "${ROOTFS_PACKAGES[*]}")" \
		"${aptopts[@]/#/--aptopt=}" \
		--dpkgopt=force-unsafe-io \
		--dpkgopt='path-exclude=/usr/share/man/*' \
		--dpkgopt='path-exclude=/usr/share/doc/*' \
		--dpkgopt='path-include=/usr/share/doc/rdma-core*' \
		--dpkgopt='path-exclude=/usr/share/locale/*' \
		--customize-hook="$customize" \
		"$SUITE" "$tmp" "$sources"
}

rootfs_build()
{
	local tree=$1 tmp=$1.new.$$ log=$SUITE_DIR/rootfs.log rc=0
	# shellcheck disable=SC2207
	local ROOTFS_PACKAGES=($(rootfs_packages))
	[[ ! -d $tree ]] || return 0	# another rig was faster

	rootfs_sources > "$tmp.list"
	[[ -s $tmp.list ]] ||
		die "no Debian archive in this machine's apt configuration"
	{
		echo '#!/bin/bash'
		declare -p KSELFTEST_FILES
		declare -f rootfs_customize
		# shellcheck disable=SC2016
		echo 'rootfs_customize "$1"'
	} > "$tmp.customize"
	chmod +x "$tmp.customize"

	# Remove directories of interrupted builds: the lock excludes other rigs.
	find "$SUITE_DIR" -maxdepth 1 -name 'rootfs-*.new.*' -type d \
		! -path "$tmp" -exec rm -rf --one-file-system {} +

	rootfs_make "$tmp" "$tmp.customize" "$tmp.list" \
		>"$log" 2>&1 </dev/null || rc=$?
	rm -f "$tmp.customize" "$tmp.list"
	if ((rc)); then
		tail -30 "$log" >&2
		rm -rf --one-file-system "$tmp"
		return "$rc"
	fi
	# The image of a removed tree may be left. A tree is complete once it has this name.
	rm -f "$tree.img"
	mv "$tmp" "$tree"
}

rootfs_image()
{
	[[ -f $1.img ]] || image_of "$1" "$1.img"
}

# Sets TREE_ID, a hash of the kernel and of the versions of all packages. A tree that is made again
# keeps its name, with later versions in it: the names of things made from a tree have TREE_ID.
tree_id()
{
	TREE_ID=$(cat "$TREE/rig/kver" "$TREE/var/lib/dpkg/status" | sha256sum | cut -c1-12) ||
		die "no complete tree: $TREE"
}

# Sets TREE and TREE_ID, and builds the tree if necessary. $TREE.img is for guests.
rootfs()
{
	TREE=$SUITE_DIR/rootfs-$(rootfs_key)
	if [[ ! -d $TREE ]]; then
		step "root file system of Debian $SUITE" \
			with_lock "$SUITE_DIR/rootfs.lock" rootfs_build "$TREE" ||
			die "no root file system, log: $SUITE_DIR/rootfs.log"
	fi
	tree_id
	[[ -f $TREE.img ]] ||
		with_lock "$SUITE_DIR/rootfs.lock" rootfs_image "$TREE" ||
		die "no image of the root file system"
}
