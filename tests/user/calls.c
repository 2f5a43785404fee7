// SPDX-License-Identifier: GPL-2.0
/*
 * calls - results of single calls of /dev/kfi, in cases that libfabric's tests do not reach
 *
 * Each case has its own process, mostly without privileges. Most messages go from an endpoint of
 * the loop provider to itself.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>

#include "raw.h"

#define MIB		(1UL << 20)
#define KIB		(1UL << 10)

/* Print a condition that does not hold; the case has failed and ends. */
#define CHECK(condition)								\
	do {										\
		if (!(condition)) {							\
			printf("        %s:%d: %s\n", __func__, __LINE__, #condition);	\
			exit(1);							\
		}									\
	} while (0)

/* An endpoint that is its own peer, number 0 of its address vector; @peer: whom it sends to */
struct side {
	int fd, fabric, domain, av, ep, eq;
	uint64_t peer;
	struct kfi_user_cq cq;
	struct kfi_user_ring *ring;
	struct kfi_user_cqe *slots;
	struct kfi_user_info info;
};

static void open_domain_of(struct side *s, const char *provider, const char *node)
{
	*s = (struct side){ .fd = raw_open() };
	CHECK(s->fd >= 0);
	CHECK(!raw_getinfo(s->fd, provider, FI_EP_RDM, node, NULL, &s->info));
	s->fabric = raw_fabric(s->fd, &s->info);
	CHECK(s->fabric > 0);
	s->domain = raw_object(s->fd, KFI_IOC_DOMAIN, s->fabric, &s->info, 0);
	CHECK(s->domain > 0);
	s->eq = raw_eq(s->fd, s->fabric);
	CHECK(s->eq > 0);
}

/* Open an endpoint, @s->ep, and insert its address. Return: its number, or an error */
static int add_endpoint(struct side *s)
{
	unsigned char addr[KFI_USER_ADDR_MAX];
	uint64_t number = 0;
	struct kfi_user_name name = { .addr = (uintptr_t)addr, .addrlen = sizeof(addr) };
	struct kfi_user_av_insert in = {
		.count = 1,
		.addrs = (uintptr_t)addr,
		.fi_addrs = (uintptr_t)&number,
	};

	s->ep = raw_object(s->fd, KFI_IOC_ENDPOINT, s->domain, &s->info, 0);
	if (s->ep < 0)
		return s->ep;
	CHECK(!raw_bind(s->fd, s->ep, s->cq.handle, FI_TRANSMIT | FI_RECV));
	CHECK(!raw_bind(s->fd, s->ep, s->av, 0));
	CHECK(!raw_handle(s->fd, KFI_IOC_ENABLE, s->ep));
	name.handle = s->ep;
	CHECK(!raw_ioctl(s->fd, KFI_IOC_GETNAME, &name));
	in.av = s->av;
	in.addrs_size = name.addrlen;
	if (raw_ioctl(s->fd, KFI_IOC_AV_INSERT, &in) == -EMFILE)
		return -EMFILE;
	CHECK(in.count == 1);
	return number;
}

static void open_side_of(struct side *s, const char *provider, const char *node)
{
	open_domain_of(s, provider, node);
	CHECK(!raw_cq(s->fd, s->domain, 256, &s->cq));
	s->ring = raw_map(s->fd, s->cq.handle, s->cq.ring_bytes);
	CHECK(s->ring);
	s->slots = (void *)((char *)s->ring + s->ring->slots_at);
	s->av = raw_av(s->fd, s->domain);
	CHECK(s->av > 0 && add_endpoint(s) == 0);
}

static void open_side(struct side *s)
{
	open_side_of(s, "loop", NULL);
}

/* The next completion, which must come within a second */
static struct kfi_user_cqe completion(struct side *s)
{
	struct kfi_user_wait wait = { .handle = s->cq.handle, .timeout_ms = 1000 };
	struct kfi_user_cqe cqe;

	CHECK(!raw_ioctl(s->fd, KFI_IOC_WAIT, &wait));
	CHECK(__atomic_load_n(&s->ring->tail, __ATOMIC_ACQUIRE) != s->ring->head);
	cqe = s->slots[s->ring->head & s->ring->mask];
	__atomic_store_n(&s->ring->head, s->ring->head + (cqe.err ? 2 : 1), __ATOMIC_RELEASE);
	return cqe;
}

/* ... of a receive. A send to a discarded message may complete later than the peek. */
static struct kfi_user_cqe received(struct side *s)
{
	struct kfi_user_cqe cqe;

	do {
		cqe = completion(s);
	} while (cqe.flags & FI_SEND);
	return cqe;
}

static int post(struct side *s, uint32_t opcode, void *buf, size_t len, uint64_t tag,
		uint64_t flags)
{
	struct kfi_user_desc desc = {
		.opcode = opcode,
		.ep = s->ep,
		.flags = flags | KFI_USER_COMPLETION,
		.context = tag,
		.addr = opcode == KFI_USER_TRECV ? FI_ADDR_UNSPEC : s->peer,
		.tag = tag,
		.buf = (uintptr_t)buf,
		.len = len,
	};
	int ret = raw_post(s->fd, &desc, 1);

	return ret == 1 ? 0 : ret;
}

/* Read from a region of the endpoint's own process, and wait for the end. Return: its error */
static int read_region(struct side *s, void *buf, size_t len, const void *from, uint64_t key)
{
	struct kfi_user_desc desc = {
		.opcode = KFI_USER_READ,
		.ep = s->ep,
		.flags = KFI_USER_COMPLETION,
		.addr = s->peer,
		.buf = (uintptr_t)buf,
		.len = len,
		.rma_addr = (uintptr_t)from,
		.rma_key = key,
	};

	CHECK(raw_post(s->fd, &desc, 1) == 1);
	return completion(s).err;
}

static void *memory(size_t bytes)
{
	void *mem = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(mem != MAP_FAILED);
	return mem;
}

/* ---- pinned memory ---- */

/*
 * A receive uses all memory that may be pinned, and its message comes only after another one was
 * sent.
 */
static void full_of_receives(void)
{
	char *all = memory(4 * MIB), *other = memory(4 * MIB), *back = memory(MIB);
	struct kfi_user_cancel cancel = { .context = 1 };
	struct kfi_user_cqe cqe;
	struct side s;

	raw_unprivileged(4 * MIB);
	open_side(&s);
	CHECK(!post(&s, KFI_USER_TRECV, all, 4 * MIB, 1, 0));

	/* A short payload is copied at once: the program may overwrite it. */
	memset(other, 'a', MIB);
	CHECK(!post(&s, KFI_USER_TSEND, other, MIB, 2, 0));
	memset(other, 'b', MIB);
	/* No transmit that could end would make room for a longer one. */
	CHECK(post(&s, KFI_USER_TSEND, other, MIB + 1, 3, 0) == -ENOMEM);
	CHECK(post(&s, KFI_USER_READ, other, MIB, 3, 0) == -ENOMEM);
	CHECK(raw_mr(s.fd, s.domain, other, MIB, NULL) == -ENOMEM);
	/* The receive will end and make room for another one. */
	CHECK(post(&s, KFI_USER_TRECV, back, MIB, 2, 0) == -EAGAIN);

	cancel.ep = s.ep;
	CHECK(!raw_ioctl(s.fd, KFI_IOC_CANCEL, &cancel));
	CHECK(received(&s).err == FI_ECANCELED);
	CHECK(!post(&s, KFI_USER_TRECV, back, MIB, 2, 0));
	cqe = received(&s);
	CHECK(!cqe.err && cqe.len == MIB && raw_all_bytes(back, MIB, 'a'));
	/* Idle pins are released when the whole limit is needed. */
	CHECK(!post(&s, KFI_USER_TSEND, other, 4 * MIB, 4, 0));
}

/*
 * Connections of a process, in both roles, and their windows are charged to its user: if the limit
 * is used up, the send that would need one more fails, and those that exist work. When the process
 * closes its objects, all of it is there again.
 */
static void connections_are_charged(void)
{
	unsigned int round, n, most = 0;
	int first, peer, err;
	struct side s;

	raw_limit("max_queue_mb", 16);
	raw_unprivileged(MIB);
	for (round = 0; round < 3; round++) {
		open_side_of(&s, "sockets", "127.0.0.1");
		first = s.ep;
		s.info.tx.size = s.info.rx.size = 16;
		CHECK(!post(&s, KFI_USER_TSEND, "", 1, 1, 0) && !completion(&s).err);
		for (n = 0, err = 0; !err && n < 128; n++) {
			peer = add_endpoint(&s);
			s.ep = first;
			s.peer = peer;
			err = peer < 0 ? peer : post(&s, KFI_USER_TSEND, "", 1, 1, 0);
			err = err ? err : -(int)completion(&s).err;
		}
		CHECK(n > 4 && (err == -ENOBUFS || err == -EMFILE) && (!round || n == most));
		most = n;
		s.peer = 0;	/* the connection to itself */
		CHECK(!post(&s, KFI_USER_TSEND, "", 1, 1, 0) && !completion(&s).err);
		close(s.fd);
		munmap(s.ring, s.cq.ring_bytes);
	}
}

/* A queue is charged until it is closed and no part of its ring is mapped any more. */
static void mapped_rings_are_charged(void)
{
	char *rings[32];
	struct side s;
	int n, err;

	raw_limit("max_queue_mb", 16);
	raw_unprivileged(MIB);
	open_domain_of(&s, "loop", NULL);
	for (n = 0; !(err = raw_cq(s.fd, s.domain, 8192, &s.cq)) && n < 32; n++) {
		rings[n] = raw_map(s.fd, s.cq.handle, s.cq.ring_bytes);
		CHECK(rings[n] && !raw_handle(s.fd, KFI_IOC_CLOSE, s.cq.handle));
	}
	CHECK(err == -EMFILE && n > 4 && !munmap(rings[0], 4 * KIB));
	CHECK(raw_cq(s.fd, s.domain, 8192, &s.cq) == -EMFILE);
	CHECK(!munmap(rings[0] + 4 * KIB, 512 * KIB) && !raw_cq(s.fd, s.domain, 8192, &s.cq));
}

/* A receive of a claimed message that is refused costs nothing, however often. */
static void refused_claims(void)
{
	char *buf = memory(4 * MIB);
	struct kfi_user_iovec iov[2] = { { (uintptr_t)buf, MIB }, { (uintptr_t)buf, 3 * MIB } };
	struct kfi_user_desc claim = {
		.opcode = KFI_USER_TRECV, .flags = FI_CLAIM, .context = 1, .tag = 1,
		.addr = FI_ADDR_UNSPEC, .buf = (uintptr_t)iov, .len = 4 * MIB, .iov_count = 2,
	};
	struct kfi_user_cancel cancel = { .context = 2 };
	struct side s;

	raw_limit("max_queue_mb", 16);
	open_side(&s);
	claim.ep = cancel.ep = s.ep;
	CHECK(!post(&s, KFI_USER_TSEND, buf, 1, 1, 0) && !completion(&s).err);
	CHECK(!post(&s, KFI_USER_TRECV, NULL, 0, 1, FI_PEEK | FI_CLAIM) && !completion(&s).err);
	while (!post(&s, KFI_USER_TRECV, buf, 1, 2, 0))
		;
	for (int n = 0; n < 1100; n++)
		CHECK(raw_post(s.fd, &claim, 1) == -EAGAIN);
	CHECK(!raw_ioctl(s.fd, KFI_IOC_CANCEL, &cancel) && received(&s).err == FI_ECANCELED);
	CHECK(raw_post(s.fd, &claim, 1) == 1);
}

/* ---- ports ---- */

static int open_at(int fd, const char *service)
{
	struct kfi_user_info info;
	int fabric, domain, ep;

	CHECK(!raw_getinfo(fd, "sockets", FI_EP_RDM, "127.0.0.1", service, &info));
	fabric = raw_fabric(fd, &info);
	CHECK(fabric > 0);
	domain = raw_object(fd, KFI_IOC_DOMAIN, fabric, &info, 0);
	if (domain < 0)
		return domain;
	ep = raw_object(fd, KFI_IOC_ENDPOINT, domain, &info, 0);
	if (ep > 0)
		raw_handle(fd, KFI_IOC_CLOSE, ep);
	raw_handle(fd, KFI_IOC_CLOSE, domain);
	return ep;
}

static int rename_to(int fd, uint16_t port)
{
	struct sockaddr_in sin = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	struct kfi_user_name name = { .addr = (uintptr_t)&sin, .addrlen = sizeof(sin) };
	struct kfi_user_info info;
	int fabric, domain, ret;

	CHECK(!raw_getinfo(fd, "sockets", FI_EP_RDM, "127.0.0.1", NULL, &info));
	fabric = raw_fabric(fd, &info);
	domain = raw_object(fd, KFI_IOC_DOMAIN, fabric, &info, 0);
	name.handle = raw_object(fd, KFI_IOC_ENDPOINT, domain, &info, 0);
	CHECK((int)name.handle > 0);
	ret = raw_ioctl(fd, KFI_IOC_SETNAME, &name);
	raw_handle(fd, KFI_IOC_CLOSE, name.handle);
	return ret;
}

static void low_ports(void)
{
	int fd = raw_open();

	CHECK(fd >= 0);
	CHECK(open_at(fd, "80") > 0);
	CHECK(!rename_to(fd, 80));
	close(fd);
	raw_unprivileged(MIB);
	fd = raw_open();
	CHECK(fd >= 0);
	CHECK(open_at(fd, "1024") > 0);
	CHECK(open_at(fd, "1023") == -EACCES);
	CHECK(open_at(fd, "80") == -EACCES);
	CHECK(!rename_to(fd, 1024));
	CHECK(rename_to(fd, 1023) == -EACCES);
}

/* ---- memory of a process that changes ---- */

/*
 * A region is the memory that was registered, whatever is done to the addresses afterwards. It
 * counts against RLIMIT_MEMLOCK until it is closed.
 */
static void unmapped_region(void)
{
	char *from = memory(MIB), *to = memory(64 * KIB);
	uint64_t key = 0;
	struct side s;
	int mr;

	raw_unprivileged(MIB + 64 * KIB);
	open_side(&s);
	memset(from, 'a', MIB);
	mr = raw_mr(s.fd, s.domain, from, MIB, &key);
	CHECK(mr > 0);
	CHECK(!munmap(from, MIB));
	CHECK(!read_region(&s, to, 64 * KIB, from, key) && raw_all_bytes(to, 64 * KIB, 'a'));
	CHECK(mmap(from, MIB, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == from);
	memset(from, 'b', MIB);
	CHECK(!read_region(&s, to, 64 * KIB, from + MIB / 2, key) && raw_all_bytes(to, 64 * KIB, 'a'));
	CHECK(raw_mr(s.fd, s.domain, from, MIB, NULL) == -ENOMEM);
	CHECK(!raw_handle(s.fd, KFI_IOC_CLOSE, mr));
	mr = raw_mr(s.fd, s.domain, from, MIB, &key);
	CHECK(mr > 0);
	CHECK(!read_region(&s, to, 64 * KIB, from, key) && raw_all_bytes(to, 64 * KIB, 'b'));
}

/* A region may be longer than any limit but those of the user, and of the machine's memory. */
static void long_region(void)
{
	size_t len = (64UL << 30) + (64 << 20);
	char *from = mmap(NULL, len, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct side s;

	CHECK(from != MAP_FAILED);
	open_side(&s);
	CHECK(raw_mr(s.fd, s.domain, from, len, NULL) == -ENOMEM);	/* root may pin all */
	CHECK(!setgid(65534) && !setuid(65534));
	CHECK(raw_mr(s.fd, s.domain, from, len, NULL) == -ENOMEM);
}

/*
 * A buffer that stays pinned for the next send is released when it is unmapped or discarded. What
 * is then at its address is sent.
 */
static void unmapped_buffer(void)
{
	char *from = memory(64 * KIB), *to = memory(64 * KIB);
	struct side s;
	int round;

	raw_unprivileged(MIB);
	open_side(&s);
	for (round = 0; round < 4; round++) {
		memset(from, 'a' + round, 64 * KIB);
		CHECK(!post(&s, KFI_USER_TRECV, to, 64 * KIB, 1, 0));
		CHECK(!post(&s, KFI_USER_TSEND, from, 64 * KIB, 1, 0));
		CHECK(!completion(&s).err && !completion(&s).err);
		CHECK(raw_all_bytes(to, 64 * KIB, 'a' + round));
		CHECK(raw_vmstat("nr_foll_pin_acquired") > raw_vmstat("nr_foll_pin_released"));
		CHECK(!madvise(to, 64 * KIB, MADV_DONTNEED));
		if (round & 1) {
			CHECK(!madvise(from, 64 * KIB, MADV_DONTNEED));
		} else {
			CHECK(!munmap(from, 64 * KIB));
			CHECK(mmap(from, 64 * KIB, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) ==
			      from);
		}
		CHECK(!raw_pinned());
	}
}

/* A descriptor of another process: it can't be used, and what it stands for lives on. */
static void check_foreign(int fd)
{
	struct kfi_user_version version = {};
	struct kfi_user_desc desc = {};

	CHECK(raw_ioctl(fd, KFI_IOC_VERSION, &version) == -EIO);
	CHECK(raw_post(fd, &desc, 1) == -EIO);
	CHECK(raw_handle(fd, KFI_IOC_CLOSE, 1) == -EIO);
	CHECK(!raw_map(fd, 1, sysconf(_SC_PAGESIZE)) && errno == EIO);
}

/*
 * The child has a copy of the memory, and neither rings nor the right to call. It holds the last
 * descriptor of the context when the owner has died.
 */
static void forked_child(struct side *s, const char *region, int go, int report)
{
	struct side own;
	char byte;

	CHECK(read(go, &byte, 1) == 1);
	CHECK(raw_all_bytes(region, MIB, 'a'));
	CHECK(msync(s->ring, s->cq.ring_bytes, MS_ASYNC) < 0 && errno == ENOMEM);
	check_foreign(s->fd);
	open_side(&own);
	CHECK(!read(go, &byte, 1));
	check_foreign(s->fd);
	CHECK(raw_vmstat("nr_foll_pin_acquired") > raw_vmstat("nr_foll_pin_released"));
	close(s->fd);
	CHECK(!raw_pinned());
	CHECK(write(report, "", 1) == 1);
	exit(0);
}

/* The region is the memory of the process that has registered it, and not that of its child. */
static void forking_owner(int report)
{
	char *region = memory(MIB), *to = memory(64 * KIB);
	uint64_t key = 0;
	struct side s;
	int go[2];
	pid_t pid;

	open_side(&s);
	memset(region, 'a', MIB);
	CHECK(raw_mr(s.fd, s.domain, region, MIB, &key) > 0);
	CHECK(!pipe(go));
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		close(go[1]);
		forked_child(&s, region, go[0], report);
	}
	memset(region, 'b', MIB);
	CHECK(!read_region(&s, to, 64 * KIB, region, key) && raw_all_bytes(to, 64 * KIB, 'b'));
	CHECK(!post(&s, KFI_USER_TRECV, region, MIB, 1, 0));
	CHECK(write(go[1], "", 1) == 1);
	usleep(100000);
	exit(0);
}

static void forked(void)
{
	int report[2], status;
	pid_t pid;
	char byte;

	raw_unprivileged(4 * MIB);
	CHECK(!pipe(report));
	pid = fork();
	CHECK(pid >= 0);
	if (!pid)
		forking_owner(report[1]);
	close(report[1]);
	CHECK(waitpid(pid, &status, 0) == pid && !status);
	/* Nothing comes if a check of the child has failed. */
	CHECK(read(report[0], &byte, 1) == 1);
}

/* @self: this program; @keep: the descriptor of the device survives execve(). */
static void exec_owner(int self, bool keep)
{
	char *region = memory(MIB), number[16];
	char *const argv[] = { "calls", "--executed", number, NULL };
	struct side s;

	open_side(&s);
	CHECK(raw_mr(s.fd, s.domain, region, MIB, NULL) > 0);
	CHECK(!post(&s, KFI_USER_TRECV, region, MIB, 1, 0));
	CHECK(!keep || !fcntl(s.fd, F_SETFD, 0));
	snprintf(number, sizeof(number), "%d", keep ? s.fd : -1);
	fexecve(self, argv, environ);
	CHECK(!"fexecve() returned");
}

/* The new program */
static int executed_program(int fd)
{
	if (fd >= 0) {
		check_foreign(fd);
		CHECK(raw_vmstat("nr_foll_pin_acquired") > raw_vmstat("nr_foll_pin_released"));
		CHECK(!close(fd));
	}
	CHECK(!raw_pinned());
	return 0;
}

/* A context belongs to the address space that has opened it, which execve() replaces. */
static void executed(void)
{
	int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), status, keep;
	pid_t pid;

	CHECK(self >= 0);
	raw_unprivileged(4 * MIB);
	for (keep = 0; keep < 2; keep++) {
		pid = fork();
		CHECK(pid >= 0);
		if (!pid)
			exec_owner(self, keep);
		CHECK(waitpid(pid, &status, 0) == pid && !status);
	}
}

/* ---- limits of a user ---- */

static int one_context(struct side *s)
{
	(void)s;
	return raw_open();
}

static int one_endpoint(struct side *s)
{
	return raw_object(s->fd, KFI_IOC_ENDPOINT, s->domain, &s->info, 0);
}

static int one_region(struct side *s)
{
	return raw_mr(s->fd, s->domain, s, 1, NULL);
}

static int one_object(struct side *s)
{
	return raw_av(s->fd, s->domain);
}

/* @uses: how many of them open_side() opens */
static const struct {
	const char *name;
	int (*open)(struct side *s);
	int uses;
} limits[] = {
	{ "max_contexts", one_context, 1 },
	{ "max_endpoints", one_endpoint, 1 },
	{ "max_regions", one_region, 0 },
	{ "max_objects", one_object, 5 },
};

#define LIMITS	(sizeof(limits) / sizeof(*limits))

/* Open @count more of each. With @last, no other one can be opened then. */
static void open_more(struct side *s, int count, bool last)
{
	unsigned int i;
	int n;

	for (i = 0; i < LIMITS; i++) {
		for (n = 0; n < count; n++)
			CHECK(limits[i].open(s) > 0);
		CHECK(!last || limits[i].open(s) == -EMFILE);
	}
}

/* Wait until the process of the first user has opened all that it may. */
static int another_user(int go)
{
	struct side s;
	char byte;

	CHECK(!setgroups(0, NULL) && !setgid(65534) && !setuid(1000));
	CHECK(read(go, &byte, 1) == 1);
	open_side(&s);
	open_more(&s, 2, false);
	return 0;
}

/* A limit is one count for all processes of a user, and what is closed is returned to it. */
static void limits_of_user(void)
{
	int status, go[2];
	pid_t pid, other;
	unsigned int i;
	struct side s;

	for (i = 0; i < LIMITS; i++)
		raw_limit(limits[i].name, 2 * limits[i].uses + 5);
	CHECK(!pipe(go));
	other = fork();
	CHECK(other >= 0);
	if (!other)
		exit(another_user(go[0]));
	raw_unprivileged(MIB);
	open_side(&s);
	open_more(&s, 2, false);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		open_side(&s);
		open_more(&s, 3, true);
		exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && !status);
	/* The other process has returned what it had; this one takes it, and its own side. */
	for (i = 0; i < LIMITS; i++) {
		int left = 3 + limits[i].uses;

		while (left--)
			CHECK(limits[i].open(&s) > 0);
		CHECK(limits[i].open(&s) == -EMFILE);
	}
	CHECK(write(go[1], "", 1) == 1);
	CHECK(waitpid(other, &status, 0) == other && !status);
}

