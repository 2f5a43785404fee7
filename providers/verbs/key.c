// SPDX-License-Identifier: GPL-2.0
/*
 * key.c - what we know of the peer's regions: where on the fabric the bytes behind a key of kfabric's are.
 *
 * Asked for once, with KEY, or told with a message, and kept until the peer's epoch grows: then some region of which it has told is no more. What is
 * kept may be wrong all the same, for regions end at any time: then the fabric refuses the access.
 *
 * Under kv_conn.lock.
 */
#include "verbs.h"

/* kv_key.state */
enum { KV_KEY_EMPTY, KV_KEY_ASKED, KV_KEY_KNOWN };

/* The bytes from @first to @end of a region are known. */
static bool key_covers(const struct kv_key *k, u64 at)
{
	return k->state == KV_KEY_KNOWN && at >= k->first && (at < k->end || k->end == k->len);
}

static struct kv_key *key_known(struct kv_conn *conn, u64 key)
{
	unsigned int i;

	for (i = 0; i < KV_KEYS; i++)
		if (conn->keys[i].state != KV_KEY_EMPTY && conn->keys[i].key == key)
			return &conn->keys[i];
	return NULL;
}

/* A place for another one: an empty one, or that of the next in turn. */
static struct kv_key *key_room(struct kv_conn *conn)
{
	struct kv_key *k;
	unsigned int i;

	for (i = 0; i < KV_KEYS; i++)
		if (conn->keys[i].state == KV_KEY_EMPTY)
			return &conn->keys[i];
	for (i = 0; i < KV_KEYS; i++) {
		k = &conn->keys[conn->key_turn++ % KV_KEYS];
		if (k->state == KV_KEY_KNOWN)
			return k;
	}
	return NULL;
}

/* -EAGAIN, and the answer will let the send side run again; or there is no credit, and that will; or it is too early. */
static int key_ask(struct kv_conn *conn, struct kv_key *k, u64 key, u64 addr)
{
	struct kvw_packet p = { .type = KVW_KEY, .tag = key, .data = addr };

	k = k ?: key_room(conn);
	if (!k || conn->asks_later || !kv_may_ask(conn) || !kfi_credit_take(&conn->credit_tx[KVW_CLS_CTL], 1))
		return -EAGAIN;
	k->state = KV_KEY_ASKED;
	k->key = key;
	k->asked = addr;
	k->status = 0;
	k->gen++;
	p.id = k - conn->keys;
	p.gen = k->gen;
	conn->requests++;
	kv_put_packet(conn, &p, NULL, 0);
	return -EAGAIN;
}

static void key_run(const struct kv_key *k, u64 at, u64 len, struct kv_run *run)
{
	u64 off = at - k->first;
	unsigned int i;

	*run = (struct kv_run){ .tell = k->rights & KVW_K_TELL, .commit = k->rights & KVW_K_COMMIT };
	for (i = 0; i < k->count; off -= k->desc[i++].len) {
		if (off >= k->desc[i].len)
			continue;
		run->addr = k->desc[i].addr + off;
		run->rkey = k->desc[i].rkey;
		run->len = min(len, k->desc[i].len - off);
		return;
	}
}

/*
 * The first of @len bytes at @addr of the peer's region @key, as many as are contiguous on the fabric. Return: 0; -EACCES; -EAGAIN:
 * the peer has been asked, or will be when it can.
 */
int kv_key_find(struct kv_conn *conn, u64 key, u64 addr, u64 len, u8 right, struct kv_run *run)
{
	struct kv_key *k = key_known(conn, key);
	int err;

	lockdep_assert_held(&conn->lock);
	if (!k)
		return key_ask(conn, NULL, key, addr);
	if (k->state == KV_KEY_ASKED)
		return -EAGAIN;
	if (k->status) {
		/* The answer is for whoever has asked: the next one asks again. */
		err = -(int)k->status;
		k->state = KV_KEY_EMPTY;
		return err;
	}
	if (addr - k->base > k->len || len > k->len - (addr - k->base) || !(k->rights & right))
		return -EACCES;
	if (!key_covers(k, addr - k->base))
		return key_ask(conn, k, key, addr);
	key_run(k, addr - k->base, len, run);
	return 0;
}

static bool key_descs(struct kv_key *k, const struct kvw_desc *descs, unsigned int count)
{
	unsigned int i;
	u64 len;

	k->end = k->first;
	for (i = 0; i < count; i++) {
		len = le64_to_cpu(descs[i].len);
		if (!len || len > k->len - k->end || le64_to_cpu(descs[i].key) > U32_MAX)
			return false;
		k->desc[i].addr = le64_to_cpu(descs[i].addr);
		k->desc[i].rkey = le64_to_cpu(descs[i].key);
		k->desc[i].len = len;
		k->end += len;
	}
	k->count = count;
	return true;
}

/* The byte that was asked for is among them, or is the end of the region. */
static bool key_answers(const struct kv_key *k)
{
	u64 at = k->asked - k->base;

	return at >= k->first && at <= k->len && (at < k->end || k->end == k->len);
}

int kv_got_key(struct kv_conn *conn, const struct kvw_packet *p, const struct kvw_desc *descs)
{
	struct kv_key *k = p->id < KV_KEYS ? &conn->keys[p->id] : NULL;

	if (!k || k->state != KV_KEY_ASKED || k->gen != p->gen)
		return -EPROTO;
	conn->requests--;
	k->state = KV_KEY_EMPTY;
	k->status = p->status < MAX_ERRNO ? p->status : EREMOTEIO;
	if (k->status == EAGAIN) {
		kv_ask_later(conn);	/* not for long: whoever wants it asks again */
		return 0;
	}
	k->state = KV_KEY_KNOWN;
	if (k->status)
		return 0;
	k->rights = p->flags;
	k->base = p->tag;
	k->len = p->len;
	k->first = p->data;
	if (p->count <= KV_DESCS && k->first <= k->len && key_descs(k, descs, p->count) && key_answers(k))
		return 0;
	k->state = KV_KEY_EMPTY;
	return -EPROTO;
}

/* The device's key of a region that has but one, which is used no more; or 0. */
u32 kv_key_rkey(struct kv_conn *conn, u64 key)
{
	struct kv_key *k = key_known(conn, key);

	if (!k || k->state != KV_KEY_KNOWN || k->status || k->count != 1 || k->desc[0].len != k->len)
		return 0;
	k->state = KV_KEY_EMPTY;
	return k->desc[0].rkey;
}

/* The peer's epoch, with every packet: what it has told before is not to be used for what is not under way yet. */
void kv_keys_old(struct kv_conn *conn, u32 epoch)
{
	unsigned int i;

	if (!conn->keys)
		return;
	WRITE_ONCE(conn->peer_epoch, epoch);	/* see kv_rx_is_plain() */
	for (i = 0; i < KV_KEYS; i++)
		if (conn->keys[i].state == KV_KEY_KNOWN && !conn->keys[i].status)
			conn->keys[i].state = KV_KEY_EMPTY;
}
