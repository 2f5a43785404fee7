// SPDX-License-Identifier: GPL-2.0
/* proto.c - encode and decode control messages: pure functions over memory. */
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <asm/byteorder.h>
#include <linux/kfi_perf.h>

#include "proto.h"

static size_t fixed_len(u8 type)
{
	switch (type) {
	case PERF_HELLO:
		return sizeof(struct perf_wire_hello);
	case PERF_WELCOME:
		return sizeof(struct perf_wire_welcome);
	case PERF_CHECK:
	case PERF_CHECKED:
	case PERF_END:
	case PERF_REPORT:
		return sizeof(struct perf_wire_counts);
	case PERF_BYE:
	case PERF_PING:
		return sizeof(struct perf_wire_hdr);
	default:
		return 0;
	}
}

const struct kfi_versions perf_speaks = { .lowest = PERF_VERSION_MIN, .highest = PERF_VERSION };

static void put_hello(const struct perf_ctl *ctl, struct perf_wire_hello *w)
{
	const struct perf_hello *h = &ctl->hello;

	w->op = h->op;
	w->mode = h->mode;
	w->wait = h->wait;
	w->mem = h->mem;
	w->size = cpu_to_le32(h->size);
	w->depth = cpu_to_le16(h->depth);
	w->flags = (h->verify ? PERF_HELLO_VERIFY : 0) |
		   (perf_speaks.highest - perf_speaks.lowest) << 4;
	w->addrlen = ctl->addrlen;
	w->timeout_ms = cpu_to_le32(h->timeout_ms);
	w->seed = cpu_to_le64(h->seed);
	memcpy(w + 1, ctl->addr, ctl->addrlen);
}

static void put_welcome(const struct perf_ctl *ctl, struct perf_wire_welcome *w)
{
	w->status = cpu_to_le32(ctl->status);
	w->addrlen = cpu_to_le16(ctl->addrlen);
	w->version_min = kfi_versions_lowest(&perf_speaks);
	w->version = w->version_min ? perf_speaks.highest : 0;
	w->base = cpu_to_le64(ctl->base);
	w->key = cpu_to_le64(ctl->key);
	memcpy(w + 1, ctl->addr, ctl->addrlen);
}

static void put_counts(const struct perf_ctl *ctl, struct perf_wire_counts *w)
{
	w->seq = cpu_to_le64(ctl->seq);
	w->count = cpu_to_le64(ctl->count);
	w->errors = cpu_to_le64(ctl->errors);
}

static bool has_addr(u8 type)
{
	return type == PERF_HELLO || type == PERF_WELCOME;
}

size_t perf_encode(const struct perf_ctl *ctl, void *buf)
{
	size_t len = fixed_len(ctl->type) + (has_addr(ctl->type) ? ctl->addrlen : 0);
	struct perf_wire_hdr *hdr = buf;

	memset(buf, 0, len);
	hdr->magic = cpu_to_le32(PERF_MAGIC);
	hdr->version = ctl->version ?: PERF_VERSION;
	hdr->type = ctl->type;
	hdr->len = cpu_to_le16(len);
	if (ctl->type == PERF_HELLO)
		put_hello(ctl, buf);
	else if (ctl->type == PERF_WELCOME)
		put_welcome(ctl, buf);
	else if (fixed_len(ctl->type) == sizeof(struct perf_wire_counts))
		put_counts(ctl, buf);
	return len;
}

/* Behind the message follows the address and nothing else. */
static int get_addr(struct perf_ctl *ctl, const void *addr, u16 addrlen, size_t have)
{
	if (addrlen > PERF_ADDR_MAX || addrlen != have)
		return -EPROTO;
	ctl->addrlen = addrlen;
	memcpy(ctl->addr, addr, addrlen);
	return 0;
}

