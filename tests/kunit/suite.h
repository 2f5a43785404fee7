/* SPDX-License-Identifier: GPL-2.0 */
/* suite.h - a suite of unit tests: its name, and its cases as KUNIT_CASE() and its relatives */
#ifndef _KFI_KUNIT_SUITE_H
#define _KFI_KUNIT_SUITE_H

#include <kunit/test.h>
#include <linux/slab.h>

/* Return zeroed memory, which is freed behind the case; without memory the case ends here. */
static inline void *kfi_test_zalloc(struct kunit *test, size_t len)
{
	void *mem = kunit_kzalloc(test, len, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, mem);
	return mem;
}

/* Each case runs between @begin and @finish, which are those of struct kunit_suite. */
#define KFI_SUITE_IN(suite, begin, finish, ...)					\
	static struct kunit_case suite ## _cases[] = { __VA_ARGS__, {} };	\
	static struct kunit_suite suite ## _suite = {				\
		.name = #suite,							\
		.init = begin,							\
		.exit = finish,							\
		.test_cases = suite ## _cases,					\
	};									\
	kunit_test_suite(suite ## _suite)

#define KFI_SUITE(suite, ...)	KFI_SUITE_IN(suite, NULL, NULL, __VA_ARGS__)

#endif /* _KFI_KUNIT_SUITE_H */
