// SPDX-License-Identifier: GPL-2.0
/*
 * hand.c - what queue pairs that are connected by hand may do to each other, what they say of
 * themselves, and what becomes of them when their cable is pulled (verbs.c)
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "verbs.h"

/* Both sides: of the nodes a and b, or both of b */
struct both {
	struct end	a, b;
	bool		within;
};

static int both_connect(struct both *p, int access)
{
	return end_connect(&p->a, p->b.qp->qp_num, "10.0.0.2", access) ?:
	       end_connect(&p->b, p->a.qp->qp_num, p->within ? "10.0.0.2" : "10.0.0.1", access);
}

/* @access: of the queue pairs */
static void both_open(struct both *p, bool within, int access)
{
	p->within = within;
	end_open(&p->a, within ? "kfi_b" : "kfi_a", false);
	end_open(&p->b, "kfi_b", false);
	if (both_connect(p, access))
		die("end_connect");
}

static void both_close(struct both *p)
{
	if (end_close(&p->a) || end_close(&p->b))
		die("end_close");
}

static struct ibv_send_wr request(struct end *e, enum ibv_wr_opcode opcode, struct ibv_sge *sge,
				  uint32_t len)
{
	*sge = (struct ibv_sge){ (uintptr_t)e->mem, len, e->mr->lkey };
	return (struct ibv_send_wr){ .sg_list = sge, .num_sge = 1, .opcode = opcode };
}

/* Post an RDMA request of 8 bytes to the other side's memory. Return: 0 or an error */
static int post_rdma(struct end *e, enum ibv_wr_opcode opcode, const struct ibv_mr *to)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = request(e, opcode, &sge, 8), *bad;

	wr.wr.rdma.remote_addr = (uintptr_t)to->addr;
	wr.wr.rdma.rkey = to->rkey;
	return ibv_post_send(e->qp, &wr, &bad);
}

/* The same of an atomic one, @at bytes behind the beginning. */
static int post_atomic(struct end *e, enum ibv_wr_opcode opcode, const struct ibv_mr *to, long at,
		       uint64_t compare_add, uint64_t swap, uint32_t len)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = request(e, opcode, &sge, len), *bad;

	wr.wr.atomic.remote_addr = (uintptr_t)to->addr + at;
	wr.wr.atomic.rkey = to->rkey;
	wr.wr.atomic.compare_add = compare_add;
	wr.wr.atomic.swap = swap;
	return ibv_post_send(e->qp, &wr, &bad);
}

/* Return: whether nothing has ended, and there is no event */
static bool silent(struct end *e)
{
	struct pollfd events = { .fd = e->verbs->async_fd, .events = POLLIN };
	struct ibv_wc wc;

	return !poll(&events, 1, 0) && !ibv_poll_cq(e->cq, 1, &wc);
}

/* ---- rights ---- */

static const struct right {
	const char		*name;
	enum ibv_wr_opcode	opcode;
	int			flag;
} all_rights[] = {
	{ "writes", IBV_WR_RDMA_WRITE, IBV_ACCESS_REMOTE_WRITE },
	{ "reads", IBV_WR_RDMA_READ, IBV_ACCESS_REMOTE_READ },
	{ "atomic operations", IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_ACCESS_REMOTE_ATOMIC },
};

/* Return: what a request ends with if the queue pair, and a region, have these rights */
static int outcome(const struct right *r, bool within, int of_pair, int of_region)
{
	struct both p;
	struct ibv_mr *mr;
	int status = -1;

	both_open(&p, within, of_pair);
	mr = ibv_reg_mr(p.b.pd, p.b.mem, SIZE, IBV_ACCESS_LOCAL_WRITE | of_region);
	if (!mr)
		die("ibv_reg_mr");
	if (r->flag == IBV_ACCESS_REMOTE_ATOMIC ? !post_atomic(&p.a, r->opcode, mr, 0, 1, 0, 8) :
						  !post_rdma(&p.a, r->opcode, mr))
		status = ended(p.a.cq);
	ibv_dereg_mr(mr);
	both_close(&p);
	return status;
}

