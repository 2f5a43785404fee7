// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * test_queue.c - reads of queues and gathered posts, with a simulated kernel
 *
 * The functions of device.c are replaced. The simulated kernel below follows the rules of the
 * interface: it fills rings, keeps completions without room until they are drained, and returns the
 * results of posts that a test has set.
 */
#include <netdb.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kfi_fi.h"

#define RING_SLOTS	8
#define RING_BYTES	8192
#define WAITING_MAX	64
#define POSTED_MAX	1024
#define REQUEST		4711	/* handle of a connection request */

static int failures;

#define CHECK(condition)								\
	do {										\
		if (!(condition)) {							\
			printf("%s:%d: %s\n", __func__, __LINE__, #condition);		\
			failures++;							\
		}									\
	} while (0)

/* ---- the kernel ---- */

static struct {
	struct kfi_user_ring *ring;
	uint32_t tail;
	struct kfi_user_cqe waiting[WAITING_MAX];
	unsigned int nr_waiting;
	unsigned int drains, waits, signals, posts;
	struct kfi_user_desc posted[POSTED_MAX];
	unsigned int nr_posted;
	unsigned int room;		/* operations that fit */
	uint64_t refuse;		/* context of an operation that is refused */
	int refuse_err;
	uint32_t handle;
	bool signalled;
	struct kfi_user_event event;	/* of the event queue, if its number is not 0 */
	uint64_t pep_cookie;
	unsigned int closed;		/* requests that were closed */
	uint64_t getinfo_flags;
	char node[64], service[16];	/* of the last question with numbers */
	unsigned int questions;
	bool known;			/* its numbers have an answer */
} kernel;

static unsigned int slots_of(const struct kfi_user_cqe *cqe)
{
	return cqe->err ? 2 : 1;
}

static bool put(const struct kfi_user_cqe *cqe)
{
	struct kfi_user_cqe *slots = (void *)((char *)kernel.ring + kernel.ring->slots_at);

	if (kernel.tail - kernel.ring->head + slots_of(cqe) > RING_SLOTS)
		return false;
	slots[kernel.tail++ % RING_SLOTS] = *cqe;
	if (cqe->err) {
		struct kfi_user_cqe_err more = { .olen = 4032 };

		memcpy(&slots[kernel.tail++ % RING_SLOTS], &more, sizeof(more));
	}
	__atomic_store_n(&kernel.ring->tail, kernel.tail, __ATOMIC_RELEASE);
	return true;
}

static void complete(const struct kfi_user_cqe *cqe)
{
	if (!kernel.nr_waiting && put(cqe))
		return;
	kernel.waiting[kernel.nr_waiting++] = *cqe;
	kernel.ring->overflow = 1;
}

static void drain(void)
{
	unsigned int i;

	kernel.drains++;
	kernel.ring->overflow = 0;
	for (i = 0; i < kernel.nr_waiting && put(&kernel.waiting[i]); i++)
		;
	kernel.nr_waiting -= i;
	memmove(kernel.waiting, kernel.waiting + i, kernel.nr_waiting * sizeof(*kernel.waiting));
	if (kernel.nr_waiting)
		kernel.ring->overflow = 1;
}

static void post(struct kfi_user_post *arg)
{
	const struct kfi_user_desc *descs = (const void *)(uintptr_t)arg->descs;

	kernel.posts++;
	for (arg->posted = 0; arg->posted < arg->count; arg->posted++) {
		const struct kfi_user_desc *desc = &descs[arg->posted];

		arg->err = 0;
		if (desc->context == kernel.refuse && kernel.refuse_err)
			arg->err = kernel.refuse_err;
		else if (!kernel.room)
			arg->err = -FI_EAGAIN;
		if (arg->err)
			return;
		kernel.room--;
		kernel.posted[kernel.nr_posted++] = *desc;
	}
}

/* A connection request contains only its provider. */
static int read_event(struct kfi_user_event *arg)
{
	struct kfi_user_info *info = (void *)(uintptr_t)arg->info;

	if (!kernel.event.event)
		return -FI_EAGAIN;
	memset(info, 0, sizeof(*info));
	strcpy(info->fabric.prov_name, "sockets");
	arg->event = kernel.event.event;
	arg->cookie = kernel.event.cookie;
	arg->connreq = kernel.event.connreq;
	arg->err = 0;
	arg->len = 0;
	kernel.event.event = 0;
	return 0;
}

static bool wait_is_over(void)
{
	return kernel.event.event || (kernel.ring && kernel.ring->tail != kernel.ring->head);
}

/* The kernel knows the interface lo, and numbers; like a network without IPv6 only those of IPv4. */
static int question(uint64_t node_addr, uint64_t service_addr, int unknown)
{
	const char *node = (const char *)(uintptr_t)node_addr;
	const char *service = (const char *)(uintptr_t)service_addr;

	kernel.questions++;
	if ((node && strcmp(node, "lo") && strspn(node, "0123456789.") != strlen(node)) ||
	    (service && strspn(service, "0123456789") != strlen(service)))
		return unknown;
	snprintf(kernel.node, sizeof(kernel.node), "%s", node ? node : "-");
	snprintf(kernel.service, sizeof(kernel.service), "%s", service ? service : "-");
	return kernel.known ? 0 : unknown;
}

int kfi_call(const struct kfi_fabric *fabric, unsigned long request, void *arg)
{
	switch (request) {
	case KFI_IOC_GETINFO:
		kernel.getinfo_flags = ((struct kfi_user_getinfo *)arg)->flags;
		((struct kfi_user_getinfo *)arg)->count = 1;
		return question(((struct kfi_user_getinfo *)arg)->node,
				((struct kfi_user_getinfo *)arg)->service, -FI_ENODATA);
	case KFI_IOC_AV_INSERTSVC:
		((struct kfi_user_av_svc *)arg)->count = 1;
		return question(((struct kfi_user_av_svc *)arg)->node,
				((struct kfi_user_av_svc *)arg)->service, -FI_EINVAL);
	case KFI_IOC_EQ:
		((struct kfi_user_eq *)arg)->handle = ++kernel.handle;
		return 0;
	case KFI_IOC_EQ_READ:
		return read_event(arg);
	case KFI_IOC_PASSIVE_EP:
		kernel.pep_cookie = ((struct kfi_user_open *)arg)->cookie;
		((struct kfi_user_open *)arg)->handle = ++kernel.handle;
		return 0;
	case KFI_IOC_FABRIC:
		((struct kfi_user_fabric *)arg)->handle = ++kernel.handle;
		return 0;
	case KFI_IOC_DOMAIN:
	case KFI_IOC_ENDPOINT:
		((struct kfi_user_open *)arg)->handle = ++kernel.handle;
		return 0;
	case KFI_IOC_CQ: {
		struct kfi_user_cq *cq = arg;

		cq->handle = ++kernel.handle;
		cq->ring_entries = RING_SLOTS;
		cq->ring_bytes = RING_BYTES;
		return 0;
	}
	case KFI_IOC_DRAIN:
		drain();
		return 0;
	case KFI_IOC_WAIT:
		if (wait_is_over())
			return 0;
		if (kernel.signalled) {
			kernel.signalled = false;
			return -FI_EAGAIN;
		}
		kernel.waits++;
		return -FI_ETIMEDOUT;
	case KFI_IOC_SIGNAL:
		kernel.signals++;
		kernel.signalled = true;
		return 0;
	case KFI_IOC_POST:
		post(arg);
		return 0;
	default:
		return 0;
	}
}

int kfi_handle_close(const struct kfi_fabric *fabric, uint32_t handle)
{
	kernel.closed += handle == REQUEST;
	return 0;
}

int kfi_bind(const struct kfi_fabric *fabric, uint32_t handle, uint32_t target, uint64_t flags)
{
	return flags & FI_SELECTIVE_COMPLETION ? -FI_EINVAL : 0;
}

void *kfi_map(const struct kfi_fabric *fabric, uint32_t handle, size_t bytes, bool writable)
{
	struct kfi_user_ring *ring;

	ring = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (ring == MAP_FAILED)
		return NULL;
	ring->slots_at = 4096;
	/* Counts of slots wrap around during the tests. */
	ring->tail = ring->head = kernel.tail = UINT32_MAX - 3;
	kernel.ring = ring;
	return ring;
}

int kfi_device_open(struct kfi_fabric *fabric, uint32_t *api)
{
	*api = FI_VERSION(2, 1);
	return 0;
}

void kfi_device_close(struct kfi_fabric *fabric)
{
}

int kfi_device_watch_fork(void)
{
	return 0;
}

int kfi_wait_init(struct kfi_wait *wait, enum fi_wait_obj obj)
{
	wait->obj = obj;
	wait->fd = -1;
	return 0;
}

int kfi_wait_control(struct kfi_fabric *fabric, uint32_t handle, struct kfi_wait *wait, int command,
		     void *arg)
{
	return -FI_ENOSYS;
}

void kfi_wait_close(struct kfi_wait *wait)
{
}

/* Time does not pass; only deadlines that have expired count. */
uint64_t kfi_deadline(int timeout_ms)
{
	return timeout_ms;
}

int kfi_time_left(uint64_t deadline)
{
	return kernel.waits >= deadline ? 0 : deadline - kernel.waits;
}

/* ---- an endpoint with one queue ---- */

static struct fid_fabric *fabric;
static struct fid_domain *domain;
static struct fid_ep *ep;
static struct fid_cq *cq;

static void open_all(enum fi_cq_format format, uint64_t bind_flags)
{
	struct fi_fabric_attr attr = { .name = "sockets-net", .api_version = FI_VERSION(1, 17) };
	struct fi_cq_attr cq_attr = { .format = format, .wait_obj = FI_WAIT_UNSPEC };
	struct fi_info *info = fi_allocinfo();

	memset(&kernel, 0, sizeof(kernel));
	kernel.room = POSTED_MAX;
	info->domain_attr->name = strdup("sockets-eth0");
	info->ep_attr->type = FI_EP_RDM;
	CHECK(!kfi_fabric_open(&attr, &fabric, NULL));
	CHECK(!fi_domain(fabric, info, &domain, NULL));
	CHECK(!fi_cq_open(domain, &cq_attr, &cq, NULL));
	CHECK(!fi_endpoint(domain, info, &ep, NULL));
	CHECK(!fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV | bind_flags));
	CHECK(!fi_enable(ep));
	fi_freeinfo(info);
}

