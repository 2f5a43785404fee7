// SPDX-License-Identifier: GPL-2.0
/* Parameters of modules that are texts: what a write leaves of a value, and what it refuses. */
#include <linux/mm.h>
#include <kfi_param.h>
#include "suite.h"

static void text_written(struct kunit *test)
{
	static const struct {
		const char *written, *value;
		int err;
	} rows[] = {
		{ "verbs", "verbs" },
		{ "ntb\n", "ntb" },		/* by echo */
		{ " \t loop\t\n", "loop" },
		{ "a,b c\n", "a,b c" },
		{ "12345678", "a,b c", -ENOSPC },
		{ "a\nb", "a,b c", -EINVAL },
		{ "1234567\n", "1234567" },
		{ "\n", "" },			/* as if it were not set */
		{ "usb4", "usb4" },
		{ "", "" },
	};
	char value[8] = "auto", read[8], *page = (char *)__get_free_page(GFP_KERNEL);
	struct kfi_text text = { value, sizeof(value) };
	const struct kernel_param param = { .arg = &text };
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, page);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		KUNIT_EXPECT_EQ(test, rows[i].err, kfi_param_text.set(rows[i].written, &param));
		kfi_param_read(read, value, sizeof(read));
		KUNIT_EXPECT_STREQ(test, rows[i].value, read);
		KUNIT_EXPECT_EQ(test, strlen(rows[i].value) + 1, kfi_param_text.get(page, &param));
		KUNIT_EXPECT_EQ(test, 0, strncmp(page, rows[i].value, strlen(rows[i].value)));
	}
	free_page((unsigned long)page);
}

KFI_SUITE(kfi_param,
	KUNIT_CASE(text_written));
