// SPDX-License-Identifier: GPL-2.0
/*
 * How much the peers of an RDM endpoint can make it hold, and which callers are refused. kfi.ko
 * exports nothing of the accounts, so their source is compiled into this module. A connection
 * consists of what the accounts look at: a name, windows, and messages that it leaves. All of these
 * messages were promised to their senders, so none is ever dropped. Names are those of kfi_sockets.
 */
#include <kunit/test.h>
#include <kfi_inaddr.h>

#include "../../kfi/proto/account.c"

static const struct kfi_link_ops account_ops = {
	.name_len	= sizeof(union kfi_inaddr),
	.cmp		= kfi_inaddr_cmp,
	.hash		= kfi_inaddr_hash,
	.source		= kfi_inaddr_name_origin,
};

static struct kfi_proto account_proto = {
	.ops = &account_ops,
	.params = {
		.eager_size	= 16384,
		.unexpected		= 1024,
		.unexpected_peer	= 8192,
		.unexpected_source	= 32768,
		.unexpected_total	= 131072,
		.source_peers	= 4,
		.peer_timeout_ms	= 10000,
	},
};

void kfp_conn_get(struct kfp_conn *conn)
{
}

void kfp_conn_put(struct kfp_conn *conn)
{
}

/**
 * struct account_world - state of a test
 * @pe: the endpoint
 * @payer: account of the fabric, in the tests that use it
 * @paid: bytes that are charged to it
 * @max_mib: the most that may be charged
 * @dead: connections that have left messages, linked by &account_conn.link
 */
struct account_world {
	struct kfi_proto_ep	pe;
	struct kfi_account	payer;
	atomic_long_t		paid;
	unsigned int		max_mib;
	struct list_head	dead;
};

/**
 * struct account_conn - a connection
 * @conn: as the accounts see it
 * @in: the message that it leaves
 * @link: in &account_world.dead
 */
struct account_conn {
	struct kfp_conn		conn;
	struct kfp_inmsg		in;
	struct list_head	link;
};

/* A message that was not acknowledged is dropped. */
static void account_shrink(struct kfp_conn *conn)
{
	struct account_conn *c = container_of(conn, struct account_conn, conn);

	if (c->in.no_drop || list_empty(&conn->messages.all))
		return;
	list_del(&c->in.entry);
	list_del(&c->link);
	kfp_account_freed(conn, c->in.cost, true);
}

/* Messages that yield to those of others, in calls */
static unsigned int account_yields;

static void account_yield(struct kfp_conn *conn)
{
	account_yields++;
}

static const struct kfp_protocol account_protocol = {
	.shrink = account_shrink,
	.yield = account_yield,
};

const struct kfp_protocol *const kfp_protocols[] = { &account_protocol, NULL };

static int account_init(struct kunit *test)
{
	struct account_world *w = kunit_kzalloc(test, sizeof(*w), GFP_KERNEL);

	if (!w)
		return -ENOMEM;
	w->pe.accounts = kfp_accounts_new(&account_proto, NULL);
	KUNIT_ASSERT_NOT_NULL(test, w->pe.accounts);
	INIT_LIST_HEAD(&w->dead);
	w->payer = (struct kfi_account){ .bytes = &w->paid, .max_mib = &w->max_mib };
	test->priv = w;
	return 0;
}

/* Receive all messages. Then nothing is charged any more. */
static void account_exit(struct kunit *test)
{
	struct account_world *w = test->priv;
	struct account_conn *c;

	list_for_each_entry(c, &w->dead, link) {
		list_del(&c->in.entry);
		kfp_account_freed(&c->conn, c->conn.units, true);
	}
	KUNIT_EXPECT_EQ(test, 0L, atomic_long_read(&w->paid));
	KUNIT_EXPECT_EQ(test, 0u, w->pe.accounts->all.units);
	KUNIT_EXPECT_EQ(test, 0u, w->pe.accounts->all.dead_units);
	KUNIT_EXPECT_EQ(test, 0u, w->pe.accounts->all.live);
	KUNIT_EXPECT_EQ(test, w->pe.accounts->nr_late, hash_empty(w->pe.accounts->by_name) ? 0 : 1);
	kfp_accounts_free(w->pe.accounts);
}