/* Each right is enough for its requests, and no other one is. */
static void rights(bool within)
{
	const struct right *r;
	char name[128];
	bool ok;

	for (r = all_rights; r < all_rights + 3; r++) {
		ok = outcome(r, within, r->flag, r->flag) == IBV_WC_SUCCESS &&
		     outcome(r, within, PEERS & ~r->flag, PEERS) == IBV_WC_REM_ACCESS_ERR &&
		     outcome(r, within, PEERS, PEERS & ~r->flag) == IBV_WC_REM_ACCESS_ERR;
		snprintf(name, sizeof(name), "%s need their right%s", r->name,
			 within ? ", within a node" : "");
		judge(name, ok);
	}
}

/* The rights of a queue pair that is connected change with the next modify. */
static void rights_change(void)
{
	struct ibv_qp_attr attr = { .qp_access_flags = IBV_ACCESS_REMOTE_READ };
	struct both p;
	bool ok;

	both_open(&p, false, 0);
	ok = !ibv_modify_qp(p.b.qp, &attr, IBV_QP_ACCESS_FLAGS) &&
	     !post_rdma(&p.a, IBV_WR_RDMA_READ, p.b.mr) && ended(p.a.cq) == IBV_WC_SUCCESS;
	attr.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
	ok = ok && !ibv_modify_qp(p.b.qp, &attr, IBV_QP_ACCESS_FLAGS) &&
	     !post_rdma(&p.a, IBV_WR_RDMA_READ, p.b.mr) &&
	     ended(p.a.cq) == IBV_WC_REM_ACCESS_ERR;
	judge("rights change with the queue pair", ok);
	both_close(&p);
}

/* ---- atomic operations ---- */

static bool atomic_is(struct end *e, enum ibv_wr_opcode opcode, const struct ibv_mr *to,
		      uint64_t compare_add, uint64_t swap, uint64_t old, uint64_t now)
{
	uint64_t *mine = (uint64_t *)e->mem, *theirs = to->addr;

	*mine = ~0ULL;
	return !post_atomic(e, opcode, to, 0, compare_add, swap, 8) &&
	       ended(e->cq) == IBV_WC_SUCCESS && *mine == old && *theirs == now;
}

static void atomics(bool within)
{
	struct both p;
	bool ok;

	both_open(&p, within, PEERS);
	*(uint64_t *)p.b.mem = (7ULL << 32) | 0xfffffffe;
	ok = atomic_is(&p.a, IBV_WR_ATOMIC_FETCH_AND_ADD, p.b.mr, 3, 0, (7ULL << 32) | 0xfffffffe,
		       (8ULL << 32) | 1) &&
	     atomic_is(&p.a, IBV_WR_ATOMIC_CMP_AND_SWP, p.b.mr, 1, 5, (8ULL << 32) | 1,
		       (8ULL << 32) | 1) &&
	     atomic_is(&p.a, IBV_WR_ATOMIC_CMP_AND_SWP, p.b.mr, (8ULL << 32) | 1, 5,
		       (8ULL << 32) | 1, 5) &&
	     post_atomic(&p.a, IBV_WR_ATOMIC_FETCH_AND_ADD, p.b.mr, 0, 1, 0, 16) == EINVAL &&
	     post_atomic(&p.a, IBV_WR_ATOMIC_FETCH_AND_ADD, p.b.mr, 0, 1, 0, 4) == EINVAL &&
	     !post_atomic(&p.a, IBV_WR_ATOMIC_FETCH_AND_ADD, p.b.mr, 4, 1, 0, 8) &&
	     ended(p.a.cq) == IBV_WC_REM_INV_REQ_ERR && *(uint64_t *)p.b.mem == 5;
	judge(within ? "atomic operations within a node" : "atomic operations", ok);
	both_close(&p);
}

#define ADDS	8	/* at a time */
#define TIMES	25

