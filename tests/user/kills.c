// SPDX-License-Identifier: GPL-2.0
/*
 * kills - processes that use /dev/kfi are killed at random moments
 *
 * Pairs of children open contexts, register memory, connect to each other over a provider, and
 * send, receive, read and write. Each is killed after a random time, and another one replaces it.
 * Several can be dying at the same time. Over sockets the pages of a killed child may still be in
 * the queues of TCP. At the end nothing may be left: no page is pinned or charged to the user, and
 * the user can again register as much as RLIMIT_MEMLOCK permits, and not a page more.
 */
#define _GNU_SOURCE
#include <getopt.h>
#include <signal.h>
#include <sys/wait.h>

#include "raw.h"

#define SERIES		100000	/* kills between two looks at what is left */
#define LIMIT_EACH	(4UL << 20)
#define BUFFERS		16
#define SIZE		(64UL << 10)
#define CHILDREN_MAX	8
#define SERVICE		4000	/* the first name of an endpoint; each child has one */

static struct raw_random dice;

/* RLIMIT_MEMLOCK of the user */
static unsigned long limit;

/* Children that run at a time, and that were started; the longest time between two kills, in us */
static uint64_t children = 2, number, longest = 30000, seed;

/* The provider, and the node whose services are the names of the children */
static const char *provider = "loop", *node = "loop";

/* Open objects of a child */
struct child {
	int fd, slot, domain, cq, av, ep, pep, eq;
	struct kfi_user_ring *ring;
	struct kfi_user_info info;
	uint64_t peer, key;
	char *memory;
	int connected;
};

static void service_of(char *text, int slot)
{
	sprintf(text, "%d", SERVICE + slot);
}

static int open_domain(struct child *c, enum fi_ep_type type, int fixed)
{
	char service[16];
	struct kfi_user_cq cq;
	int fabric, ret;

	service_of(service, c->slot);
	ret = raw_getinfo(c->fd, provider, type, fixed ? node : NULL, fixed ? service : NULL,
			  &c->info);
	if (ret)
		return ret;
	fabric = raw_fabric(c->fd, &c->info);
	if (fabric < 0)
		return fabric;
	c->eq = raw_eq(c->fd, fabric);
	if (c->eq < 0)
		return c->eq;
	if (type == FI_EP_MSG) {
		c->pep = raw_object(c->fd, KFI_IOC_PASSIVE_EP, fabric, &c->info, 0);
		if (c->pep < 0)
			return c->pep;
		ret = raw_bind(c->fd, c->pep, c->eq, 0);
		ret = ret ? ret : raw_handle(c->fd, KFI_IOC_LISTEN, c->pep);
		if (ret)
			return ret;
	}
	c->domain = raw_object(c->fd, KFI_IOC_DOMAIN, fabric, &c->info, 0);
	if (c->domain < 0)
		return c->domain;
	ret = raw_cq(c->fd, c->domain, 256, &cq);
	if (ret)
		return ret;
	c->cq = cq.handle;
	c->ring = raw_map(c->fd, cq.handle, cq.ring_bytes);
	return c->ring ? 0 : -errno;
}

static int open_endpoint(struct child *c, const struct kfi_user_info *info, uint32_t connreq)
{
	int ret;

	c->ep = raw_object(c->fd, KFI_IOC_ENDPOINT, c->domain, info, connreq);
	if (c->ep < 0)
		return c->ep;
	ret = raw_bind(c->fd, c->ep, c->cq, FI_TRANSMIT | FI_RECV);
	if (!ret && info->ep.type == FI_EP_MSG)
		ret = raw_bind(c->fd, c->ep, c->eq, 0);
	if (!ret && info->ep.type == FI_EP_RDM)
		ret = raw_bind(c->fd, c->ep, c->av, 0);
	return ret ? ret : raw_handle(c->fd, KFI_IOC_ENABLE, c->ep);
}

static int insert_peer(struct child *c)
{
	char service[16];
	struct kfi_user_av_svc svc = {
		.node = (uintptr_t)node,
		.service = (uintptr_t)service,
		.nodecnt = 1,
		.svccnt = 1,
		.fi_addrs = (uintptr_t)&c->peer,
	};

	service_of(service, c->slot ^ 1);
	c->av = raw_av(c->fd, c->domain);
	if (c->av < 0)
		return c->av;
	svc.av = c->av;
	return raw_ioctl(c->fd, KFI_IOC_AV_INSERTSVC, &svc);
}