/* ---- privileges ---- */

#define OPT_UNPRIVILEGED	0x1003		/* KFI_OPT_UNPRIVILEGED of kfi_endpoint.h */
#define OPT_EAGER_SIZE		0x1004		/* KFI_OPT_EAGER_SIZE */
#define OPT_NEED_PRIVILEGE	0x1005		/* KFI_OPT_NEED_PRIVILEGE */
#define OPT_RESERVED_PORT	0x1006		/* KFI_OPT_RESERVED_PORT */

static int endpoint_option(struct side *s, unsigned long request, int name, uint64_t *value)
{
	struct kfi_user_opt opt = {
		.handle = s->ep,
		.level = FI_OPT_ENDPOINT,
		.name = name,
		.len = sizeof(*value),
		.value = (uintptr_t)value,
	};

	return raw_ioctl(s->fd, request, &opt);
}

/*
 * An endpoint of a process, that of root included, does not call from a reserved port: peers would
 * believe its name. The peer here is a listener that accepts the call and says nothing.
 */
static void high_port(void)
{
	struct sockaddr_in name = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	struct kfi_user_av_insert in = { .count = 1, .addrs = (uintptr_t)&name };
	socklen_t len = sizeof(name);
	uint64_t value = 0;
	char buf[64] = "";
	struct side s;
	int listener, sock;

	listener = socket(AF_INET, SOCK_STREAM, 0);
	CHECK(listener >= 0 && !bind(listener, (void *)&name, len) && !listen(listener, 1));
	CHECK(!getsockname(listener, (void *)&name, &len));
	open_side_of(&s, "sockets", "127.0.0.1");
	CHECK(!endpoint_option(&s, KFI_IOC_GETOPT, OPT_UNPRIVILEGED, &value) && value == 1);
	value = 0;
	CHECK(endpoint_option(&s, KFI_IOC_SETOPT, OPT_UNPRIVILEGED, &value) == -ENOPROTOOPT);
	CHECK(endpoint_option(&s, KFI_IOC_SETOPT, OPT_EAGER_SIZE, &value) == -ENOPROTOOPT);
	CHECK(endpoint_option(&s, KFI_IOC_SETOPT, OPT_NEED_PRIVILEGE, &value) == -ENOPROTOOPT);
	CHECK(endpoint_option(&s, KFI_IOC_SETOPT, OPT_RESERVED_PORT, &value) == -ENOPROTOOPT);
	CHECK(!endpoint_option(&s, KFI_IOC_GETOPT, OPT_UNPRIVILEGED, &value) && value == 1);

	in.av = s.av;
	in.addrs_size = len;
	CHECK(!raw_ioctl(s.fd, KFI_IOC_AV_INSERT, &in) && in.count == 1);
	s.peer = 1;
	CHECK(!post(&s, KFI_USER_TSEND, buf, sizeof(buf), 1, 0));
	len = sizeof(name);
	sock = accept(listener, (void *)&name, &len);
	CHECK(sock >= 0 && ntohs(name.sin_port) >= 1024);
}

