// SPDX-License-Identifier: GPL-2.0
/*
 * fake_nl.c - stands in front of libnl: the generic netlink family of kfi.ko, whose objects are in
 * the file that $FAKE_NL names, a line each: COMMAND|KEY=VALUE|... A number may have the form
 * START+STEP: each dump of these objects shows a greater one. Modules in $FAKE_MODULES, with a
 * blank on each side, are loaded. A command $FAKE_NL_ERR fails.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/kfi.h>
#include <netlink/genl/genl.h>
#include <netlink/handlers.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define FAMILY		77

static const char *const commands[] = {
	[KFI_CMD_GET_PROVIDER] = "provider", [KFI_CMD_GET_DOMAIN] = "domain",
	[KFI_CMD_GET_EP] = "endpoint", [KFI_CMD_GET_PEER] = "peer", [KFI_CMD_GET_STATS] = "stats",
	[KFI_CMD_GET_DEVICE] = "device", [KFI_CMD_GET_VERSIONS] = "versions",
};

static const struct key {
	const char *name;
	int nest, attr;
	char kind;	/* of the value: a string, or a number of 32 or 64 bits */
} keys[] = {
	{ "provider", 0, KFI_A_PROV_NAME, 's' }, { "version", 0, KFI_A_PROV_VERSION, 'u' },
	{ "domain", 0, KFI_A_DOMAIN_NAME, 's' }, { "id", 0, KFI_A_EP_ID, 'u' },
	{ "type", 0, KFI_A_EP_TYPE, 'u' }, { "ep_state", 0, KFI_A_EP_STATE, 'u' },
	{ "tx_ops", KFI_A_STATS, KFI_STATS_A_TX_OPS, 'q' },
	{ "tx_bytes", KFI_A_STATS, KFI_STATS_A_TX_BYTES, 'q' },
	{ "rx_ops", KFI_A_STATS, KFI_STATS_A_RX_OPS, 'q' },
	{ "rx_bytes", KFI_A_STATS, KFI_STATS_A_RX_BYTES, 'q' },
	{ "rma_in_ops", KFI_A_STATS, KFI_STATS_A_RMA_IN_OPS, 'q' },
	{ "rma_in_bytes", KFI_A_STATS, KFI_STATS_A_RMA_IN_BYTES, 'q' },
	{ "errors", KFI_A_STATS, KFI_STATS_A_ERRORS, 'q' },
	{ "again", KFI_A_STATS, KFI_STATS_A_AGAIN, 'q' },
	{ "unexpected", KFI_A_STATS, KFI_STATS_A_UNEXPECTED, 'q' },
	{ "dropped", KFI_A_STATS, KFI_STATS_A_DROPPED, 'q' },
	{ "copied", KFI_A_STATS, KFI_STATS_A_COPIED, 'q' },
	{ "peer", KFI_A_PEER, KFI_PEER_A_ADDR, 's' },
	{ "peer_state", KFI_A_PEER, KFI_PEER_A_STATE, 's' },
	{ "protection", KFI_A_PEER, KFI_PEER_A_PROTECTION, 's' },
	{ "peer_tx", KFI_A_PEER, KFI_PEER_A_TX_BYTES, 'q' },
	{ "peer_rx", KFI_A_PEER, KFI_PEER_A_RX_BYTES, 'q' },
	{ "pending", KFI_A_PEER, KFI_PEER_A_PENDING, 'q' },
	{ "waiting", KFI_A_PEER, KFI_PEER_A_UNEXPECTED_BYTES, 'q' },
	{ "reconnects", KFI_A_PEER, KFI_PEER_A_RECONNECTS, 'q' },
	{ "part", KFI_A_PART, KFI_PART_A_NAME, 's' },
	{ "part_state", KFI_A_PART, KFI_PART_A_STATE, 's' },
	{ "help", KFI_A_PART, KFI_PART_A_HELP, 's' },
	{ "wire", KFI_A_VERSIONS, KFI_VERSIONS_A_WIRE, 's' },
	{ "refused", KFI_A_VERSIONS, KFI_VERSIONS_A_PEER, 's' },
	{ "lowest", KFI_A_VERSIONS, KFI_VERSIONS_A_LOWEST, 'u' },
	{ "highest", KFI_A_VERSIONS, KFI_VERSIONS_A_HIGHEST, 'u' },
};

static int asked;
static unsigned int dumps[KFI_CMD_MAX + 1];

static void die(const char *what)
{
	fprintf(stderr, "fake_nl: %s\n", what);
	_exit(99);
}