/* Queue pairs of this node and of the other one change the same word. */
static void atomics_together(void)
{
	struct both far, near;
	int i, k;
	bool ok = true;

	both_open(&far, false, PEERS);
	both_open(&near, true, PEERS);
	*(uint64_t *)far.b.mem = 0;
	ibv_dereg_mr(near.b.mr);
	near.b.mr = ibv_reg_mr(near.b.pd, far.b.mem, SIZE, IBV_ACCESS_LOCAL_WRITE | PEERS);
	if (!near.b.mr)
		die("ibv_reg_mr");
	for (i = 0; ok && i < TIMES; i++) {
		for (k = 0; ok && k < ADDS; k++)
			ok = !post_atomic(&far.a, IBV_WR_ATOMIC_FETCH_AND_ADD, far.b.mr,
					  0, 1, 0, 8) &&
			     !post_atomic(&near.a, IBV_WR_ATOMIC_FETCH_AND_ADD, near.b.mr,
					  0, 1000, 0, 8);
		for (k = 0; ok && k < ADDS; k++)
			ok = ended(far.a.cq) == IBV_WC_SUCCESS &&
			     ended(near.a.cq) == IBV_WC_SUCCESS;
	}
	judge("atomic operations of two nodes on one word",
	      ok && *(uint64_t *)far.b.mem == 1001ULL * TIMES * ADDS);
	both_close(&far);
	both_close(&near);
}

/* ---- datagrams with a shared receive queue ---- */

#define QKEY	0x1234
#define HEADER	40
#define MANY	16	/* receives of the queue */

static struct ibv_qp *datagrams(struct end *e, struct ibv_srq *srq)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = QKEY };
	struct ibv_qp_init_attr init = plain;
	struct ibv_qp *qp;
	int err;

	init.qp_type = IBV_QPT_UD;
	init.send_cq = e->cq;
	init.recv_cq = e->cq;
	init.srq = srq;
	qp = ibv_create_qp(e->pd, &init);
	if (!qp)
		die("ibv_create_qp");
	err = ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			    IBV_QP_QKEY);
	attr.qp_state = IBV_QPS_RTR;
	err = err ?: ibv_modify_qp(qp, &attr, IBV_QP_STATE);
	attr.qp_state = IBV_QPS_RTS;
	if (err || ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN))
		die("ibv_modify_qp");
	return qp;
}

static struct ibv_ah *handle(struct end *e, const char *address)
{
	struct ibv_ah_attr attr = {
		.is_global = 1, .port_num = 1, .grh = { .sgid_index = GID, .hop_limit = 64 },
	};

	gid_of(&attr.grh.dgid, address);
	return ibv_create_ah(e->pd, &attr);
}

/* Post a receive of @len bytes, @at bytes behind the beginning of the region. */
static int post_shared(struct end *e, long at, uint32_t len)
{
	struct ibv_sge sge = { (uintptr_t)e->mem + at, len, e->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = at, .sg_list = &sge, .num_sge = 1 }, *bad;

	return ibv_post_srq_recv(e->srq, &wr, &bad);
}

/* Send @n datagrams of @len bytes @byte in one call. Return: whether all have ended well */
static bool burst(struct end *e, struct ibv_qp *from, struct ibv_ah *ah, const struct ibv_qp *to,
		  char byte, uint32_t len, int n)
{
	struct ibv_sge sge = { (uintptr_t)e->mem, len, e->mr->lkey };
	struct ibv_send_wr wr[MANY], *bad;
	bool ok;
	int i;

	for (i = 0; i < n; i++)
		wr[i] = (struct ibv_send_wr) {
			.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
			.next = i < n - 1 ? &wr[i + 1] : NULL,
			.wr.ud = { ah, to->qp_num, QKEY },
		};
	memset(e->mem, byte, len);
	ok = !ibv_post_send(from, wr, &bad);
	for (i = 0; ok && i < n; i++)
		ok = ended(e->cq) == IBV_WC_SUCCESS;
	return ok;
}

static bool datagram(struct end *e, struct ibv_qp *from, struct ibv_ah *ah, const struct ibv_qp *to,
		     char byte, uint32_t len)
{
	return burst(e, from, ah, to, byte, len, 1);
}

