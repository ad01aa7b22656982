// SPDX-License-Identifier: GPL-2.0-only
/*
 * abi_fail.c with calls that do more: create several objects, use rings, or wait.
 */
#define FAIL_CALLS
#include "abi_fail.c"