static void close_all(void)
{
	CHECK(!fi_close(&ep->fid));
	CHECK(!fi_close(&cq->fid));
	CHECK(!fi_close(&domain->fid));
	CHECK(!fi_close(&fabric->fid));
}

/* ---- reading ---- */

static struct kfi_user_cqe make(uint64_t n)
{
	return (struct kfi_user_cqe){
		.context = n, .flags = FI_RECV | FI_TAGGED, .len = 100 + n, .buf = 200 + n,
		.data = 300 + n, .tag = 400 + n, .src_addr = 500 + n,
	};
}

static void test_formats(void)
{
	static const struct { enum fi_cq_format format; size_t size; } formats[] = {
		{ FI_CQ_FORMAT_CONTEXT, sizeof(struct fi_cq_entry) },
		{ FI_CQ_FORMAT_MSG, sizeof(struct fi_cq_msg_entry) },
		{ FI_CQ_FORMAT_DATA, sizeof(struct fi_cq_data_entry) },
		{ FI_CQ_FORMAT_TAGGED, sizeof(struct fi_cq_tagged_entry) },
	};
	uint8_t buf[8 * sizeof(struct fi_cq_tagged_entry)], untouched[sizeof(buf)];
	struct fi_cq_tagged_entry entry;
	fi_addr_t src[8];
	unsigned int f, i;

	memset(untouched, 0xee, sizeof(untouched));
	for (f = 0; f < sizeof(formats) / sizeof(*formats); f++) {
		size_t size = formats[f].size;

		open_all(formats[f].format, 0);
		memset(buf, 0xee, sizeof(buf));
		CHECK(fi_cq_read(cq, buf, 8) == -FI_EAGAIN);
		for (i = 1; i <= 6; i++) {
			struct kfi_user_cqe cqe = make(i);

			complete(&cqe);
		}
		CHECK(fi_cq_readfrom(cq, buf, 4, src) == 4);
		CHECK(!memcmp(buf + 4 * size, untouched, sizeof(buf) - 4 * size));
		for (i = 0; i < 4; i++) {
			memset(&entry, 0, sizeof(entry));
			memcpy(&entry, buf + i * size, size);
			CHECK((uintptr_t)entry.op_context == i + 1);
			CHECK(src[i] == 501 + i);
			CHECK(size < sizeof(struct fi_cq_msg_entry) || entry.len == 101 + i);
			CHECK(size < sizeof(struct fi_cq_data_entry) || entry.data == 301 + i);
			CHECK(size < sizeof(struct fi_cq_data_entry) ||
			      (uintptr_t)entry.buf == 201 + i);
			CHECK(size < sizeof(entry) || entry.tag == 401 + i);
		}
		CHECK(fi_cq_read(cq, buf, 8) == 2);
		CHECK(fi_cq_read(cq, buf, 8) == -FI_EAGAIN);
		CHECK(!kernel.drains && !kernel.waits && !kernel.posts);
		close_all();
	}
}

