// SPDX-License-Identifier: GPL-2.0
/* Encoding of requests and answers. */
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/net.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <kfi_domain.h>
#include <kfi_eq.h>
#include "far_buf.h"

/* ---- buffers ---- */

static bool grow(struct far_buf *b, size_t need)
{
	size_t room = max_t(size_t, 2 * b->room, max_t(size_t, need, 256));
	u8 *p;

	if (need <= b->room)
		return true;
	p = need <= FAR_MAX_BODY ? kvmalloc(room, GFP_KERNEL) : NULL;
	if (!p) {
		b->bad = true;
		return false;
	}
	if (b->len)
		memcpy(p, b->p, b->len);
	kvfree(b->p);
	b->p = p;
	b->room = room;
	return true;
}

void *far_room(struct far_buf *b, size_t len)
{
	void *p;

	/* An object without bytes has a place, too. */
	if (!grow(b, b->len + max_t(size_t, len, 1)))
		return NULL;
	p = b->p + b->len;
	b->len += len;
	return p;
}

void far_put(struct far_buf *b, const void *p, size_t len)
{
	void *to = far_room(b, len);

	if (to && len)
		memcpy(to, p, len);
}

const void *far_take(struct far_buf *b, size_t len)
{
	const void *p = b->p + b->at;

	if (len > b->len - b->at) {
		b->bad = true;
		return NULL;
	}
	b->at += len;
	return p;
}

void far_get(struct far_buf *b, void *p, size_t len)
{
	const void *from = far_take(b, len);

	if (from)
		memcpy(p, from, len);
	else
		memset(p, 0, len);
}

void far_free(struct far_buf *b)
{
	kvfree(b->p);
	memset(b, 0, sizeof(*b));
}

/* ---- strings and pieces of memory: a length, 0 for NULL, and the bytes ---- */

static void put_mem(struct far_buf *b, const void *p, size_t len)
{
	u32 n = p ? len + 1 : 0;

	far_put(b, &n, sizeof(n));
	if (p)
		far_put(b, p, len);
}

static const void *take_mem(struct far_buf *b, size_t *len)
{
	u32 n;

	far_get(b, &n, sizeof(n));
	*len = n ? n - 1 : 0;
	return n ? far_take(b, n - 1) : NULL;
}

void far_put_str(struct far_buf *b, const char *s)
{
	put_mem(b, s, s ? strlen(s) + 1 : 0);
}

const char *far_take_str(struct far_buf *b)
{
	size_t len;
	const char *s = take_mem(b, &len);

	if (s && (!len || s[len - 1])) {
		b->bad = true;
		return NULL;
	}
	return s;
}

static void get_str(struct far_buf *b, char **to)
{
	const char *s = far_take_str(b);

	*to = s ? kstrdup(s, GFP_KERNEL) : NULL;
	b->bad |= s && !*to;
}

static void *get_mem(struct far_buf *b, size_t *len)
{
	const void *p = take_mem(b, len);
	void *copy = p && *len ? kmemdup(p, *len, GFP_KERNEL) : NULL;

	b->bad |= p && *len && !copy;
	return copy;
}

/* Return a structure that must have this size, or NULL if it was absent. */
static void *get_attr(struct far_buf *b, size_t size)
{
	size_t len;
	void *p = get_mem(b, &len);

	if (!p || len == size)
		return p;
	b->bad = true;
	kfree(p);
	return NULL;
}

/* ---- infos: the structures as they are, except for their pointers ---- */

static void put_fid(struct far_buf *b, struct kfid *fid, const struct far_names *names)
{
	u64 n = fid ? names->number(names->owner, fid) : 0;

	far_put(b, &n, sizeof(n));
}

static struct kfid *get_fid(struct far_buf *b, const struct far_names *names)
{
	u64 n;

	far_get(b, &n, sizeof(n));
	return n ? names->object(names->owner, n) : NULL;
}

