// SPDX-License-Identifier: GPL-2.0
/*
 * proto_fuzz.c - libFuzzer on the decoders of the message protocol. Whatever a peer sends, a frame
 * that decode accepts keeps the promises that the receive path relies on; and encode is the inverse
 * of decode.
 */
#include "wire.h"

static_assert(KFW_PAYLOAD_MAX <= UINT32_MAX, "a length that a size_t of 32 bits can't hold");

#define EAGER 16384

/* Independent of kfabric's tables: the numbers of libfabric. */
static void check_atomic(const struct kfw_frame *f)
{
	unsigned int op = f->op, values = op == 10 ? 0 : 1;

	if (f->type != KFW_ATOMIC)
		return;
	PROMISE(op <= 19 && (op != 10 || f->flags == KFW_F_FETCH));
	PROMISE((op >= 12 && op <= 18) == !!(f->flags & KFW_F_COMPARE));
	if (f->flags & KFW_F_COMPARE)
		values = 2;
	PROMISE(f->payload == values * f->len);
	PROMISE(f->datatype <= 7 || f->datatype == 14 || f->datatype == 15);
}

/*
 * Frames have places only where they are expected, and no payload follows the announcement of
 * placed payload.
 */
static void check_places(const struct kfw_frame *f)
{
	bool data = f->type == KFW_DATA || f->type == KFW_READ_DATA;

	PROMISE(f->places <= KFW_PLACES_MAX);
	PROMISE(!f->places || f->type == KFW_CTS || f->type == KFW_READ || f->type == KFW_TREAD ||
		f->type == KFW_GRANT);
	PROMISE(!data || (!(f->flags & ~KFW_F_PLACED) &&
			  f->len <= (f->flags ? KFW_PLACED_MAX : KFW_FRAME_MAX)));
	PROMISE(!data || f->payload == (f->flags & KFW_F_PLACED ? 0 : f->len));
}

/*
 * A frame about a grant names one that there may be, and at most one segment. A GRANT without
 * places gives none.
 */
static void check_grant(const struct kfw_frame *f)
{
	bool uses = f->type == KFW_WRITE && f->flags & KFW_F_PLACED;

	if (!uses && f->type != KFW_GRANT && f->type != KFW_RECALL && f->type != KFW_RECALLED)
		return;
	PROMISE(!f->payload);
	if (f->type == KFW_GRANT && !f->places) {
		PROMISE(!f->grant && !f->grant_id && !f->len && !f->flags && !f->rma_count);
		return;
	}
	PROMISE(f->grant < KFW_GRANTS_MAX && f->grant_id);
	PROMISE(f->rma_count == (uses || f->type == KFW_GRANT ? 1 : 0));
	PROMISE(f->type != KFW_GRANT || (f->len && !(f->flags & ~(KFW_F_COMMIT | KFW_F_ONCE))));
	PROMISE(uses || f->type == KFW_GRANT || !f->flags);
}

/* An RTW is for one segment, and so is what devices have written. */
static void check_rtw(const struct kfw_frame *f)
{
	PROMISE(!(f->flags & KFW_F_DEVICE) || f->type == KFW_RTW || f->type == KFW_WRITE);
	if (f->type != KFW_RTW && !(f->flags & KFW_F_DEVICE))
		return;
	PROMISE(f->rma_count == 1 && f->len && !f->payload);
	PROMISE(f->type == KFW_RTW ? !(f->flags & ~KFW_F_DEVICE) :
				     f->flags == (KFW_F_DEVICE | KFW_F_PLACED));
}

/*
 * Elements on the wire are little endian, as on this host, and are decoded and encoded to the same
 * bytes.
 */
static void check_values(const uint8_t *data, size_t size)
{
	static const u8 sizes[] = { 1, 2, 4, 8, 16 };
	u8 width = sizes[size % 5], wire[64], back[64];
	size_t len = size < sizeof(wire) ? size : sizeof(wire);

	len -= len % width;
	memcpy(wire, data, len);
	kfw_encode_values(wire, len, width);
	PROMISE(!memcmp(wire, data, len));
	memcpy(back, wire, len);
	kfw_decode_values(back, len, width);
	PROMISE(!memcmp(back, data, len));
}