/* Call the other child's passive endpoint. */
static int call_peer(struct child *c)
{
	struct kfi_user_info hints = { .ep.type = FI_EP_MSG,
				       .domain.mr_mode = c->info.domain.mr_mode,
				       .mode = FI_CONTEXT },
			     info;
	char service[16];
	struct kfi_user_getinfo get = {
		.version = FI_VERSION(2, 1),
		.count = 1,
		.hints = (uintptr_t)&hints,
		.infos = (uintptr_t)&info,
		.info_size = sizeof(info),
		.node = (uintptr_t)node,
		.service = (uintptr_t)service,
	};
	struct kfi_user_name name = { };
	int ret;

	service_of(service, c->slot ^ 1);
	snprintf(hints.fabric.prov_name, sizeof(hints.fabric.prov_name), "%s", provider);
	ret = raw_ioctl(c->fd, KFI_IOC_GETINFO, &get);
	if (ret)
		return ret;
	ret = open_endpoint(c, &info, 0);
	name.handle = c->ep;
	name.addr = (uintptr_t)info.dest_addr;
	name.addrlen = info.dest_addrlen;
	return ret ? ret : raw_ioctl(c->fd, KFI_IOC_CONNECT, &name);
}

/* Take an event, and accept any caller. */
static int events(struct child *c)
{
	struct kfi_user_info info;
	char data[64];
	struct kfi_user_event event = {
		.eq = c->eq,
		.buf = (uintptr_t)data,
		.len = sizeof(data),
		.info = (uintptr_t)&info,
		.info_size = sizeof(info),
	};
	struct kfi_user_name name = { };
	int ret;

	ret = raw_ioctl(c->fd, KFI_IOC_EQ_READ, &event);
	if (ret)
		return ret == -EAGAIN ? 0 : ret;
	if (event.event == FI_CONNECTED)
		c->connected = 1;
	if (event.err || event.event == FI_SHUTDOWN) {
		if (c->ep > 0)
			raw_handle(c->fd, KFI_IOC_CLOSE, c->ep);
		c->ep = c->connected = 0;
	}
	if (event.event != FI_CONNREQ)
		return 0;
	if (c->ep > 0)
		raw_handle(c->fd, KFI_IOC_CLOSE, c->ep);
	c->connected = 0;
	ret = open_endpoint(c, &info, event.connreq);
	name.handle = c->ep;
	return ret ? ret : raw_ioctl(c->fd, KFI_IOC_ACCEPT, &name);
}

/* Only this process moves the head. Return: the completions without an error */
static unsigned int drain(struct child *c)
{
	const struct kfi_user_cqe *slots = (void *)((char *)c->ring + c->ring->slots_at);
	uint32_t tail = __atomic_load_n(&c->ring->tail, __ATOMIC_ACQUIRE), at = c->ring->head;
	unsigned int good = 0;

	while (at != tail) {
		const struct kfi_user_cqe *cqe = &slots[at & c->ring->mask];

		good += !cqe->err;
		at += cqe->err ? 2 : 1;
	}
	__atomic_store_n(&c->ring->head, tail, __ATOMIC_RELEASE);
	if (__atomic_load_n(&c->ring->overflow, __ATOMIC_ACQUIRE))
		raw_handle(c->fd, KFI_IOC_DRAIN, c->cq);
	return good;
}

/*
 * A post of one to four operations of random kinds and lengths. Short ones are copied, long ones
 * pinned.
 */