/* An IPv4 name, or an IPv6 name if @net is not 0 */
static union kfi_inaddr account_name(u32 net, u32 host, u16 port)
{
	union kfi_inaddr name = {};

	if (net) {
		name.in6.sin6_family = AF_INET6;
		name.in6.sin6_addr.s6_addr32[1] = htonl(net);
		name.in6.sin6_addr.s6_addr32[3] = htonl(host);
	} else {
		name.in.sin_family = AF_INET;
		name.in.sin_addr.s_addr = htonl(host);
	}
	kfi_inaddr_set_port(&name, htons(port));
	return name;
}

static struct account_conn *account_new(struct kunit *test, union kfi_inaddr name, bool dialed)
{
	struct account_world *w = test->priv;
	struct account_conn *c = kunit_kzalloc(test, sizeof(*c), GFP_KERNEL);
	int level;

	KUNIT_ASSERT_NOT_NULL(test, c);
	spin_lock_init(&c->conn.lock);
	INIT_LIST_HEAD(&c->conn.messages.all);
	INIT_LIST_HEAD(&c->conn.of_source);
	for (level = 0; level < KFP_ACCOUNT_LEVELS; level++)
		INIT_LIST_HEAD(&c->conn.dead[level]);
	c->conn.ep = &w->pe;
	c->conn.ops = &account_ops;
	c->conn.link.proto = &account_proto;
	memcpy(c->conn.link.name, &name, sizeof(name));
	c->conn.pc.dialed = dialed;
	return c;
}

/* A connection begins, or is refused, as @expect says. */
static struct account_conn *account_join(struct kunit *test, union kfi_inaddr name, bool dialed,
				   int expect)
{
	struct account_conn *c = account_new(test, name, dialed);

	KUNIT_ASSERT_EQ(test, expect, kfp_account_join(&c->conn));
	return c;
}

/* A connection ends and leaves messages of @units, which were acknowledged if that was possible. */
static void account_down(struct kunit *test, struct account_conn *c, u32 units)
{
	struct account_world *w = test->priv;

	c->in.cost = units;
	c->in.no_drop = !c->conn.late_acks;
	if (units) {
		list_add(&c->in.entry, &c->conn.messages.all);
		list_add(&c->link, &w->dead);
	}
	kfp_account_down(&c->conn);
}

/*
 * A peer leaves messages and connects again until they are not acknowledged any more. Return: units
 * of the messages that it has left.
 */
static u32 account_fill(struct kunit *test, union kfi_inaddr name)
{
	struct account_world *w = test->priv;
	u32 before = w->pe.accounts->all.dead_units;
	struct account_conn *c = account_join(test, name, false, 0);

	while (!c->conn.late_acks) {
		account_down(test, c, 2 * c->conn.window);
		c = account_join(test, name, false, 0);
	}
	account_down(test, c, 0);
	return w->pe.accounts->all.dead_units - before;
}

/*
 * A peer has left as many acknowledged messages as it may. It is admitted, what it leaves from then
 * on is dropped, and others of its source are not affected.
 */
static void account_peer_full(struct kunit *test)
{
	struct account_world *w = test->priv;
	union kfi_inaddr name = account_name(0, 1, 700);
	u32 left = account_fill(test, name);
	struct account_conn *c;
	int i;

	KUNIT_EXPECT_LE(test, left, account_proto.params.unexpected_peer + 64);
	for (i = 0; i < 100; i++) {
		c = account_join(test, name, i & 1, 0);
		KUNIT_EXPECT_TRUE(test, c->conn.late_acks);
		KUNIT_EXPECT_EQ(test, KFP_ACCOUNT_MIN, c->conn.window);
		account_down(test, c, 2 * c->conn.window);
		KUNIT_EXPECT_LE(test, w->pe.accounts->all.dead_units, left + 128);
	}
	c = account_join(test, account_name(0, 1, 701), false, 0);
	KUNIT_EXPECT_FALSE(test, c->conn.late_acks);
	account_down(test, c, 0);
}