static void check_frame(const struct kfw_hdr *hdr)
{
	struct kfw_frame f;

	if (kfw_decode(hdr, EAGER, &f))
		return;
	PROMISE(f.type > 0 && f.type < KFW_PLAIN);
	check_atomic(&f);
	PROMISE(f.rma_count <= KFW_RMA_MAX);
	PROMISE(f.payload <= KFW_FRAME_MAX && f.len <= KFW_PAYLOAD_MAX);
	PROMISE(f.type != KFW_MSG || (f.payload <= EAGER && f.payload == f.len));
	PROMISE(f.type != KFW_WRITE || f.rma_count);
	PROMISE(f.type != KFW_WRITE || !(f.flags & KFW_F_PLACED) || !f.payload);
	PROMISE(f.type != KFW_WRITE || f.flags & KFW_F_PLACED || f.payload == f.len ||
		(f.payload && f.payload < f.len &&
		 (f.payload == KFW_FRAME_MAX || !((f.len - f.payload) % KFW_FRAME_MAX))));
	PROMISE(!(f.flags & KFW_F_COMMIT) || f.type == KFW_WRITE || f.type == KFW_ATOMIC ||
		f.type == KFW_GRANT);
	PROMISE(!(f.flags & KFW_F_COMMIT) || f.type == KFW_WRITE ||
		!(f.flags & (KFW_F_FETCH | KFW_F_COMPARE)));
	check_places(&f);
	check_rtw(&f);
	check_grant(&f);
	PROMISE(f.type != KFW_READ || (f.rma_count && !f.payload));
	PROMISE(f.type != KFW_ATOMIC ||
		(f.rma_count && f.len && f.len <= KFW_ATOMIC_MAX && f.payload <= 2 * f.len));
	PROMISE(f.type != KFW_ATOMIC ||
		(kfw_value_size(f.datatype) && !(f.len % kfw_value_size(f.datatype))));
	PROMISE((f.type != KFW_ACK && f.type != KFW_CTS && f.type != KFW_CREDIT &&
		 f.type != KFW_BYE) ||
		(!f.payload && !f.rma_count && !f.flags));
	PROMISE(!(f.flags & KFW_F_INV) || f.rma_count == 1);
	PROMISE(f.extra == f.rma_count * sizeof(struct kfw_rma) +
				   f.places * sizeof(struct kfw_place) +
				   (f.type == KFW_REPLY ? f.msg_len : 0));
	PROMISE(f.type != KFW_REPLY ||
		(f.rma_count == 1 && f.msg_len <= KFW_REPLY_MAX && f.payload == f.len &&
		 !(f.flags & ~(KFW_F_ACK | KFW_F_LAZY | KFW_F_INV))));
}

/* What lies behind the short header of a plain message has no effect. */
static void check_plain(struct kfw_hdr hdr)
{
	struct kfw_frame f = { 0 }, again = { 0 };
	uint8_t *byte = (uint8_t *)&hdr, *end = byte + sizeof(hdr);
	int ret;

	hdr.type = KFW_PLAIN;
	ret = kfw_decode(&hdr, EAGER, &f);
	for (byte += kfw_hdr_len(hdr.type); byte < end; byte++)
		*byte ^= 0xff;
	PROMISE(kfw_decode(&hdr, EAGER, &again) == ret);
	PROMISE(ret || !memcmp(&f, &again, sizeof(f)));
	PROMISE(ret || (f.type == KFW_MSG && !f.flags && !f.extra));
}

