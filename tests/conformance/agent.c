// SPDX-License-Identifier: GPL-2.0
/*
 * The agent: a thread that listens, one for each connection, and the one session to which they
 * belong. A driver's first connection begins the session; the end of that connection ends it and
 * closes all open objects.
 */
#include <linux/err.h>
#include <linux/in6.h>
#include <linux/inet.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/net.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/tcp.h>
#include <net/net_namespace.h>
#include <net/sock.h>
#include <net/tcp.h>
#include "agent.h"

/**
 * struct agent_conn - a connection
 * @first: it has begun the session
 * @ended: its thread serves no more requests and waits to be joined
 */
struct agent_conn {
	struct list_head	link;
	struct socket		*sock;
	struct task_struct	*task;
	struct agent_session	*s;
	bool			first, ended;
};

/**
 * struct agent - the only agent
 * @conns: connections; used by its thread only
 * @lock: protects @session and struct agent_conn.s
 */
static struct {
	struct net		*net;
	struct socket		*listener;
	struct task_struct	*task;
	struct list_head	conns;
	struct mutex		lock;
	struct agent_session	*session;
	u64			sessions;
} agent;

/* ---- sessions ---- */

static struct agent_session *session_new(void)
{
	struct agent_session *s = kvzalloc(sizeof(*s), GFP_KERNEL);

	if (!s)
		return NULL;
	s->id = ++agent.sessions;
	s->net = agent.net;
	mutex_init(&s->lock);
	mutex_init(&s->mem_lock);
	xa_init(&s->windows);
	INIT_LIST_HEAD(&s->spare);
	return s;
}

static void session_end(struct agent_session *s)
{
	u64 open, refused;

	agent_reset(s, &open, &refused);
	if (refused)
		pr_err("kfi_conformance: agent: %llu objects of a driver that has gone can't be closed\n",
		       refused);
	xa_destroy(&s->windows);
	kvfree(s);
}

/* Argument 1 is 0 for the connection that begins a session, or else the session to join. */
static s64 hello(struct agent_conn *conn, struct agent_call *c)
{
	s64 ret = 0;

	if (c->arg[0] != far_fingerprint())
		return -EPROTO;
	mutex_lock(&agent.lock);
	if (c->arg[1]) {
		if (agent.session && agent.session->id == c->arg[1])
			conn->s = agent.session;
		else
			ret = -ESRCH;
	} else if (agent.session) {
		ret = -EBUSY;
	} else {
		conn->s = session_new();
		conn->first = !!conn->s;
		agent.session = conn->s;
		ret = conn->s ? 0 : -ENOMEM;
	}
	if (!ret)
		c->val[0] = conn->s->id;
	mutex_unlock(&agent.lock);
	return ret;
}

/* ---- connections ---- */

static int conn_answer(struct agent_conn *conn, struct agent_call *c, s64 ret)
{
	struct far_answer a = { .magic = cpu_to_le32(FAR_MAGIC) };

	if (c->out.bad) {
		ret = -ENOMEM;
		c->out.len = 0;
	}
	a.ret = cpu_to_le64(ret);
	a.len = cpu_to_le64(c->out.len);
	a.val[0] = cpu_to_le64(c->val[0]);
	a.val[1] = cpu_to_le64(c->val[1]);
	a.val[2] = cpu_to_le64(c->val[2]);
	return far_send(conn->sock, &a, sizeof(a), c->out.p, c->out.len);
}

static s64 conn_serve(struct agent_conn *conn, struct agent_call *c, unsigned int op)
{
	if (op == FAR_HELLO)
		return conn->s ? -EALREADY : hello(conn, c);
	if (!conn->s)
		return -EPROTO;
	c->s = conn->s;
	return agent_serve(c, op);
}

/* Serve one request. An error ends the connection. */
static int conn_request(struct agent_conn *conn)
{
	struct agent_call c = {};
	struct far_request r;
	int i, ret;

	ret = far_recv(conn->sock, &r, sizeof(r));
	if (ret)
		return ret;
	if (le32_to_cpu(r.magic) != FAR_MAGIC)
		return -EPROTO;
	for (i = 0; i < FAR_ARGS; i++)
		c.arg[i] = le64_to_cpu(r.arg[i]);
	ret = far_recv_body(conn->sock, &c.in, le64_to_cpu(r.len));
	if (!ret)
		ret = conn_answer(conn, &c, conn_serve(conn, &c, le32_to_cpu(r.op)));
	far_free(&c.in);
	far_free(&c.out);
	return ret;
}

