/* SPDX-License-Identifier: GPL-2.0 */
/* suite.h - a suite of unit tests: its name, and its cases as KUNIT_CASE() and its relatives */
#ifndef _KFI_KUNIT_SUITE_H
#define _KFI_KUNIT_SUITE_H

#include <kunit/test.h>

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
