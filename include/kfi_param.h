/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * kfi_param.h - parameters of modules.
 *
 * A value is a parameter of its module if there is a documented reason for which an administrator
 * changes it; the manual page of the module has it (tests/docs/coverage). Others are constants.
 */
#ifndef _KFI_PARAM_H
#define _KFI_PARAM_H

#include <linux/build_bug.h>
#include <linux/moduleparam.h>

/* Ranges of values. A value that is out of range is refused, at load time and later. */
extern const struct kernel_param_ops kfi_param_credits;		/* 16 to 2^24 */
extern const struct kernel_param_ops kfi_param_count;		/* 0 to INT_MAX */
extern const struct kernel_param_ops kfi_param_ms;		/* 1 to an hour */
extern const struct kernel_param_ops kfi_param_silence_ms;	/* 200 to an hour */
extern const struct kernel_param_ops kfi_param_s;		/* 1 to an hour */
extern const struct kernel_param_ops kfi_param_hold_s;		/* 0 to an hour */
extern const struct kernel_param_ops kfi_param_short_port;	/* 1 to KFI_SHORT_PORT_MAX */

/**
 * KFI_PARAM() - a module parameter with a range
 * @name: name of the parameter
 * @var: unsigned int
 * @kind: range, the end of the name of its kernel_param_ops
 * @perm: permissions in sysfs
 * @text: description for modinfo
 */
#define KFI_PARAM(name, var, kind, perm, text)			\
	module_param_cb(name, &kfi_param_##kind, &(var), perm);	\
	__MODULE_PARM_TYPE(name, "uint");			\
	MODULE_PARM_DESC(name, text)

/**
 * struct kfi_text - the value of a parameter that is a text
 * @value: array; the module may read one that is set only when it is loaded, others by
 *	kfi_param_read()
 * @size: its bytes
 */
struct kfi_text {
	char		*value;
	unsigned int	size;
};

/* ASCII white space around a value is no part of it: echo writes a newline behind it. */
extern const struct kernel_param_ops kfi_param_text;

/**
 * KFI_PARAM_TEXT() - a module parameter that is a text
 * @name: name of the parameter
 * @var: array of char, with the default
 * @perm: permissions in sysfs
 * @text: description for modinfo
 *
 * Used instead of the type charp of module_param(), which keeps white space, and frees the value
 * that somebody may be reading.
 */
#define KFI_PARAM_TEXT(name, var, perm, text)				\
	__KFI_PARAM_TEXT(module_param_cb, name, var, perm, text)

/* The same for a parameter that taints the kernel, see module_param_unsafe() */
#define KFI_PARAM_TEXT_UNSAFE(name, var, perm, text)			\
	__KFI_PARAM_TEXT(module_param_cb_unsafe, name, var, perm, text)

#define __KFI_PARAM_TEXT(define, name, var, perm, text)			\
	static struct kfi_text kfi_text_##name = { var, sizeof(var) };	\
	define(name, &kfi_param_text, &kfi_text_##name, perm);		\
	__MODULE_PARM_TYPE(name, "string");				\
	MODULE_PARM_DESC(name, text)

/**
 * kfi_param_read() - copy the value of a parameter that may be written meanwhile
 * @to: where to copy it
 * @var: array of a KFI_PARAM_TEXT()
 * @size: bytes of @to, at least those of @var
 *
 * Context: Process context, does not sleep.
 */
void kfi_param_read(char *to, const char *var, size_t size);

/**
 * KFI_TEST_PARAM() - a constant that tests and measurements change
 * @name: name of the module parameter, which exists if the modules are built with KFI_TESTS=y or
 *	KFI_BENCH=y
 * @var: variable with the value of the constant
 * @type: type of the parameter, as that of module_param()
 *
 * The Kbuild of the folder has a line for the file: CFLAGS_<file>.o += $(KFI_PARAM_FLAGS).
 */
#ifdef KFI_TESTS
#define KFI_TEST_PARAM(name, var, type)	module_param_named(name, var, type, 0644)
#else
#define KFI_TEST_PARAM(name, var, type)	static_assert(sizeof(var))
#endif

#endif /* _KFI_PARAM_H */
