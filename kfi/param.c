// SPDX-License-Identifier: GPL-2.0
/* param.c - types of module parameters, see kfi_param.h. */
#include <linux/ctype.h>
#include <linux/export.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <kfi_inaddr.h>
#include <kfi_param.h>

/* ---- numbers ---- */

#define KFI_RANGE(kind, low, high)							\
	static int set_##kind(const char *value, const struct kernel_param *param)	\
	{										\
		return param_set_uint_minmax(value, param, low, high);			\
	}										\
	const struct kernel_param_ops kfi_param_##kind = {				\
		.set = set_##kind, .get = param_get_uint,				\
	};										\
	EXPORT_SYMBOL_GPL(kfi_param_##kind)

KFI_RANGE(credits, 16, 1 << 24);
KFI_RANGE(count, 0, INT_MAX);
KFI_RANGE(ms, 1, 3600 * MSEC_PER_SEC);
KFI_RANGE(silence_ms, 200, 3600 * MSEC_PER_SEC);
KFI_RANGE(s, 1, 3600);
KFI_RANGE(hold_s, 0, 3600);
KFI_RANGE(short_port, 1, KFI_SHORT_PORT_MAX);

/* ---- texts ---- */

/* Protects the values of all texts. A leaf */
static DEFINE_SPINLOCK(texts_lock);

static bool is_white(char c)
{
	return isascii(c) && isspace(c);
}

static int text_set(const char *value, const struct kernel_param *param)
{
	const struct kfi_text *text = param->arg;
	size_t len, i;

	while (is_white(*value))
		value++;
	len = strlen(value);
	while (len && is_white(value[len - 1]))
		len--;
	if (len >= text->size)
		return -ENOSPC;
	for (i = 0; i < len; i++)
		if (iscntrl(value[i]))
			return -EINVAL;
	spin_lock(&texts_lock);
	memcpy(text->value, value, len);
	memset(text->value + len, 0, text->size - len);
	spin_unlock(&texts_lock);
	return 0;
}

static int text_get(char *buffer, const struct kernel_param *param)
{
	const struct kfi_text *text = param->arg;
	int len;

	spin_lock(&texts_lock);
	len = scnprintf(buffer, PAGE_SIZE, "%s\n", text->value);
	spin_unlock(&texts_lock);
	return len;
}

const struct kernel_param_ops kfi_param_text = { .set = text_set, .get = text_get };
EXPORT_SYMBOL_GPL(kfi_param_text);

void kfi_param_read(char *to, const char *var, size_t size)
{
	spin_lock(&texts_lock);
	strscpy(to, var, size);
	spin_unlock(&texts_lock);
}
EXPORT_SYMBOL_GPL(kfi_param_read);
