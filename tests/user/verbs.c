// SPDX-License-Identifier: GPL-2.0
/*
 * verbs.c - a process that breaks the rules of verbs, on devices of kfi_ib at the nodes a and b
 *
 * It posts memory that is not its own, ends regions that are in use, connects queue pairs of other
 * processes, and takes more than its user may have. The kernel's checkers see what that does to
 * memory; this program looks at results. The last line is "N passed, N failed".
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <rdma/rdma_cma.h>
#include "verbs.h"

#define PORT	"7300"
#define ROUNDS	20

static int passed, failed;

void judge(const char *name, bool ok)
{
	printf("%s  %s\n", ok ? "ok    " : "NOT OK", name);
	fflush(stdout);
	*(ok ? &passed : &failed) += 1;
}

void die(const char *what)
{
	perror(what);
	exit(1);
}

void enter(const char *node)
{
	int fd = open(node, O_RDONLY);

	if (fd < 0 || setns(fd, CLONE_NEWNET))
		die(node);
	close(fd);
}

void *memory(void)
{
	void *p = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		die("mmap");
	return p;
}

const struct ibv_qp_init_attr plain = {
	.cap = { 16, 16, 2, 2, 0 }, .qp_type = IBV_QPT_RC, .sq_sig_all = 1,
};

/*
 * An endpoint that listens at a, or calls it, with a queue pair if there is @own. Return: NULL if
 * it could not be made
 */
static struct rdma_cm_id *try_endpoint(bool listens, bool own)
{
	struct rdma_addrinfo hints = { .ai_port_space = RDMA_PS_TCP }, *info;
	struct ibv_qp_init_attr attr = plain;
	struct rdma_cm_id *id;

	hints.ai_flags = listens ? RAI_PASSIVE : 0;
	if (rdma_getaddrinfo("10.0.0.1", PORT, &hints, &info))
		die("rdma_getaddrinfo");
	if (rdma_create_ep(&id, info, NULL, own ? &attr : NULL))
		id = NULL;
	rdma_freeaddrinfo(info);
	return id;
}

static struct rdma_cm_id *endpoint(bool listens, bool own)
{
	struct rdma_cm_id *id = try_endpoint(listens, own);

	if (!id)
		die("rdma_create_ep");
	return id;
}

static int post_recv(struct ibv_qp *qp, void *addr, uint32_t len, uint32_t lkey)
{
	struct ibv_sge sge = { (uintptr_t)addr, len, lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	return ibv_post_recv(qp, &wr, &bad);
}

int post_send(struct ibv_qp *qp, void *addr, uint32_t len, uint32_t lkey)
{
	struct ibv_sge sge = { (uintptr_t)addr, len, lkey };
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND }, *bad;

	return ibv_post_send(qp, &wr, &bad);
}

#define INLINE	256	/* what the device has, at least */

static int post_inline(struct ibv_qp *qp, enum ibv_wr_opcode opcode, void *addr, uint32_t len)
{
	struct ibv_sge sge = { (uintptr_t)addr, len, 0 };
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = opcode, .send_flags = IBV_SEND_INLINE,
	}, *bad;

	return ibv_post_send(qp, &wr, &bad);
}

/* Wait for an entry. Return: its status, or -1 after 20 seconds */
int ended(struct ibv_cq *cq)
{
	struct ibv_wc wc;
	int i, n;

	for (i = 0; i < 20000; i++) {
		n = ibv_poll_cq(cq, 1, &wc);
		if (n)
			return n == 1 ? (int)wc.status : -1;
		usleep(1000);
	}
	return -1;
}

/* ---- elements that are not to be used ---- */

struct element {
	const char	*name;
	long		at;
	uint32_t	len;
	int		key;	/* 0: region's; 1: kernel's; 2: another domain's; 3: read-only */
	bool		recv, send;	/* it is refused */
};

