/* SPDX-License-Identifier: GPL-2.0 */
/* secret.h - the authorization key of the endpoints */
#ifndef KFM_SECRET_H
#define KFM_SECRET_H

#include "mirror.h"

#ifdef CONFIG_KEYS
int kfm_secret_get(struct kfm *m, const char *name);
#else
static inline int kfm_secret_get(struct kfm *m, const char *name)
{
	m->ti->error = "A secret needs a kernel with keys (CONFIG_KEYS)";
	return -EOPNOTSUPP;
}
#endif

#endif /* KFM_SECRET_H */
