/* SPDX-License-Identifier: GPL-2.0 */
/* status.h - status and table */
#ifndef KFM_STATUS_H
#define KFM_STATUS_H

#include <linux/device-mapper.h>
#include "mirror.h"

extern const char * const kfm_policies[KFM_POLICIES];
extern const char * const kfm_cache_words[KFM_CACHE_WORDS];
void kfm_status(struct dm_target *ti, status_type_t type, unsigned int flags, char *result,
		unsigned int maxlen);

#endif /* KFM_STATUS_H */
