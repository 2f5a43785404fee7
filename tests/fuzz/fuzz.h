/* SPDX-License-Identifier: GPL-2.0 */
/* fuzz.h - common parts of all fuzzers */
#ifndef _FUZZ_H
#define _FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROMISE(x) do { \
	if (!(x)) { \
		fprintf(stderr, "broken promise: %s\n", #x); \
		abort(); \
	} \
} while (0)

#endif
