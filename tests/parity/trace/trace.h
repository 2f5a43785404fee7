/* SPDX-License-Identifier: GPL-2.0 */
/*
 * trace.h - declarations of the cases of the differential traces
 *
 * A case does something with one or two nodes and prints what it observes, in records: lines that
 * must be the same wherever the case runs. A case expects nothing: the expectation is what
 * libfabric did in the same run.
 */
#ifndef PARITY_TRACE_H
#define PARITY_TRACE_H

#include "port.h"

struct run;

/* What is open when a case begins */
enum setup {
	SETUP_NOTHING,		/* only the infos */
	SETUP_NODE,		/* A, not enabled and without bindings */
	SETUP_PAIR,		/* A and B know each other's addresses */
	SETUP_LISTEN,		/* B listens, A has a connected kind of endpoint */
	SETUP_CONNECTED,	/* A and B are connected */
};

struct trace_case {
	const char	*name;
	enum setup	setup;
	uint64_t	caps;	/* besides the usual */
	uint64_t	tx_bind;
	void		(*fn)(struct run *r);
};

extern const struct trace_case msg_cases[], tagged_cases[], rma_cases[], object_cases[],
	queue_cases[], conn_cases[];

/* ---- nodes ---- */

struct node {
	char			name;
	struct kfi_info		*info;
	struct kfid_fabric	*fabric;
	struct kfid_domain	*domain;
	struct kfid_eq		*eq;
	struct kfid_av		*av;
	struct kfid_cq		*txcq, *rxcq;
	struct kfid_ep		*ep;
	struct kfid_pep		*pep;
	kfi_addr_t		peer;
	char			addr[64];
	size_t			addrlen;
};

/* Returns 0 if all open calls did; otherwise the record of the failed call was printed. */
int nodes_open(struct run *r);
void nodes_close(struct run *r);
int node_queues(struct run *r, struct node *n);
int node_endpoint(struct run *r, struct node *n, struct kfi_info *info);
int node_enable(struct run *r, struct node *n);
int run_getinfo(struct run *r, enum kfi_ep_type type, uint64_t caps, struct kfi_info **info);
void close_said(struct run *r, const char *what, struct kfid *fid);

/* ---- operations ---- */

#define OPS_MAX		64
#define MESSAGES_MAX	64
#define NO_MESSAGE	(-1)

/**
 * struct op - an operation, or a buffer
 * @room: first, for providers that need room in a context
 * @id: name of its completions
 * @wants: message that must be in the buffer when it completes, or NO_MESSAGE
 */
struct op {
	struct kfi_context2	room;
	int			id;
	char			*buf;
	size_t			len;
	int			wants;
};

struct op *op_new(struct run *r, size_t len);
/* Return a buffer of @len bytes with message number @msg. */
struct op *op_message(struct run *r, int msg, size_t len);
void fill(struct run *r, char *buf, size_t len, int msg);
bool is_filled(struct run *r, const char *buf, size_t len, int msg);
uint32_t checksum(const char *buf, size_t len);

/* ---- records ---- */

/* A completion as it was read */
struct seen {
	struct kfi_cq_err_entry	e;
	kfi_addr_t		src;
	bool			failed;
	int			queue;	/* 0 A.tx, 1 A.rx, 2 B.tx, 3 B.rx */
	int			op;
	int			nr;
};

#define SEEN_MAX	256

/**
 * struct run - a case that runs
 * @a: node A
 * @b: node B
 * @provider: argument of getinfo
 * @node: argument of getinfo
 * @seed: of all cases
 * @state: of the random numbers, a function of seed and case
 * @sources: records of receives have the sender
 * @by_order: records of receives are in the order of arrival, else by context
 */
struct run {
	const struct trace_case	*c;
	struct node		a, b;
	const char		*provider, *node;
	uint64_t		seed, state;
	bool			sources, by_order;
	int			nr_ops, nr_seen;
	struct op		*ops[OPS_MAX];
	struct seen		seen[SEEN_MAX];
	size_t			msg_len[MESSAGES_MAX];
	char			line[320];
	size_t			at;
};

uint64_t rnd(struct run *r);
uint64_t rnd_below(struct run *r, uint64_t below);
void shuffle(struct run *r, int *order, int count);

/* Print "CASE: what key=value ...". add() continues the line, say() and end() finish it. */
void __printf(2, 3) add(struct run *r, const char *fmt, ...);
void __printf(2, 3) say(struct run *r, const char *fmt, ...);
void end(struct run *r);
void say_ret(struct run *r, const char *what, long ret);
const char *error_name(long err);
void add_flags(struct run *r, uint64_t flags);

/*
 * Wait for this number of completions of each queue, and a little longer for more, then print
 * records of all.
 */
void collect(struct run *r, int a_tx, int a_rx, int b_tx, int b_rx);
/* Read an event and print a record of it; @info returns its info if it is not NULL. */
void say_event(struct run *r, struct node *n, struct kfi_info **info);

/* Wait until @ready or the time limit; keep the queues going meanwhile. */
bool wait_until(struct run *r, bool (*ready)(struct run *r, void *arg), void *arg);

/* Repeat a post that returns -EAGAIN for a while: it may wait for a connection. */
#define POST(r, call)									\
({											\
	uint64_t __until = port_ms() + PATIENCE_MS;				\
	long __ret;									\
											\
	while ((__ret = (call)) == -KFI_EAGAIN && port_ms() < __until)			\
		keep_going(r);								\
	__ret;										\
})
void keep_going(struct run *r);

/* ---- all cases ---- */

int trace_count(void);
/* Return case number @nr in the order that the seed gives. */
const struct trace_case *trace_case(uint64_t seed, int nr);
void trace_run(struct run *r, const struct trace_case *c);

#endif /* PARITY_TRACE_H */
