# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Builds module, library and selftests inside the suite's tree, and installs them into a stage: a
# directory that the guest mounts over the tree, so that all files have their real paths.

# Sets SIW, the directory of siw.
siw_paths()
{
	SIW=$SUITE_DIR/siw-$TREE_ID
}

# Debian's kernels have no siw, the software iWARP device, but their source has. It does not depend
# on this checkout: built once per tree.
siw_build()
{
	local dir=$1 tmp=$1.new.$$
	[[ ! -d $dir ]] || return 0
	cp -r "$TREE/usr/src/kselftest/drivers/infiniband/sw/siw" "$tmp" || return 1
	in_tree "$TREE" "$tmp src" -- make -j2 -C "/lib/modules/$KVER/build" \
		M=/src CONFIG_RDMA_SIW=m modules > "$dir.log" 2>&1 || {
		cat "$dir.log"
		return 1
	}
	mv "$tmp" "$dir"
}

# cover_places: reads "readelf -rW MODULE", prints the number of calls to KCOV outside of the code
# that runs only when the module is loaded and unloaded
cover_places()
{
	awk '
		/^Relocation section/ { code = $3 !~ /\.(init|exit)\./ }
		code && $5 == "__sanitizer_cov_trace_pc" { n++ }
		END { print n + 0 }'
}

# build_in_tree SRC STAGE
build_in_tree()
{
	local src=$1 stage=$2 part
	# With Debian's merged /usr, a real /lib here would hide that of the tree.
	mkdir -p "$stage"/usr/{bin,sbin,lib,local} \
		"$stage/usr/lib/modules/$KVER/updates" "$stage/etc" &&
	ln -sT usr/lib "$stage/lib" &&
	ln -sT usr/bin "$stage/bin" &&
	ln -sT usr/sbin "$stage/sbin" || return 1
	mkdir -p "$stage/rig" &&
	cp -r "$src/selftests/vm/guest" "$stage/rig/" &&
	cp "$TREE/rig/kver" "$stage/rig/" || return 1

	if [[ -z $KERNEL ]]; then
		siw_paths
		with_lock "$SIW.lock" siw_build "$SIW" &&
		cp "$SIW/siw.ko" "$stage/usr/lib/modules/$KVER/updates/" ||
			return 1
	fi

	local var=(KVER="$KVER" KDIR="/lib/modules/$KVER/build" DESTDIR=/stage)
	# Instrument for KCOV; kernels without it ignore this.
	var+=(KCOV_INSTRUMENT=y)
	local run=(in_tree "$TREE" "${KERNEL_BINDS[@]}" "$src src"
		   "$stage stage" --)
	for part in $PARTS; do
		case $part in
		modules | lib)
			"${run[@]}" make -j2 -C /src "${var[@]}" "$part" &&
			"${run[@]}" make -C /src "${var[@]}" "install-$part" ;;
		selftests)
			"${run[@]}" make -j2 -C /src/selftests "${var[@]}" \
				KSELFTEST="$GUEST_KSELFTEST" \
				INSTALL_PATH="$GUEST_TESTS" all install &&
			"${run[@]}" make -j2 -C /src/selftests/ulp "${var[@]}" \
				install &&
			"${run[@]}" make -j2 -C /src/selftests/mock "${var[@]}" \
				install ;;
		ulps)		# only the kernel consumers
			"${run[@]}" make -j2 -C /src/selftests/ulp "${var[@]}" \
				install &&
			"${run[@]}" make -j2 -C /src/selftests/mock "${var[@]}" \
				install ;;
		bench)		# only the files of the benchmark
			"${run[@]}" make -j2 -C /src/selftests "${var[@]}" \
				INSTALL_PATH="$GUEST_TESTS" install-bench &&
			"${run[@]}" make -j2 -C /src/selftests/ulp "${var[@]}" \
				ULPS=kping install ;;
		scripts)	# only the tests that need no compiler
			"${run[@]}" make -C /src/selftests DESTDIR=/stage \
				INSTALL_PATH="$GUEST_TESTS" install-scripts ;;
		provoke)	# mistakes that a debug kernel must report
			"${run[@]}" make -C "/lib/modules/$KVER/build" \
				M=/src/selftests/vm/provoke modules &&
			cp "$src/selftests/vm/provoke/provoke.ko" \
				"$stage/usr/lib/modules/$KVER/updates/" ;;
		*)	die "PARTS: no part '$part'" ;;
		esac || return 1
	done
	[[ $PARTS != *modules*lib*selftests* ]] ||
		"${run[@]}" bash /src/selftests/tree/layers.sh /src || return 1
	# For fuzz_cov.c, on kernels with KCOV
	if [[ $KERNEL && $PARTS == *modules*selftests* ]]; then
		"${run[@]}" readelf -rW /src/rdma_ep.ko | cover_places \
			> "$stage$GUEST_TESTS/kcov-places" || return 1
	fi
	# modprobe and the dynamic linker must find the installed files. depmod reads the kernel's
	# own modules through a link, which must not stay: it would hide them in the guest.
	in_tree "$TREE" "${KERNEL_BINDS[@]}" "$stage stage" \
		"$stage/usr/local usr/local" -- sh -ec "
		cd /stage/usr/lib/modules/$KVER
		tree=/usr/lib/modules/$KVER
		ln -s \$tree/kernel kernel
		cp \$tree/modules.order \$tree/modules.builtin* .
		depmod -b /stage $KVER
		rm kernel
		ldconfig -X -C /stage/etc/ld.so.cache" &&
	# A kernel outside of the tree is part of the stage.
	if [[ -n $KERNEL ]]; then
		cp -rl "$KERNEL_ROOT/lib/modules/$KVER/kernel" \
			"$stage/usr/lib/modules/$KVER/"
	fi
}

