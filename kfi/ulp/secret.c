// SPDX-License-Identifier: GPL-2.0
/* secret.c - secrets, which are in keys of type logon: user space can't read them. */
#include <keys/user-type.h>
#include <linux/export.h>
#include <linux/key.h>
#include <linux/string.h>
#include "ulp.h"

static int copy(u8 *secret, const struct user_key_payload *payload)
{
	if (!payload)
		return -EKEYREVOKED;
	if (payload->datalen < KFI_SECRET_MIN || payload->datalen > KFI_SECRET_MAX)
		return -EINVAL;
	memcpy(secret, payload->data, payload->datalen);
	return payload->datalen;
}

int kfi_secret_get(const char *name, u8 *secret)
{
	struct key *key = request_key(&key_type_logon, name, NULL);
	int ret;

	if (IS_ERR(key))
		return PTR_ERR(key);
	down_read(&key->sem);
	ret = copy(secret, user_key_payload_locked(key));
	up_read(&key->sem);
	key_put(key);
	return ret;
}
EXPORT_SYMBOL_GPL(kfi_secret_get);