static const struct element elements[] = {
	{ "all of a region", 0, SIZE, 0, false, false },
	{ "the key of all memory of the kernel", 0, 8, 1, true, true },
	{ "a region of another protection domain", 0, 8, 2, true, true },
	{ "a region that may only be read", 0, 8, 3, true, false },
	{ "a byte behind a region", SIZE, 1, 0, true, true },
	{ "a byte more than a region", 1, SIZE, 0, true, true },
	{ "a byte before a region", -1, 2, 0, true, true },
	{ "4 GiB of a region", 0, UINT32_MAX, 0, true, true },
};

/* Post a receive. Return: whether it ends, or stays, because its memory may be used or not */
static bool recv_is(bool refused, struct rdma_cm_id *id, void *addr, uint32_t len, uint32_t lkey)
{
	struct ibv_wc wc;

	if (post_recv(id->qp, addr, len, lkey))
		return false;
	if (refused)
		return ended(id->recv_cq) == IBV_WC_LOC_PROT_ERR;
	usleep(200000);
	return !ibv_poll_cq(id->recv_cq, 1, &wc);
}

/* A receive that is refused ends its queue pair, so each element has one. */
static void refuse_element(const struct element *el)
{
	struct rdma_cm_id *id = endpoint(false, true);
	struct ibv_pd *other = ibv_alloc_pd(id->verbs);
	char *mem = memory(), name[128];
	struct ibv_mr *mr = ibv_reg_mr(id->pd, mem, SIZE, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_mr *foreign = ibv_reg_mr(other, mem, SIZE, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_mr *plain = ibv_reg_mr(id->pd, mem, SIZE, 0);
	uint32_t keys[4];
	uint32_t key;
	bool ok;

	if (!mr || !foreign || !plain)
		die("ibv_reg_mr");
	keys[0] = mr->lkey;
	keys[1] = 1;
	keys[2] = foreign->lkey;
	keys[3] = plain->lkey;
	key = keys[el->key];
	ok = post_send(id->qp, mem + el->at, el->len, key) == (el->send ? EINVAL : 0) &&
	     recv_is(el->recv, id, mem + el->at, el->len, key);
	snprintf(name, sizeof(name), "a post of %s", el->name);
	judge(name, ok);
	/* what was posted ends with the queue pair, whose regions end before */
	ibv_dereg_mr(mr);
	ibv_dereg_mr(foreign);
	ibv_dereg_mr(plain);
	munmap(mem, SIZE);
	rdma_destroy_ep(id);
	ibv_dealloc_pd(other);
}

static void refuse_ended(void)
{
	struct rdma_cm_id *id = endpoint(false, true);
	char *mem = memory();
	struct ibv_mr *mr = ibv_reg_mr(id->pd, mem, SIZE, IBV_ACCESS_LOCAL_WRITE);
	uint32_t key = mr ? mr->lkey : 0;

	if (!mr || ibv_dereg_mr(mr))
		die("ibv_reg_mr");
	judge("a post of a region that has ended",
	      post_send(id->qp, mem, 8, key) == EINVAL && recv_is(true, id, mem, 8, key));
	munmap(mem, SIZE);
	rdma_destroy_ep(id);
}

static void refuse_elements(void)
{
	const struct element *el;

	for (el = elements; el < elements + sizeof(elements) / sizeof(*elements); el++)
		refuse_element(el);
	refuse_ended();
}

/* ---- memory that goes while it is in use ---- */

/* Answer each call with messages from a region that ends right after the post. */
static void serve(int rounds)
{
	struct rdma_cm_id *listener = endpoint(true, true), *id;
	struct ibv_mr *mr;
	char *mem;

	if (rdma_listen(listener, 8))
		die("rdma_listen");
	while (rounds--) {
		if (rdma_get_request(listener, &id) || rdma_accept(id, NULL))
			die("rdma_accept");
		mem = memory();
		memset(mem, 0x5a, SIZE);
		mr = ibv_reg_mr(id->pd, mem, SIZE, IBV_ACCESS_LOCAL_WRITE);
		if (!mr || post_send(id->qp, mem, SIZE, mr->lkey))
			die("send");
		ibv_dereg_mr(mr);
		munmap(mem, SIZE);
		ended(id->send_cq);
		rdma_disconnect(id);
		rdma_destroy_ep(id);
	}
	rdma_destroy_ep(listener);
}

/*
 * Receive into a region. In odd rounds it has ended and its memory has gone when the message
 * comes; in even ones the bytes are compared.
 */
static bool receive(int round)
{
	struct rdma_cm_id *id = endpoint(false, true);
	char *mem = memory();
	struct ibv_mr *mr = ibv_reg_mr(id->pd, mem, SIZE, IBV_ACCESS_LOCAL_WRITE);
	bool ok;

	if (!mr || post_recv(id->qp, mem, SIZE, mr->lkey))
		die("receive");
	if (round & 1) {
		ibv_dereg_mr(mr);
		munmap(mem, SIZE);
	}
	ok = !rdma_connect(id, NULL) && ended(id->recv_cq) == IBV_WC_SUCCESS;
	if (!(round & 1)) {
		ok = ok && mem[0] == 0x5a && !memcmp(mem, mem + 1, SIZE - 1);
		ibv_dereg_mr(mr);
		munmap(mem, SIZE);
	}
	rdma_destroy_ep(id);
	return ok;
}

/* ---- the end of a connection ---- */

/* Take a message of each of some calls. Return: how many have come */
static int take(int rounds)
{
	struct rdma_cm_id *listener = endpoint(true, true), *id;
	char *mem = memory();
	struct ibv_mr *mr;
	int n = 0;

	if (rdma_listen(listener, 8))
		die("rdma_listen");
	while (rounds--) {
		if (rdma_get_request(listener, &id))
			die("rdma_get_request");
		mr = ibv_reg_mr(id->pd, mem, SIZE, IBV_ACCESS_LOCAL_WRITE);
		if (!mr || post_recv(id->qp, mem, SIZE, mr->lkey) || rdma_accept(id, NULL))
			die("rdma_accept");
		n += ended(id->recv_cq) == IBV_WC_SUCCESS;
		rdma_destroy_ep(id);
		ibv_dereg_mr(mr);
	}
	return n;
}

/* What is complete arrives, although nobody disconnects: programs of libfabric leave like that. */
static void complete_and_gone(void)
{
	struct rdma_cm_id *id;
	pid_t server = fork();
	int i, status = -1;

	if (!server) {
		enter("/run/netns/a");
		_exit(take(ROUNDS) != ROUNDS);
	}
	sleep(2);	/* it listens */
	for (i = 0; i < ROUNDS; i++) {
		id = endpoint(false, true);
		if (rdma_connect(id, NULL) || post_inline(id->qp, IBV_WR_SEND, &i, sizeof(i)) ||
		    ended(id->send_cq) != IBV_WC_SUCCESS)
			die("rdma_connect");
		rdma_destroy_qp(id);
		rdma_destroy_ep(id);
	}
	waitpid(server, &status, 0);
	judge("a message that is complete arrives when its queue pair is destroyed", !status);
}

/* Accept calls, and destroy each connection at once, every second one after rdma_disconnect(). */
static void answer(int rounds)
{
	struct rdma_cm_id *listener = endpoint(true, true), *id;

	if (rdma_listen(listener, 8))
		die("rdma_listen");
	while (rounds--) {
		if (rdma_get_request(listener, &id) || rdma_accept(id, NULL))
			die("rdma_accept");
		if (rounds & 1)
			rdma_disconnect(id);
		rdma_destroy_ep(id);
	}
	sleep(5);	/* the end of the listener refuses calls */
}

/* A call that was accepted was not refused, however soon the connection ends. */
static void answered_and_gone(void)
{
	struct rdma_cm_id *id;
	pid_t server = fork();
	int i, good = 0;

	if (!server) {
		enter("/run/netns/a");
		answer(ROUNDS);
		_exit(0);
	}
	sleep(2);	/* it listens */
	for (i = 0; i < ROUNDS; i++) {
		id = endpoint(false, true);
		good += !rdma_connect(id, NULL);
		rdma_destroy_ep(id);
	}
	kill(server, SIGKILL);
	waitpid(server, NULL, 0);
	judge("a call that is accepted is not refused when the connection ends at once",
	      good == ROUNDS);
}

/* ---- what programs expect ---- */

/* The first message is written over when it was posted, and has no region. */
static void serve_inline(void)
{
	struct rdma_cm_id *listener = endpoint(true, true), *id;
	char *mem = memory();

	if (rdma_listen(listener, 8) || rdma_get_request(listener, &id))
		die("rdma_listen");
	memset(mem, 0x33, INLINE);
	if (post_inline(id->qp, IBV_WR_SEND, mem, INLINE))
		die("ibv_post_send");
	memset(mem, 0, INLINE);
	if (rdma_accept(id, NULL))
		die("rdma_accept");
	sleep(60);
}

/* The peer's message comes, and an event when the peer has died. */
static void receive_inline(pid_t server)
{
	struct rdma_cm_id *id = endpoint(false, true);
	char *mem = memory();
	struct ibv_mr *mr = ibv_reg_mr(id->pd, mem, SIZE, IBV_ACCESS_LOCAL_WRITE);
	struct pollfd events = { .fd = id->verbs->async_fd, .events = POLLIN };
	struct ibv_async_event event = {};
	bool ok;

	if (!mr || post_recv(id->qp, mem, SIZE, mr->lkey))
		die("receive");
	ok = !rdma_connect(id, NULL) && ended(id->recv_cq) == IBV_WC_SUCCESS &&
	     mem[0] == 0x33 && !memcmp(mem, mem + 1, INLINE - 1) && !mem[INLINE];
	judge("inline data has no region, and is free after the post", ok);
	/* The peer receives no long message. */
	if (post_send(id->qp, mem, SIZE, mr->lkey))
		die("ibv_post_send");
	kill(server, SIGKILL);
	waitpid(server, NULL, 0);
	ok = poll(&events, 1, 60000) == 1 && !ibv_get_async_event(id->verbs, &event) &&
	     event.event_type == IBV_EVENT_QP_FATAL && event.element.qp == id->qp;
	if (event.element.qp)
		ibv_ack_async_event(&event);
	judge("a connection that ends under a request is an event of the queue pair", ok);
	ibv_dereg_mr(mr);
	munmap(mem, SIZE);
	rdma_destroy_ep(id);
}

static void inline_data(void)
{
	struct rdma_cm_id *id = endpoint(false, true);
	struct ibv_qp_init_attr attr = plain;
	struct ibv_qp *more;
	char *mem = memory();

	judge("inline data is limited", !post_inline(id->qp, IBV_WR_SEND, mem, INLINE) &&
	      post_inline(id->qp, IBV_WR_SEND, mem, INLINE + 1) == EINVAL);
	judge("a read has no inline data",
	      post_inline(id->qp, IBV_WR_RDMA_READ, mem, 8) == EINVAL);
	munmap(mem, SIZE);
	judge("inline data that is not there", post_inline(id->qp, IBV_WR_SEND, mem, 8) == EFAULT);
	attr.send_cq = id->send_cq;
	attr.recv_cq = id->recv_cq;
	attr.cap.max_inline_data = INLINE + 1;
	more = ibv_create_qp(id->pd, &attr);
	judge("too much inline data is refused", !more && errno == EINVAL);
	rdma_destroy_ep(id);
}

/* There is a way to the state ERR from all states but RESET. Return: 0 or an error */
static int to_error(struct ibv_qp *qp)
{
	struct ibv_qp_attr init = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	struct ibv_qp_attr error = { .qp_state = IBV_QPS_ERR };

	return ibv_modify_qp(qp, &init, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			     IBV_QP_ACCESS_FLAGS) ?: ibv_modify_qp(qp, &error, IBV_QP_STATE);
}

static void no_way_to_rts(void)
{
	struct rdma_cm_id *id = endpoint(false, true);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS };

	judge("a queue pair without a connection is not ready to send",
	      ibv_modify_qp(id->qp, &attr, IBV_QP_STATE) == EINVAL);
	rdma_destroy_ep(id);
}

/* Entries that nobody has read go with their queue pair, and those of another one stay. */
static void forgotten_entries(void)
{
	struct rdma_cm_id *id = endpoint(false, true);
	struct ibv_cq *cq = ibv_create_cq(id->verbs, 1 << 17, NULL, NULL, 0);
	struct ibv_qp_init_attr attr = plain;
	struct ibv_qp *qp[2];
	uint32_t number = 0;
	struct ibv_wc wc;
	int i, k, n = 0;

	if (!cq)
		die("ibv_create_cq");
	attr.send_cq = cq;
	attr.recv_cq = cq;
	for (i = 0; i < 2; i++) {
		qp[i] = ibv_create_qp(id->pd, &attr);
		if (!qp[i])
			die("ibv_create_qp");
		for (k = 0; k < 8; k++)
			if (post_inline(qp[i], IBV_WR_SEND, &k, sizeof(k)))
				die("ibv_post_send");
		if (to_error(qp[i]))
			die("ibv_modify_qp");
	}
	usleep(200000);		/* all requests are flushed */
	ibv_destroy_qp(qp[0]);
	while (ibv_poll_cq(cq, 1, &wc) == 1 && ++n)
		number = wc.qp_num;
	judge("entries of a queue pair that is gone are skipped",
	      n == 8 && number == qp[1]->qp_num);
	ibv_destroy_qp(qp[1]);
	ibv_destroy_cq(cq);
	rdma_destroy_ep(id);
}

/* More requests are flushed than the queue has entries for: each comes when there is room. */
static void full_queue(void)
{
	struct rdma_cm_id *id = endpoint(false, true);
	struct ibv_cq *cq = ibv_create_cq(id->verbs, 2, NULL, NULL, 0);
	struct ibv_qp_init_attr attr = plain;
	struct ibv_qp *qp;
	int k, n = 0;

	if (!cq)
		die("ibv_create_cq");
	attr.send_cq = cq;
	attr.recv_cq = cq;
	qp = ibv_create_qp(id->pd, &attr);
	for (k = 0; qp && k < 16; k++)
		if (post_inline(qp, IBV_WR_SEND, &k, sizeof(k)) || post_recv(qp, NULL, 0, 0))
			die("ibv_post_send");
	judge("no more requests than a queue pair was made for",
	      post_inline(qp, IBV_WR_SEND, &k, sizeof(k)) == ENOMEM &&
	      post_recv(qp, NULL, 0, 0) == ENOMEM);
	if (!qp || to_error(qp))
		die("ibv_modify_qp");
	while (n < 32 && ended(cq) == IBV_WC_WR_FLUSH_ERR)
		n++;
	judge("requests wait for room in a queue, and none is lost", n == 32);
	ibv_destroy_qp(qp);
	ibv_destroy_cq(cq);
	rdma_destroy_ep(id);
}

/* ---- nonsense in what the kernel has mapped ---- */

/* Write random numbers to some words of all queues that the process has mapped. */
static void scribble(unsigned int *seed)
{
	unsigned long from, to;
	char line[512];
	int i, queues = 0;
	uint32_t *word;
	FILE *maps = fopen("/proc/self/maps", "r");

	while (maps && fgets(line, sizeof(line), maps)) {
		if (!strstr(line, "/uverbs") || sscanf(line, "%lx-%lx", &from, &to) != 2)
			continue;
		queues++;
		/* The heads of the queues are at the beginning. */
		for (i = 0; i < 64; i++) {
			word = (uint32_t *)from + rand_r(seed) % (i & 1 ? 64 : (to - from) / 4);
			__atomic_store_n(word, rand_r(seed) >> (rand_r(seed) % 32),
					 __ATOMIC_RELAXED);
		}
	}
	if (!maps || fclose(maps) || queues < 3)
		die("/proc/self/maps");
}

/* Use a connection, and write nonsense meanwhile. Nothing is expected of it. */
static void nonsense(unsigned int seed)
{
	struct rdma_cm_id *id = endpoint(false, true);
	char *mem = memory();
	struct ibv_mr *mr = ibv_reg_mr(id->pd, mem, SIZE, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_wc wc;
	int i;

	if (!mr)
		die("ibv_reg_mr");
	post_recv(id->qp, mem, SIZE, mr->lkey);
	if (rdma_connect(id, NULL))
		die("rdma_connect");
	for (i = 0; i < 200; i++) {
		post_recv(id->qp, mem, 8, mr->lkey);
		post_send(id->qp, mem, 8, mr->lkey);
		scribble(&seed);
		ibv_poll_cq(id->recv_cq, 1, &wc);
		ibv_poll_cq(id->send_cq, 1, &wc);
	}
	_exit(0);
}

/* Each in a process of its own, because it may end by a signal. */
static void nonsense_rounds(unsigned int seed)
{
	int i, n = 0, status;
	pid_t server, pid;
	char number[16];

	server = fork();
	if (!server) {
		enter("/run/netns/a");
		serve(ROUNDS + 1);
		_exit(0);
	}
	sleep(2);
	printf("seed %u\n", seed);
	for (i = 0; i < ROUNDS; i++) {
		pid = fork();
		if (!pid) {
			snprintf(number, sizeof(number), "%u", seed + i);
			execl("/proc/self/exe", "verbs", "nonsense", number, NULL);
			_exit(1);
		}
		n += waitpid(pid, &status, 0) == pid && !status;
	}
	judge("nonsense in the queues of a process", n == ROUNDS);
	judge("another process does not notice it", receive(0));
	kill(server, SIGKILL);
	waitpid(server, NULL, 0);
}

/* ---- more than the user may have ---- */

/* Set a limit, of this process and of all others of its user. */
static void limit(const char *name, unsigned int value)
{
	char path[80];
	FILE *file;

	snprintf(path, sizeof(path), "/sys/module/kfi/parameters/%s", name);
	file = fopen(path, "w");
	if (!file || fprintf(file, "%u\n", value) < 0 || fclose(file))
		die(path);
}

/* Between two events a message takes a receive, so they can't be had for nothing. */
static void limit_events(void)
{
	struct rdma_cm_id *id = endpoint(false, false);
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 16, .max_sge = 1 } };
	struct ibv_srq_attr attr = { .srq_limit = 1 };
	struct ibv_pd *pd = ibv_alloc_pd(id->verbs);
	struct ibv_srq *srq = ibv_create_srq(pd, &init);
	struct ibv_async_event event;
	int i, n = 0;

	if (!srq)
		die("ibv_create_srq");
	for (i = 0; i < 1000; i++)
		if (ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT))
			die("ibv_modify_srq");
	fcntl(id->verbs->async_fd, F_SETFL, O_NONBLOCK);
	for (; !ibv_get_async_event(id->verbs, &event); n++)
		ibv_ack_async_event(&event);
	judge("a limit that is set again and again is reported once", n == 1);
	ibv_destroy_srq(srq);
	ibv_dealloc_pd(pd);
	rdma_destroy_ep(id);
}