build_stage()
{
	local stage=$1 dir=$2 log=$1.log tmp=$1.new.$$ rc=0
	[[ ! -d $stage ]] || return 0
	mkdir -p "$tmp"
	source_build "$dir" "$tmp.log" build_in_tree "$dir" "$tmp" || rc=$?
	mv "$tmp.log" "$log"
	if ((rc)); then
		{
			grep -E 'error:' "$log"
			build_warnings "$log"
			echo "--- end of the build's log, $log:"
			tail -n 25 "$log"
		} >&2
		rm -rf --one-file-system "$tmp"
		return "$rc"
	fi
	image_of "$tmp" "$stage.img" &&
	mv "$tmp" "$stage"
}

# Sets BUILD_DIR: one for each checkout, tree and kernel, to reuse objects.
build_paths()
{
	BUILD_DIR=$SUITE_DIR/build-$(echo "$KERNEL_ROOT $TREE_ID $TOP" | sha256sum | cut -c1-12)
}

# Sets STAGE.
stage_paths()
{
	STAGE=$SUITE_DIR/stage-$(source_hash)-$(
		echo "$KERNEL_ROOT $TREE_ID $PARTS $STOCK" | sha256sum | cut -c1-6)
}

# Sets STAGE: the stage of the current source, built if necessary.
build()
{
	build_paths
	stage_paths
	if [[ -d $STAGE ]]; then
		# Stages that no build uses for a day are removed.
		touch -c "$STAGE" "$STAGE.img" "$STAGE.log"
		say "build: unchanged sources, reusing $(basename "$STAGE")"
	else
		step "building ${PARTS:-nothing} for Linux $KVER" \
			with_lock "$BUILD_DIR.lock" build_stage "$STAGE" "$BUILD_DIR" ||
			die "the build failed"
	fi
	# Stages are small, but every edit makes one. Results remain only when a rig was killed.
	find "$SUITE_DIR" -maxdepth 1 -mmin +1440 \
		\( -name 'stage-*' -o -name 'results-*' -o -name 'rootfs-*.new.*' \) \
		-exec rm -rf --one-file-system {} +
}