/* A success, an error, a success: each is read by its own call. */
static void test_errors(void)
{
	int round;
	struct fi_cq_err_entry err = { .err_data = &round, .err_data_size = 0 };
	struct fi_cq_tagged_entry entry[4];
	struct kfi_user_cqe cqe;

	open_all(FI_CQ_FORMAT_TAGGED, 0);
	for (round = 0; round < 5; round++) {
		cqe = make(1);
		complete(&cqe);
		cqe = make(2);
		cqe.err = FI_ETRUNC;
		cqe.prov_errno = -5;
		complete(&cqe);
		cqe = make(3);
		complete(&cqe);
		CHECK(fi_cq_readerr(cq, &err, 0) == -FI_EAGAIN);
		CHECK(fi_cq_read(cq, entry, 4) == 1 && (uintptr_t)entry[0].op_context == 1);
		CHECK(fi_cq_read(cq, entry, 4) == -FI_EAVAIL);
		CHECK(fi_cq_readerr(cq, &err, 0) == 1);
		CHECK((uintptr_t)err.op_context == 2 && err.err == FI_ETRUNC &&
		      err.prov_errno == -5);
		CHECK(err.olen == 4032 && err.len == 102 && !err.err_data && !err.err_data_size);
		CHECK(fi_cq_read(cq, entry, 4) == 1 && (uintptr_t)entry[0].op_context == 3);
		CHECK(fi_cq_read(cq, entry, 4) == -FI_EAGAIN);
	}
	close_all();
}