static int post(struct child *c)
{
	struct kfi_user_desc descs[4];
	int count = 1 + raw_below(&dice, 4), i;

	memset(descs, 0, sizeof(descs));
	for (i = 0; i < count; i++) {
		struct kfi_user_desc *d = &descs[i];
		static const int kinds[] = {
			KFI_USER_RECV,	KFI_USER_SEND, KFI_USER_TRECV,
			KFI_USER_TSEND, KFI_USER_READ, KFI_USER_WRITE,
		};

		d->opcode = kinds[raw_below(&dice, 6)];
		d->ep = c->ep;
		d->flags = KFI_USER_COMPLETION;
		d->context = raw_next(&dice);
		d->addr = c->info.ep.type == FI_EP_MSG ? 0 :
			  d->opcode == KFI_USER_RECV || d->opcode == KFI_USER_TRECV ?
							 FI_ADDR_UNSPEC :
							 c->peer;
		d->tag = raw_below(&dice, 4);
		d->buf = (uintptr_t)c->memory + raw_below(&dice, BUFFERS) * SIZE;
		d->len = raw_below(&dice, 2) ? raw_below(&dice, 4096) : raw_below(&dice, SIZE);
		d->rma_addr = (uintptr_t)c->memory;
		d->rma_key = c->key;
	}
	return raw_post(c->fd, descs, count);
}

/*
 * A child: open everything, and run until it is killed. Operations that fail because the peer is
 * gone are repeated. @steps: counts of posts, and of operations that ended well
 */
static void child(int slot, unsigned long *steps)
{
	struct child c = { .slot = slot };
	enum fi_ep_type type = raw_below(&dice, 2) ? FI_EP_MSG : FI_EP_RDM;
	uint64_t quiet = raw_ms();
	int ret;

	/* The parent has to run at the moment that it has chosen. */
	errno = 0;
	if (nice(10) < 0 && errno) {
		perror("kills: nice");
		_exit(1);
	}
	c.memory = mmap(NULL, BUFFERS * SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			-1, 0);
	c.fd = raw_open();
	if (c.fd < 0) {
		fprintf(stderr, "kills: cannot open %s: %s\n", KFI_USER_DEVICE, strerror(-c.fd));
		_exit(1);
	}
	/* The name of a child that was just killed may still be in use. */
	do {
		ret = open_domain(&c, type, 1);
	} while (ret == -EADDRINUSE && raw_ms() - quiet < 5000);
	if (!ret && type == FI_EP_RDM)
		ret = insert_peer(&c);
	if (!ret) {
		ret = raw_mr(c.fd, c.domain, c.memory, BUFFERS * SIZE / 2, &c.key);
		ret = ret < 0 ? ret : 0;
	}
	while (!ret && type == FI_EP_RDM) {
		ret = open_endpoint(&c, &c.info, 0);
		if (ret != -EADDRINUSE || raw_ms() - quiet > 5000)
			break;
		raw_handle(c.fd, KFI_IOC_CLOSE, c.ep);
		ret = 0;
	}
	if (ret) {
		fprintf(stderr, "kills: one process cannot open what it needs: %s (%d)\n",
			strerror(-ret), ret);
		_exit(1);
	}
	for (;;) {
		if (type == FI_EP_MSG) {
			if (!c.ep && !raw_below(&dice, 4))
				call_peer(&c);
			events(&c);
		}
		if (type == FI_EP_RDM || c.connected)
			if (post(&c) > 0)
				__atomic_add_fetch(steps, 1, __ATOMIC_RELAXED);
		__atomic_add_fetch(steps + 1, drain(&c), __ATOMIC_RELAXED);
		if (!raw_below(&dice, 4))
			usleep(100);	/* else the others wait for whole time slices */
	}
}

