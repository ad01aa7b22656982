// SPDX-License-Identifier: GPL-2.0-only
/*
 * abi_fail.c on the mock device, whose driver counts its objects.
 */
#define FAIL_ON_MOCK
#include "abi_fail.c"