/* More completions than the ring has room for come in order, and each of them once. */
static void test_overflow(void)
{
	struct fi_cq_tagged_entry entry[3];
	uint64_t expected = 1;
	ssize_t n, i;

	open_all(FI_CQ_FORMAT_TAGGED, 0);
	for (i = 1; i <= 30; i++) {
		struct kfi_user_cqe cqe = make(i);

		complete(&cqe);
	}
	while ((n = fi_cq_read(cq, entry, 3)) > 0)
		for (i = 0; i < n; i++)
			CHECK((uintptr_t)entry[i].op_context == expected++);
	CHECK(n == -FI_EAGAIN && expected == 31 && kernel.drains);
	kernel.drains = 0;
	CHECK(fi_cq_read(cq, entry, 3) == -FI_EAGAIN && !kernel.drains);
	close_all();
}

static void test_sread(void)
{
	struct fi_cq_tagged_entry entry;
	struct kfi_user_cqe cqe = make(7);

	open_all(FI_CQ_FORMAT_TAGGED, 0);
	CHECK(fi_cq_sread(cq, &entry, 1, NULL, 0) == -FI_EAGAIN && !kernel.waits);
	CHECK(fi_cq_sread(cq, &entry, 1, NULL, 3) == -FI_EAGAIN && kernel.waits == 3);
	complete(&cqe);
	kernel.waits = 0;
	CHECK(fi_cq_sread(cq, &entry, 1, NULL, -1) == 1 && !kernel.waits);
	close_all();
}

