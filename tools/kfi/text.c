// SPDX-License-Identifier: GPL-2.0
/*
 * text.c - names of the numbers that the kernel uses. The numbers are those of libfabric; the names
 * are those of kfabric's headers, in lower case and without prefix.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <linux/kfi.h>

#include "kfi.h"

struct name {
	uint64_t value;
	const char *name;
};

/* ---- errors ---- */

static const char *const fabric_errors[] = {
	"unspecified error", "buffer too small", "operation not permitted in this state",
	"error entry available", "invalid flags", "no event queue", "different domain",
	"no completion queue", "data damaged in transit", "message truncated",
	"key not available", "no address vector", "queue overrun",
	"receiver not ready", "no memory region available",
};

const char *error_text(int err)
{
	unsigned int i = err - 256;

	if (err == ENODATA)
		return "nobody offers that";
	if (err == ENOTUNIQ)
		return "several machines have that name; say DOMAIN/peer, with a name of kfi show devices";
	return i < ARRAY_SIZE(fabric_errors) ? fabric_errors[i] : strerror(err);
}

/* ---- enumerations ---- */

static const char *const ep_types[] = { "any", "msg", "dgram", "rdm" };

const char *ep_type_name(uint32_t type)
{
	return type < ARRAY_SIZE(ep_types) ? ep_types[type] : "?";
}

/* Return the number, or -1. Type 0 can't be requested. */
int ep_type_parse(const char *name)
{
	size_t i;

	for (i = 1; i < ARRAY_SIZE(ep_types); i++)
		if (!strcmp(ep_types[i], name))
			return i;
	return -1;
}

static const char *const ep_states[] = {
	[KFI_NL_EP_IDLE] = "idle",
	[KFI_NL_EP_ENABLED] = "enabled",
	[KFI_NL_EP_CONNECTING] = "connecting",
	[KFI_NL_EP_CONNECTED] = "connected",
	[KFI_NL_EP_SHUT] = "shut",
	[KFI_NL_EP_DEAD] = "dead",
	[KFI_NL_EP_LISTENING] = "listening",
};

const char *ep_state_name(uint32_t state)
{
	return state < ARRAY_SIZE(ep_states) ? ep_states[state] : "?";
}

static const char *lookup(const struct name *names, size_t n, uint64_t value)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (names[i].value == value)
			return names[i].name;
	return NULL;
}

static const struct name protocols[] = {
	{ 1, "rdma_cm_ib_rc" }, { 2, "iwarp" }, { 3, "ib_ud" }, { 5, "udp" }, { 6, "sock_tcp" },
	{ 0x1000, "loop" }, { 0x1001, "kfi_tcp" }, { 0x1002, "kfi_udp" }, { 0x1003, "kfi_rc" },
	{ 0x1004, "kfi_ntb" }, { 0x1005, "kfi_ud" }, { 0x1006, "kfi_usb4" },
};

const char *protocol_name(uint64_t protocol)
{
	return lookup(protocols, ARRAY_SIZE(protocols), protocol);
}

static const struct name formats[] = {
	{ 0, "unspec" }, { 1, "sockaddr" }, { 2, "sockaddr_in" }, { 3, "sockaddr_in6" },
	{ 4, "sockaddr_ib" }, { 9, "str" }, { 15, "cxi" }, { 0x1000, "loop" },
	{ 0x1001, "ntb" }, { 0x1002, "usb4" },
};

const char *addr_format_name(uint32_t format)
{
	return lookup(formats, ARRAY_SIZE(formats), format);
}

/* ---- flags ---- */

static const struct name caps[] = {
	{ 1ULL << 1, "msg" }, { 1ULL << 2, "rma" }, { 1ULL << 3, "tagged" },
	{ 1ULL << 4, "atomic" }, { 1ULL << 5, "multicast" }, { 1ULL << 6, "collective" },
	{ 1ULL << 8, "read" }, { 1ULL << 9, "write" }, { 1ULL << 10, "recv" },
	{ 1ULL << 11, "send" }, { 1ULL << 12, "remote_read" }, { 1ULL << 13, "remote_write" },
	{ 1ULL << 16, "multi_recv" },
	{ 1ULL << 41, "av_user_id" }, { 1ULL << 43, "peer" },
	{ 1ULL << 45, "tagged_directed_recv" }, { 1ULL << 46, "tagged_multi_recv" },
	{ 1ULL << 48, "exact_directed_recv" }, { 1ULL << 49, "rma_pmem" },
	{ 1ULL << 50, "source_err" }, { 1ULL << 51, "local_comm" },
	{ 1ULL << 52, "remote_comm" }, { 1ULL << 53, "shared_av" }, { 1ULL << 56, "rma_event" },
	{ 1ULL << 57, "source" }, { 1ULL << 58, "named_rx_ctx" },
	{ 1ULL << 59, "directed_recv" }, { 1ULL << 60, "tagged_rma" }, { 1ULL << 61, "place" },
	{ 1ULL << 62, "protected" },
};

static const struct name mr_modes[] = {
	{ 1 << 2, "local" }, { 1 << 3, "raw" }, { 1 << 4, "virt_addr" }, { 1 << 5, "allocated" },
	{ 1 << 6, "prov_key" }, { 1 << 7, "mmu_notify" }, { 1 << 8, "rma_event" },
	{ 1 << 9, "endpoint" },
};

/* Names separated by commas; bits without a name as a number. */
static void flags_text(const struct name *names, size_t n, uint64_t flags, char *buf, size_t size)
{
	size_t at = 0, i;

	if (!flags)
		snprintf(buf, size, "none");
	for (i = 0; i < n && at < size; i++) {
		if (!(flags & names[i].value))
			continue;
		at += snprintf(buf + at, size - at, "%s%s", at ? "," : "", names[i].name);
		flags &= ~names[i].value;
	}
	if (flags && at < size)
		snprintf(buf + at, size - at, "%s0x%" PRIx64, at ? "," : "", flags);
}

void caps_text(uint64_t value, char *buf, size_t size)
{
	flags_text(caps, ARRAY_SIZE(caps), value, buf, size);
}

void mr_mode_text(uint64_t mode, char *buf, size_t size)
{
	flags_text(mr_modes, ARRAY_SIZE(mr_modes), mode, buf, size);
}

/* ---- sizes ---- */

static unsigned int unit_shift(const char *end)
{
	static const char units[] = "kKmMgGtT";
	const char *at = *end && !end[1] ? strchr(units, *end) : NULL;

	return at ? 10 * ((at - units) / 2 + 1) : 0;
}

bool parse_size(const char *text, uint64_t max, uint64_t *value)
{
	unsigned int shift;
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	*value = strtoull(text, &end, 10);
	shift = unit_shift(end);
	if (errno || (*end && !shift) || *value > max >> shift)
		return false;
	*value <<= shift;
	return true;
}

void size_text(uint64_t bytes, char *buf, size_t size)
{
	if (bytes && !(bytes & ((1 << 20) - 1)))
		snprintf(buf, size, "%" PRIu64 "M", bytes >> 20);
	else if (bytes && !(bytes & 1023))
		snprintf(buf, size, "%" PRIu64 "k", bytes >> 10);
	else
		snprintf(buf, size, "%" PRIu64, bytes);
}