#define ARMED	1000
#define EVENTS	64		/* entries of the queue */

/*
 * A process arms its queue, lets a receive be flushed and polls, again and again, and reads no
 * event: as many are kept as the queue has entries. When it has read them, there are events again.
 */
static void completion_events(void)
{
	struct rdma_cm_id *id = endpoint(false, true);
	struct ibv_comp_channel *channel = ibv_create_comp_channel(id->verbs);
	struct ibv_cq *cq = ibv_create_cq(id->verbs, EVENTS, NULL, channel, 0);
	struct ibv_qp_init_attr attr = plain;
	struct ibv_qp *qp;
	struct ibv_cq *of;
	void *context;
	int i, n, again;

	if (!channel || !cq)
		die("ibv_create_cq");
	attr.send_cq = cq;
	attr.recv_cq = cq;
	qp = ibv_create_qp(id->pd, &attr);
	if (!qp || to_error(qp))
		die("ibv_create_qp");
	for (i = 0; i < ARMED; i++)
		if (ibv_req_notify_cq(cq, 0) || post_recv(qp, NULL, 0, 0) ||
		    ended(cq) != IBV_WC_WR_FLUSH_ERR)
			die("ibv_post_recv");
	fcntl(channel->fd, F_SETFL, O_NONBLOCK);
	for (n = 0; !ibv_get_cq_event(channel, &of, &context); n++)
		;
	if (ibv_req_notify_cq(cq, 0) || post_recv(qp, NULL, 0, 0) || ended(cq) < 0)
		die("ibv_post_recv");
	for (again = 0; !ibv_get_cq_event(channel, &of, &context); again++)
		;
	judge("completion events that are not read are as many as the queue has entries",
	      n == EVENTS && again == 1);
	ibv_ack_cq_events(cq, n + again);
	ibv_destroy_qp(qp);
	ibv_destroy_cq(cq);
	ibv_destroy_comp_channel(channel);
	rdma_destroy_ep(id);
}

