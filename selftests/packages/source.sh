#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The source tarball builds without git, is the same when it is made from itself, and makes RPM
# packages.

# shellcheck source=selftests/packages/common.sh
. "$(dirname "$0")/common.sh"
kver=$(</rig/kver)

cp -r /src /tmp/checkout
cd /tmp/checkout || exit 1
version=$(packaging/version)
tarball=/tmp/checkout/build/rdma-ep-$version.tar.gz
no_version()
{
	! packaging/version check && [[ $(packaging/version) == "$version" ]]
}
check "what is no version does not become one" no_version
check "all files have the same version" packaging/version
# Commands have the version of the document's checkout.
documents()
{
	local others
	others=$(grep -oE 'rdma[_-]ep[-/][0-9][0-9.]*[0-9]' docs/admin/install.md |
		grep -v "[-/]${version//./[.]}\$")
	echo "$others"
	[[ ! $others ]] && packaging/version 999.2 &&
		grep -q 'dkms install rdma_ep/999\.2$' docs/admin/install.md &&
		packaging/version "$version"
}
check "commands in documents have it" documents
check "make dist" make dist

unpack()
{
	mkdir /tmp/a && tar -xf "$tarball" -C /tmp/a
}
check "the tarball is rdma-ep-VERSION" unpack
tree=/tmp/a/rdma-ep-$version
cd "$tree" || finish_checks

again()
{
	make dist && rm -rf /tmp/b && mkdir /tmp/b &&
	tar -xf "build/rdma-ep-$version.tar.gz" -C /tmp/b &&
	diff <(tar -tf "$tarball" | sort) \
		<(tar -tf "build/rdma-ep-$version.tar.gz" | sort)
}
check "a tarball of the tarball is the same" again
check "module and library are built from it" \
	make -j2 KVER="$kver" modules lib
check "and installed" make KVER="$kver" DESTDIR=/tmp/dest install install-config
check "a tarball of a tree that was built is the same" again
# DKMS takes objects in the package's source for current ones.
no_objects()
{
	make -f debian/rules override_dh_auto_clean &&
	[[ ! $(find kmod -name '*.o' -o -name '.*.cmd') ]]
}
check "packages of a tree that was built have no objects" no_objects

spec=(--nodeps --define "_topdir /tmp/rpm")
rpm_source()
{
	mkdir -p /tmp/rpm/SOURCES && cp "$tarball" /tmp/rpm/SOURCES/ &&
	rpmbuild "${spec[@]}" -bs packaging/rdma-ep.spec &&
	ls /tmp/rpm/SRPMS/*.src.rpm
}
# Debian's rpm has no database of installed packages, hence --nodeps.
rpm_binary()
{
	rpmbuild "${spec[@]}" --rebuild /tmp/rpm/SRPMS/*.src.rpm &&
	[[ $(find /tmp/rpm/RPMS -name '*.rpm' ! -name '*debug*' | wc -l) == 4 ]]
}
# rpm_has PACKAGE FILE...
rpm_has()
{
	local rpm file
	rpm=$(echo /tmp/rpm/RPMS/*/"$1-$version"-*.rpm)
	shift
	for file; do
		rpm -qpl "$rpm" | grep -E "^$file\$" || {
			echo "$rpm has no $file but:"
			rpm -qpl "$rpm"
			return 1
		}
	done
}
check "rpmbuild -bs" rpm_source
check "rpmbuild -bb" rpm_binary
check "RPM with the library" rpm_has librdma_ep '/usr/lib.*/librdma_ep.so.1'
check "RPM for development" rpm_has librdma_ep-devel \
	/usr/include/rdma/rdma_ep.h /usr/include/rdma_ep/kernel/rdma_ep.h \
	'/usr/lib.*/librdma_ep.so' '/usr/lib.*/pkgconfig/librdma_ep.pc' \
	'.*/man3/rdma_create_ep.3ep.*' '.*/man7/librdma_ep.7.*'
check "RPM with commands" rpm_has rdma-ep-utils /usr/bin/rdma-ep-run \
	/usr/share/rdma-ep/grafana.json /usr/lib/systemd/system/rdma-ep-metrics.socket
check "RPM with the module's source" rpm_has rdma-ep-dkms \
	"/usr/src/rdma_ep-$version/dkms.conf" "/usr/src/rdma_ep-$version/Kbuild" \
	/usr/lib/udev/rules.d/60-rdma_ep.rules '.*/pod.json' '.*/device-plugin.json' \
	'.*/man4/rdma_ep.4.*' '.*/man7/rdma_ep.7.*'
finish_checks