static void put(struct nl_msg *msg, char *word)
{
	static struct nlattr *nest;
	static int open;
	const struct key *key = NULL;
	char *value = word ? strchr(word, '=') : NULL;
	unsigned long long number;
	size_t i;

	if (value)
		*value++ = '\0';
	for (i = 0; value && i < ARRAY_SIZE(keys); i++)
		if (!strcmp(keys[i].name, word))
			key = &keys[i];
	if (word && !key)
		die(word);
	if (open && (!key || key->nest != open)) {
		nla_nest_end(msg, nest);
		open = 0;
	}
	if (!key)
		return;
	if (key->nest && !open) {
		nest = nla_nest_start(msg, key->nest);
		open = key->nest;
	}
	if (key->kind == 's') {
		nla_put_string(msg, key->attr, value);
		return;
	}
	number = strtoull(value, &value, 10);
	if (*value == '+')
		number += dumps[asked] * strtoull(value + 1, NULL, 10);
	if (key->kind == 'u')
		nla_put_u32(msg, key->attr, number);
	else
		nla_put_u64(msg, key->attr, number);
}

static void append(unsigned char **buf, size_t *len, struct nl_msg *msg)
{
	struct nlmsghdr *nlh = nlmsg_hdr(msg);
	size_t size = NLMSG_ALIGN(nlh->nlmsg_len);

	*buf = realloc(*buf, *len + size);
	memset(*buf + *len, 0, size);
	memcpy(*buf + *len, nlh, nlh->nlmsg_len);
	*len += size;
	nlmsg_free(msg);
}

static int answer(struct nl_sock *sk, struct sockaddr_nl *from, unsigned char **buf,
		  struct ucred **creds)
{
	const char *name = getenv("FAKE_NL"), *bad = getenv("FAKE_NL_ERR");
	FILE *file = name ? fopen(name, "r") : NULL;
	char text[4096], *word, *rest;
	struct nl_msg *msg;
	size_t len = 0;
	int error = 0;

	if (!file)
		die("no file");
	*buf = NULL;
	while (fgets(text, sizeof(text), file)) {
		text[strcspn(text, "\n")] = '\0';
		word = strtok_r(text, "|", &rest);
		if (!word || strcmp(word, commands[asked]))
			continue;
		msg = nlmsg_alloc();
		genlmsg_put(msg, 0, 0, FAMILY, 0, NLM_F_MULTI, asked, 1);
		while ((word = strtok_r(NULL, "|", &rest)))
			put(msg, word);
		put(msg, NULL);
		append(buf, &len, msg);
	}
	fclose(file);
	dumps[asked]++;
	if (bad && !strcmp(bad, commands[asked]))
		error = -EIO;
	msg = nlmsg_alloc();
	memcpy(nlmsg_data(nlmsg_put(msg, 0, 0, NLMSG_DONE, sizeof(error), NLM_F_MULTI)), &error,
	       sizeof(error));
	append(buf, &len, msg);
	return len;
}

/* ---- libnl ---- */

int genl_connect(struct nl_sock *sk)
{
	return 0;
}

int genl_ctrl_resolve(struct nl_sock *sk, const char *name)
{
	return FAMILY;
}

int nl_socket_set_nonblocking(const struct nl_sock *sk)
{
	return 0;
}

/* There is always something to read. */
int nl_socket_get_fd(const struct nl_sock *sk)
{
	static int fd = -1;

	if (fd < 0)
		fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	return fd;
}

int nl_send_auto(struct nl_sock *sk, struct nl_msg *msg)
{
	asked = genlmsg_hdr(nlmsg_hdr(msg))->cmd;
	if (asked > KFI_CMD_MAX || !commands[asked])
		die("a command that is not known");
	return 1;
}

int nl_recvmsgs_default(struct nl_sock *sk)
{
	struct nl_cb *cb = nl_socket_get_cb(sk);
	int ret;

	nl_cb_overwrite_recv(cb, answer);
	ret = nl_recvmsgs(sk, cb);
	nl_cb_put(cb);
	return ret;
}

/* ---- libc ---- */

int access(const char *path, int mode)
{
	const char *modules = getenv("FAKE_MODULES");
	char name[64];

	if (!modules || strncmp(path, "/sys/module/", 12))
		return faccessat(AT_FDCWD, path, mode, 0);
	snprintf(name, sizeof(name), " %s ", path + 12);
	return strstr(modules, name) ? 0 : -1;
}
