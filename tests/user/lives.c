// SPDX-License-Identifier: GPL-2.0
/* lives.c - queue pairs that are connected by hand, reset, and connected again (verbs.c) */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "verbs.h"

#define LIVES	3
#define MESSAGES 5

void end_open(struct end *e, const char *name, bool shared)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_srq_init_attr queue = { .attr = { 16, 1, 0 } };
	struct ibv_qp_init_attr attr = plain;

	while (list && *list && strcmp(ibv_get_device_name(*list), name))
		list++;
	e->verbs = list && *list ? ibv_open_device(*list) : NULL;
	e->pd = e->verbs ? ibv_alloc_pd(e->verbs) : NULL;
	e->cq = e->verbs ? ibv_create_cq(e->verbs, 64, NULL, NULL, 0) : NULL;
	e->srq = e->pd && shared ? ibv_create_srq(e->pd, &queue) : NULL;
	if (!e->pd || !e->cq || (shared && !e->srq))
		die(name);
	attr.send_cq = e->cq;
	attr.recv_cq = e->cq;
	attr.srq = e->srq;
	e->mem = memory();
	e->qp = ibv_create_qp(e->pd, &attr);
	e->mr = ibv_reg_mr(e->pd, e->mem, SIZE, IBV_ACCESS_LOCAL_WRITE | PEERS);
	if (!e->qp || !e->mr)
		die("queue pair");
}

void gid_of(union ibv_gid *gid, const char *address)
{
	memset(gid, 0, sizeof(*gid));
	memset(gid->raw + 10, 0xff, 2);
	inet_pton(AF_INET, address, gid->raw + 12);
}

int end_connect(struct end *e, uint32_t number, const char *address, int access)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = 1, .path_mtu = IBV_MTU_1024,
		.dest_qp_num = number, .timeout = 14, .retry_cnt = 7, .rnr_retry = 6,
		.max_rd_atomic = 3, .max_dest_rd_atomic = 5, .min_rnr_timer = 2,
		.rq_psn = 8, .sq_psn = 9, .qp_access_flags = access,
		.ah_attr = { .is_global = 1, .port_num = 1,
			     .grh = { .sgid_index = GID, .hop_limit = 64 } },
	};
	int err;

	gid_of(&attr.ah_attr.grh.dgid, address);
	err = ibv_modify_qp(e->qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			    IBV_QP_ACCESS_FLAGS);
	attr.qp_state = IBV_QPS_RTR;
	err = err ?: ibv_modify_qp(e->qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
				   IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				   IBV_QP_MIN_RNR_TIMER);
	attr.qp_state = IBV_QPS_RTS;
	return err ?: ibv_modify_qp(e->qp, &attr, IBV_QP_STATE | IBV_QP_TIMEOUT |
				    IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
				    IBV_QP_MAX_QP_RD_ATOMIC);
}

int end_reset(struct end *e)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };

	return ibv_modify_qp(e->qp, &attr, IBV_QP_STATE);
}

int end_close(struct end *e)
{
	return ibv_destroy_qp(e->qp) ?: (e->srq ? ibv_destroy_srq(e->srq) : 0) ?:
	       ibv_dereg_mr(e->mr) ?: ibv_destroy_cq(e->cq) ?: ibv_dealloc_pd(e->pd) ?:
	       ibv_close_device(e->verbs);
}

/* One of the receives is for the life before, and is dropped by the reset if it is the pair's own. */
static bool lives_receive(struct end *e, int life)
{
	struct ibv_sge sge = { (uintptr_t)e->mem, 64, e->mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;
	int i;

	for (i = 0; i < MESSAGES + !e->srq; i++)
		if (e->srq ? ibv_post_srq_recv(e->srq, &wr, &bad) : ibv_post_recv(e->qp, &wr, &bad))
			return false;
	for (i = 0; i < MESSAGES; i++)
		if (ended(e->cq) != IBV_WC_SUCCESS || e->mem[0] != 'a' + life)
			return false;
	return true;
}

static bool lives_send(struct end *e, int life)
{
	int i;

	memset(e->mem, 'a' + life, 64);
	for (i = 0; i < MESSAGES; i++)
		if (post_send(e->qp, e->mem, 64, e->mr->lkey) || ended(e->cq) != IBV_WC_SUCCESS)
			return false;
	return true;
}

/* A queue pair is reset, and connected again to the same one, which has been reset, too. */
static bool lives_of(const char *device, const char *peer, bool receives, bool shared, int in, int out)
{
	struct end e;
	uint32_t number;
	char word = 0;
	bool ok = true;
	int life;

	end_open(&e, device, shared);
	number = e.qp->qp_num;
	if (write(out, &number, sizeof(number)) != sizeof(number) ||
	    read(in, &number, sizeof(number)) != sizeof(number))
		return false;
	for (life = 0; ok && life < LIVES; life++) {
		ok = !end_connect(&e, number, peer, 0) &&
		     (receives ? lives_receive(&e, life) : lives_send(&e, life));
		/* neither side is reset before the other one has all messages */
		ok = write(out, &word, 1) == 1 && read(in, &word, 1) == 1 && ok && !end_reset(&e) &&
		     write(out, &word, 1) == 1 && read(in, &word, 1) == 1;
	}
	return !end_close(&e) && ok;
}

void lives(bool shared)
{
	int there[2], back[2], status = 1;
	pid_t sender;
	bool ok;

	if (pipe(there) || pipe(back))
		die("pipe");
	sender = fork();
	if (!sender) {
		enter("/run/netns/a");
		close(there[0]);
		close(back[1]);
		ok = lives_of("kfi_a", "10.0.0.2", false, shared, back[0], there[1]);
		_exit(!ok);
	}
	close(there[1]);
	close(back[0]);
	ok = lives_of("kfi_b", "10.0.0.1", true, shared, there[0], back[1]);
	close(there[0]);
	close(back[1]);
	waitpid(sender, &status, 0);
	judge(shared ? "a queue pair with a shared receive queue begins anew" :
		       "a queue pair begins anew", ok && !status);
}