/* Some sources have left as much as all may leave: others get the smallest window. */
static void account_all_full(struct kunit *test)
{
	struct account_world *w = test->priv;
	union kfi_inaddr late = account_name(0, 1000, 700);
	struct account_conn *c;
	u32 host, left;

	for (host = 1; host < 100; host++) {
		if (w->pe.accounts->all.dead_units + 2 * KFP_ACCOUNT_MIN >
		    account_proto.params.unexpected_total)
			break;
		account_fill(test, account_name(0, host, 700));
	}
	KUNIT_ASSERT_LT(test, host, 100u);
	c = account_join(test, late, false, 0);
	KUNIT_EXPECT_EQ(test, KFP_ACCOUNT_MIN, c->conn.window);
	account_down(test, c, 0);
	left = account_fill(test, late);
	KUNIT_EXPECT_LE(test, left, KFP_ACCOUNT_SPARE + 64);
	KUNIT_EXPECT_GE(test, left, KFP_ACCOUNT_SPARE / 2);
	c = account_join(test, account_name(0, 1, 701), false, 0);
	KUNIT_EXPECT_TRUE(test, c->conn.late_acks);
	account_down(test, c, 0);
}

/* The addresses of an IPv6 network are one source. */
static void account_network(struct kunit *test)
{
	struct account_conn *c[5];
	int i;

	for (i = 0; i < 4; i++)
		c[i] = account_join(test, account_name(1, 1 + i, 700), false, 0);
	account_join(test, account_name(1, 5, 700), false, -ENOBUFS);
	c[4] = account_join(test, account_name(2, 5, 700), false, 0);
	for (i = 0; i < 5; i++)
		account_down(test, c[i], 0);
}

/* A peer with port 0 has the same name as its source, but has its own account. */
static void account_port_zero(struct kunit *test)
{
	struct account_world *w = test->priv;
	union kfi_inaddr name = account_name(0, 1, 0);
	struct account_conn *c = account_join(test, name, true, 0);

	KUNIT_ASSERT_NOT_NULL(test, c->conn.account);
	KUNIT_ASSERT_NOT_NULL(test, c->conn.account->up);
	KUNIT_EXPECT_PTR_EQ(test, &w->pe.accounts->all, c->conn.account->up->up);
	account_down(test, c, 0);
}

/*
 * A process pays for windows, which get smaller, until it can't pay for the smallest: then no
 * connection begins, not even one that it dials. Messages that a connection has left stay charged.
 */
static void account_process(struct kunit *test)
{
	struct account_world *w = test->priv;
	const int count = 1024;
	struct account_conn **conns = kunit_kcalloc(test, count, sizeof(*conns), GFP_KERNEL);
	u32 last = account_proto.params.unexpected;
	long full;
	int i, n;

	KUNIT_ASSERT_NOT_NULL(test, conns);
	w->max_mib = 16;
	w->pe.accounts->payer = &w->payer;
	for (n = 0; n < count; n++) {
		conns[n] = account_new(test, account_name(0, 1 + n, 700), true);
		if (kfp_account_join(&conns[n]->conn))
			break;
		KUNIT_ASSERT_LE(test, conns[n]->conn.window, last);
		KUNIT_ASSERT_LE(test, conns[n]->conn.eager,
				conns[n]->conn.window / 2 * KFW_UNIT);
		last = conns[n]->conn.window;
	}
	full = atomic_long_read(&w->paid);
	KUNIT_EXPECT_LE(test, full, 16L << 20);
	KUNIT_EXPECT_EQ(test, KFP_ACCOUNT_MIN, last);
	KUNIT_ASSERT_LT(test, n, count);
	account_join(test, account_name(0, 1, 701), true, -ENOBUFS);
	account_join(test, account_name(0, 1, 701), false, -ENOBUFS);
	KUNIT_EXPECT_EQ(test, full, atomic_long_read(&w->paid));
	/* What one connection has paid and does not leave behind is enough for another one. */
	account_down(test, conns[0], 1);
	KUNIT_EXPECT_LT(test, atomic_long_read(&w->paid), full);
	account_down(test, account_join(test, account_name(0, 1, 701), true, 0), 0);
	for (i = 1; i < n; i++)
		account_down(test, conns[i], 0);
	KUNIT_EXPECT_EQ(test, atomic_long_read(&w->paid),
			(long)(conns[0]->conn.units * KFP_UNIT_BYTES));
}

