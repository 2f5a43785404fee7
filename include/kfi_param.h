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
 * KFI_TEST_PARAM() - a constant that tests and measurements change
 * @name: name of the module parameter, which exists if the modules are built with KFI_TESTS=y or
 *	KFI_BENCH=y
 * @var: variable with the value of the constant
 * @type: type of the parameter, as that of module_param()
 */
#ifdef KFI_TESTS
#define KFI_TEST_PARAM(name, var, type)	module_param_named(name, var, type, 0644)
#else
#define KFI_TEST_PARAM(name, var, type)	static_assert(sizeof(var))
#endif

#endif /* _KFI_PARAM_H */
