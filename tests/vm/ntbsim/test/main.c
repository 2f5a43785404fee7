// SPDX-License-Identifier: GPL-2.0
/* All tests, one after another. A failed one aborts; a stuck one is killed. */
#include <unistd.h>

#include "unit.h"
#include "util.h"

#define SECONDS 100

static const struct {
	const char *name;
	void (*run)(void);
} tests[] = {
	{ "memory",		test_memory },
	{ "pci",		test_pci },
	{ "ntb",		test_ntb },
	{ "windows",		test_windows },
	{ "link",		test_link },
	{ "ioat",		test_ioat },
	{ "ioat_errors",	test_ioat_errors },
	{ "client",		test_client },
	{ "control",		test_control },
	{ "crowd",		test_crowd },
	{ "fuzz",		test_fuzz },
};

int main(void)
{
	alarm(SECONDS);
	for (size_t i = 0; i < ARRAY_SIZE(tests); i++) {
		tests[i].run();
		printf("ok      ntbsim.%s\n", tests[i].name);
		fflush(stdout);
	}
	printf("%zu passed, 0 failed\n", ARRAY_SIZE(tests));
	return 0;
}
