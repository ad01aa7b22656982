#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Checks the parts of the rig that need neither a guest nor a build: caches, builds, guests, the end of
# a cell. "rig selftest" has the checks that need a guest.

# shellcheck source=selftests/tree/checks.sh
. "$(dirname "$0")/checks.sh"
unset KERNEL DEADLINE LATE_SECONDS GUEST_TIMEOUT TEST_SCALE

# ---- the cache: a made-up one

# Runs a command with the functions of the rig, and these.
cat > "$WORK/rig" <<'END'
. "$TOP/selftests/vm/common.sh"
for part in host-packages chroot rootfs extras qemu kernel initramfs accel sources build boot report \
		cell cache deb packages; do
	. "$VM_DIR/$part.sh"
done

# tree_make KVER GCC PERL: a tree with nothing in it but the versions of its packages
tree_make()
{
	local package
	TREE=$SUITE_DIR/rootfs-$(rootfs_key)
	mkdir -p "$TREE/rig" "$TREE/var/lib/dpkg/"{info,updates}
	echo "$1" > "$TREE/rig/kver"
	for package in "gcc $2" "linux-image-amd64 6.12.1" "perl $3"; do
		printf '%s\n' "Package: ${package% *}" "Status: install ok installed" \
			"Architecture: amd64" "Version: ${package#* }" "Maintainer: x" \
			"Description: x" ""
	done > "$TREE/var/lib/dpkg/status"
}

# tree_names: prints "NAME PATH" of everything that is made from the tree, "= NAME PATH" of the rest
tree_names()
{
	source_hash() { echo source; }
	TREE=$SUITE_DIR/rootfs-$(rootfs_key)
	tree_id
	kernel_paths
	extras_paths
	siw_paths
	initramfs_paths
	build_paths
	stage_paths
	printf '%s\n' "extras $EXTRAS" "siw $SIW" "initramfs $INITRAMFS" "build $BUILD_DIR" \
		"stage $STAGE" "lint $(layer_path lint codespell)"
	"$VM_DIR/build-kernels.sh" --paths | grep -E "/$SUITE-[0-9a-f]{12}-" | sed 's/^/kernels /'
	KERNEL=debug
	kernel_paths
	printf '= %s\n' "rootfs $TREE" "kernel $KERNEL_ROOT"
}

# tree_again: makes a tree, beside an image that is left of an earlier one, and prints the image
tree_again()
{
	rootfs_sources() { echo deb; }
	rootfs_make() { mkdir "$1"; }
	TREE=$SUITE_DIR/rootfs-again
	touch "$TREE.img"
	rootfs_build "$TREE"
	[[ -d $TREE ]] || echo "there is no tree"
	ls "$TREE.img" 2>/dev/null
	rm -rf "$TREE" "$TREE.img" "$SUITE_DIR/rootfs.log"
}

