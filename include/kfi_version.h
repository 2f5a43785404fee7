/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * kfi_version.h - the version of kfabric: of its modules, of the kfi command and of the packages
 *
 * This line is the only place that sets it, and tools/version reads it for scripts. A package of a
 * tree that is no release has more behind it (tools/version). See docs/compatibility.md for what
 * the three numbers promise. The versions of interfaces and formats are numbers of their own.
 */
#ifndef _KFI_VERSION_H
#define _KFI_VERSION_H

#define KFABRIC_VERSION		"1.0.0"

#endif /* _KFI_VERSION_H */