/* Wait for a message. Return: whether it is this one, of the queue pair, behind @header bytes */
static bool came(struct end *e, const struct ibv_qp *qp, char byte, uint32_t header, uint32_t len)
{
	struct ibv_wc wc;
	char *mem;
	int i, n = 0;

	for (i = 0; !n && i < 10000; i++) {
		n = ibv_poll_cq(e->cq, 1, &wc);
		if (!n)
			usleep(1000);
	}
	if (n != 1 || wc.status != IBV_WC_SUCCESS || wc.qp_num != qp->qp_num ||
	    wc.byte_len != header + len)
		return false;
	mem = e->mem + wc.wr_id + header;
	return mem[0] == byte && !memcmp(mem, mem + 1, len - 1);
}

/*
 * A queue serves a UD queue pair and a connected one. Its receives are where those of connections
 * come from, so a datagram gets one back from there; and what it does not take goes there again.
 */
static void shared_datagrams(void)
{
	struct ibv_qp *from, *to;
	struct ibv_ah *ah;
	struct both p;
	bool ok = true;
	int i;

	p.within = false;
	end_open(&p.a, "kfi_a", false);
	end_open(&p.b, "kfi_b", true);
	from = datagrams(&p.a, NULL);
	to = datagrams(&p.b, p.b.srq);
	ah = handle(&p.a, "10.0.0.2");
	if (both_connect(&p, 0) || !ah)
		die("shared_datagrams");
	for (i = 0; i < MANY; i++)
		ok &= !post_shared(&p.b, 2048 * i, 2048);
	for (i = 0; ok && i < MANY / 2; i++)
		ok = datagram(&p.a, from, ah, to, 'a' + i, 1500);
	for (i = 0; ok && i < MANY / 2; i++)
		ok = came(&p.b, to, 'a' + i, HEADER, 1500);
	judge("datagrams take receives of a shared queue", ok);
	for (i = 0; ok && i < MANY / 2; i++) {
		memset(p.a.mem, 'A' + i, 2000);
		ok = !post_send(p.a.qp, p.a.mem, 2000, p.a.mr->lkey) &&
		     came(&p.b, p.b.qp, 'A' + i, 0, 2000) && ended(p.a.cq) == IBV_WC_SUCCESS;
	}
	judge("messages of a connection take receives of a queue that datagrams share", ok);
	ok = datagram(&p.a, from, ah, to, 'l', 100);
	usleep(200000);
	ok = ok && silent(&p.b) && !post_shared(&p.b, 0, 100) &&
	     datagram(&p.a, from, ah, to, 'm', 100);
	usleep(200000);
	memset(p.a.mem, 'n', 100);
	ok = ok && silent(&p.b) && !post_send(p.a.qp, p.a.mem, 100, p.a.mr->lkey) &&
	     came(&p.b, p.b.qp, 'n', 0, 100) && ended(p.a.cq) == IBV_WC_SUCCESS;
	judge("a datagram without a receive, or with a short one, is lost; the receive is not", ok);
	ok = !post_shared(&p.b, 0, 100) && datagram(&p.a, from, ah, to, 'o', 60) &&
	     came(&p.b, to, 'o', HEADER, 60) && silent(&p.b);
	judge("a datagram after one that was lost takes the next receive", ok);
	ibv_destroy_ah(ah);
	if (ibv_destroy_qp(from) || ibv_destroy_qp(to))
		die("ibv_destroy_qp");
	both_close(&p);
}

/* ---- attributes ---- */

static bool says(struct ibv_qp *qp, enum ibv_qp_state state, struct ibv_qp_attr *attr)
{
	struct ibv_qp_init_attr init;

	memset(attr, 0, sizeof(*attr));
	return !ibv_query_qp(qp, attr, IBV_QP_STATE, &init) && attr->qp_state == state &&
	       attr->cur_qp_state == state && attr->cap.max_send_wr == 16 &&
	       init.cap.max_recv_sge == 2 && init.qp_type == IBV_QPT_RC && init.sq_sig_all;
}