# entry PATH SUFFIX...: an entry of the cache and its further files
entry()
{
	local path=$1
	shift
	mkdir -p "$path"
	((!$#)) || touch "${@/#/$path}"
}

# cache_make: entries that this checkout uses, and the same with other hashes; work that was killed,
# and work that is under way
cache_make()
{
	local SUITE name path kernels=$CACHE/kernels
	layer_make() { mkdir -p "$1"; }
	for SUITE in sid trixie; do
		SUITE_DIR=$CACHE/$SUITE
		KERNEL=''
		tree_make 6.12.1-amd64 14.2 5.40
		touch "$TREE.img" "$SUITE_DIR/rootfs.log" "$SUITE_DIR/rootfs.lock"
		tree_names > "$CACHE/names" 2>/dev/null
		entry "$SIW"
		touch "$INITRAMFS" "$EXTRAS" "${EXTRAS%.img}.log"
		entry "$BUILD_DIR" .files .lock
		for KERNEL in debug kcsan; do
			kernel_paths
			entry "$KERNEL_ROOT" .log
		done
		layer lint "${LINT_TOOLS[@]}" 2>/dev/null
		deb_layers 2>/dev/null
		entry "$kernels/$SUITE.src" .files
		entry "$kernels/$SUITE.results"
		touch "$kernels/$SUITE".{imports,log,lock}
	done
	"$VM_DIR/build-kernels.sh" --paths | grep -E '/(sid|trixie)-[0-9a-f]{12}-' | xargs mkdir -p
	entry "$SUITE_DIR/results-abcdef"
	entry "$CACHE/trixie/stage-1-2.new.$LIVE"
	find "$CACHE" -mindepth 1 -maxdepth 2 | sort > "$CACHE/../used"

	for name in rootfs siw build lint archive tools kernel-debug stage; do
		entry "$CACHE/trixie/$name-000000000000" .img .log .files
		entry "$CACHE/trixie/$name-000000000000.new.$DEAD"
	done
	touch "$CACHE"/trixie/{extras,initramfs}-000000000000.{img,log,"img.new.$DEAD"}
	touch "$CACHE/trixie/stage-1-3.log" "$TREE.img.new.$DEAD" \
		"$CACHE/trixie/rootfs-000000000000.new.$DEAD.list"
	entry "$CACHE/trixie/kernel-debug-111111111111.work.$DEAD"
	entry "$CACHE/forky/rootfs-000000000000" .img
	entry "$kernels/trixie-000000000000-abcdef"
	entry "$kernels/trixie-000000000000-abcdef.new"
	entry "$kernels/other.src" .files
	touch "$kernels"/other.{imports,log}
	for path in "$CACHE"/trixie/{results,work}-ghijkl "$CACHE/trixie/deb-src.$DEAD" \
			"$kernels/trixie-000000000000-abcdef.new"; do
		entry "$path"
		touch -d '2 days ago' "$path"
	done
}

# cache_clean: "rig clean"
cache_clean()
{
	need_root() { :; }
	host_packages() { :; }
	cmd_clean
	find "$CACHE" -mindepth 1 -maxdepth 2 ! -path "$CACHE/forky" | sort > "$CACHE/../left"
}

# made_up_build TEXT STATUS: a build of an object that prints TEXT, by both builders. Prints those
# that succeed, and those after which the object is left.
made_up_build()
{
	. "$VM_DIR/build-kernels.sh"
	source_sync() { mkdir -p "$1"; }
	build_in_tree() { touch "$1/object"; echo "$TEXT"; return "$STATUS"; }
	in_tree() { touch "$src/object" "$src/imports"; echo "$TEXT"; return "$STATUS"; }
	image_of() { touch "$2"; }
	kernel_layer() { mkdir -p "$1"; }
	local TEXT=$1 STATUS=$2 TREE=$CACHE/tree TREE_ID=0 src=$CACHE/kernels/any.src
	mkdir -p "$SUITE_DIR" "$CACHE/kernels"
	! build_stage "$SUITE_DIR/stage-1" "$SUITE_DIR/build-1" 2>"$CACHE/said" || echo "stage"
	[[ ! -d $SUITE_DIR/stage-1 ]] || echo "stage is made"
	[[ ! -e $SUITE_DIR/build-1/object ]] || echo "object of stage"
	# shellcheck disable=SC2015
	! build_kernel any any any any - - - >> "$CACHE/said" || echo "kernel"
	[[ ! -e $src/object ]] || echo "object of kernel"
	! grep -qF "$TEXT" "$CACHE/said" || echo "text"
}

# build_again DIR: another build in DIR
build_again()
{
	source_sync() { mkdir -p "$1"; }
	source_build "$1" "$CACHE/log" true
}

# busy_apt: installs a package with the apt-get of the PATH
busy_apt()
{
	sleep() { :; }
	install_packages make
}

# archives LISTS: prints the sources of a tree, on a machine whose apt-get finds LISTS by an update
archives()
{
	apt_update() { mv "$LISTS" "$CACHE/lists"; }
	local LISTS=$1
	rootfs_sources
}

# made_up_guest DIR RESULT: the files of a cell whose guest has run the test "one"
made_up_guest()
{
	local guest=$1/guests/1 test=$1/queue/one
	mkdir -p "$guest" "$test"
	echo "one 5" > "$1/tests"
	echo one > "$test/name"
	echo "ok 1 a" > "$test/out"
	echo 0 > "$test/rc"
	echo 0 > "$guest/status"
	: > "$guest/console.log"
	case $2 in
	fail)	echo "not ok 1 a" > "$test/out" ;;
	limit)	echo 124 > "$test/rc" ;;
	panic)	echo "Kernel panic - not syncing: x" > "$guest/console.log"
		rm "$test/rc" "$guest/status" ;;
	skip)	echo "ok 1 a # SKIP no such thing" > "$test/out" ;;
	late)	touch "$1/queue/late"
		rm -r "$test"
		return ;;
	esac
	echo "1..1" >> "$test/out"
}

