#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# rdma-ep-run --alone: programs run where librdmacm and libibverbs cannot be loaded; rsockets, which
# need these libraries, fail with a message.

# shellcheck source=selftests/clients/common.sh
. "$(dirname "$0")/common.sh"

not_on_stock "alone" "stock run, there is no library of ours"

# The dynamic linker cannot load an empty file.
# shellcheck disable=SC2016
HIDE='mount --bind "$0" /dev/infiniband
for library in $(ldconfig -p | sed -n "s/.*lib\(rdmacm\|ibverbs\)[.]so[.]1 .*=> //p"); do
	mount --bind /dev/null "$(readlink -f "$library")" || exit 99
done
exec "$@"'

on_hidden()
{
	local dir
	dir=$(mktemp -d "$WORK/dev.XXXXXX") && chmod 755 "$dir" &&
		cp -a /dev/infiniband/rdma_ep "$dir/"
	exec unshare --mount sh -c "$HIDE" "$dir" "$@"
}

on_alone()
{
	on_hidden rdma-ep-run --alone "$@"
}

# libraries NAME: prints the RDMA libraries that the process has loaded
libraries()
{
	sed -n 's/.* \(\/.*\/lib\(rdma_ep\|rdmacm\|ibverbs\)[^/]*\)$/\1/p' \
		"/proc/${pids[$1]}/maps" | xargs -rn 1 basename | sort -u | tr '\n' ' '
}

# Without this failure, the other cases would prove nothing.
begin "run in front of the stock libraries is refused"
start hidden client rdma-ep-run rping -c -a "$RDMA_ADDR" -p "$PORT" -C 1
finish client 20
expect_status client 127
expect_error client ".so.1: file too short"
end

begin "rping"
server alone rping -s -a "$RDMA_ADDR" -p "$PORT" -C 10 -v
[[ $(libraries server) == "librdma_ep.so.1.0.0 " ]] ||
	problem "the server has $(libraries server)"
client alone rping -c -a "$RDMA_ADDR" -p "$PORT" -C 10 -v -V
both_succeed
expect_lines client 10 '^ping data: rdma-ping-[0-9]+: '
end

begin "rdma_server, rdma_client in front of the real libraries"
server alone rdma_server -p "$PORT"
client ours rdma_client -s "$RDMA_ADDR" -p "$PORT"
both_succeed
expect_output client "rdma_client: start" "rdma_client: end 0"
end

begin "ibv_devinfo"
client alone ibv_devinfo -d "$RDMA_DEV"
expect_status client 0
expect_lines client 1 "^hca_id:[[:space:]]*$RDMA_DEV$"
end

# librdma_ep passes foreign objects to the real libraries. Here it has the names of these itself,
# and must not call itself. Some programs open the names without a version, which the links for
# development have, too.
FOREIGN='
import ctypes, errno, sys
verbs = ctypes.CDLL("libibverbs.so" + sys.argv[1], use_errno=True)
cm = ctypes.CDLL("librdmacm.so" + sys.argv[1], use_errno=True)
nobodys = ctypes.create_string_buffer(8192)
print("ibv_query_port", errno.errorcode[verbs.ibv_query_port(nobodys, 1, nobodys)])
print("rdma_listen", cm.rdma_listen(nobodys, 1), errno.errorcode[ctypes.get_errno()])'
mkdir "$WORK/dev"
for library in rdmacm ibverbs; do
	ln -s "$(ldconfig -p | sed -n "s/.*lib${library}[.]so[.]1 .*=> //p" | head -n 1)" \
		"$WORK/dev/lib$library.so"
done
for version in .1 ""; do
	begin "foreign objects of lib*.so$version"
	LD_LIBRARY_PATH=$WORK/dev client alone python3 -c "$FOREIGN" "$version"
	expect_status client 0
	expect_output client "ibv_query_port ENOSYS" "rdma_listen -1 EINVAL"
	end
done

begin "rsockets"
client alone rstream -s "$RDMA_ADDR" -p "$PORT"
expect_status client 255
cat "$WORK/client.out" "$WORK/client.err" | grep -q 'Function not implemented' ||
	problem "does not say what is missing"
end

begin "LD_PRELOAD is unchanged"
got=$(LD_PRELOAD=libgcc_s.so.1 LD_LIBRARY_PATH=/nowhere rdma-ep-run -a -- \
	env | grep '^LD_' | sort | tr '\n' ' ')
[[ $got =~ ^LD_LIBRARY_PATH=/[^:]*/rdma_ep:/nowhere\ LD_PRELOAD=libgcc_s.so.1\ $ ]] ||
	problem "the environment is $got"
end

begin "run without the libraries' names is refused"
mkdir "$WORK/bin" &&
	cp "$(ldconfig -p | sed -n 's/.*librdma_ep[.]so[.]1 .*=> //p' | head -n 1)" \
		"$(command -v rdma-ep-run)" "$WORK/bin/"
client stock "$WORK/bin/rdma-ep-run" --alone echo running
expect_status client 1
expect_lines client 0 running
expect_error client "rdma-ep-run: $WORK/bin/rdma_ep/librdmacm.so.1 not found"
client stock "$WORK/bin/rdma-ep-run" echo running
expect_lines client 1 running
end

begin "options are accepted in any order, unknown ones refused"
client stock rdma-ep-run -a --help
expect_status client 0
expect_lines client 1 '^usage: '
client stock rdma-ep-run --alone --bogus
expect_status client 2
end

finish_tests
