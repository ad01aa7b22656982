# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# "rig packages": runs the scripts of selftests/packages one after another. Those that install
# packages run in one layer over the suite's tree, with the compiler at full speed; guests then boot
# this layer.

PACKAGES_DIR=/src/selftests/packages

# packages_tap NAME COMMAND...: runs one script, and keeps its output
packages_tap()
{
	local name=$1 out=$RESULTS_TMP/$1.tap rc=0
	shift
	say "$name ..."
	"$@" >"$out" 2>&1 </dev/null || rc=$?
	((rc == 0)) || grep -q '^not ok' "$out" ||
		echo "not ok $name: status $rc without a failed result" >> "$out"
	grep -q '^1\.\.' "$out" || echo "not ok $name: did not end" >> "$out"
	grep -E '^(ok|not ok)' "$out" | sed 's/^/    /' >&2
	! grep -q '^not ok' "$out" || sed 's/^/    | /' "$out" >&2
}

# installed SCRIPT: runs it in the layer in which packages are installed
installed()
{
	TREE_BELOW=$DEB_ARCHIVE TREE_LAYER=$PACKAGES_WORK in_tree "$TREE" \
		"$PACKAGES_SRC src" "$PACKAGES_OUT results" -- \
		bash "$PACKAGES_DIR/$1.sh"
}

# booted SCRIPT KERNEL: runs it in a guest that boots this layer
booted()
{
	local script=$1 rc=0
	KVER=$2
	KERNEL_ROOT=$PACKAGES_WORK/root
	[[ -d $PACKAGES_WORK/upper/usr/lib/modules/$KVER/kernel ]] ||
		KERNEL_ROOT=$TREE
	initramfs
	accel
	mkdir "$RESULTS_TMP/$script-$KVER"
	echo "SUITE=$SUITE DEVICE=rxe KVER=$KVER" > "$RESULTS_TMP/$script-$KVER/env"
	printf '%s\n' 'set -a; . /results/env; set +a' \
		"exec bash /rig/packages/$script.sh" \
		> "$RESULTS_TMP/$script-$KVER/job"
	boot_banner
	guest_run "$RESULTS_TMP/$script-$KVER" || rc=$?
	show_splats "$RESULTS_TMP/$script-$KVER" || rc=1
	return "$rc"
}

# packages_transcript NAME...: writes the commands of these results and their output to the file
# "transcript" of the results, without apt's messages about each package
packages_transcript()
{
	local name
	for name; do
		echo "== $name"
		sed -n 's/\r$//; s/^#> /$ /p; s/^#| \?//p' "$RESULTS_TMP/$name.tap"
	done | grep -vE -e '^(Reading|Building dependency|Solving|Suggested|Recommended|The following)' \
		-e '^(Need to get|After this|Get:|Selecting|Preparing|Unpacking|\(Reading)' \
		-e '^(debconf:|E: Can not write log|It is likely that|readelf: Warning)' \
		-e '^(Processing triggers|Fetched)' -e '^  [a-z0-9| ]' -e '^ *$' \
		> "$RESULTS_TMP/transcript"
}

# Adds the guest's files to the layer that it boots.
packages_stage()
{
	STAGE=$PACKAGES_WORK/upper
	mkdir -p "$STAGE/rig" "$STAGE/results" "$PACKAGES_WORK/root" &&
	cp -r "$PACKAGES_SRC/selftests/vm/guest" "$PACKAGES_SRC/selftests/packages" \
		"$STAGE/rig/" &&
	cp "$PACKAGES_SRC/packaging/modprobe.conf" "$STAGE/rig/packages/" &&
	ln -sT ../upper/boot "$PACKAGES_WORK/root/boot" &&
	ln -sT ../upper/usr/lib "$PACKAGES_WORK/root/lib"
}

packages_run()
{
	local kver other
	kver=$(<"$TREE/rig/kver")
	other=$(<"$DEB_ARCHIVE/rig/kver.other")

	packages_tap source with_tools "$PACKAGES_SRC" "$PACKAGES_OUT" \
		bash "$PACKAGES_DIR/source.sh"
	packages_tap debs with_tools "$PACKAGES_SRC" "$PACKAGES_OUT" \
		bash "$PACKAGES_DIR/debs.sh"
	packages_tap install installed install
	packages_stage || return 1
	packages_tap "client-$kver" booted client "$kver"
	GUEST_APPEND=lockdown=integrity \
		packages_tap unsigned booted unsigned "$kver"
	packages_tap kernel installed kernel
	packages_tap "client-$other" booted client "$other"
	packages_tap upgrade installed upgrade
	packages_tap purge installed purge
	packages_transcript install "client-$kver" kernel "client-$other" upgrade purge
}

# packages_report DIR: prints the counts of all results in DIR. Fails if one failed, a skip has no
# reason, or nothing passed.
packages_report()
{
	cat "$1"/*.tap | awk -v suite="$SUITE" '
		/^not ok/ { failed++; next }
		!/^ok/ { next }
		!/# *[Ss][Kk][Ii][Pp]/ { passed++; next }
		/# *[Ss][Kk][Ii][Pp][ \t\r]*$/ {
			failed++
			print "FAILED: " $0 " (skipped without a reason)"
			next
		}
		{ skipped++; print "skipped: " $0 }
		END {
			printf "packages on %s: %d passed, %d failed, %d skipped\n", suite, passed,
				failed, skipped
			exit failed || !passed
		}'
}

cmd_packages()
{
	local rc=0
	need_root
	host_packages
	rootfs
	kernel
	deb_layers
	RESULTS_TMP=$(mktemp -d "$SUITE_DIR/results-XXXXXX") || exit 1
	PACKAGES_WORK=$(mktemp -d "$SUITE_DIR/work-XXXXXX") || exit 1
	PACKAGES_SRC=$PACKAGES_WORK/src PACKAGES_OUT=$PACKAGES_WORK/out
	# shellcheck disable=SC2064
	trap "rm -rf --one-file-system '$PACKAGES_WORK'" EXIT
	mkdir "$PACKAGES_WORK"/{upper,overlay,out}
	source_sync "$PACKAGES_SRC" || die "no source"
	step "building packages" \
		deb_build "$PACKAGES_SRC" "$PACKAGES_OUT/debs" || die "no packages"
	cp -r "$PACKAGES_SRC" "$PACKAGES_WORK/next" || exit 1
	"$PACKAGES_WORK/next/packaging/version" 999.1 >/dev/null || exit 1
	step "building the next version" deb_build "$PACKAGES_WORK/next" \
		"$PACKAGES_OUT/next" || die "no packages of a next version"

	packages_run || echo "not ok could not go on" > "$RESULTS_TMP/end.tap"
	packages_report "$RESULTS_TMP" || rc=$?
	keep_results
	return "$rc"
}
