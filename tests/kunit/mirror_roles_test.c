// SPDX-License-Identifier: GPL-2.0
/*
 * A peer of kfi_mirror that sends what its role does not send: the witness poses as a primary, or
 * as a copy, and a copy as the witness. It has the secret, and knows all numbers.
 */
#include "mirror_world.h"

#define WITNESS	1	/* the peer */
#define STOLEN	9	/* session that this node had with the witness while it was primary */

/* What a message of another role must not change */
struct snapshot {
	struct kfm_super sb;
	struct kfm_log_head head;
	u8 meta[MW_META];
	u32 leg[MW_REGIONS];
	unsigned int opened, given;
	u32 differ, active;
	bool left, insync, primary, open, stepping;
};

static void look(const struct mw *w, struct snapshot *s)
{
	const struct kfm *m = &w->m;
	unsigned int i;

	memset(s, 0, sizeof(*s));
	memcpy(&s->sb, &m->sb, sizeof(s->sb));
	memcpy(&s->head, &m->log.head, sizeof(s->head));
	memcpy(s->meta, w->meta, sizeof(s->meta));
	memcpy(s->leg, w->leg, sizeof(s->leg));
	s->opened = w->log_opened;
	for (i = 0; i < 2; i++) {
		s->given += w->count[i][KFM_GRANT] + w->count[i][KFM_COPIED] +
			    w->count[i][KFM_HASHED] + w->count[i][KFM_SYNCED_OK] +
			    w->count[i][KFM_PONG];
		s->differ += w->peers[i].oos_count;
		s->active += w->peers[i].active_count;
	}
	s->given += w->groups[WITNESS];
	s->left = m->left;
	s->insync = m->was_insync;
	s->primary = m->primary;
	s->open = m->log.open;
	s->stepping = m->stepping;
}

/* Three nodes, of which the last one is the witness */
static struct mw *with_witness(struct kunit *test)
{
	struct mw *w = mw_make(test, 2);

	w->m.policy = KFM_QUORUM;
	w->m.sb.nodes[0] = MW_NODE;
	w->m.sb.nodes[1] = MW_NODE + 1;
	w->newer = true;
	w->peers[WITNESS].witness = true;
	kfm_quorum_resume(&w->m);
	return w;
}

/* A message as it comes from the wire, in the session that the node has, or had, with the peer */
static void says(struct mw *w, unsigned int peer, u16 type, u32 flags, u64 features, u32 arg)
{
	struct kfm_peer *p = &w->peers[peer];
	struct kfm *m = &w->m;
	struct kfm_le_msg wire;
	struct kfm_msg msg = {
		.type = type,
		.session = m->promote ? p->candidate_session : p->session,
		.gens = { .cur = 66, .source = 66, .history = { m->sb.gens.cur } },
		.sectors = m->sectors, .state = KFM_UPTODATE, .flags = flags, .arg = arg,
		.seq = 1, .id = 1, .node = MW_NODE + peer, .peers = 2,
	};

	if (type == KFM_HELLO) {
		msg.features = features | KFM_F_QUORUM;
		msg.lbs = KFM_SECTOR;
		msg.versions = KFM_VERSIONS(KFM_MSG_LOWEST, KFM_MSG_VERSION);
	}
	if (type == KFM_GRANT && !(flags & KFM_M_WITNESS))
		msg.ring_len = KFM_RING_MIN;
	kfm_msg_encode(&msg, &wire);
	if (!kfm_msg_decode(&wire, sizeof(wire), &msg))
		kfm_peer_message(p, &msg);
}

/* How the next message finds the node. A promotion may have ended. */
typedef void (*prepare_fn)(struct mw *w);

static void stays(struct mw *w)
{
}

static void asks(struct mw *w)
{
	if (!w->m.promote) {
		KUNIT_EXPECT_EQ(w->test, mw_order(w, "promote", NULL), 1);
		mw_run(w);
	}
}

/*
 * The witness sends each type but those of @but, which are its own in this state, with each flag
 * and feature.
 */
static void all_types(struct mw *w, unsigned long but, prepare_fn prepare)
{
	static const u32 args[] = { 0, 1, KFM_R_ONLY, KFM_SECTOR };
	struct snapshot *before = kfi_test_zalloc(w->test, 2 * sizeof(*before));
	struct snapshot *after = before + 1;
	unsigned int type, bit, i;

	for (type = KFM_HELLO; type < KFM_MSG_TYPES; type++) {
		if (but & BIT(type))
			continue;
		for (bit = 0; bit <= 10; bit++) {
			for (i = 0; i < ARRAY_SIZE(args); i++) {
				prepare(w);
				look(w, before);
				says(w, WITNESS, type, BIT(bit) & KFM_M_FLAGS,
				     i & 1 ? BIT(bit) : ~0ull >> 55, args[i]);
				/* the second one of a pair, without HELLO */
				says(w, WITNESS, KFM_ATTACH, 0, 0, 1);
				look(w, after);
				if (memcmp(before, after, sizeof(*after)))
					KUNIT_FAIL(w->test, "type %u, flag %u, argument %u", type,
						   bit, args[i]);
			}
		}
	}
	KUNIT_EXPECT_EQ(w->test, w->sent[WITNESS][KFM_REFUSED].type, KFM_REFUSED);
	KUNIT_EXPECT_EQ(w->test, w->count[WITNESS][KFM_STATE], 0);
}

