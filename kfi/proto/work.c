// SPDX-License-Identifier: GPL-2.0
/*
 * work.c - the work items of a connection, and how its end begins. Any part of the engine may call
 * these functions; the rest of the life of a connection is in conn.c.
 */
#include <linux/cpumask.h>
#include <linux/net.h>
#include "conn.h"

void kfp_conn_get(struct kfp_conn *conn)
{
	refcount_inc(&conn->ref);
}

/*
 * Return the CPU for the work items of a connection: the CPU that the consumer has selected for its
 * completions, else the CPU that received the last bytes. If that CPU is offline they run on any
 * CPU, because a timer of an offline CPU never fires.
 */
int kfp_conn_cpu(const struct kfp_conn *conn)
{
	const struct kfi_proto_ep *pe = READ_ONCE(conn->ep);
	int cpu = pe ? kfi_cq_cpu(pe->ep.rx_cq) : -1;

	if (cpu < 0)
		cpu = READ_ONCE(conn->link.cpu);
	return cpu_online(cpu) ? cpu : WORK_CPU_UNBOUND;
}

void kfp_conn_queue(struct kfp_conn *conn, struct delayed_work *work, unsigned long delay)
{
	preempt_disable();	/* keeps the CPU online until the timer is set */
	queue_delayed_work_on(kfp_conn_cpu(conn), kfp_wq, work, delay);
	preempt_enable();
}

void kfp_hello_kick(struct kfp_conn *conn)
{
	mod_delayed_work(kfp_cm_wq, &conn->hello_work, 0);
}

/*
 * Begin the end of the connection; the first reason is kept. Any context. kfp_conn_down() continues.
 */
void kfp_conn_fail(struct kfp_conn *conn, int err)
{
	const struct kfi_proto *proto = conn->link.proto;
	char name[KFI_ADDR_MAX];

	if (test_and_set_bit(KFP_FAILED, &conn->flags))
		return;
	conn->error = err;
	if (err == -KFI_EKEYREJECTED || err == -EPROTO) {
		proto->addr_str(conn->link.name, proto->ops->name_len, name, sizeof(name));
		if (err == -EPROTO)
			net_warn_ratelimited("kfi_%s: %s broke the protocol, connection closed\n",
					     proto->name, name);
		else
			net_warn_ratelimited("kfi_%s: %s has another authorization key, or only one side has any\n",
					     proto->name, name);
	}
	kfp_conn_get(conn);
	queue_delayed_work(kfp_end_wq, &conn->down_work, 0);
}

/*
 * Return the reason for the end of the connection. The peer of an MSG endpoint may close its end.
 * The peer of an RDM endpoint that does so has broken the connection.
 */
static int kfp_end_reason(const struct kfp_conn *conn, int ended)
{
	if (test_bit(KFP_BYE_SENT, &conn->flags))
		return -ESHUTDOWN;
	if (ended != -ESHUTDOWN)
		return ended;
	return conn->ep->ep.type == KFI_EP_MSG ? -ESHUTDOWN : -ECONNRESET;
}

/* End the connection if the link has ended. The state is READY. Called under the link's lock. */
void kfp_conn_check(struct kfp_conn *conn)
{
	int ended = conn->ops->ended(&conn->link);

	if (ended)
		kfp_conn_fail(conn, kfp_end_reason(conn, ended));
}