/* Hints may lack any part; the NIC is left out. */
static void put_info(struct far_buf *b, const struct kfi_info *i, const struct far_names *names)
{
	far_put(b, i, sizeof(*i));
	put_mem(b, i->src_addr, i->src_addrlen);
	put_mem(b, i->dest_addr, i->dest_addrlen);
	put_fid(b, i->handle, names);
	put_mem(b, i->tx_attr, sizeof(*i->tx_attr));
	put_mem(b, i->rx_attr, sizeof(*i->rx_attr));
	put_mem(b, i->ep_attr, sizeof(*i->ep_attr));
	if (i->ep_attr)
		put_mem(b, i->ep_attr->auth_key, i->ep_attr->auth_key_size);
	put_mem(b, i->domain_attr, sizeof(*i->domain_attr));
	if (i->domain_attr) {
		put_fid(b, i->domain_attr->domain ? &i->domain_attr->domain->fid : NULL, names);
		far_put_str(b, i->domain_attr->name);
		put_mem(b, i->domain_attr->auth_key, i->domain_attr->auth_key_size);
	}
	put_mem(b, i->fabric_attr, sizeof(*i->fabric_attr));
	if (i->fabric_attr) {
		put_fid(b, i->fabric_attr->fabric ? &i->fabric_attr->fabric->fid : NULL, names);
		far_put_str(b, i->fabric_attr->name);
		far_put_str(b, i->fabric_attr->prov_name);
	}
}

static void get_domain_attr(struct far_buf *b, struct kfi_info *i, const struct far_names *names)
{
	struct kfi_domain_attr *d;
	size_t len;

	d = get_attr(b, sizeof(*d));
	i->domain_attr = d;
	if (!d)
		return;
	d->name = NULL;
	d->auth_key = NULL;
	d->domain = (void *)get_fid(b, names);
	get_str(b, &d->name);
	d->auth_key = get_mem(b, &len);
}

static void get_fabric_attr(struct far_buf *b, struct kfi_info *i, const struct far_names *names)
{
	struct kfi_fabric_attr *f = get_attr(b, sizeof(*f));

	i->fabric_attr = f;
	if (!f)
		return;
	f->name = NULL;
	f->prov_name = NULL;
	f->fabric = (void *)get_fid(b, names);
	get_str(b, &f->name);
	get_str(b, &f->prov_name);
}

static struct kfi_info *get_info(struct far_buf *b, const struct far_names *names)
{
	struct kfi_info *i = kzalloc(sizeof(*i), GFP_KERNEL);
	struct kfi_info head;
	size_t len;

	if (!i)
		return NULL;
	far_get(b, &head, sizeof(head));
	i->caps = head.caps;
	i->mode = head.mode;
	i->addr_format = head.addr_format;
	i->src_addrlen = head.src_addrlen;
	i->dest_addrlen = head.dest_addrlen;
	i->src_addr = get_mem(b, &len);
	i->dest_addr = get_mem(b, &len);
	i->handle = get_fid(b, names);
	i->tx_attr = get_attr(b, sizeof(*i->tx_attr));
	i->rx_attr = get_attr(b, sizeof(*i->rx_attr));
	i->ep_attr = get_attr(b, sizeof(*i->ep_attr));
	if (i->ep_attr)
		i->ep_attr->auth_key = get_mem(b, &len);
	get_domain_attr(b, i, names);
	get_fabric_attr(b, i, names);
	return i;
}

void far_put_infos(struct far_buf *b, const struct kfi_info *info, const struct far_names *names)
{
	const struct kfi_info *i;
	u32 n = 0;

	for (i = info; i; i = i->next)
		n++;
	far_put(b, &n, sizeof(n));
	for (i = info; i; i = i->next)
		put_info(b, i, names);
}

struct kfi_info *far_get_infos(struct far_buf *b, const struct far_names *names)
{
	struct kfi_info *first = NULL, **end = &first;
	u32 n;

	far_get(b, &n, sizeof(n));
	for (; n && !b->bad; n--) {
		*end = get_info(b, names);
		if (!*end) {
			b->bad = true;
			break;
		}
		end = &(*end)->next;
	}
	if (!b->bad)
		return first;
	kfi_freeinfo(first);
	return NULL;
}

/* ---- TCP ---- */