/* ---- posting ---- */

static ssize_t send_more(uint64_t context, uint64_t flags)
{
	static char data[64];
	struct iovec iov = { data, sizeof(data) };
	struct fi_msg msg = {
		.msg_iov = &iov,
		.iov_count = 1,
		.context = (void *)(uintptr_t)context,
	};

	return fi_sendmsg(ep, &msg, flags);
}

static void check_order(uint64_t first, unsigned int count)
{
	unsigned int i;

	CHECK(kernel.nr_posted == count);
	for (i = 0; i < kernel.nr_posted; i++)
		CHECK(kernel.posted[i].context == first + i);
}

/* A series is one call, in order, and only its last operation lacks FI_MORE. */
static void test_gather(void)
{
	struct fi_cq_tagged_entry entry;
	unsigned int i;

	open_all(FI_CQ_FORMAT_TAGGED, 0);
	for (i = 1; i < 10; i++)
		CHECK(!send_more(i, FI_MORE));
	CHECK(!kernel.posts);
	CHECK(!send_more(10, 0));
	CHECK(kernel.posts == 1);
	check_order(1, 10);
	for (i = 0; i < 10; i++)
		CHECK(!!(kernel.posted[i].flags & FI_MORE) == (i < 9) &&
		      kernel.posted[i].flags & KFI_USER_COMPLETION);

	/* A read of a queue ends a series. */
	kernel.nr_posted = 0;
	CHECK(!send_more(1, FI_MORE) && !send_more(2, FI_MORE));
	CHECK(fi_cq_read(cq, &entry, 1) == -FI_EAGAIN);
	check_order(1, 2);
	CHECK(!(kernel.posted[1].flags & FI_MORE));

	/* A full batch ends a series, too. */
	kernel.nr_posted = 0;
	for (i = 1; i <= KFI_BATCH_MAX + 1; i++)
		CHECK(!send_more(i, FI_MORE));
	check_order(1, KFI_BATCH_MAX);
	CHECK(fi_cq_read(cq, &entry, 1) == -FI_EAGAIN);
	check_order(1, KFI_BATCH_MAX + 1);

	/* An operation whose buffer may change at once does not wait, nor do those before it. */
	kernel.nr_posted = 0;
	CHECK(!send_more(1, FI_MORE) && !send_more(2, FI_MORE | FI_INJECT));
	check_order(1, 2);
	close_all();
}

/* Operations without room stay, in order; the caller has to repeat an operation that can't stay. */
static void test_gather_full(void)
{
	struct fi_cq_tagged_entry entry;
	unsigned int i;

	open_all(FI_CQ_FORMAT_TAGGED, 0);
	kernel.room = 3;
	for (i = 1; i <= 5; i++)
		CHECK(!send_more(i, FI_MORE));
	CHECK(send_more(6, 0) == -FI_EAGAIN);
	check_order(1, 3);
	kernel.room = 10;
	CHECK(!send_more(6, 0));
	check_order(1, 6);

	/* The same without another post: a reader tries again, and not at every read. */
	kernel.nr_posted = kernel.posts = kernel.room = 0;
	CHECK(!send_more(1, FI_MORE));
	for (i = 0; i < 1000; i++)
		CHECK(fi_cq_read(cq, &entry, 1) == -FI_EAGAIN);
	CHECK(kernel.posts > 1 && kernel.posts < 100);
	kernel.room = 1;
	for (i = 0; i < 1000; i++)
		CHECK(fi_cq_read(cq, &entry, 1) == -FI_EAGAIN);
	check_order(1, 1);
	close_all();
}