# made_up_cell RESULT...: the end of a cell whose guests have these results, the second and third
# those of repetitions. Prints the number of repetitions, the row's tests that passed, failed, were
# skipped and were flaky, and the status of a table with this row and one of a cell that passes.
made_up_cell()
{
	local KVER=6 EXTRAS='' INITRAMFS='' KERNEL_ROOT='' STAGE='' TREE='' VMLINUZ=''
	local turns=("$@") dir=$CACHE/cell status=0
	accel() { :; }
	cell_guest() { made_up_guest "$1" "${turns[${1##*-}]}"; }
	rm -rf "$dir"
	cell_settings "$dir"
	made_up_guest "$dir" "$1"
	cmd_cell_end "$dir" 2>/dev/null
	printf 'sid\t6\trxe\t1\t1\t0\t0\t0\n' | cat - "$dir/row" > "$dir/rows"
	matrix_table "$dir/rows" /dev/null > /dev/null || status=$?
	echo "$(find "$dir" -path '*/again-*/out' | wc -l) again," \
		"counts $(cut -f 5-8 "$dir/row" | tr '\t' ' '), status $status"
}

# kernel_missing: a cell of a kernel that is not built, on a machine where no tree can be made
kernel_missing()
{
	KERNEL=debug KERNEL_BUILD=no
	rootfs() { die "no tree"; }
	mkdir -p "$CACHE/cell"
	echo "sid rxe debug" > "$CACHE/cell/cell"
	cmd_cell_begin "$CACHE/cell"
	cat "$CACHE/cell/report"
}

# watched TEXT: prints whether guest_watch() ends a guest that has this text in its log, in 30 of its
# turns, and whether it ends the queue after the deadline
watched()
{
	local dir=$CACHE/guest BOOT_SECONDS=0 DEADLINE=1 QUEUE=$CACHE/guest/queue
	sleep() { command sleep 0.1; }
	guest_cpu()
	{
		echo >> "$dir/turns"
		(($(wc -l < "$dir/turns") <= 30)) && echo 0
	}
	rm -rf "$dir"
	mkdir -p "$QUEUE"
	echo "one 100" > "$QUEUE/tests"
	echo "$1" > "$dir/console.log"
	touch "$dir/live.log"
	guest_watch "$dir" 0 2>/dev/null && echo "goes on" || echo "ends"
	[[ ! -e $QUEUE/late ]] || echo "late"
}

# settings_kept: prints the time that a guest of the debug kernel has, as the process reads it that
# boots the guest
settings_kept()
{
	local KVER=6 EXTRAS='' INITRAMFS='' KERNEL_ROOT='' STAGE='' TREE='' VMLINUZ=''
	cell_settings "$CACHE/cell"
	env KERNEL='' GUEST_TIMEOUT='' bash "$0" settings_read
}

settings_read()
{
	cell_load "$CACHE/cell"
	echo "$GUEST_TIMEOUT"
}

"$@"
END

in_rig()
{
	env TOP="$TOP" CACHE="$WORK/cache" SUITE=trixie KERNEL="${KERNEL:-}" PARTS='modules lib selftests' \
		STOCK='' bash "$WORK/rig" "$@"
}

in_rig tree_make 6.12.1-amd64 14.2 5.40
in_rig tree_names > "$WORK/names"
{
	[[ $(wc -l < "$WORK/names") == 9 ]] || { echo "these are not all names:"; cat "$WORK/names"; }
	in_rig tree_names | diff "$WORK/names" - || echo "not the same for the same tree"
	for kver in 6.12.1-amd64 6.12.2-amd64; do
		in_rig tree_make "$kver" 14.2 5.41
		in_rig tree_names > "$WORK/names.new"
		grep -v '^=' "$WORK/names" | grep -xFf - "$WORK/names.new" |
			sed 's/^/the same with other packages: /'
		[[ $kver != 6.12.1-amd64 ]] ||
			diff <(grep '^=' "$WORK/names") <(grep '^=' "$WORK/names.new") ||
			echo "other packages rename the tree, or the kernel"
		cp "$WORK/names.new" "$WORK/names"
	done
} > "$WORK/bad" 2>&1
result "names of things made from a tree change with its packages" "$WORK/bad"

