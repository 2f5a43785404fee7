/* SPDX-License-Identifier: GPL-2.0 */
/* secret.h - the authorization key of the endpoints */
#ifndef KFM_SECRET_H
#define KFM_SECRET_H

#include "mirror.h"

int kfm_secret_get(struct kfm *m, const char *name);

#endif /* KFM_SECRET_H */
