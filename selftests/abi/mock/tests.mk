# SPDX-License-Identifier: GPL-2.0-only
#
# Tests on the mock device: drivers that fail, stall, or have other limits.

vpath %.c abi/mock

ABI_PROGS += abi_mock abi_mock_limits abi_mock_posts abi_mock_fault abi_mock_stall \
	abi_mock_removal abi_mock_modify abi_two_devices

TIMEOUT_abi_mock := 600
TIMEOUT_abi_mock_fault := 600
TIMEOUT_abi_mock_stall := 1200
TIMEOUT_abi_mock_removal := 600
