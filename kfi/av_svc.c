// SPDX-License-Identifier: GPL-2.0
/* Address vectors: insertion of addresses that are given as text, one address or a range. */
#include <linux/ctype.h>
#include <linux/export.h>
#include <linux/inet.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/unaligned.h>
#include "av.h"

#define SVC_NAME_MAX	256

static int resolve(struct kfi_av *av, const char *node, const char *service, void *addr)
{
	int len = kfi_domain_resolve(av->domain, node, service, addr);

	if (len < 0)
		return len;
	return len == av->addrlen ? 0 : -EINVAL;
}

int kfi_av_insertsvc(struct kfid_av *fid, const char *node, const char *service, kfi_addr_t *handle,
		     uint64_t flags, void *context)
{
	struct kfi_av *av = kfi_to_av(fid);
	u8 addr[KFI_ADDR_MAX];
	int err;

	might_sleep();
	err = kfi_av_check_insert(flags, context);
	if (err)
		return err;
	if (!av->domain->fabric->prov->ops->resolve)
		return -EOPNOTSUPP;
	err = -resolve(av, node, service, addr);
	return kfi_av_put_one(av, addr, 0, handle, flags, context, &err) ? 1 : -err;
}
EXPORT_SYMBOL_GPL(kfi_av_insertsvc);

/*
 * Add @n to the decimal number at the end of @name, and keep its width ("node07" + 4 = "node11").
 */
static int count_up_name(const char *name, u64 n, char *out, size_t size)
{
	size_t len = strlen(name), stem = len;
	u64 first = 0;

	while (stem && isdigit(name[stem - 1]))
		stem--;
	if (stem == len)
		return n ? -EINVAL : snprintf(out, size, "%s", name);
	if (kstrtou64(name + stem, 10, &first) || check_add_overflow(first, n, &n))
		return -EINVAL;
	return snprintf(out, size, "%.*s%0*llu", (int)stem, name, (int)(len - stem), n);
}

/*
 * Compute the name of node @node + @n. An IP address is incremented, of another name the number at
 * its end. A range that leaves the IPv4 addresses, or the /64 of its IPv6 address, is refused.
 */
static int count_up_node(const char *node, u64 n, char *out, size_t size)
{
	u8 ip[16];
	u32 v4;
	u64 v6;

	if (in4_pton(node, -1, ip, -1, NULL)) {
		if (check_add_overflow(get_unaligned_be32(ip), n, &v4))
			return -EINVAL;
		put_unaligned_be32(v4, ip);
		return snprintf(out, size, "%pI4", ip);
	}
	if (in6_pton(node, -1, ip, -1, NULL)) {
		if (check_add_overflow(get_unaligned_be64(ip + 8), n, &v6))
			return -EINVAL;
		put_unaligned_be64(v6, ip + 8);
		return snprintf(out, size, "%pI6c", ip);
	}
	return count_up_name(node, n, out, size);
}

static int range_address(struct kfi_av *av, const char *node, size_t n, const char *service,
			 size_t s, char *names, void *addr)
{
	char *svc = names + SVC_NAME_MAX;
	int len;

	len = count_up_node(node, n, names, SVC_NAME_MAX);
	if (len < 0 || len >= SVC_NAME_MAX)
		return -EINVAL;
	if (!service)
		return s ? -EINVAL : resolve(av, names, NULL, addr);
	len = count_up_name(service, s, svc, SVC_NAME_MAX);
	if (len < 0 || len >= SVC_NAME_MAX)
		return -EINVAL;
	return resolve(av, names, svc, addr);
}

int kfi_av_insertsym(struct kfid_av *fid, const char *node, size_t nodecnt, const char *service,
		     size_t svccnt, kfi_addr_t *handles, uint64_t flags, void *context)
{
	struct kfi_av *av = kfi_to_av(fid);
	u8 addr[KFI_ADDR_MAX];
	int err, done = 0;
	size_t total, i;
	char *names;

	might_sleep();
	err = kfi_av_check_insert(flags, context);
	if (err)
		return err;
	if (!node || check_mul_overflow(nodecnt, svccnt, &total) || !total || total > INT_MAX)
		return -EINVAL;
	if (!av->domain->fabric->prov->ops->resolve)
		return -EOPNOTSUPP;
	names = kmalloc(2 * SVC_NAME_MAX, GFP_KERNEL);
	if (!names)
		return -ENOMEM;
	for (i = 0; i < total; i++) {
		err = -range_address(av, node, i / svccnt, service, i % svccnt, names, addr);
		done += kfi_av_put_one(av, addr, i, handles, flags, context, &err);
	}
	kfree(names);
	return done;
}
EXPORT_SYMBOL_GPL(kfi_av_insertsym);