in_rig tree_again > "$WORK/bad"
result "no image of an earlier tree is left" "$WORK/bad"

rm -rf "$WORK/cache"
mkdir "$WORK/cache"
DEAD=$(sh -c 'echo $$') LIVE=$$ in_rig cache_make
{
	in_rig cache_unused | grep -xFf "$WORK/used" | sed 's/^/is used: /'
	in_rig cache_clean > "$WORK/clean.log" 2>&1 || cat "$WORK/clean.log"
	diff "$WORK/used" "$WORK/left"
} > "$WORK/bad" 2>&1
result "rig clean removes all that this checkout does not use" "$WORK/bad"

# ---- a build fails with a warning

# builds NAME TEXT STATUS RESULTS: with TEXT as the output of made_up_build()
builds()
{
	local name=$1
	rm -rf "$WORK/cache"
	in_rig made_up_build "$2" "$3" 2>&1 | diff <(printf '%s' "$4") - > "$WORK/bad"
	result "a build with $name" "$WORK/bad"
}

built=$'stage\nstage is made\nobject of stage\nkernel\nobject of kernel\ntext\n'
kept=$'object of stage\nobject of kernel\ntext\n'
builds "no warning" "  CC [M]  x.o" 0 "$built"
builds "a warning" "x.c:1:2: warning: unused variable" 0 $'text\n'
builds "a warning of modpost" "WARNING: modpost: missing MODULE_LICENSE() in x.o" 0 $'text\n'
builds "an error" "x.c:1:2: error: undeclared" 2 "$kept"
builds "an error and a warning" $'x.c:1:2: warning: unused\ny.c:1:2: error: undeclared' 2 $'text\n'
builds "another compiler than the kernel's" \
	"warning: the compiler differs from the one used to build the kernel" 0 "$built"

rm -rf "$WORK/cache"
(umask 077; in_rig made_up_build "" 0) > /dev/null 2>&1
stat -c %a "$WORK/cache/trixie/stage-1" 2>&1 | diff <(echo 755) - > "$WORK/bad"
result "all users can read a stage" "$WORK/bad"

rm -rf "$WORK/cache"
mkdir -p "$WORK/cache/build"
touch "$WORK/cache/build/object" "$WORK/cache/build.building"
in_rig build_again "$WORK/cache/build"
find "$WORK/cache" -name '*object' -o -name '*.building' > "$WORK/bad"
result "objects of a build that was killed are not used" "$WORK/bad"

# rebuilt NAME TIME OBJECTS: these are left of a build of that time
rebuilt()
{
	rm -rf "$WORK/cache"
	mkdir -p "$WORK/cache/build"
	touch -d "$2" "$WORK/cache/build/object"
	in_rig build_again "$WORK/cache/build"
	(cd "$WORK/cache" && find . -name object) | diff <(printf '%s' "$3") - > "$WORK/bad"
	result "objects of the $1" "$WORK/bad"
}

rebuilt "past are used" "1 second ago" $'./build/object\n'
rebuilt "future are not used" "1 hour" ""

# ---- packages: a skip is not a pass

# packages NAME TAP COUNTS STATUS: of packages_report() for TAP as the output of a script
packages()
{
	local status=0
	mkdir -p "$WORK/packages"
	printf '%s\n' "$2" > "$WORK/packages/one.tap"
	in_rig packages_report "$WORK/packages" > "$WORK/said" || status=$?
	diff <(echo "packages on trixie: $3, status $4") \
		<(echo "$(tail -n 1 "$WORK/said"), status $status") > "$WORK/bad"
	result "packages: $1" "$WORK/bad"
}

