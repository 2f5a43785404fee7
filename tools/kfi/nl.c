// SPDX-License-Identifier: GPL-2.0
/* nl.c - generic netlink through libnl: open, send requests, report errors */
#include <errno.h>
#include <linux/netlink.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>

#include "kfi.h"

#ifndef SOL_NETLINK
#define SOL_NETLINK 270
#endif

/* The kernel's message follows the header of the request, or the whole request. */
static void take_text(struct nlx *nlx, const struct nlmsgerr *e, int len)
{
	struct nlmsghdr *nlh = (struct nlmsghdr *)((char *)e - NLMSG_HDRLEN);
	size_t skip = sizeof(*e);
	struct nlattr *attr;

	nlx->text[0] = '\0';
	if (!(nlh->nlmsg_flags & NLM_F_ACK_TLVS))
		return;
	if (!(nlh->nlmsg_flags & NLM_F_CAPPED))
		skip += NLMSG_ALIGN(e->msg.nlmsg_len) - sizeof(e->msg);
	if ((int)skip >= len)
		return;
	attr = nla_find((struct nlattr *)((char *)e + skip), len - skip, NLMSGERR_ATTR_MSG);
	if (attr)
		snprintf(nlx->text, sizeof(nlx->text), "%.*s", nla_len(attr),
			 (char *)nla_data(attr));
}

static int on_error(struct sockaddr_nl *addr, struct nlmsgerr *e, void *arg)
{
	struct nlmsghdr *nlh = (struct nlmsghdr *)((char *)e - NLMSG_HDRLEN);
	struct nlx *nlx = arg;

	nlx->error = -e->error;
	take_text(nlx, e, nlmsg_datalen(nlh));
	nlx->done = true;
	return NL_STOP;
}

static int on_done(struct nl_msg *msg, void *arg)
{
	struct nlx *nlx = arg;
	struct nlmsghdr *nlh = nlmsg_hdr(msg);

	/* The last message of a dump has its error. */
	if (nlh->nlmsg_type == NLMSG_DONE && nlmsg_datalen(nlh) >= (int)sizeof(int))
		nlx->error = -*(int *)nlmsg_data(nlh);
	nlx->done = true;
	return NL_OK;
}

static int on_valid(struct nl_msg *msg, void *arg)
{
	struct nlx *nlx = arg;

	if (nlx->message)
		nlx->message(nlmsg_hdr(msg), nlx->arg);
	return NL_OK;
}

static int set_up(struct nlx *nlx)
{
	struct nl_cb *cb = nl_socket_get_cb(nlx->sk);
	int on = 1;

	setsockopt(nl_socket_get_fd(nlx->sk), SOL_NETLINK, NETLINK_EXT_ACK, &on, sizeof(on));
	nl_socket_disable_seq_check(nlx->sk);
	nl_socket_disable_auto_ack(nlx->sk);
	nl_cb_set(cb, NL_CB_VALID, NL_CB_CUSTOM, on_valid, nlx);
	nl_cb_set(cb, NL_CB_FINISH, NL_CB_CUSTOM, on_done, nlx);
	nl_cb_set(cb, NL_CB_ACK, NL_CB_CUSTOM, on_done, nlx);
	nl_cb_err(cb, NL_CB_CUSTOM, on_error, nlx);
	nl_cb_put(cb);
	return nl_socket_set_nonblocking(nlx->sk);
}

int nlx_open(struct nlx *nlx, const char *family, const char *module)
{
	memset(nlx, 0, sizeof(*nlx));
	nlx->module = module;
	nlx->sk = nl_socket_alloc();
	if (!nlx->sk || genl_connect(nlx->sk)) {
		complain("cannot open a generic netlink socket");
		nlx_close(nlx);
		return EXIT_FAILED;
	}
	nlx->family = genl_ctrl_resolve(nlx->sk, family);
	if (nlx->family < 0) {
		complain("the kernel module %s is not loaded; try: modprobe %s", module, module);
		nlx_close(nlx);
		return EXIT_FAILED;
	}
	if (set_up(nlx)) {
		complain("cannot set up the netlink socket");
		nlx_close(nlx);
		return EXIT_FAILED;
	}
	return 0;
}

void nlx_close(struct nlx *nlx)
{
	nl_socket_free(nlx->sk);
	nlx->sk = NULL;
}

struct nl_msg *nlx_request(struct nlx *nlx, int cmd, int flags)
{
	struct nl_msg *msg = nlmsg_alloc();

	if (!msg)
		return NULL;
	/* A dump needs no acknowledgement. */
	if (!(flags & NLM_F_DUMP))
		flags |= NLM_F_ACK;
	if (!genlmsg_put(msg, NL_AUTO_PORT, NL_AUTO_SEQ, nlx->family, 0, flags, cmd, 1)) {
		nlmsg_free(msg);
		return NULL;
	}
	return msg;
}

bool nlx_wait(struct nlx *nlx, int ms)
{
	struct pollfd pfd = { .fd = nl_socket_get_fd(nlx->sk), .events = POLLIN };
	int ret = poll(&pfd, 1, ms);

	if (ret < 0)
		return errno == EINTR;
	if (!ret)
		return true;
	ret = nl_recvmsgs_default(nlx->sk);
	/* on_error() has handled an error in the kernel's answer. */
	return ret >= 0 || ret == -NLE_AGAIN || ret == -NLE_INTR || ret == -NLE_NOMEM || nlx->done;
}

int nlx_call(struct nlx *nlx, struct nl_msg *msg)
{
	int ret;

	nlx->done = false;
	nlx->error = 0;
	nlx->text[0] = '\0';
	if (!msg)
		return ENOMEM;
	ret = nl_send_auto(nlx->sk, msg);
	nlmsg_free(msg);
	if (ret < 0)
		return EIO;
	while (!nlx->done)
		if (!nlx_wait(nlx, -1))
			return EIO;
	return nlx->error;
}

void nlx_complain(const struct nlx *nlx, const char *what)
{
	if (nlx->text[0])
		complain("%s: %s", what, nlx->text);
	else
		complain("%s: %s", what, error_text(nlx->error));
}