static void check_hello(const struct kfw_hello *hello)
{
	struct kfw_hello_info info, again;
	struct kfw_hello back, twice;

	if (kfw_decode_hello(hello, &info))
		return;
	PROMISE(info.kind >= KFW_HELLO && info.kind <= KFW_PROOF && info.data_len <= KFW_DATA_MAX);
	PROMISE(hello->version >= KFW_VERSION_MIN && hello->version_min <= KFW_VERSION &&
		le16_to_cpu(hello->len) == sizeof(*hello));
	PROMISE(info.agreed.highest >= KFW_VERSION_MIN && info.agreed.highest <= KFW_VERSION &&
		!(info.agreed.features & ~KFW_FEATS));
	PROMISE(le16_to_cpu(hello->auth_len) == (info.auth ? KFW_AUTH_LEN : 0));
	PROMISE(!(le32_to_cpu(hello->features) & KFW_FEAT_PROTECTION) == !info.auth);
	PROMISE(info.kind != KFW_REJECT || !info.auth);
	PROMISE((info.kind != KFW_CHALLENGE && info.kind != KFW_PROOF) || (info.auth && !info.data_len));
	if (info.kind == KFW_HELLO || info.kind == KFW_ACCEPT) {
		PROMISE(info.requests && info.eager && info.incarnation);
		PROMISE(info.eager <= KFW_FRAME_MAX);
		PROMISE(info.allowance_msg >= kfw_cost(info.eager) &&
			info.allowance_tag >= kfw_cost(info.eager));
	}
	kfw_encode_hello(&info, &back);
	PROMISE(!kfw_decode_hello(&back, &again));
	kfw_encode_hello(&again, &twice);
	PROMISE(!memcmp(&back, &twice, sizeof(back)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kfw_hdr hdr = { 0 };
	struct kfw_hello hello = { 0 };
	static const u8 types[] = {
		KFW_CTS, KFW_DATA, KFW_READ, KFW_READ_DATA, KFW_TREAD, KFW_RTW,
		KFW_GRANT, KFW_RECALL, KFW_RECALLED, KFW_WRITE, KFW_REPLY, KFW_PLAIN,
	};

	if (size < 1)
		return 0;
	memcpy(&hdr, data + 1, size - 1 < sizeof(hdr) ? size - 1 : sizeof(hdr));
	memcpy(&hello, data + 1, size - 1 < sizeof(hello) ? size - 1 : sizeof(hello));
	if (data[0] & 1)
		hello.magic = htole32(KFW_MAGIC);	/* random bytes seldom have the magic */
	if (data[0] & 2) {
		hello.version = htole16(KFW_VERSION);
		hello.len = htole16(sizeof(hello));
		hello.features = 0;
		hello.zero = 0;
		hello.auth_len = 0;
	}
	if (data[0] & 64) {
		hello.features = htole32(KFW_FEAT_AUTH);
		hello.auth_len = htole16(KFW_AUTH_LEN);
	}
	if (data[0] & 4)
		hdr.payload = htole64(kfw_part(le64toh(hdr.len), false));
	if (data[0] & 8) {	/* random bytes seldom pass */
		hdr.type = KFW_ATOMIC;
		hdr.op &= 0x1f;
		hdr.datatype &= 0x0f;
		hdr.len = htole64(16);
		hdr.payload = htole64(data[0] & 0x30);
		hdr.rma_count = htole16(1);
	}
	if (data[0] & 128) {
		hdr.type = data[0] & 4 ? KFW_WRITE : KFW_GRANT;
		hdr.flags |= htole16(KFW_F_COMMIT);
	}
	check_values(data + 1, size - 1);
	check_plain(hdr);
	check_frame(&hdr);
	/* A random header seldom has one of these types. */
	hdr.type = types[size % sizeof(types)];
	hdr.flags &= hdr.type == KFW_TREAD ? htole16(KFW_F_TAGGED | KFW_F_RMA) :
		     hdr.type == KFW_REPLY ? htole16(KFW_F_ACK | KFW_F_LAZY | KFW_F_INV) :
					     htole16(KFW_F_PLACED | KFW_F_DEVICE | KFW_F_COMMIT |
						     KFW_F_ONCE);
	hdr.places &= 0x1f;
	check_frame(&hdr);
	hdr.rma_count = htole16(1);
	hdr.grant &= htole16(0x7f);
	hdr.payload = 0;
	check_frame(&hdr);
	hdr.msg_len &= htole16(0x1ff);
	hdr.payload = hdr.len;
	check_frame(&hdr);
	check_hello(&hello);
	return 0;
}