/* An operation that is refused after its call has returned fails by an entry. */
static void test_gather_refused(void)
{
	struct fi_cq_err_entry err = { 0 };
	struct fi_cq_tagged_entry entry;
	struct fid *fids[1];

	open_all(FI_CQ_FORMAT_TAGGED, 0);
	kernel.refuse = 2;
	kernel.refuse_err = -FI_EMSGSIZE;
	CHECK(!send_more(1, FI_MORE) && !send_more(2, FI_MORE) && !send_more(3, FI_MORE));
	CHECK(!send_more(4, 0));
	CHECK(kernel.nr_posted == 3 && kernel.posted[1].context == 3 && kernel.signals == 1);
	fids[0] = &cq->fid;
	CHECK(fi_trywait(fabric, fids, 1) == -FI_EAGAIN);
	CHECK(fi_cq_read(cq, &entry, 1) == -FI_EAVAIL);
	CHECK(fi_cq_readerr(cq, &err, 0) == 1);
	CHECK((uintptr_t)err.op_context == 2 && err.err == FI_EMSGSIZE &&
	      err.flags == (FI_MSG | FI_SEND));
	/* The signal was for the error, and is taken back. */
	CHECK(!kernel.signalled);
	CHECK(fi_cq_read(cq, &entry, 1) == -FI_EAGAIN);
	CHECK(!fi_trywait(fabric, fids, 1));

	/* The last operation of a series, and one that was not gathered, fail at once. */
	CHECK(!send_more(1, FI_MORE) && send_more(2, 0) == -FI_EMSGSIZE);
	CHECK(send_more(2, 0) == -FI_EMSGSIZE);
	CHECK(fi_cq_read(cq, &entry, 1) == -FI_EAGAIN);
	close_all();
}

/* A sleeper returns for a signal of the program, and not for an old signal of the library. */
static void test_signals(void)
{
	struct fi_cq_err_entry err = { 0 };
	struct kfi_user_cqe cqe = make(7);
	struct fi_cq_tagged_entry entry;

	open_all(FI_CQ_FORMAT_TAGGED, 0);
	CHECK(!fi_cq_signal(cq));
	CHECK(fi_cq_sread(cq, &entry, 1, NULL, 3) == -FI_EAGAIN && !kernel.waits);
	CHECK(fi_cq_sread(cq, &entry, 1, NULL, 3) == -FI_EAGAIN && kernel.waits == 3);

	/* The signal of an error that was read while the ring had an entry */
	kernel.waits = 0;
	kernel.refuse = 1;
	kernel.refuse_err = -FI_EMSGSIZE;
	CHECK(!send_more(1, FI_MORE) && !send_more(2, 0));
	complete(&cqe);
	CHECK(fi_cq_readerr(cq, &err, 0) == 1 && kernel.signalled);
	CHECK(fi_cq_read(cq, &entry, 1) == 1);
	CHECK(fi_cq_sread(cq, &entry, 1, NULL, 3) == -FI_EAGAIN && kernel.waits == 3);
	close_all();
}

/* ---- events ---- */

static struct fid_eq *eq;
static struct fid_pep *pep;

static void open_listener(void)
{
	struct fi_info *info = fi_allocinfo();
	struct fi_eq_attr attr = { .wait_obj = FI_WAIT_UNSPEC };

	open_all(FI_CQ_FORMAT_TAGGED, 0);
	CHECK(!fi_eq_open(fabric, &attr, &eq, NULL));
	CHECK(!fi_passive_ep(fabric, info, &pep, NULL));
	CHECK(!fi_pep_bind(pep, &eq->fid, 0));
	fi_freeinfo(info);
}

static void close_listener(void)
{
	CHECK(!fi_close(&eq->fid));
	close_all();
}

/*
 * An event that a call leaves in the library, and that the kernel does not have any more, still
 * wakes sleepers.
 */