/* A queue pair says in each state what was asked of it. */
static void says_in_each_state(void)
{
	struct ibv_qp_attr attr, to = {
		.qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = PEERS,
	};
	unsigned char *gid = attr.ah_attr.grh.dgid.raw;
	struct end e;
	bool ok;

	end_open(&e, "kfi_b", false);
	ok = says(e.qp, IBV_QPS_RESET, &attr) &&
	     !ibv_modify_qp(e.qp, &to, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			    IBV_QP_ACCESS_FLAGS) &&
	     says(e.qp, IBV_QPS_INIT, &attr) && attr.port_num == 1 && !attr.pkey_index &&
	     attr.qp_access_flags == PEERS &&
	     !end_connect(&e, 4711, "10.0.0.1", IBV_ACCESS_REMOTE_READ) &&
	     says(e.qp, IBV_QPS_RTS, &attr) && attr.qp_access_flags == IBV_ACCESS_REMOTE_READ &&
	     attr.path_mtu == IBV_MTU_1024 && attr.dest_qp_num == 4711 && attr.timeout == 14 &&
	     attr.retry_cnt == 7 && attr.rnr_retry == 6 && attr.max_rd_atomic == 3 &&
	     attr.max_dest_rd_atomic == 5 && attr.min_rnr_timer == 2 && attr.rq_psn == 8 &&
	     attr.sq_psn == 9 && attr.ah_attr.is_global && attr.ah_attr.port_num == 1 &&
	     attr.ah_attr.grh.sgid_index == GID && gid[12] == 10 && gid[15] == 1;
	to.qp_state = IBV_QPS_SQD;
	ok = ok && ibv_modify_qp(e.qp, &to, IBV_QP_STATE) == EOPNOTSUPP &&
	     says(e.qp, IBV_QPS_RTS, &attr);
	to.qp_state = IBV_QPS_ERR;
	ok = ok && !ibv_modify_qp(e.qp, &to, IBV_QP_STATE) && says(e.qp, IBV_QPS_ERR, &attr) &&
	     !end_reset(&e) && says(e.qp, IBV_QPS_RESET, &attr);
	judge("a queue pair says its attributes in each state", ok);
	if (end_close(&e))
		die("end_close");
}

/* Return: whether a queue pair can't be had, for this reason */
static bool refused(struct end *e, const struct ibv_qp_init_attr *init, int err)
{
	struct ibv_qp_init_attr attr = *init;
	struct ibv_qp *qp;

	attr.send_cq = e->cq;
	attr.recv_cq = e->cq;
	errno = 0;
	qp = ibv_create_qp(e->pd, &attr);
	if (qp)
		ibv_destroy_qp(qp);
	return qp ? !err : errno == err;
}

/* What the device does not have is refused clearly, and what it claims to have is there. */
static void limits_are_true(void)
{
	struct ibv_qp_init_attr attr = plain, ud = plain, uc = plain;
	struct ibv_srq_init_attr queue = { .attr = { 1, 1, 0 } };
	struct ibv_device_attr has;
	union ibv_gid gid = { .raw = { 0xff, 0x0e } };
	struct ibv_srq *srq;
	struct ibv_cq *cq;
	struct end e;
	bool ok;

	end_open(&e, "kfi_b", true);
	if (ibv_query_device(e.verbs, &has))
		die("ibv_query_device");
	uc.qp_type = IBV_QPT_UC;
	uc.srq = e.srq;
	ud.qp_type = IBV_QPT_UD;
	judge("queue pairs of datagrams, and UC with a shared queue, can be made",
	      refused(&e, &ud, 0) && refused(&e, &uc, 0));
	judge("memory of dma-buf is refused, as programs expect it",
	      !ibv_reg_dmabuf_mr(e.pd, 0, SIZE, 0, -1, IBV_ACCESS_LOCAL_WRITE) &&
	      errno == EOPNOTSUPP);
	ok = ibv_attach_mcast(e.qp, &gid, 0) == EOPNOTSUPP && !has.max_mcast_grp;
	judge("multicast groups are refused, and none are promised", ok);
	attr.cap = (struct ibv_qp_cap){
		has.max_qp_wr, has.max_qp_wr, has.max_sge, has.max_sge, 256,
	};
	ok = refused(&e, &attr, 0);
	attr.cap.max_send_wr++;
	ok &= refused(&e, &attr, EINVAL);
	attr.cap.max_send_wr = 1;
	attr.cap.max_recv_sge++;
	ok &= refused(&e, &attr, EINVAL);
	judge("a queue pair has as much as the device says", ok);
	cq = ibv_create_cq(e.verbs, has.max_cqe, NULL, NULL, 0);
	ok = cq && !ibv_destroy_cq(cq) && !ibv_create_cq(e.verbs, has.max_cqe + 1, NULL, NULL, 0) &&
	     errno == EINVAL;
	queue.attr.max_wr = has.max_srq_wr;
	queue.attr.max_sge = has.max_srq_sge;
	srq = ibv_create_srq(e.pd, &queue);
	ok &= srq && !ibv_destroy_srq(srq);
	queue.attr.max_wr = has.max_srq_wr + 1;
	ok &= !ibv_create_srq(e.pd, &queue) && errno == EINVAL;
	judge("queues have as much as the device says", ok && has.atomic_cap == IBV_ATOMIC_HCA);
	if (end_close(&e))
		die("end_close");
}

