// SPDX-License-Identifier: GPL-2.0-only
/*
 * Runs the fuzzer (fuzz_run.c) on the device under test.
 */
#include "fuzz.h"

/*
 * Each test begins with these rounds. A change of the fuzzer changes the calls of a seed, so each
 * finding also has its own test: docs/security/tests.md lists them, and promises.sh checks that
 * they exist.
 */
static const struct fuzz_known corpus[] = {
	{ 13, "reaches ESTABLISH, NOTIFY and DETACH_MCAST soon" },
	{ 17, "reaches REJECT soon" },
	{ 0 }
};

int main(int argc, char **argv)
{
	static const struct fuzz_device device = { .corpus = corpus };

	return fuzz_main(argc, argv, &device);
}
