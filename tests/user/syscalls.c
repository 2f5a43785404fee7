// SPDX-License-Identifier: GPL-2.0
/*
 * syscalls.c - how many system calls an operation takes: at most one for a post, fewer with
 * FI_MORE, none for a completion and none for a look at an empty queue.
 *
 * A child process has two endpoints and sends from one to the other. Its parent traces the child
 * and counts its system calls. The child announces each phase by calls that do not exist: number
 * MARK and a phase, and MARK alone when the phase is over.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>

#define MARK	5000
#define COUNT	64		/* operations of a phase */
#define SERIES	16		/* of which the last of each series is without FI_MORE */
#define LARGE	(256 << 10)
#define LOOKS	1000

enum phase {
	RECV = 1, SEND, SEND_MORE, SEND_COPIED, SEND_PINNED, INJECT, TRECV, TSEND, WRITE, READ,
	SENT, RECEIVED, EMPTY, PHASES,
};

/* Minimum and maximum of each phase. The minimum shows that calls are counted at all. */
static const struct {
	const char *name;
	int least, most;
} phases[PHASES] = {
	[RECV]		= { "receives", 1, COUNT },
	[SEND]		= { "sends of 8 bytes", COUNT, COUNT },
	[SEND_MORE]	= { "sends with FI_MORE, in series of 16", COUNT / SERIES, COUNT / SERIES },
	[SEND_COPIED]	= { "sends of 16 KiB", COUNT, COUNT },
	[SEND_PINNED]	= { "sends of 256 KiB", COUNT, COUNT },
	[INJECT]	= { "injected sends", COUNT, COUNT },
	[TRECV]		= { "tagged receives", 1, COUNT },
	[TSEND]		= { "tagged sends", COUNT, COUNT },
	[WRITE]		= { "writes", COUNT, COUNT },
	[READ]		= { "reads", COUNT, COUNT },
	[SENT]		= { "completions of what was sent", 0, 0 },
	[RECEIVED]	= { "completions of receives", 0, 0 },
	[EMPTY]		= { "looks at an empty queue", 0, 0 },
};

static void __attribute__((format(printf, 1, 2), noreturn)) die(const char *format, ...)
{
	va_list args;

	printf("NOT OK  calls: ");
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
	exit(1);
}

#define MUST(call)                                                 \
	do {                                                       \
		long must_ = (call);                               \
		if (must_ < 0)                                     \
			die("%s: %s", #call, fi_strerror(-must_)); \
	} while (0)

/* ---- the child ---- */

static struct fi_info *info;
static struct fid_domain *domain;
static struct fid_av *av;
static struct {
	struct fid_ep *ep;
	struct fid_cq *tx, *rx;
} side[2];
static fi_addr_t peer;
static char *from, *into;
static struct fid_mr *mr;
static struct fi_context2 contexts[COUNT];

static void mark(enum phase phase)
{
	syscall(MARK + phase);
}

static void open_side(int i)
{
	struct fi_cq_attr attr = { .format = FI_CQ_FORMAT_TAGGED, .size = 4 * COUNT };

	MUST(fi_endpoint(domain, info, &side[i].ep, NULL));
	MUST(fi_cq_open(domain, &attr, &side[i].tx, NULL));
	MUST(fi_cq_open(domain, &attr, &side[i].rx, NULL));
	MUST(fi_ep_bind(side[i].ep, &side[i].tx->fid, FI_TRANSMIT));
	MUST(fi_ep_bind(side[i].ep, &side[i].rx->fid, FI_RECV));
	MUST(fi_ep_bind(side[i].ep, &av->fid, 0));
	MUST(fi_enable(side[i].ep));
}

static void set_up(void)
{
	struct fi_info *hints = fi_allocinfo();
	struct fi_av_attr av_attr = { 0 };
	struct fid_fabric *fabric;
	char name[256];
	size_t len = sizeof(name);

	hints->ep_attr->type = FI_EP_RDM;
	hints->caps = FI_MSG | FI_TAGGED | FI_RMA;
	hints->mode = FI_CONTEXT | FI_CONTEXT2;
	hints->domain_attr->mr_mode = FI_MR_PROV_KEY | FI_MR_ALLOCATED | FI_MR_VIRT_ADDR;
	hints->fabric_attr->prov_name = strdup("kfi");
	MUST(fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &info));
	MUST(fi_fabric(info->fabric_attr, &fabric, NULL));
	MUST(fi_domain(fabric, info, &domain, NULL));
	MUST(fi_av_open(domain, &av_attr, &av, NULL));
	open_side(0);
	open_side(1);
	MUST(fi_getname(&side[1].ep->fid, name, &len));
	if (fi_av_insert(av, name, 1, &peer, 0, NULL) != 1)
		die("the address could not be inserted");
	from = aligned_alloc(4096, LARGE);
	into = aligned_alloc(4096, LARGE);
	if (!from || !into)
		die("no memory");
	memset(from, 7, LARGE);
	memset(into, 0, LARGE);
	MUST(fi_mr_reg(domain, into, LARGE, FI_REMOTE_READ | FI_REMOTE_WRITE, 0, 0, 0, &mr, NULL));
}