#define MANY	200

/*
 * End queues by the command of uverbs that libibverbs has for its providers, and keep their memory
 * mapped. Return: how many there were when one was refused
 */
static int kept_queues(struct ibv_context *verbs)
{
	int (*destroy)(struct ibv_cq *cq) = dlvsym(RTLD_DEFAULT, "ibv_cmd_destroy_cq",
						   "IBVERBS_PRIVATE_34");
	struct ibv_cq *cq;
	int n;

	if (!destroy)
		die("ibv_cmd_destroy_cq");
	for (n = 0; n < 100; n++) {
		cq = ibv_create_cq(verbs, 16384, NULL, NULL, 0);
		if (!cq || destroy(cq))
			break;
	}
	return n;
}

static bool kept_in_child(void)
{
	pid_t pid = fork();
	int status, n;

	if (!pid) {
		execl("/proc/self/exe", "verbs", "keep", "queues", "mapped", NULL);
		_exit(1);
	}
	n = waitpid(pid, &status, 0);
	return n == pid && !status;
}

/* Make queue pairs that are not connected. Return: how many there were when one was refused */
static int queue_pairs(struct ibv_pd *pd, struct ibv_cq *cq)
{
	struct ibv_qp_init_attr attr = plain;
	struct ibv_qp *qp[MANY];
	int i, n;

	attr.send_cq = cq;
	attr.recv_cq = cq;
	for (n = 0; n < MANY; n++) {
		qp[n] = ibv_create_qp(pd, &attr);
		if (!qp[n])
			break;
	}
	for (i = 0; i < n; i++)
		ibv_destroy_qp(qp[i]);
	return n;
}

