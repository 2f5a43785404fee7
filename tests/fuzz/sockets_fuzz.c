// SPDX-License-Identifier: GPL-2.0
/*
 * sockets_fuzz.c - libFuzzer on the decoders of kfi_sockets. Whatever a peer sends, what decode lets through keeps the promises
 * that the receive path relies on; and decode and encode are inverse on it.
 */
#include "fuzz.h"
#include "wire.h"

static_assert(SKW_PAYLOAD_MAX <= UINT32_MAX, "a length that a size_t of 32 bits can't hold");

#define EAGER 16384

/* Independent of the tables: what the numbers are in libfabric. */
static void check_atomic(const struct skw_frame *f)
{
	unsigned int op = f->slot & 0xff, values = op == 10 ? 0 : 1;

	if (f->type != SKW_ATOMIC)
		return;
	PROMISE(op <= 19 && (op != 10 || f->flags == SKW_F_FETCH));
	PROMISE((op >= 12 && op <= 18) == !!(f->flags & SKW_F_COMPARE));
	if (f->flags & SKW_F_COMPARE)
		values = 2;
	PROMISE(f->payload == values * f->len);
	PROMISE(f->slot >> 8 <= 7 || f->slot >> 8 == 14 || f->slot >> 8 == 15);
}

/* Elements on the wire are little endian, as they are on this host, and come back as they were. */
static void check_values(const uint8_t *data, size_t size)
{
	static const u8 sizes[] = { 1, 2, 4, 8, 16 };
	u8 width = sizes[size % 5], wire[64], back[64];
	size_t len = size < sizeof(wire) ? size : sizeof(wire);

	len -= len % width;
	memcpy(wire, data, len);
	skw_encode_values(wire, len, width);
	PROMISE(!memcmp(wire, data, len));
	memcpy(back, wire, len);
	skw_decode_values(back, len, width);
	PROMISE(!memcmp(back, data, len));
}

static void check_frame(const struct skw_hdr *hdr)
{
	struct skw_frame f, again;
	struct skw_hdr back, twice;

	if (skw_decode(hdr, EAGER, &f))
		return;
	PROMISE(f.type > 0 && f.type < SKW_TYPES);
	check_atomic(&f);
	PROMISE(f.rma_count <= SKW_RMA_MAX);
	PROMISE(f.payload <= SKW_PAYLOAD_MAX && f.len <= SKW_PAYLOAD_MAX);
	PROMISE(f.type != SKW_MSG || (f.payload <= EAGER && f.payload == f.len));
	PROMISE(f.type != SKW_WRITE || (f.rma_count && f.payload == f.len));
	PROMISE(f.type != SKW_FLUSH || (f.rma_count && !f.payload && !(f.flags & ~SKW_F_COMMIT)));
	PROMISE(!(f.flags & SKW_F_COMMIT) || f.type == SKW_WRITE || f.type == SKW_FLUSH || f.type == SKW_ATOMIC);
	PROMISE(!(f.flags & SKW_F_COMMIT) || f.type == SKW_WRITE || !(f.flags & (SKW_F_FETCH | SKW_F_COMPARE)));
	PROMISE(f.type != SKW_READ || (f.rma_count && !f.payload));
	PROMISE(f.type != SKW_ATOMIC || (f.rma_count && f.len && f.len <= SKW_ATOMIC_MAX && f.payload <= 2 * f.len));
	PROMISE(f.type != SKW_ATOMIC || (skw_value_size(f.slot) && !(f.len % skw_value_size(f.slot))));
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
	PROMISE(g.version >= SKW_VERSION_MIN && g.version <= SKW_VERSION);
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
		hello.zero = 0;
		hello.auth_len = 0;
	}
	if (data[0] & 64) {
		hello.features = htole32(SKW_FEAT_AUTH);
		hello.auth_len = htole16(SKW_AUTH_LEN);
	}
	if (data[0] & 4)
		hdr.payload = hdr.len;
	if (data[0] & 8) {	/* or these seldom pass */
		hdr.type = SKW_ATOMIC;
		hdr.slot &= htole16(0x0f1f);
		hdr.len = htole64(16);
		hdr.payload = htole64(data[0] & 0x30);
		hdr.rma_count = htole16(1);
	}
	if (data[0] & 128) {
		hdr.type = data[0] & 4 ? SKW_WRITE : SKW_FLUSH;
		hdr.flags |= SKW_F_COMMIT;
	}
	check_values(data + 1, size - 1);
	check_frame(&hdr);
	check_hello(&hello);
	return 0;
}