static int get_hello(struct perf_ctl *ctl, const struct perf_wire_hello *w, size_t len)
{
	struct perf_hello *h = &ctl->hello;
	int ret = get_addr(ctl, w + 1, w->addrlen, len - sizeof(*w));

	if (ret)
		return ret;
	h->op = w->op;
	h->mode = w->mode;
	h->wait = w->wait;
	h->mem = w->mem;
	h->verify = w->flags & PERF_HELLO_VERIFY;
	h->size = le32_to_cpu(w->size);
	h->depth = le16_to_cpu(w->depth);
	h->timeout_ms = le32_to_cpu(w->timeout_ms);
	h->seed = le64_to_cpu(w->seed);
	if (h->op >= __KFI_PERF_OP_MAX || h->mode >= __KFI_PERF_MODE_MAX ||
	    h->wait >= __KFI_PERF_WAIT_MAX || h->mem >= __KFI_PERF_MEM_MAX ||
	    (w->flags & 0xf & ~PERF_HELLO_VERIFY) ||
	    !h->size || h->size > KFI_PERF_SIZE_MAX ||
	    !h->depth || h->depth > KFI_PERF_DEPTH_MAX || !h->timeout_ms ||
	    h->timeout_ms > PERF_TIMEOUT_MAX_MS)
		return -EPROTO;
	return 0;
}

static int get_welcome(struct perf_ctl *ctl, const struct perf_wire_welcome *w, size_t len)
{
	if (le32_to_cpu(w->status) > 4095)
		return -EPROTO;
	ctl->status = le32_to_cpu(w->status);
	ctl->base = le64_to_cpu(w->base);
	ctl->key = le64_to_cpu(w->key);
	return get_addr(ctl, w + 1, le16_to_cpu(w->addrlen), len - sizeof(*w));
}

/* HELLO or WELCOME: which version do both sides use? */
static int get_first(struct perf_ctl *ctl, const struct perf_wire_hdr *hdr, size_t len)
{
	const struct perf_wire_welcome *welcome = (const void *)hdr;
	const struct perf_wire_hello *hello = (const void *)hdr;
	struct kfi_versions agreed;
	int ret;

	if (hdr->type == PERF_HELLO) {
		ret = get_hello(ctl, hello, len);
		ctl->speaks = (struct kfi_versions) {
			.lowest = max(hdr->version - PERF_HELLO_OLDER(hello->flags), 0),
			.highest = hdr->version,
		};
	} else {
		ret = get_welcome(ctl, welcome, len);
		ctl->speaks = kfi_versions_read(welcome->version ?: hdr->version,
						welcome->version_min, 0);
	}
	ret = kfi_versions_agree(&perf_speaks, &ctl->speaks, &agreed) ?: ret;
	ctl->version = agreed.highest;
	return ret;
}

static int get_counts(struct perf_ctl *ctl, const struct perf_wire_counts *w, size_t len)
{
	ctl->seq = le64_to_cpu(w->seq);
	ctl->count = le64_to_cpu(w->count);
	ctl->errors = le64_to_cpu(w->errors);
	return len == sizeof(*w) ? 0 : -EPROTO;
}

int perf_decode(const void *buf, size_t len, struct perf_ctl *ctl)
{
	const struct perf_wire_hdr *hdr = buf;
	size_t least;

	memset(ctl, 0, sizeof(*ctl));
	if (len < sizeof(*hdr) || len > PERF_CTL_MAX ||
	    le32_to_cpu(hdr->magic) != PERF_MAGIC || le16_to_cpu(hdr->len) != len)
		return -EPROTO;
	ctl->version = hdr->version;
	least = fixed_len(hdr->type);
	if (!least || len < least)
		return -EPROTO;
	ctl->type = hdr->type;
	if (has_addr(hdr->type))
		return get_first(ctl, buf, len);
	if (hdr->type != PERF_PING &&
	    (hdr->version < PERF_VERSION_MIN || hdr->version > PERF_VERSION))
		return -EPROTO;
	if (least == sizeof(struct perf_wire_counts))
		return get_counts(ctl, buf, len);
	return len == least ? 0 : -EPROTO;
}