packages "passes" $'ok 1 a\nok 2 b\n1..2' "2 passed, 0 failed, 0 skipped" 0
packages "a skip" $'ok 1 a\nok 2 b # SKIP no such thing\n1..2' "1 passed, 0 failed, 1 skipped" 0
packages "skips only" $'ok 1 a # skip no such thing\n1..1' "0 passed, 0 failed, 1 skipped" 1
packages "a skip without a reason" $'ok 1 a\nok 2 b # SKIP\r\n1..2' "1 passed, 1 failed, 0 skipped" 1
packages "a failure" $'ok 1 a\nnot ok 2 b\n1..2' "1 passed, 1 failed, 0 skipped" 1

# ---- a bare machine, on which another apt-get holds the lock of the lists twice

bare=$WORK/bare
mkdir "$bare"
for program in bash dirname seq; do
	ln -s "$(command -v "$program")" "$bare/"
done
printf '%s\n' '#!/bin/bash' > "$bare/sleep"
cat > "$bare.make" <<'END'
#!/bin/bash
echo "make $*"
END
cat > "$bare/apt-get" <<END
#!/bin/bash
echo "\$*" >> "$WORK/apt"
mapfile -t calls < "$WORK/apt"
((\${#calls[@]} > 2)) || exit 100
[[ " \$* " != *" install "*" make "* ]] || $(command -v ln) -s "$bare.make" "$bare/make"
END
chmod +x "$bare/sleep" "$bare/apt-get" "$bare.make"
mkdir -p "$WORK/checkout/.ci"
cp "$TOP/.ci/run" "$WORK/checkout/.ci/"
{
	PATH=$bare /bin/sh "$WORK/checkout/.ci/run" 2>&1 | diff <(echo "make check") -
	rm -f "$bare/make" "$WORK/apt"
	PATH=$bare:$PATH in_rig busy_apt 2>&1
	[[ -e $bare/make ]] || { echo "the rig does not install packages:"; cat "$WORK/apt"; }
} > "$WORK/bad"
result "apt-get waits for another one" "$WORK/bad"

# ---- the archives of a tree: apt without lists, which has an archive of others

# made_up_list HOST ORIGIN: an archive without packages
made_up_list()
{
	local list="$WORK/lists/$1_debian_dists_stable"
	echo "deb [trusted=yes] http://$1/debian stable main" >> "$WORK/sources.list"
	printf '%s\n' "Origin: $2" "Codename: stable" "Components: main" "Architectures: amd64" \
		"Date: Thu, 01 Jan 2026 00:00:00 UTC" "SHA256:" \
		" $(printf '%064d' 0) 0 main/binary-amd64/Packages" > "${list}_Release"
	: > "${list}_main_binary-amd64_Packages"
}

mkdir "$WORK/lists"
made_up_list debian.invalid Debian
made_up_list others.invalid "Others of Debian and more"
printf '%s;\n' "Dir::State::lists \"$WORK/cache/lists\"" "Dir::Etc::sourcelist \"$WORK/sources.list\"" \
	'Dir::Etc::sourceparts "/dev/null"' 'Dir::Etc::parts "/dev/null"' > "$WORK/apt.conf"
APT_CONFIG=$WORK/apt.conf in_rig archives "$WORK/lists" 2>&1 |
	diff <(echo "deb http://debian.invalid/debian trixie main") - > "$WORK/bad"
result "the archives of a tree" "$WORK/bad"

# Stubs of the programs that make a private tree. "env" prints its arguments.
mkdir "$WORK/private"
for program in setpriv unshare mount env; do
	cat > "$WORK/private/$program" <<-END
		#!/bin/bash
		case $program in
		mount)	exit ;;
		env)	exec printf '%s\\n' "\$@" ;;
		esac
		while [[ \$1 == -* || \$1 == KILL || \$1 == private ]]; do
			shift
		done
		exec "\$@"
	END
	chmod +x "$WORK/private/$program"
done
cat > "$WORK/no_env" <<END
. "$WORK/rig" :
PATH=$WORK/private:\$PATH
in_tree /none -- true
END
http_proxy=proxy:1 https_proxy='' no_proxy='a, b' in_rig . "$WORK/no_env" 2>&1 |
	grep _proxy | diff <(printf '%s\n' http_proxy=proxy:1 "no_proxy=a, b") - > "$WORK/bad"
result "commands in a tree have the proxies" "$WORK/bad"

# ---- the guests of a cell

# watch NAME TEXT LOG: TEXT is the output of watched()
watch()
{
	in_rig watched "$3" 2>&1 | diff <(echo "$2") - > "$WORK/bad"
	result "a guest $1" "$WORK/bad"
}

watch "that does not boot" $'ends\nlate' ""
watch "that begins no test" $'ends\nlate' "rig: begin job"
watch "that runs a test" $'goes on\nlate' $'rig: begin job\nrig: begin test one'

KERNEL=debug in_rig settings_kept 2>&1 | diff <(echo 28800) - > "$WORK/bad"
result "a guest of the debug kernel has more time" "$WORK/bad"

# The job of a guest, with a test that hangs, in made-up directories
guest=$WORK/guest
mkdir -p "$guest"/{rig/guest,queue,dev}
sed "s,/\(rig\|results\|queue\|dev/kmsg\)\>,$guest&,g" "$TOP/selftests/vm/guest/run-tests" > "$guest/job"
printf '%s() { :; }\n' setup_rdma setup_device wait_for rdma_objects module_refs > "$guest/rig/guest/lib.sh"
printf '%s\n' '#!/bin/bash' 'echo "ok 1 a"' > "$guest/ends"
printf '%s\n' '#!/bin/bash' 'echo "ok 1 a"' 'sleep 1000' > "$guest/hangs"
chmod +x "$guest/ends" "$guest/hangs"
printf '%s\n' "ends 60" "hangs 4" "ends2 60" > "$guest/queue/tests"
ln -s ends "$guest/ends2"
STOCK=1 RDMA_DEV=none TESTS_DIR=$guest timeout 60 bash "$guest/job" > "$WORK/said" 2>&1
{
	for test in ends ends2; do
		diff <(echo "ok 1 a") "$guest/queue/$test/out"
		read -r status _ < "$guest/queue/$test/rc"
		[[ $status == 0 ]] || echo "$test: status $status"
	done
	grep -qE '^# [0-9]+ sleep: S$' "$guest/queue/hangs/out" || echo "no task of the test that hangs"
	read -r status _ < "$guest/queue/hangs/rc"
	[[ $status == 124 ]] || echo "status $status"
} > "$WORK/bad" 2>&1
[[ ! -s $WORK/bad ]] || cat "$WORK/said" "$guest/queue/hangs/out" >> "$WORK/bad"
result "a test that hangs prints where its tasks wait" "$WORK/bad"

in_rig kernel_missing 2>&1 | grep -v '^skipped: there is no debug kernel on this machine' > "$WORK/bad"
result "a cell of a kernel that is not built needs no tree" "$WORK/bad"

# ---- the end of a cell

# cell NAME TEXT RESULT...: TEXT is the output of made_up_cell()
cell()
{
	in_rig made_up_cell "${@:3}" 2>&1 | diff <(echo "$2") - > "$WORK/bad"
	result "a cell: $1" "$WORK/bad"
}

cell "its test passes" "0 again, counts 1 0 0 0, status 0" pass
cell "its test fails once" "1 again, counts 1 0 0 1, status 0" fail pass
cell "its test fails twice" "2 again, counts 1 0 0 1, status 0" fail fail pass
cell "its test fails always" "2 again, counts 0 1 0 0, status 1" fail fail fail
cell "the kernel panics in a repetition" "1 again, counts 0 1 0 0, status 1" fail panic pass
cell "its test runs into its limit once" "1 again, counts 2 0 0 1, status 0" limit pass
DEADLINE=$EPOCHSECONDS LATE_SECONDS=3 \
cell "there is no time for a repetition" "0 again, counts 0 1 0 0, status 1" fail pass
DEADLINE=$EPOCHSECONDS LATE_SECONDS=60 \
cell "there is time for a repetition" "1 again, counts 1 0 0 1, status 0" fail pass
cell "no test has a result" "0 again, counts 0 1 1 0, status 1" skip
cell "there is no time for its test" "0 again, counts 0 0 1 0, status 0" late

finish_checks
