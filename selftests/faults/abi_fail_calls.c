// SPDX-License-Identifier: GPL-2.0-only
/*
 * abi_fail.c with calls that do more at once: several objects, rings, waits.
 */
#define FAIL_CALLS
#include "abi_fail.c"