/* In its own process: as much as the limit permits can be registered, and no page more. */
static int whole_limit(void)
{
	struct kfi_user_info info;
	int fd = raw_open(), fabric, domain, ret, more;
	char *memory;

	memory = mmap(NULL, 2 * limit, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ret = raw_getinfo(fd, provider, FI_EP_RDM, NULL, NULL, &info);
	fabric = ret ? ret : raw_fabric(fd, &info);
	domain = fabric < 0 ? fabric : raw_object(fd, KFI_IOC_DOMAIN, fabric, &info, 0);
	if (domain < 0) {
		printf("kills: no domain: %s\n", strerror(-domain));
		return 1;
	}
	ret = raw_mr(fd, domain, memory, limit, NULL);
	more = raw_mr(fd, domain, memory + limit, 1, NULL);
	if (ret < 0)
		printf("kills: %lu bytes cannot be registered: %s\n", limit, strerror(-ret));
	if (more != -ENOMEM)
		printf("kills: a page beyond RLIMIT_MEMLOCK: %d\n", more);
	return ret < 0 || more != -ENOMEM;
}

static pid_t spawn(int slot, unsigned long *steps)
{
	pid_t pid = fork();

	if (pid < 0) {
		perror("kills: fork");
		exit(1);
	}
	if (!pid) {
		raw_seed(&dice, seed, number + 1);
		child(slot, steps);
	}
	number++;
	return pid;
}

/* No page is pinned or charged. */
static int verdict(void)
{
	long long pinned = raw_pinned();
	int status, pid, bad = 0;

	if (pinned) {
		printf("kills: %lld pages are still pinned\n", pinned);
		bad = 1;
	}
	pid = fork();
	if (!pid)
		_exit(whole_limit());
	waitpid(pid, &status, 0);
	return bad | status;
}

static int was_killed(int status)
{
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
		return 1;
	printf("kills: child %llu ended by itself, status %x\n", (unsigned long long)number,
	       status);
	return 0;
}

/* Replace the children that have died. Return: 1 if one was not killed, or too much is pinned */
static int replace(pid_t *pids, unsigned long *steps)
{
	int status, slot, bad = 0;
	pid_t pid;

	while (!bad && (pid = waitpid(-1, &status, WNOHANG)) > 0) {
		bad = !was_killed(status);
		if (number % 1000 == 0 && raw_pinned_now() > (long long)(8 * limit / 4096)) {
			printf("kills: more pages are pinned than children can pin\n");
			bad = 1;
		}
		for (slot = 0; pids[slot] != pid; slot++)
			;
		pids[slot] = spawn(slot, steps);
	}
	return bad;
}

/* Kill children until @until have been started, and then the rest. Return: 0 if nothing is left */
static int series(uint64_t until, unsigned long *steps)
{
	pid_t pids[CHILDREN_MAX];
	int status, bad = 0;
	uint64_t n;

	for (n = 0; n < children; n++)
		pids[n] = spawn(n, steps);
	while (number < until && !bad) {
		/* Most moments are in the short time in which a child opens its objects. */
		usleep(raw_below(&dice, 1 + raw_below(&dice, longest)));
		kill(pids[raw_below(&dice, children)], SIGKILL);
		bad = replace(pids, steps);
	}
	for (n = 0; n < children; n++) {
		kill(pids[n], SIGKILL);
		waitpid(pids[n], &status, 0);
	}
	bad |= verdict();
	printf("kills: %llu children, %lu posts, %lu operations ended well\n",
	       (unsigned long long)number, steps[0], steps[1]);
	return bad;
}

int main(int argc, char **argv)
{
	static const struct option options[] = { { "count", 1, NULL, 'c' },
						 { "seed", 1, NULL, 's' },
						 { "longest", 1, NULL, 'l' },
						 { "sockets", 0, NULL, 't' },
						 { "children", 1, NULL, 'n' },
						 {} };
	uint64_t count = 1000;
	unsigned long *steps;
	int option, bad = 0;

	seed = time(NULL) ^ getpid() << 20;
	while ((option = getopt_long(argc, argv, "", options, NULL)) >= 0) {
		if (option == '?')
			return 2;
		if (option == 't') {
			provider = "sockets";
			node = "127.0.0.1";
			continue;
		}
		*(option == 'c' ? &count :
		  option == 's' ? &seed :
		  option == 'n' ? &children :
				  &longest) = strtoull(optarg, NULL, 0);
	}
	if (!children || children % 2 || children > CHILDREN_MAX) {
		fprintf(stderr, "kills: an even number of children, at most %d\n", CHILDREN_MAX);
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("kills: seed %llu, %llu kills\n", (unsigned long long)seed,
	       (unsigned long long)count);
	limit = children * LIMIT_EACH;
	raw_unprivileged(limit);
	raw_seed(&dice, seed, 0);
	steps = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (verdict()) {
		printf("kills: this is so before the first kill\n");
		return 1;
	}
	while (number < count && !bad)
		bad = series(number + SERIES < count ? number + SERIES : count + children, steps);
	if (steps[0] < number / 4 || steps[1] < number / 4) {
		printf("kills: too few operations: the children did not come far\n");
		bad = 1;
	}
	printf("%d passed, %d failed\n", !bad, bad ? 1 : 0);
	return bad ? 1 : 0;
}
