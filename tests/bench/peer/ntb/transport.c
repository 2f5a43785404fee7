// SPDX-License-Identifier: GPL-2.0
/*
 * transport.c - ntb_transport, the kernel's own messages over an NTB: round trips and streams of
 * messages between both ends of a bridge, from tasklet to tasklet. The receiver copies each message
 * into its own buffer and checks its number.
 *
 * One run at a time; it has ended when its last message was handled.
 */
#include <linux/bottom_half.h>
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/ntb.h>
#include <linux/ntb_transport.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include "nb.h"

#define NB_NAME		"kfi_bench_ntb"
#define NB_BUFS		64
#define NB_BUF		4096

struct nb_side {
	struct ntb_transport_qp	*qp;
	u8			*bufs;		/* NB_BUFS receive buffers */
	u8			*out;
};

static struct nb_side nb_side[2];
static bool nb_there;		/* ntb_transport has a bridge */

/* The present run */
static struct nb_run {
	struct completion	done;
	u32			size, ops, next;
	bool			echo;		/* round trips */
	u64			end;
	int			err;
} nb_run;

/*
 * Senders of a queue must be serialized, and it counts after the doorbell: with bottom halves
 * disabled there is only one sender.
 */
static int nb_send(int port, u32 number)
{
	struct nb_side *side = &nb_side[port];
	int err;

	local_bh_disable();
	*(u32 *)side->out = number;
	err = ntb_transport_tx_enqueue(side->qp, side, side->out, nb_run.size);
	local_bh_enable();
	return err;
}

static void nb_end(int err)
{
	nb_run.err = err;
	nb_run.end = bench_clock();
	complete(&nb_run.done);
}

/*
 * A message for the node that started is the answer, or is not expected. A message for the other
 * node is the next one of the stream, or is sent back.
 */
static void nb_got(int port, u32 number)
{
	int err = number == nb_run.next ? 0 : -EBADMSG;

	if (!err && nb_run.echo && port == 1) {
		err = nb_send(1, number);
		if (err)
			nb_end(err);
		return;
	}
	nb_run.next++;
	if (err || nb_run.next == nb_run.ops)
		nb_end(err);
	else if (nb_run.echo && nb_send(0, nb_run.next))
		nb_end(-EIO);
}

static void nb_rx(struct ntb_transport_qp *qp, void *qp_data, void *data, int len)
{
	struct nb_side *side = qp_data;
	u32 number;

	if (len < 0)	/* the queue has ended */
		return;
	number = *(u32 *)data;
	ntb_transport_rx_enqueue(qp, data, data, NB_BUF);
	nb_got(side - nb_side, number);
}

static void nb_tx(struct ntb_transport_qp *qp, void *qp_data, void *data, int len)
{
}

static void nb_event(void *data, int up)
{
}

static const struct ntb_queue_handlers nb_handlers = {
	.rx_handler = nb_rx, .tx_handler = nb_tx, .event_handler = nb_event,
};

static int nb_offer(struct nb_side *side)
{
	int i, err;

	for (i = 0; i < NB_BUFS; i++) {
		err = ntb_transport_rx_enqueue(side->qp, side->bufs + i * NB_BUF,
					       side->bufs + i * NB_BUF, NB_BUF);
		if (err)
			return err;
	}
	return 0;
}

static void nb_drop(struct nb_side *side)
{
	if (side->qp)
		ntb_transport_free_queue(side->qp);
	kfree(side->bufs);
	kfree(side->out);
	*side = (struct nb_side){};
}

static int nb_probe(struct device *dev)
{
	struct nb_side *side = &nb_side[ntb_port_number(dev_ntb(dev->parent))];
	int err = -ENOMEM;

	if (side->qp)
		return -EBUSY;
	side->bufs = kcalloc(NB_BUFS, NB_BUF, GFP_KERNEL);
	side->out = kzalloc(NB_BUF, GFP_KERNEL);
	if (side->bufs && side->out)
		side->qp = ntb_transport_create_queue(side, dev, &nb_handlers);
	if (side->qp)
		err = nb_offer(side);
	if (err)
		nb_drop(side);
	else
		ntb_transport_link_up(side->qp);
	return err;
}

static void nb_remove(struct device *dev)
{
	struct nb_side *side = &nb_side[ntb_port_number(dev_ntb(dev->parent))];
	unsigned int len;

	ntb_transport_link_down(side->qp);
	while (ntb_transport_rx_remove(side->qp, &len))
		;
	nb_drop(side);
}

static struct ntb_transport_client nb_client = {
	.driver = { .name = NB_NAME, .owner = THIS_MODULE }, .probe = nb_probe, .remove = nb_remove,
};

int nb_transport_init(void)
{
	int err;

	init_completion(&nb_run.done);
	err = ntb_transport_register_client_dev(NB_NAME);
	if (err)
		return err == -ENODEV ? 0 : err;
	err = ntb_transport_register_client(&nb_client);
	if (err)
		ntb_transport_unregister_client_dev(NB_NAME);
	nb_there = !err;
	return err;
}

void nb_transport_exit(void)
{
	if (!nb_there)
		return;
	ntb_transport_unregister_client(&nb_client);
	ntb_transport_unregister_client_dev(NB_NAME);
}

static bool nb_up(void)
{
	return nb_side[0].qp && nb_side[1].qp && ntb_transport_link_query(nb_side[0].qp) &&
	       ntb_transport_link_query(nb_side[1].qp);
}

static void *nb_open(struct bench_env *env, const struct bench_variant *v)
{
	int i;

	if (!nb_there)
		return ERR_PTR(-ENODEV);
	for (i = 0; i < 1000 && !nb_up(); i++)
		msleep(20);
	return nb_up() ? (void *)v : ERR_PTR(-ENOTCONN);
}

static void nb_close(void *priv)
{
}

/* The queue reports that it is full, but not when it has room again. */
static int nb_stream(u32 ops)
{
	unsigned long end = jiffies + BENCH_TIMEOUT;
	u32 i = 0;
	int err;

	while (i < ops) {
		err = nb_send(0, i);
		if (!err)
			i++;
		else if (err != -EAGAIN && err != -EBUSY)
			return err;
		else if (time_after(jiffies, end))
			return -ETIMEDOUT;
		cond_resched();
	}
	return 0;
}

/* All variants of a case are open, so what differs is set here. */
static s64 nb_run_ops(void *priv, u32 ops)
{
	const struct bench_variant *v = priv;
	u64 start;
	int err;

	nb_run.size = v->size;
	nb_run.echo = v->arg;
	nb_run.next = 0;
	nb_run.ops = ops;
	nb_run.err = 0;
	reinit_completion(&nb_run.done);
	start = bench_clock();
	err = nb_run.echo ? nb_send(0, 0) : nb_stream(ops);
	if (err)
		return err;
	if (!wait_for_completion_timeout(&nb_run.done, BENCH_TIMEOUT))
		return -ETIMEDOUT;
	return nb_run.err ?: nb_run.end - start;
}

#define NB_VARIANT(_name, _text, _size, _echo, _depth)			\
const struct bench_variant _name = {					\
	.name = _text, .open = nb_open, .run = nb_run_ops, .close = nb_close, .arg = _echo, .depth = _depth, .size = _size,	\
}

NB_VARIANT(bench_nt_roundtrip, "transport-roundtrip", 8, true, 1);
NB_VARIANT(bench_nt_messages_64, "transport-64", 64, false, NB_BUFS);
