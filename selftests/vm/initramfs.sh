# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# The minimum that can mount the real root: busybox, the modules for disks and 9p over virtio, ext4
# and overlayfs, and guest/initramfs-init.

INITRAMFS_MODULES=(virtio_pci 9pnet_virtio 9p overlay virtio_blk ext4)
# ext4 requests crc32c from the crypto API by name, where it is a module.
INITRAMFS_OPTIONAL=(crc32c_generic)

# unpack_module FILE: prints it uncompressed, as busybox insmod cannot decompress
unpack_module()
{
	case $1 in
	*.ko.xz) xz -dc "$1" ;;
	*.ko.zst) zstd -qdc "$1" ;;
	*.ko.gz) gzip -dc "$1" ;;
	*) cat "$1" ;;
	esac
}

initramfs_build()
{
	local image=$1 work m path name
	[[ ! -f $image ]] || return 0
	work=$(mktemp -d) || return 1

	mkdir -p "$work"/{bin,dev,proc,sys,tree,stage,extras,rw,root,modules} &&
	cp /bin/busybox "$work/bin/" &&
	cp "$VM_DIR/guest/initramfs-init" "$work/init" &&
	chmod +x "$work/init" || return 1

	# Dependencies first, in the order in which modprobe would load them. Built-in modules have
	# no file.
	for m in "${INITRAMFS_OPTIONAL[@]}" "${INITRAMFS_MODULES[@]}"; do
		modprobe -d "$KERNEL_ROOT" -S "$KVER" --show-depends "$m" ||
			[[ " ${INITRAMFS_OPTIONAL[*]} " == *" $m "* || $KERNEL ]] ||
			return 1
	done > "$work.depends" 2>/dev/null
	: > "$work/modules/order"
	while read -r what path _; do
		[[ $what == insmod ]] || continue
		name=$(basename "$path")
		name=${name%%.*}.ko
		[[ ! -f $work/modules/$name ]] || continue
		unpack_module "$path" > "$work/modules/$name" || return 1
		echo "$name" >> "$work/modules/order"
	done < "$work.depends"

	(cd "$work" && find . | cpio --quiet -o -H newc) | gzip -1 > "$image.new.$$" &&
	mv "$image.new.$$" "$image"
	rm -rf "$work" "$work.depends"
}

# Sets INITRAMFS.
initramfs_paths()
{
	local key
	key=$({
		echo "$KERNEL_ROOT $TREE_ID ${INITRAMFS_OPTIONAL[*]} ${INITRAMFS_MODULES[*]}"
		declare -f initramfs_build
		cat "$VM_DIR/guest/initramfs-init"
	} | sha256sum | cut -c1-12)
	INITRAMFS=$SUITE_DIR/initramfs-$key.img
}

# Sets INITRAMFS and VMLINUZ.
initramfs()
{
	initramfs_paths
	VMLINUZ=$KERNEL_ROOT/boot/vmlinuz-$KVER
	[[ -f $INITRAMFS ]] ||
		with_lock "$SUITE_DIR/initramfs.lock" initramfs_build "$INITRAMFS" ||
		die "cannot make the initramfs"
}
