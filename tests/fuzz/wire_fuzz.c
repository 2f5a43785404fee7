// SPDX-License-Identifier: GPL-2.0
/*
 * wire_fuzz.c - libFuzzer on the decoders of kfi_sockets. Whatever a peer sends, what decode lets through keeps the promises
 * that the receive path relies on; and decode and encode are inverse on it.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "wire.h"

#define EAGER 16384

#define PROMISE(x) do { \
	if (!(x)) { \
		fprintf(stderr, "broken promise: %s\n", #x); \
		abort(); \
	} \
} while (0)

static void check_frame(const struct skw_hdr *hdr)
{
	struct skw_frame f, again;
	struct skw_hdr back, twice;

	if (skw_decode(hdr, EAGER, &f))
		return;
	PROMISE(f.type > 0 && f.type < SKW_TYPES);
	PROMISE(f.rma_count <= SKW_RMA_MAX);
	PROMISE(f.payload <= SKW_PAYLOAD_MAX && f.len <= SKW_PAYLOAD_MAX);
	PROMISE(f.type != SKW_MSG || (f.payload <= EAGER && f.payload == f.len));
	PROMISE(f.type != SKW_WRITE || (f.rma_count && f.payload == f.len));
	PROMISE(f.type != SKW_READ || (f.rma_count && !f.payload));
	PROMISE((f.type != SKW_ACK && f.type != SKW_CTS && f.type != SKW_CREDIT && f.type != SKW_BYE) ||
		(!f.payload && !f.rma_count && !f.flags));
	PROMISE(!(f.flags & SKW_F_INV) || f.rma_count == 1);
	skw_encode(&f, &back);
	PROMISE(!skw_decode(&back, EAGER, &again));
	skw_encode(&again, &twice);
	PROMISE(!memcmp(&back, &twice, sizeof(back)));
}

static void check_hello(const struct skw_hello *hello)
{
	struct skw_greeting g, again;
	struct skw_hello back, twice;

	if (skw_decode_hello(hello, &g))
		return;
	PROMISE(g.kind >= SKW_HELLO && g.kind <= SKW_PROOF && g.data_len <= SKW_DATA_MAX);
	PROMISE(g.version == SKW_VERSION);
	PROMISE(le16_to_cpu(hello->auth_len) == (g.auth ? SKW_AUTH_LEN : 0));
	PROMISE(g.kind != SKW_REJECT || !g.auth);
	PROMISE((g.kind != SKW_CHALLENGE && g.kind != SKW_PROOF) || (g.auth && !g.data_len));
	if (g.kind == SKW_HELLO || g.kind == SKW_ACCEPT) {
		PROMISE(g.requests && g.eager && g.incarnation);
		PROMISE(g.window_msg >= skw_cost(g.eager) && g.window_tag >= skw_cost(g.eager));
	}
	skw_encode_hello(&g, &back);
	PROMISE(!skw_decode_hello(&back, &again));
	skw_encode_hello(&again, &twice);
	PROMISE(!memcmp(&back, &twice, sizeof(back)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct skw_hdr hdr = { 0 };
	struct skw_hello hello = { 0 };

	if (size < 1)
		return 0;
	memcpy(&hdr, data + 1, size - 1 < sizeof(hdr) ? size - 1 : sizeof(hdr));
	memcpy(&hello, data + 1, size - 1 < sizeof(hello) ? size - 1 : sizeof(hello));
	if (data[0] & 1)
		hello.magic = htole32(SKW_MAGIC);	/* do not leave the magic to chance */
	if (data[0] & 2) {
		hello.version = htole16(SKW_VERSION);
		hello.version_min = htole16(SKW_VERSION);
		hello.features = 0;
		hello.auth_len = 0;
	}
	if (data[0] & 8) {
		hello.features = htole32(SKW_FEAT_AUTH);
		hello.auth_len = htole16(SKW_AUTH_LEN);
	}
	if (data[0] & 4)
		hdr.payload = hdr.len;
	check_frame(&hdr);
	check_hello(&hello);
	return 0;
}