/*
 * Late grants shorten the time for the next grants of their source, also over reconnects, and its
 * other connections yield. What is late at the same time counts once, and nothing for ever. Other
 * sources are not affected.
 */
static void account_late(struct kunit *test)
{
	struct account_conn *c, *other, *stranger;
	struct kfp_account *source;
	unsigned long timeout;
	int i;

	stranger = account_join(test, account_name(0, 2, 700), false, 0);
	timeout = kfp_grant_timeout(&stranger->conn);
	for (i = 0; i < 6; i++) {
		c = account_join(test, account_name(0, 1, 700 + i), false, 0);
		other = account_join(test, account_name(0, 1, 800), false, 0);
		KUNIT_EXPECT_EQ(test, timeout >> min(i, 4), kfp_grant_timeout(&c->conn));
		kfp_account_late(&c->conn);
		kfp_account_late(&other->conn);
		account_down(test, other, 0);
		source = c->conn.account->up;
		source->late_at -= timeout;	/* as if that time had passed */
		account_down(test, c, 0);
	}
	KUNIT_EXPECT_EQ(test, timeout, kfp_grant_timeout(&stranger->conn));
	c = account_join(test, account_name(0, 1, 700), false, 0);
	other = account_join(test, account_name(0, 1, 701), false, 0);
	KUNIT_EXPECT_EQ(test, timeout >> 4, kfp_grant_timeout(&c->conn));
	source->late_at -= KFP_LATE_KEEP * timeout;
	KUNIT_EXPECT_EQ(test, timeout, kfp_grant_timeout(&c->conn));
	account_yields = 0;
	kfp_account_yield(&c->conn);
	KUNIT_EXPECT_EQ(test, 2u, account_yields);
	account_down(test, other, 0);
	account_down(test, c, 0);
	account_down(test, stranger, 0);
}

/* An endpoint remembers a limited number of sources with late grants. */
static void account_late_sources(struct kunit *test)
{
	struct account_world *w = test->priv;
	struct account_conn *c;
	u32 host;

	for (host = 1; host < 3 * KFP_LATE_SOURCES; host++) {
		c = account_join(test, account_name(0, host, 700), false, 0);
		kfp_account_late(&c->conn);
		account_down(test, c, 0);
		KUNIT_EXPECT_LE(test, w->pe.accounts->nr_late, KFP_LATE_SOURCES);
	}
	spin_lock_bh(&w->pe.accounts->lock);
	while (w->pe.accounts->nr_late)
		kfp_late_forget(w->pe.accounts);
	spin_unlock_bh(&w->pe.accounts->lock);
}

static struct kunit_case account_cases[] = {
	KUNIT_CASE(account_process),
	KUNIT_CASE(account_peer_full),
	KUNIT_CASE(account_all_full),
	KUNIT_CASE(account_network),
	KUNIT_CASE(account_port_zero),
	KUNIT_CASE(account_late),
	KUNIT_CASE(account_late_sources),
	{}
};

static struct kunit_suite account_suite = {
	.name = "kfi_proto_account",
	.init = account_init,
	.exit = account_exit,
	.test_cases = account_cases,
};
kunit_test_suite(account_suite);
