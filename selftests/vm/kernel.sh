# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# The kernel: Debian's, in the suite's tree, or, with KERNEL=NAME, one that is built from Debian's
# source with NAME.config. The latter is kept in the cache, outside of any checkout, with a hash of
# its sources in its name. KCSAN instruments only the modules that are built for it.

# Packages that the build of the kernel needs beyond those in the tree
KERNEL_PACKAGES=(flex bison bc libelf-dev xz-utils)

# Prints the configuration. Options of a file with a line "# Base: FILE" replace those of that file.
kernel_config()
{
	local base
	base=$(sed -n 's/^# Base: //p' "$KERNEL_CONFIG")
	awk '
		{ option = match($0, /CONFIG_[A-Z0-9_]+/) ? substr($0, RSTART, RLENGTH) : "" }
		NR == FNR { own[option] }
		NR == FNR || !option || !(option in own)' \
		"$KERNEL_CONFIG" ${base:+"$VM_DIR/$base"}
}

kernel_key()
{
	{
		# The versions of the compiler and of Debian's kernel, which is that of the source
		dpkg-query --admindir "$TREE/var/lib/dpkg" -W gcc linux-image-amd64
		cat "$TREE/rig/kver" <(kernel_config) "$VM_DIR/kernel-in-tree"
	} | sha256sum | cut -c1-12
}

# kernel_build ROOT: makes lib/modules with the build directory for modules, as in a tree, and boot
# and kver
kernel_build()
{
	local root=$1 work=$1.work.$$ log=$1.log rc=0
	[[ ! -d $root ]] || return 0	# another rig was faster

	find "$SUITE_DIR" -maxdepth 1 -name 'kernel-*.work.*' -type d \
		-exec rm -rf --one-file-system {} +
	mkdir -p "$work"/{src,upper,overlay} &&
	kernel_config > "$work/src/config" &&
	cp "$VM_DIR/kernel-in-tree" "$work/src/" || return 1
	# Packages go into a layer that is removed afterwards.
	TREE_LAYER=$work in_tree "$TREE" "$work/src src" -- \
		env KCSAN_SANITIZE=n nice -n 10 bash /src/kernel-in-tree "$(<"$TREE/rig/kver")" \
		"${KERNEL_PACKAGES[@]}" > "$log" 2>&1 </dev/null || rc=$?
	if ((rc)); then
		tail -n 30 "$log" >&2
	else
		# A kernel is complete once it has this name.
		mv "$work/src/root" "$root" || rc=1
	fi
	rm -rf --one-file-system "$work"
	return "$rc"
}

# Sets KERNEL_ROOT.
kernel_paths()
{
	KERNEL_ROOT=$TREE
	[[ -n $KERNEL ]] || return 0
	KERNEL_CONFIG=$VM_DIR/$KERNEL.config
	[[ -f $KERNEL_CONFIG ]] || die "no kernel '$KERNEL' ($KERNEL_CONFIG)"
	KERNEL_ROOT=$SUITE_DIR/kernel-$KERNEL-$(kernel_key)
}

# Sets KERNEL_ROOT (with lib/modules/$KVER and boot/vmlinuz-$KVER), KVER, and KERNEL_BINDS, which
# mounts the modules for builds in the tree.
kernel()
{
	kernel_paths
	KVER=$(<"$TREE/rig/kver")
	KERNEL_BINDS=()
	[[ -n $KERNEL ]] || return 0

	[[ -d $KERNEL_ROOT ]] ||
		step "building the $KERNEL kernel (about 15 minutes, once)" \
			with_lock "$SUITE_DIR/kernel.lock" \
			kernel_build "$KERNEL_ROOT" ||
		die "no $KERNEL kernel, log: $KERNEL_ROOT.log"
	KVER=$(<"$KERNEL_ROOT/kver")
	KERNEL_BINDS=("$KERNEL_ROOT/lib/modules usr/lib/modules")
}