void by_hand(void)
{
	rights(false);
	rights(true);
	rights_change();
	atomics(false);
	atomics(true);
	atomics_together();
	shared_datagrams();
	says_in_each_state();
	limits_are_true();
}

/* ---- a cable ---- */

static void tell(const char *path, const char *words)
{
	FILE *file = fopen(path, "w");

	if (!file || fputs(words, file) < 0 || fclose(file))
		die(path);
}

static void cable(const char *words)
{
	tell("/sys/kernel/debug/kfi_usb4_mock/control", words);
}

/* Seconds for which connections wait for a cable */
static void hold(const char *seconds)
{
	tell("/sys/module/kfi_usb4/parameters/hold_s", seconds);
}

/* Return: the next event of a device, or -1: none has come in @ms */
static int next_event(struct end *e, int ms)
{
	struct pollfd events = { .fd = e->verbs->async_fd, .events = POLLIN };
	struct ibv_async_event event;

	if (poll(&events, 1, ms) != 1 || ibv_get_async_event(e->verbs, &event))
		return -1;
	ibv_ack_async_event(&event);
	return event.event_type;
}

static bool event_is(struct end *e, enum ibv_event_type type, int ms)
{
	int is = next_event(e, ms);

	if (is != (int)type)
		printf("event: %d\n", is);
	return is == (int)type;
}