static void test_left_event(void)
{
	struct fi_eq_err_entry err = { 0 };
	struct fi_eq_cm_entry entry;
	struct fid *fids[1];
	uint32_t event;

	open_listener();
	fids[0] = &eq->fid;
	CHECK(!fi_trywait(fabric, fids, 1) && !kernel.signals);
	kernel.event.event = FI_CONNECTED;
	kernel.event.cookie = kernel.pep_cookie;
	CHECK(fi_eq_readerr(eq, &err, 0) == -FI_EAGAIN);
	CHECK(kernel.signalled);
	CHECK(fi_eq_sread(eq, &event, &entry, 1, -1, 0) == -FI_ETOOSMALL && kernel.signalled);
	CHECK(fi_eq_sread(eq, &event, &entry, sizeof(entry), -1, 0) == sizeof(entry));
	CHECK(event == FI_CONNECTED && entry.fid == &pep->fid);
	/* The signal is taken back, for the descriptor and for the next sleeper. */
	CHECK(!fi_trywait(fabric, fids, 1) && !kernel.signalled);
	CHECK(fi_eq_sread(eq, &event, &entry, sizeof(entry), 3, 0) == -FI_EAGAIN);
	CHECK(kernel.waits == 3);
	CHECK(!fi_close(&pep->fid));
	close_listener();
}

/* The handle of a request outlives its passive endpoint, and then denotes no request. */
static void test_orphan(void)
{
	struct fi_eq_cm_entry entry;
	struct fid_ep *late;
	uint32_t event;

	open_listener();
	kernel.event.event = FI_CONNREQ;
	kernel.event.cookie = kernel.pep_cookie;
	kernel.event.connreq = REQUEST;
	CHECK(fi_eq_read(eq, &event, &entry, sizeof(entry), 0) == sizeof(entry));
	CHECK(event == FI_CONNREQ && entry.info && entry.info->handle);
	CHECK(!fi_close(&pep->fid) && kernel.closed == 1);
	CHECK(fi_endpoint(domain, entry.info, &late, NULL) == -FI_ECONNABORTED);
	fi_freeinfo(entry.info);
	close_listener();
}

/* Flags that the library does not know, such as FI_RESCAN, are ignored. */
static void test_getinfo_flags(void)
{
	struct fi_info *info;

	memset(&kernel, 0, sizeof(kernel));
	CHECK(kfi_getinfo(FI_VERSION(1, 17), "lo", "1", FI_SOURCE | 1ULL << 40, NULL, &info) ==
	      -FI_ENODATA);
	CHECK(kernel.getinfo_flags == FI_SOURCE);
	kernel.getinfo_flags = 0;
	CHECK(kfi_getinfo(FI_VERSION(1, 17), "lo", "1", FI_SOURCE | 1ULL << 59, NULL, &info) ==
	      -FI_ENODATA);
	CHECK(!kernel.getinfo_flags);
}

/* What the kernel is asked: as given if it knows that, otherwise numbers of the first known kind */
static const struct {
	const char *node, *service;
	uint64_t flags;
	uint32_t addr_format;
	bool resolved;
	const char *asked_node, *asked_service;
	unsigned int questions;			/* 0: any number */
} names[] = {
	{ "10.0.0.2", "7000", 0, 0, true, "10.0.0.2", "7000", 1 },
	{ "10.0.0.2", "http", 0, 0, true, "10.0.0.2", "80", 2 },
	{ "localhost", "7000", 0, 0, true, "127.0.0.1", "7000", 0 },
	{ "localhost", "http", FI_SOURCE, FI_SOCKADDR_IN, true, "127.0.0.1", "80", 2 },
	{ "localhost", NULL, 0, 0, true, "127.0.0.1", "-", 0 },
	{ "lo", "7000", FI_SOURCE, 0, true, "lo", "7000", 1 },
	{ NULL, "7000", FI_SOURCE, 0, true, "-", "7000", 1 },
	{ NULL, "http", FI_SOURCE, 0, true, "-", "80", 2 },
	{ "localhost", "7000", FI_NUMERICHOST, 0, false, "", "", 1 },
	{ "localhost", "7000", 0, FI_ADDR_STR, false, "", "", 1 },
	{ "10.0.0.2", "no such service", 0, 0, false, "", "", 1 },
};

