// SPDX-License-Identifier: GPL-2.0
/*
 * secret.c - the secret of a mirror, which all of its nodes have. It is the authorization key of the
 * endpoints: a node without it is refused by the provider before any message of the mirror.
 *
 * A table names a key of type logon, which user space can't read back. So neither the table nor the
 * command line of dmsetup has the secret.
 */
#include <linux/slab.h>
#include <linux/string.h>
#include <kfi_conn.h>
#include "mirror.h"
#include "secret.h"

static char *why(int err)
{
	switch (err) {
	case -EOPNOTSUPP:
		return "A secret needs a kernel with keys (CONFIG_KEYS)";
	case -EKEYREVOKED:
		return "The key has been revoked";
	case -EINVAL:
		return "A secret has 16 to 256 bytes";
	default:
		return "The caller's keyrings have no key of type logon with this description";
	}
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
	u8 secret[KFI_SECRET_MAX];
	int len;

	m->ti->error = "Option secret is given twice";
	if (m->secret)
		return -EINVAL;
	m->ti->error = "No memory";
	m->secret_name = kstrdup(name, GFP_KERNEL);
	if (!m->secret_name)
		return -ENOMEM;
	len = kfi_secret_get(name, secret);
	if (len < 0) {
		m->ti->error = why(len);
		return len;
	}
	m->secret = kmemdup(secret, len, GFP_KERNEL);
	m->secret_len = len;
	memzero_explicit(secret, sizeof(secret));
	return m->secret ? 0 : -ENOMEM;
}