/* Send a message of all bytes. Return: whether it has come, and is right */
static bool message(struct end *from, struct end *to, char byte)
{
	struct ibv_sge sge = { (uintptr_t)to->mem, SIZE, to->mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	memset(from->mem, byte, SIZE);
	return !ibv_post_recv(to->qp, &wr, &bad) &&
	       !post_send(from->qp, from->mem, SIZE, from->mr->lkey) &&
	       ended(to->cq) == IBV_WC_SUCCESS && ended(from->cq) == IBV_WC_SUCCESS &&
	       to->mem[0] == byte && !memcmp(to->mem, to->mem + 1, SIZE - 1);
}

/* Datagrams come at once: as many find a receive of a shared queue as it has. */
static void bursts(void)
{
	struct ibv_qp *from, *to;
	struct ibv_ah *ah;
	struct both p;
	bool ok;
	int i;

	end_open(&p.a, "kfi_a", false);
	end_open(&p.b, "kfi_b", true);
	from = datagrams(&p.a, NULL);
	to = datagrams(&p.b, p.b.srq);
	ah = handle(&p.a, "10.0.0.2");
	ok = ah && !post_shared(&p.b, 0, 2048) && burst(&p.a, from, ah, to, 'a', 500, 1) &&
	     came(&p.b, to, 'a', HEADER, 500);
	for (i = 0; i < MANY / 4; i++)
		ok &= !post_shared(&p.b, 2048 * i, 2048);
	cable("cable 0 stall on");
	ok = ok && burst(&p.a, from, ah, to, 'b', 500, MANY / 2) && silent(&p.b);
	cable("cable 0 stall off");
	for (i = 0; ok && i < MANY / 4; i++)
		ok = came(&p.b, to, 'b', HEADER, 500);
	usleep(200000);
	judge("of a burst as many datagrams come as there are receives", ok && silent(&p.b));
	ibv_destroy_ah(ah);
	if (ibv_destroy_qp(from) || ibv_destroy_qp(to))
		die("ibv_destroy_qp");
	if (end_close(&p.a) || end_close(&p.b))
		die("end_close");
}

/* A cable that comes back in time is no event, and the message that was under way arrives. */
static void pulled(struct both *p)
{
	struct ibv_sge sge = { (uintptr_t)p->b.mem, SIZE, p->b.mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;
	bool ok;

	memset(p->a.mem, 'p', SIZE);
	cable("cable 0 unplug");
	ok = !ibv_post_recv(p->b.qp, &wr, &bad) &&
	     !post_send(p->a.qp, p->a.mem, SIZE, p->a.mr->lkey);
	sleep(2);
	ok &= silent(&p->a) && silent(&p->b);
	cable("cable 0 plug");
	ok = ok && ended(p->b.cq) == IBV_WC_SUCCESS && ended(p->a.cq) == IBV_WC_SUCCESS &&
	     p->b.mem[0] == 'p' && !memcmp(p->b.mem, p->b.mem + 1, SIZE - 1) &&
	     message(&p->b, &p->a, 'q') && silent(&p->a) && silent(&p->b);
	judge("a queue pair survives a pull of its cable", ok);
}

/*
 * One that does not come back in time ends what waits for it, and the queue pair. The other side,
 * which has nothing under way, learns by its next request. The port is down when the time is over.
 */
static void cut(struct both *p)
{
	int first;
	bool ok;

	hold("2");
	cable("cable 0 unplug");
	ok = !post_send(p->a.qp, p->a.mem, SIZE, p->a.mr->lkey);
	usleep(500000);
	ok &= silent(&p->a);
	ok = ok && ended(p->a.cq) == IBV_WC_RETRY_EXC_ERR;
	judge("a request ends when the cable is out for too long", ok);
	first = next_event(&p->a, 10000);
	ok = first == IBV_EVENT_QP_FATAL ? event_is(&p->a, IBV_EVENT_PORT_ERR, 10000) :
	     first == IBV_EVENT_PORT_ERR && event_is(&p->a, IBV_EVENT_QP_FATAL, 10000);
	judge("so do the queue pair and the port, with events", ok);
	ok = event_is(&p->b, IBV_EVENT_PORT_ERR, 10000) && silent(&p->b) &&
	     !post_send(p->b.qp, p->b.mem, 8, p->b.mr->lkey) &&
	     ended(p->b.cq) == IBV_WC_RETRY_EXC_ERR &&
	     event_is(&p->b, IBV_EVENT_QP_FATAL, 10000);
	judge("the other side learns by its next request", ok);
	cable("cable 0 plug");
	hold("15");
	ok = event_is(&p->a, IBV_EVENT_PORT_ACTIVE, 30000) &&
	     event_is(&p->b, IBV_EVENT_PORT_ACTIVE, 30000) &&
	     !end_reset(&p->a) && !end_reset(&p->b) && !both_connect(p, 0) &&
	     message(&p->a, &p->b, 'r');
	judge("they connect again when the cable is back", ok);
}

/* Return: 0 */
int held(void)
{
	struct ibv_port_attr port;
	struct both p;

	enter("/run/netns/b");
	both_open(&p, false, 0);
	judge("queue pairs over a cable", message(&p.a, &p.b, 'm'));
	/* The mock's cable has one lane of 20 Gb/s, which verbs call four of 5 Gb/s. */
	judge("the port has the speed of the cable", !ibv_query_port(p.a.verbs, 1, &port) &&
	      port.active_speed == 2 && port.active_width == 2 && port.state == IBV_PORT_ACTIVE);
	bursts();
	pulled(&p);
	cut(&p);
	both_close(&p);
	return 0;
}
