/* SPDX-License-Identifier: GPL-2.0 */
/* ulp_kit.h - the kit for ULPs as it is compiled into ulp_test.c, for other files, too */
#ifndef _KFI_KUNIT_ULP_KIT_H
#define _KFI_KUNIT_ULP_KIT_H

#include "../../kfi/ulp/ulp.h"

/* Providers exist, and none offers the kit anything. */
extern bool kit_no_device;

/* Pretend that the looks which did not find an address happened @age jiffies earlier. */
void kit_looked_before(struct kfi_listener *l, unsigned long age);

#endif /* _KFI_KUNIT_ULP_KIT_H */