/* Connect, and leave messages that the peer does not receive. Return: as queue_pairs() */
static int connections(void)
{
	struct rdma_cm_id *id[MANY];
	struct ibv_mr *mr;
	char *mem = memory();
	int i, n, k;

	for (n = 0; n < MANY; n++) {
		id[n] = try_endpoint(false, true);
		if (!id[n])
			break;
		if (rdma_connect(id[n], NULL)) {
			rdma_destroy_ep(id[n]);
			break;
		}
		mr = ibv_reg_mr(id[n]->pd, mem, SIZE, 0);
		for (k = 0; mr && k < 16; k++)
			post_send(id[n]->qp, mem, 4096, mr->lkey);
		if (mr)
			ibv_dereg_mr(mr);
	}
	for (i = 0; i < n; i++)	/* an orderly end would wait for the messages */
		rdma_destroy_ep(id[i]);
	munmap(mem, SIZE);
	return n;
}

/* Accept all calls, and post no receives. */
static void hold(void)
{
	struct rdma_cm_id *listener = endpoint(true, false), *id;
	struct ibv_qp_init_attr attr;

	if (rdma_listen(listener, 8))
		die("rdma_listen");
	for (;;) {
		attr = plain;
		if (rdma_get_request(listener, &id))
			die("rdma_get_request");
		if (rdma_create_qp(id, NULL, &attr) || rdma_accept(id, NULL))
			rdma_reject(id, NULL, 0);
	}
}

