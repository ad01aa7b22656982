#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Checks the packages as files: lintian has no complaints, and each has its files and symbols.

# shellcheck source=selftests/packages/common.sh
. "$(dirname "$0")/common.sh"
cd /results/debs || exit 1

# The packages are for the oldest suite. Ignore tags about newer versions and defaults, and about
# overrides of tags that only newer suites print. (--suppress-tags fails for a tag that this lintian
# does not have.)
newer='newer-standards-version|out-of-date-standards-version'
newer+='|package-uses-old-debhelper-compat-version|unused-override'
newer+='|redundant-priority-optional-field|redundant-rules-requires-root-no-field'
quiet()
{
	local said
	said=$(lintian --allow-root --pedantic --display-info ./*.changes 2>&1 |
		grep -vE ": ($newer)( |\$)|^N: [0-9]+ hints? overridden")
	[[ -z $said ]] || { echo "$said"; return 1; }
}
check "lintian --pedantic is silent" quiet

# has PACKAGE FILE...
has()
{
	local deb=$1 file
	shift
	for file; do
		dpkg-deb --fsys-tarfile ./"$deb"_*.deb | tar -t "./$file" || return 1
	done
}
lib=usr/lib/x86_64-linux-gnu
check "library" has librdma-ep1 "$lib"/librdma_ep.so.1
check "development" has librdma-ep-dev "$lib"/librdma_ep.so \
	"$lib"/pkgconfig/librdma_ep.pc usr/include/rdma/rdma_ep.h \
	usr/include/rdma/rdma_ep_handover.h \
	usr/include/rdma_ep/kernel/rdma_ep.h usr/share/man/man7/librdma_ep.7.gz \
	usr/share/man/man7/rdma_ep_handover.7.gz \
	usr/share/man/man3/rdma_ep_export.3ep.gz \
	usr/share/man/man3/rdma_ep_adopt.3ep.gz \
	usr/share/man/man3/rdma_ep_close.3ep.gz \
	usr/share/man/man3/rdma_ep_restrict.3ep.gz \
	usr/share/man/man3/rdma_create_ep.3ep.gz \
	usr/share/man/man3/rdma_destroy_ep.3ep.gz
check "module" has rdma-ep-dkms usr/lib/udev/rules.d/60-rdma_ep.rules \
	usr/lib/modules-load.d/rdma_ep.conf \
	usr/share/doc/rdma-ep-dkms/examples/{modprobe.conf,rdma_ep.json,pod.json,device-plugin.json} \
	usr/share/man/man4/rdma_ep.4.gz usr/share/man/man7/rdma_ep.7.gz
check "commands" has rdma-ep-utils usr/bin/rdma-ep-run usr/bin/rdma-ep \
	usr/bin/rdma-ep-trace usr/share/rdma-ep/rdma-ep-cm.bt \
	usr/share/man/man1/rdma-ep-run.1.gz usr/share/rdma-ep/grafana.json \
	usr/lib/systemd/system/rdma-ep-{metrics.socket,metrics@.service} \
	usr/lib/systemd/system/rdma-ep-textfile.{service,timer}

# The package lists each symbol of the library with its version node, and no others.
symbols()
{
	local so=/tmp/$lib/librdma_ep.so.1.0.0
	dpkg-deb --fsys-tarfile ./librdma-ep1_*.deb | tar -x -C /tmp "./${so#/tmp/}" &&
	diff <(dpkg-deb -I ./librdma-ep1_*.deb symbols | sed -n 's/^ \(.*\) .*/\1/p' | sort) \
		<({
			nm -D --defined-only --with-symbol-versions "$so" |
				awk '$2 != "A" { sub(/@@/, "@", $3); print $3 }'
			nm -D "$so" |
				awk '$2 == "A" { sub(/@.*/, "", $3); print $3 "@" $3 }'
		} | sort)
}
check "symbols are those of the library" symbols
finish_checks