static int send_all(struct socket *sock, const void *p, size_t len, int flags)
{
	struct msghdr msg = { .msg_flags = MSG_NOSIGNAL | flags };
	struct kvec vec;
	int ret;

	while (len) {
		vec = (struct kvec){ (void *)p, len };
		ret = kernel_sendmsg(sock, &msg, &vec, 1, len);
		if (ret <= 0)
			return ret ?: -EPIPE;
		p += ret;
		len -= ret;
	}
	return 0;
}

int far_send(struct socket *sock, const void *head, size_t head_len, const void *body, size_t len)
{
	return send_all(sock, head, head_len, len ? MSG_MORE : 0) ?: send_all(sock, body, len, 0);
}

int far_recv(struct socket *sock, void *p, size_t len)
{
	struct msghdr msg = {};
	struct kvec vec;
	int ret;

	while (len) {
		vec = (struct kvec){ p, len };
		ret = kernel_recvmsg(sock, &msg, &vec, 1, len, MSG_WAITALL);
		if (ret <= 0)
			return ret ?: -ECONNRESET;
		p += ret;
		len -= ret;
	}
	return 0;
}

int far_recv_body(struct socket *sock, struct far_buf *b, u64 len)
{
	memset(b, 0, sizeof(*b));
	if (len > FAR_MAX_BODY)
		return -EPROTO;
	if (!len)
		return 0;
	if (!far_room(b, len))
		return -ENOMEM;
	return far_recv(sock, b->p, len);
}

u64 far_fingerprint(void)
{
	static const u16 sizes[] = {
		sizeof(struct kfi_info),	sizeof(struct kfi_tx_attr),
		sizeof(struct kfi_rx_attr),	sizeof(struct kfi_ep_attr),
		sizeof(struct kfi_domain_attr), sizeof(struct kfi_fabric_attr),
		sizeof(struct kfi_cq_attr),	sizeof(struct kfi_cq_err_entry),
		sizeof(struct kfi_eq_attr),	sizeof(struct kfi_av_attr),
		sizeof(struct kfi_cntr_attr),	sizeof(struct far_post),
		sizeof(struct far_mr),		FAR_OPS,
	};
	u64 sum = kfi_version();
	int i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++)
		sum = sum * 1000003 + sizes[i];
	return sum;
}

/*
 * Changes of memory. They are exact to the byte: a byte that one side has not changed may have
 * been changed by the other.
 */

#define STRIDE	512	/* bytes that are compared at once, because most have not changed */

/*
 * The memory may change meanwhile: the bytes that are sent are those that are stored in the twin.
 */
static u32 put_run(struct far_buf *b, const u8 *mem, u8 *twin, size_t at, size_t len)
{
	struct far_run run = { at, len };

	memcpy(twin + at, mem + at, len);
	far_put(b, &run, sizeof(run));
	far_put(b, twin + at, len);
	return 1;
}

static u32 put_stride(struct far_buf *b, const u8 *mem, u8 *twin, size_t at, size_t end)
{
	size_t from;
	u32 n = 0;

	while (at < end) {
		for (; at < end && mem[at] == twin[at]; at++)
			;
		for (from = at; at < end && mem[at] != twin[at]; at++)
			;
		if (at > from)
			n += put_run(b, mem, twin, from, at - from);
	}
	return n;
}

u32 far_runs_put(struct far_buf *b, const u8 *mem, u8 *twin, size_t lo, size_t hi)
{
	size_t at, end;
	u32 n = 0;

	for (at = lo; at < hi; at = end) {
		end = min(hi, at + STRIDE);
		if (memcmp(mem + at, twin + at, end - at))
			n += put_stride(b, mem, twin, at, end);
	}
	return n;
}

bool far_runs_get(struct far_buf *b, u32 n, u8 *mem, u8 *twin, size_t size)
{
	struct far_run run;
	const void *p;

	while (n--) {
		far_get(b, &run, sizeof(run));
		p = far_take(b, run.len);
		if (b->bad || run.at > size || run.len > size - run.at)
			return false;
		memcpy(mem + run.at, p, run.len);
		memcpy(twin + run.at, p, run.len);
	}
	return true;
}