/* Return: a process that holds, with a context of its own */
static pid_t holder(void)
{
	pid_t pid = fork();

	if (!pid) {
		execl("/proc/self/exe", "verbs", "hold", NULL);
		_exit(1);
	}
	sleep(2);	/* it listens */
	return pid;
}

/* A short write ends when the peer has taken it, or has refused it. */
static void refused_write(void)
{
	pid_t peer = holder();
	struct rdma_cm_id *id = endpoint(false, true);
	uint64_t word = 0;

	judge("a short write that the peer refuses fails",
	      !rdma_connect(id, NULL) &&
	      !post_inline(id->qp, IBV_WR_RDMA_WRITE, &word, sizeof(word)) &&
	      ended(id->send_cq) == IBV_WC_REM_ACCESS_ERR);
	kill(peer, SIGKILL);
	waitpid(peer, NULL, 0);
	rdma_destroy_ep(id);
}

/*
 * Let processes open the device, each once. Nothing keeps what a process was when it has been
 * refused and has ended: kmemleak does not find all of what is lost, but some of so much.
 */
static bool contexts_refused(struct ibv_device *device)
{
	int i, n = 0, status;
	pid_t pid;

	for (i = 0; i < 20; i++) {
		pid = fork();
		if (!pid)
			_exit(!!ibv_open_device(device));
		n += waitpid(pid, &status, 0) == pid && !status;
	}
	return n == i;
}

