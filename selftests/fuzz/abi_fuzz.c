// SPDX-License-Identifier: GPL-2.0-only
/*
 * The fuzzer (fuzz_run.c) on the device under test.
 */
#include "fuzz.h"

/*
 * Rounds that went wrong once, and what it was; each test begins with them. (A change
 * of the fuzzer gives a seed another meaning: what a round has found gets a test of
 * its own, too, which docs/security/tests.md names, and promises.sh looks for it there.)
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