/* Names of hosts and services are resolved for fi_getinfo() and fi_av_insertsvc(). */
static void test_resolved_names(void)
{
	struct kfi_fabric device = {};
	struct kfi_domain dom = { .fabric = &device };
	struct fi_info *hints = fi_allocinfo(), *info;
	struct fid_av *av;
	fi_addr_t addr;
	bool services = getservbyname("http", "tcp");
	unsigned int i;
	int ret;

	if (!services)
		printf("test_queue: /etc/services is missing, no service name is resolved\n");
	CHECK(!kfi_av_open(&dom.fid, &(struct fi_av_attr){ .type = FI_AV_TABLE }, &av, NULL));
	for (i = 0; i < 2 * sizeof(names) / sizeof(*names); i++) {
		unsigned int n = i / 2;

		if (i % 2 && names[n].flags)
			continue;
		if (!services && names[n].service && !strcmp(names[n].service, "http"))
			continue;
		memset(&kernel, 0, sizeof(kernel));
		kernel.known = true;
		if (i % 2) {
			dom.info.addr_format = names[n].addr_format;
			ret = fi_av_insertsvc(av, names[n].node, names[n].service, &addr, 0, NULL);
			CHECK(ret == (names[n].resolved ? 1 : -FI_EINVAL));
		} else {
			hints->addr_format = names[n].addr_format;
			ret = kfi_getinfo(FI_VERSION(1, 17), names[n].node, names[n].service,
					  names[n].flags, hints, &info);
			CHECK(ret == (names[n].resolved ? 0 : -FI_ENODATA));
			if (!ret)
				fi_freeinfo(info);
		}
		CHECK(!strcmp(kernel.node, names[n].asked_node));
		CHECK(!strcmp(kernel.service, names[n].asked_service));
		CHECK(!names[n].questions || kernel.questions == names[n].questions);
	}
	fi_freeinfo(hints);
	CHECK(!fi_close(&av->fid));
}

/* Completions are requested by the binding, the flags of a call, and the defaults */
static void test_selective(void)
{
	uint64_t flags = FI_TRANSMIT | FI_COMPLETION | FI_DELIVERY_COMPLETE;

	open_all(FI_CQ_FORMAT_TAGGED, FI_SELECTIVE_COMPLETION);
	CHECK(!send_more(1, 0) && !send_more(2, FI_COMPLETION));
	CHECK(!fi_send(ep, NULL, 0, NULL, 0, NULL));
	CHECK(!fi_control(&ep->fid, FI_SETOPSFLAG, &flags));
	CHECK(!fi_send(ep, NULL, 0, NULL, 0, NULL));
	CHECK(!fi_read(ep, NULL, 0, NULL, 0, 0, 0, NULL));
	CHECK(!fi_inject(ep, NULL, 0, 0));
	CHECK(kernel.posted[0].flags == 0 && kernel.posted[1].flags == FI_COMPLETION);
	CHECK(kernel.posted[2].flags == 0);
	CHECK(kernel.posted[3].flags == (FI_COMPLETION | FI_DELIVERY_COMPLETE));
	CHECK(kernel.posted[4].flags == FI_COMPLETION);
	CHECK(kernel.posted[5].flags == FI_INJECT);
	close_all();
	open_all(FI_CQ_FORMAT_TAGGED, 0);
	CHECK(!send_more(1, 0) && kernel.posted[0].flags == FI_COMPLETION);
	CHECK(!fi_recv(ep, NULL, 0, NULL, 5, NULL));
	CHECK(kernel.posted[1].flags == FI_COMPLETION && kernel.posted[1].addr == FI_ADDR_UNSPEC);
	CHECK(!fi_inject(ep, NULL, 0, 0) && kernel.posted[2].flags == FI_INJECT);
	close_all();
}

int main(void)
{
	test_formats();
	test_errors();
	test_overflow();
	test_sread();
	test_gather();
	test_gather_full();
	test_gather_refused();
	test_selective();
	test_signals();
	test_left_event();
	test_orphan();
	test_getinfo_flags();
	test_resolved_names();
	printf("test_queue: %s\n", failures ? "failed" : "passed");
	return failures != 0;
}