/* A user has limits, and what ends is returned. */
static void limits(void)
{
	struct rdma_cm_id *id = endpoint(false, false);
	struct ibv_pd *pd = ibv_alloc_pd(id->verbs);
	struct ibv_cq *cq = ibv_create_cq(id->verbs, 16, NULL, NULL, 0);
	pid_t peer;
	int n;

	if (!pd || !cq)
		die("limits");
	limit("max_endpoints", 3);
	n = queue_pairs(pd, cq);
	judge("queue pairs are counted", n > 0 && n <= 4 && n == queue_pairs(pd, cq));
	limit("max_endpoints", 1024);
	limit("max_objects", 0);
	judge("protection domains and queues are counted",
	      !ibv_alloc_pd(id->verbs) && !ibv_create_cq(id->verbs, 16, NULL, NULL, 0));
	limit("max_objects", 65536);
	limit("max_contexts", 0);
	judge("contexts are counted", contexts_refused(id->verbs->device));
	limit("max_contexts", 256);
	limit("max_queue_mb", 4);
	n = queue_pairs(pd, cq);
	judge("queue pairs are paid for", n > 10 && n < 100 && n == queue_pairs(pd, cq));
	/* in a context of its own, which takes the memory with it */
	judge("memory that stays mapped is paid for", kept_in_child());
	limit("max_queue_mb", 24);
	peer = holder();
	n = connections();
	printf("%d connections\n", n);
	judge("connections are paid for", n > 5 && n < MANY);
	kill(peer, SIGKILL);
	waitpid(peer, NULL, 0);
	limit("max_queue_mb", 1024);
	ibv_destroy_cq(cq);
	ibv_dealloc_pd(pd);
	rdma_destroy_ep(id);
}