/* A secondary, with a primary, and after it has been the primary of the witness itself */
static void roles_secondary(struct kunit *test)
{
	struct mw *w = with_witness(test);
	struct kfm_peer *p = w->peers;

	w->m.timeout = 600 * HZ;	/* however slow the machine is, the primary is not silent */
	p[WITNESS].session = STOLEN;
	all_types(w, 0, stays);
	KUNIT_EXPECT_EQ(test, w->sent[WITNESS][KFM_REFUSED].arg, KFM_R_WITNESS);
	w->m.log.open = true;
	w->m.log.peer = p;
	p[0].state = KFM_SESSION_UP;
	p[0].session = 8;
	p[0].live = jiffies;
	all_types(w, 0, stays);
	KUNIT_EXPECT_EQ(test, w->sent[WITNESS][KFM_REFUSED].arg, KFM_R_FOLLOWS);
	/* `leave` is between this node and its primary */
	p[0].features = KFM_F_LEAVE;
	KUNIT_EXPECT_EQ(test, mw_order(w, "leave", NULL), 1);
	all_types(w, 0, stays);
	KUNIT_EXPECT_NOT_NULL(test, w->m.leave);
}

/* What a candidate takes of the witness is its vote, and a refusal. */
static void roles_candidate(struct kunit *test)
{
	struct mw *w = with_witness(test);

	all_types(w, BIT(KFM_STATE), asks);
	asks(w);
	says(w, 0, KFM_STATE, KFM_M_QUORUM | KFM_M_VOTES | KFM_M_WITNESS, 0, 0);
	says(w, WITNESS, KFM_STATE, KFM_M_QUORUM | KFM_M_VOTES, 0, 0);
	KUNIT_EXPECT_FALSE(test, w->m.primary);
	KUNIT_EXPECT_EQ(test, w->peers[0].answer, KFM_A_NO);
	KUNIT_EXPECT_EQ(test, w->peers[WITNESS].answer, KFM_A_NO);
}

/* The witness may end its session with a primary, in order or not, and nothing else. */
static void roles_primary(struct kunit *test)
{
	struct mw *w = with_witness(test);
	struct kfm_peer *p = w->peers;
	struct kfm *m = &w->m;

	mw_primary(w, 6);
	kfm_quorum_begin(m, 6);
	mw_join(w, 0, 5);
	mw_state(w, WITNESS, KFM_UPTODATE, 5, KFM_M_WITNESS);
	mw_say(w, WITNESS, (struct kfm_msg) { .type = KFM_GRANT, .flags = KFM_M_WITNESS });
	mw_run(w);
	mw_synced_ok(w, 0);
	mw_synced_ok(w, WITNESS);
	mw_run(w);
	KUNIT_EXPECT_TRUE(test, p[0].insync && p[WITNESS].insync);
	all_types(w, BIT(KFM_LEAVE) | BIT(KFM_BYE), stays);
	KUNIT_EXPECT_TRUE(test, p[WITNESS].insync);
	KUNIT_EXPECT_EQ(test, w->sent[WITNESS][KFM_REFUSED].arg, KFM_R_PRIMARY);
	/* below half: neither HELLO of the witness, nor a peer in another role, has a generation */
	p[0].state = KFM_SESSION_HELLO;
	p[WITNESS].state = KFM_SESSION_HELLO;
	p[0].insync = false;
	p[WITNESS].insync = false;
	m->noquorum = true;
	KUNIT_EXPECT_FALSE(test, kfm_quorate(m));
	says(w, WITNESS, KFM_HELLO, 0, 0, 0);
	KUNIT_EXPECT_FALSE(test, m->stepping);
	says(w, 0, KFM_STATE, KFM_M_QUORUM | KFM_M_WITNESS, 0, 0);
	KUNIT_EXPECT_FALSE(test, m->stepping);
	p[0].state = KFM_SESSION_HELLO;
	says(w, 0, KFM_STATE, KFM_M_QUORUM, 0, 0);
	KUNIT_EXPECT_TRUE(test, m->stepping);	/* in its role it has one */
}

KFI_SUITE(kfi_mirror_roles,
	KUNIT_CASE(roles_secondary),
	KUNIT_CASE(roles_candidate),
	KUNIT_CASE(roles_primary));
