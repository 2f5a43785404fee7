// SPDX-License-Identifier: GPL-2.0
/*
 * secret.c - the secret of a mirror, which all of its nodes have. It is the authorization key of the
 * endpoints: a node without it is refused by the provider before any message of the mirror.
 *
 * A table names a key of type logon, which user space can't read back. So neither the table nor the
 * command line of dmsetup has the secret.
 */
#include <keys/user-type.h>
#include <linux/key.h>
#include <linux/slab.h>
#include <linux/string.h>
#include "mirror.h"
#include "secret.h"

#define SECRET_MIN	16	/* bytes */
#define SECRET_MAX	256

static int copy_secret(struct kfm *m, const struct user_key_payload *payload)
{
	m->ti->error = "The key has been revoked";
	if (!payload)
		return -EKEYREVOKED;
	m->ti->error = "A secret has 16 to 256 bytes";
	if (payload->datalen < SECRET_MIN || payload->datalen > SECRET_MAX)
		return -EINVAL;
	m->ti->error = "No memory";
	m->secret = kmemdup(payload->data, payload->datalen, GFP_KERNEL);
	if (!m->secret)
		return -ENOMEM;
	m->secret_len = payload->datalen;
	return 0;
}

/**
 * kfm_secret_get() - copy the secret that a table names
 * @m: mirror that is being constructed
 * @name: description of a key of type logon, which the caller's keyrings have
 *
 * The key is not needed after that; another secret is taken by the next table.
 *
 * Return: 0, or a negative error and dm_target.error.
 */
int kfm_secret_get(struct kfm *m, const char *name)
{
	struct key *key;
	int ret;

	m->ti->error = "Option secret is given twice";
	if (m->secret)
		return -EINVAL;
	m->ti->error = "No memory";
	m->secret_name = kstrdup(name, GFP_KERNEL);
	if (!m->secret_name)
		return -ENOMEM;
	m->ti->error = "The caller's keyrings have no key of type logon with this description";
	key = request_key(&key_type_logon, name, NULL);
	if (IS_ERR(key))
		return PTR_ERR(key);
	down_read(&key->sem);
	ret = copy_secret(m, user_key_payload_locked(key));
	up_read(&key->sem);
	key_put(key);
	return ret;
}