int main(int argc, char **argv)
{
	pid_t server, sender;
	int i, good = 0;

	if (argc == 2 && !strcmp(argv[1], "held")) {
		i = held();
		printf("%d passed, %d failed\n", passed, failed);
		return i || failed || !passed;
	}
	if (argc == 2) {
		enter("/run/netns/a");
		hold();
	}
	if (argc == 3)
		nonsense(atoi(argv[2]));
	if (argc == 4) {
		i = kept_queues(endpoint(false, false)->verbs);
		return !(i > 0 && i < 20);
	}

	server = fork();
	if (!server) {
		enter("/run/netns/a");
		serve(ROUNDS);
		_exit(0);
	}
	enter("/run/netns/b");
	sleep(2);	/* the server listens */
	for (i = 0; i < ROUNDS; i++)
		good += receive(i);
	judge("messages of regions that end, into regions that have ended", good == ROUNDS);
	kill(server, SIGKILL);
	waitpid(server, NULL, 0);
	sender = fork();
	if (!sender) {
		enter("/run/netns/a");
		serve_inline();
		_exit(0);
	}
	sleep(2);
	receive_inline(sender);
	inline_data();
	no_way_to_rts();
	complete_and_gone();
	answered_and_gone();
	lives(false);
	lives(true);
	by_hand();
	forgotten_entries();
	full_queue();
	nonsense_rounds(getpid());
	refuse_elements();
	limit_events();
	completion_events();
	refused_write();
	limits();
	printf("%d passed, %d failed\n", passed, failed);
	return failed || !passed;
}