static int conn_thread(void *data)
{
	struct agent_conn *conn = data;

	/* Fatal signals end waits without a time limit. */
	allow_signal(SIGKILL);
	while (!conn_request(conn))
		;
	kernel_sock_shutdown(conn->sock, SHUT_RDWR);
	WRITE_ONCE(conn->ended, true);
	for (;;) {
		set_current_state(TASK_IDLE);
		if (kthread_should_stop())
			break;
		schedule();
	}
	__set_current_state(TASK_RUNNING);
	return 0;
}

/* A driver may be silent, but its machine must be alive. */
static void set_options(struct sock *sk)
{
	tcp_sock_set_nodelay(sk);
	sock_set_keepalive(sk);
	tcp_sock_set_keepidle(sk, 5);
	tcp_sock_set_keepintvl(sk, 2);
	tcp_sock_set_keepcnt(sk, 3);
	/* The time limit of the listener must not apply to this socket. */
	sk->sk_rcvtimeo = MAX_SCHEDULE_TIMEOUT;
}

static void conn_new(struct socket *sock)
{
	struct agent_conn *conn = kzalloc(sizeof(*conn), GFP_KERNEL);

	if (!conn)
		goto release;
	set_options(sock->sk);
	conn->sock = sock;
	conn->task = kthread_create(conn_thread, conn, "kfi_agent");
	if (IS_ERR(conn->task))
		goto free;
	list_add_tail(&conn->link, &agent.conns);
	wake_up_process(conn->task);
	return;
free:
	kfree(conn);
release:
	sock_release(sock);
}

/* End the connection's thread, whatever it waits for. */
static void conn_free(struct agent_conn *conn)
{
	if (!READ_ONCE(conn->ended)) {
		kernel_sock_shutdown(conn->sock, SHUT_RDWR);
		send_sig(SIGKILL, conn->task, 1);
	}
	kthread_stop(conn->task);
	sock_release(conn->sock);
	list_del(&conn->link);
	kfree(conn);
}

/* End the session of @s: first its connections, then its objects and memory. */
static void session_over(struct agent_session *s)
{
	struct agent_conn *conn, *next;

	mutex_lock(&agent.lock);
	s->id = 0;	/* no further connection joins */
	mutex_unlock(&agent.lock);
	list_for_each_entry_safe(conn, next, &agent.conns, link)
		if (conn->s == s)
			conn_free(conn);
	session_end(s);
	mutex_lock(&agent.lock);
	agent.session = NULL;
	mutex_unlock(&agent.lock);
}

/*
 * Free one ended connection, and with a first one its session. Return: whether there may be more.
 */
static bool reap_one(bool all)
{
	struct agent_conn *conn;

	list_for_each_entry(conn, &agent.conns, link) {
		if (!READ_ONCE(conn->ended) && !all)
			continue;
		if (conn->first)
			session_over(conn->s);
		else
			conn_free(conn);
		return true;
	}
	return false;
}

/* ---- the listener ---- */

static int agent_thread(void *unused)
{
	struct socket *sock;

	while (!kthread_should_stop()) {
		while (reap_one(false))
			;
		if (!kernel_accept(agent.listener, &sock, 0))
			conn_new(sock);
	}
	while (reap_one(true))
		;
	return 0;
}

static int listen_on(struct net *net, unsigned int port)
{
	struct sockaddr_in6 any = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
	struct socket *sock;
	int ret;

	ret = sock_create_kern(net, AF_INET6, SOCK_STREAM, IPPROTO_TCP, &sock);
	if (ret)
		return ret;
	sock_set_reuseaddr(sock->sk);
	/*
	 * The thread checks this often whether a connection has ended, and whether the agent has to
	 * stop.
	 */
	sock->sk->sk_rcvtimeo = HZ / 20;
	ret = kernel_bind(sock, (void *)&any, sizeof(any));
	if (!ret)
		ret = kernel_listen(sock, 64);
	if (ret)
		sock_release(sock);
	else
		agent.listener = sock;
	return ret;
}

int agent_start(struct net *net, unsigned int port)
{
	int ret;

	mutex_init(&agent.lock);
	INIT_LIST_HEAD(&agent.conns);
	agent.net = get_net(net);
	ret = listen_on(net, port);
	if (ret)
		goto put_net;
	agent.task = kthread_run(agent_thread, NULL, "kfi_agent");
	if (!IS_ERR(agent.task))
		return 0;
	ret = PTR_ERR(agent.task);
	sock_release(agent.listener);
put_net:
	put_net(agent.net);
	agent.task = NULL;
	return ret;
}

void agent_stop(void)
{
	if (!agent.task)
		return;
	kthread_stop(agent.task);
	sock_release(agent.listener);
	put_net(agent.net);
	agent.task = NULL;
}