static ssize_t post_one(enum phase phase, int i)
{
	struct iovec iov = { .iov_base = from, .iov_len = 8 };
	struct fi_msg msg = {
		.msg_iov = &iov, .iov_count = 1, .addr = peer, .context = &contexts[i]
	};
	uint64_t at = info->domain_attr->mr_mode & FI_MR_VIRT_ADDR ? (uintptr_t)into : 0;

	switch (phase) {
	case RECV:
		return fi_recv(side[1].ep, into, LARGE, NULL, FI_ADDR_UNSPEC, &contexts[i]);
	case SEND:
		return fi_send(side[0].ep, from, 8, NULL, peer, &contexts[i]);
	case SEND_MORE:
		return fi_sendmsg(side[0].ep, &msg,
				  FI_COMPLETION | ((i + 1) % SERIES ? FI_MORE : 0));
	case SEND_COPIED:
		return fi_send(side[0].ep, from, 16 << 10, NULL, peer, &contexts[i]);
	case SEND_PINNED:
		return fi_send(side[0].ep, from, LARGE, NULL, peer, &contexts[i]);
	case INJECT:
		return fi_inject(side[0].ep, from, 8, peer);
	case TRECV:
		return fi_trecv(side[1].ep, into, LARGE, NULL, FI_ADDR_UNSPEC, i, 0, &contexts[i]);
	case TSEND:
		return fi_tsend(side[0].ep, from, 8, NULL, peer, i, &contexts[i]);
	case WRITE:
		return fi_write(side[0].ep, from, 8, NULL, peer, at, fi_mr_key(mr), &contexts[i]);
	case READ:
		return fi_read(side[0].ep, from, 8, NULL, peer, at, fi_mr_key(mr), &contexts[i]);
	default:
		die("phase %d has no operations", phase);
	}
}

static void post_all(enum phase phase)
{
	int i;

	mark(phase);
	for (i = 0; i < COUNT; i++)
		MUST(post_one(phase, i));
	mark(0);
}

/* Wait for all completions: a read of the queue must not need a system call then. */
static void reap(struct fid_cq *cq, enum phase phase)
{
	struct fi_cq_tagged_entry entry;
	int i;

	usleep(300000);
	mark(phase);
	for (i = 0; i < COUNT; i++)
		MUST(fi_cq_read(cq, &entry, 1));
	mark(0);
}

static void exchange(enum phase receive, enum phase send)
{
	post_all(receive);
	post_all(send);
	if (send != INJECT)
		reap(side[0].tx, SENT);
	reap(side[1].rx, RECEIVED);
}

static int child(void)
{
	struct fi_cq_tagged_entry entry;
	int i;

	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	raise(SIGSTOP);
	set_up();
	exchange(RECV, SEND);
	exchange(RECV, SEND_MORE);
	exchange(RECV, SEND_COPIED);
	exchange(RECV, SEND_PINNED);
	exchange(RECV, INJECT);
	exchange(TRECV, TSEND);
	post_all(WRITE);
	reap(side[0].tx, SENT);
	post_all(READ);
	reap(side[0].tx, SENT);
	mark(EMPTY);
	for (i = 0; i < LOOKS; i++)
		if (fi_cq_read(side[1].rx, &entry, 1) != -FI_EAGAIN)
			die("a completion that nobody expects");
	mark(0);
	return 0;
}

/* ---- the parent ---- */

static int judge(enum phase phase, int calls)
{
	int bad = calls < phases[phase].least || calls > phases[phase].most;

	printf("%s calls: %d for %d %s\n", bad ? "NOT OK " : "ok     ", calls,
	       phase == EMPTY ? LOOKS : COUNT, phases[phase].name);
	return bad;
}

/* Follow the child until it ends. Return: number of phases with too many calls. */
static int trace(pid_t pid, int *seen)
{
	int status, phase = 0, calls = 0, entering = 0, bad = 0;
	struct user_regs_struct regs;
	long number;

	for (;;) {
		if (waitpid(pid, &status, 0) != pid)
			die("waitpid: %s", strerror(errno));
		if (WIFEXITED(status) || WIFSIGNALED(status))
			break;
		if (WSTOPSIG(status) == (SIGTRAP | 0x80))
			entering = !entering;
		if (WSTOPSIG(status) == (SIGTRAP | 0x80) && entering) {
			if (ptrace(PTRACE_GETREGS, pid, NULL, &regs))
				die("PTRACE_GETREGS: %s", strerror(errno));
			number = regs.orig_rax;
			if (number > MARK && number < MARK + PHASES) {
				phase = number - MARK;
				calls = 0;
			} else if (number == MARK) {
				bad += judge(phase, calls);
				(*seen)++;
				phase = 0;
			} else if (phase) {
				calls++;
			}
		}
		ptrace(PTRACE_SYSCALL, pid, NULL,
		       WSTOPSIG(status) == (SIGTRAP | 0x80) || WSTOPSIG(status) == SIGSTOP ?
		       0L : (long)WSTOPSIG(status));
	}
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		die("the child ended with %#x", status);
	return bad;
}

int main(void)
{
	int status, bad, seen = 0;
	pid_t pid;

	setvbuf(stdout, NULL, _IOLBF, 0);
	pid = fork();
	if (pid < 0)
		die("fork: %s", strerror(errno));
	if (!pid)
		return child();
	if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
		die("the child does not stop");
	if (ptrace(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL))
		die("PTRACE_SETOPTIONS: %s", strerror(errno));
	ptrace(PTRACE_SYSCALL, pid, NULL, 0);
	bad = trace(pid, &seen);
	printf("%d passed, %d failed\n", seen - bad, bad);
	return bad || !seen;
}