/* ---- all of them ---- */

/*
 * Structures of later versions are longer: what this kernel does not know has to be 0, and is left
 * alone. A request that it does not know is refused.
 */
static void other_versions(void)
{
	struct {
		struct kfi_user_version version;
		uint64_t more;
	} later = {};
	unsigned int dir = _IOC_DIR(KFI_IOC_VERSION), nr = _IOC_NR(KFI_IOC_VERSION);
	int fd = raw_open();

	CHECK(fd >= 0);
	CHECK(!raw_ioctl(fd, _IOC(dir, KFI_USER_MAGIC, nr, sizeof(later)), &later));
	CHECK(later.version.abi == KFI_USER_ABI && !later.more);
	later.more = 1;
	CHECK(raw_ioctl(fd, _IOC(dir, KFI_USER_MAGIC, nr, sizeof(later)), &later) == -E2BIG);
	CHECK(later.more == 1);
	CHECK(raw_ioctl(fd, _IOC(dir, KFI_USER_MAGIC, nr, 4), &later) == -EINVAL);
	CHECK(raw_ioctl(fd, _IOC(dir, KFI_USER_MAGIC, 0xff, sizeof(later)), &later) == -ENOTTY);
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{ "full_of_receives", full_of_receives },
	{ "low_ports", low_ports },
	{ "unmapped_region", unmapped_region },
	{ "long_region", long_region },
	{ "unmapped_buffer", unmapped_buffer },
	{ "forked", forked },
	{ "executed", executed },
	{ "limits_of_user", limits_of_user },
	{ "connections_are_charged", connections_are_charged },
	{ "mapped_rings_are_charged", mapped_rings_are_charged },
	{ "refused_claims", refused_claims },
	{ "high_port", high_port },
	{ "other_versions", other_versions },
};

/* For a look at the memory of endpoints: hold some until a signal ends the process. */
static void hold_endpoints(int count)
{
	struct side s;

	while (count--)
		open_side(&s);
	for (;;)
		pause();
}

static int run(unsigned int n)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		alarm(60);
		cases[n].run();
		exit(0);
	}
	waitpid(pid, &status, 0);
	raw_default_limits();
	if (!status && raw_pinned()) {
		printf("        pages are still pinned\n");
		status = 1;
	}
	printf("%-7s calls %s\n", status ? "NOT OK" : "ok", cases[n].name);
	return !!status;
}

int main(int argc, char **argv)
{
	unsigned int n, ran = 0, failed = 0;

	if (argc == 3 && !strcmp(argv[1], "--executed"))
		return executed_program(atoi(argv[2]));
	if (argc == 3 && !strcmp(argv[1], "--hold"))
		hold_endpoints(atoi(argv[2]));
	for (n = 0; n < sizeof(cases) / sizeof(*cases); n++) {
		if (argc > 1 && strcmp(argv[1], cases[n].name))
			continue;
		failed += run(n);
		ran++;
	}
	printf("%u passed, %u failed\n", ran - failed, failed);
	return failed || !ran;
}
