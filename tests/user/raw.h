/* SPDX-License-Identifier: GPL-2.0 */
/*
 * raw.h - calls of /dev/kfi without a library, for tests of the kernel. Errors are negative
 * numbers.
 */
#ifndef KFI_TESTS_USER_RAW_H
#define KFI_TESTS_USER_RAW_H

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <rdma/fi_atomic.h>

#include <linux/kfi_user.h>

static inline int raw_ioctl(int fd, unsigned long request, void *arg)
{
	return ioctl(fd, request, arg) < 0 ? -errno : 0;
}

static inline int raw_open(void)
{
	int fd = open(KFI_USER_DEVICE, O_RDWR | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* Become user nobody, whose group may open the device in the guest, and limit locked memory. */
static inline void raw_unprivileged(rlim_t limit)
{
	struct rlimit memlock = { limit, limit };

	if (setrlimit(RLIMIT_MEMLOCK, &memlock) || setgroups(0, NULL) || setgid(65534) ||
	    setuid(65534)) {
		perror("cannot become nobody");
		exit(1);
	}
}

/* xorshift64*: the numbers of a run follow from its seed. */
struct raw_random {
	uint64_t s;
};

static inline uint64_t raw_next(struct raw_random *r)
{
	r->s ^= r->s >> 12;
	r->s ^= r->s << 25;
	r->s ^= r->s >> 27;
	return r->s * 0x2545f4914f6cdd1dULL;
}

static inline uint64_t raw_below(struct raw_random *r, uint64_t n)
{
	return (raw_next(r) >> 16) % n;
}

static inline void raw_seed(struct raw_random *r, uint64_t seed, uint64_t stream)
{
	r->s = (seed + 1) * 0x9e3779b97f4a7c15ULL ^ (stream + 1) * 0xbf58476d1ce4e5b9ULL;
	if (!r->s)
		r->s = 1;
	raw_next(r);
}

static inline uint64_t raw_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000ULL + ts.tv_nsec / 1000000;
}

/*
 * Return the first info of a provider for endpoints of a type whose local address has the service.
 */
static inline int raw_getinfo(int fd, const char *provider, enum fi_ep_type type, const char *node,
			      const char *service, struct kfi_user_info *info)
{
	struct kfi_user_info hints = {
		.ep.type = type,
		.mode = FI_CONTEXT,
		.domain.mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY |
				  FI_MR_ENDPOINT,
	};
	struct kfi_user_getinfo get = {
		.version = FI_VERSION(2, 1),
		.count = 1,
		.hints = (uintptr_t)&hints,
		.infos = (uintptr_t)info,
		.info_size = sizeof(*info),
		.node = (uintptr_t)node,
		.service = (uintptr_t)service,
		.flags = node || service ? FI_SOURCE : 0,
	};
	int ret;

	snprintf(hints.fabric.prov_name, sizeof(hints.fabric.prov_name), "%s", provider);
	ret = raw_ioctl(fd, KFI_IOC_GETINFO, &get);
	return ret ? ret : get.count ? 0 : -ENODATA;
}

static inline int raw_fabric(int fd, const struct kfi_user_info *info)
{
	struct kfi_user_fabric fabric = { .api_version = FI_VERSION(2, 1) };
	int ret;

	memcpy(fabric.prov_name, info->fabric.prov_name, sizeof(fabric.prov_name));
	memcpy(fabric.name, info->fabric.name, sizeof(fabric.name));
	ret = raw_ioctl(fd, KFI_IOC_FABRIC, &fabric);
	return ret ? ret : (int)fabric.handle;
}

static inline int raw_object(int fd, unsigned long request, int parent,
			     const struct kfi_user_info *info, uint32_t connreq)
{
	struct kfi_user_open open = {
		.parent = parent,
		.info = (uintptr_t)info,
		.info_size = sizeof(*info),
		.connreq = connreq,
	};
	int ret = raw_ioctl(fd, request, &open);

	return ret ? ret : (int)open.handle;
}

static inline int raw_cq(int fd, int domain, uint64_t size, struct kfi_user_cq *cq)
{
	*cq = (struct kfi_user_cq){ .domain = domain, .size = size };
	return raw_ioctl(fd, KFI_IOC_CQ, cq);
}

static inline void *raw_map(int fd, uint32_t handle, size_t bytes)
{
	void *ring = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			  (off_t)handle * sysconf(_SC_PAGESIZE));

	return ring == MAP_FAILED ? NULL : ring;
}

static inline int raw_eq(int fd, int fabric)
{
	struct kfi_user_eq eq = { .fabric = fabric, .size = 64, .flags = FI_WRITE };
	int ret = raw_ioctl(fd, KFI_IOC_EQ, &eq);

	return ret ? ret : (int)eq.handle;
}

static inline int raw_av(int fd, int domain)
{
	struct kfi_user_av av = { .domain = domain, .count = 16 };
	int ret = raw_ioctl(fd, KFI_IOC_AV, &av);

	return ret ? ret : (int)av.handle;
}

static inline int raw_mr(int fd, int domain, void *buf, size_t len, uint64_t *key)
{
	struct kfi_user_iovec iov = { .base = (uintptr_t)buf, .len = len };
	struct kfi_user_mr mr = {
		.domain = domain,
		.iov = (uintptr_t)&iov,
		.iov_count = 1,
		.requested_key = FI_KEY_NOTAVAIL,
		.access = FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE,
		.offset = (uintptr_t)buf,
	};
	int ret = raw_ioctl(fd, KFI_IOC_MR, &mr);

	if (ret)
		return ret;
	if (key)
		*key = mr.key;
	return mr.handle;
}

static inline int raw_bind(int fd, int handle, int target, uint64_t flags)
{
	struct kfi_user_bind bind = { .handle = handle, .target = target, .flags = flags };

	return raw_ioctl(fd, KFI_IOC_BIND, &bind);
}

static inline int raw_handle(int fd, unsigned long request, uint32_t handle)
{
	struct kfi_user_handle h = { .handle = handle };

	return raw_ioctl(fd, request, &h);
}

static inline int raw_post(int fd, struct kfi_user_desc *descs, uint32_t count)
{
	struct kfi_user_post post = { .descs = (uintptr_t)descs, .count = count };
	int ret = raw_ioctl(fd, KFI_IOC_POST, &post);

	return ret ? ret : post.err && !post.posted ? post.err : (int)post.posted;
}

/* A count of /proc/vmstat */
static inline unsigned long long raw_vmstat(const char *name)
{
	char line[128], word[64];
	unsigned long long value = 0, found;
	FILE *file = fopen("/proc/vmstat", "r");

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "%63s %llu", word, &found) == 2 && !strcmp(word, name))
			value = found;
	if (file)
		fclose(file);
	return value;
}

static inline long long raw_pinned_now(void)
{
	return raw_vmstat("nr_foll_pin_acquired") - raw_vmstat("nr_foll_pin_released");
}

/* Return the pinned pages as soon as there are none, or after ten seconds. */
static inline long long raw_pinned(void)
{
	uint64_t end = raw_ms() + 10000;
	long long pinned;

	do {
		pinned = raw_pinned_now();
		if (pinned)
			usleep(50000);
	} while (pinned && raw_ms() < end);
	return pinned;
}

/* Set a limit of kfi_user.ko. Parameters get their former values when the case has ended. */
static inline void raw_limit(const char *name, unsigned int value)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "/sys/module/kfi/parameters/%s", name);
	file = fopen(path, "w");
	if (!file || fprintf(file, "%u\n", value) < 0 || fclose(file)) {
		perror(path);
		exit(1);
	}
}

static inline bool raw_all_bytes(const char *buf, size_t len, char byte)
{
	return buf[0] == byte && !memcmp(buf, buf + 1, len - 1);
}

/* The defaults of the parameters that cases change */
static inline void raw_default_limits(void)
{
	raw_limit("max_contexts", 256);
	raw_limit("max_endpoints", 1024);
	raw_limit("max_regions", 65536);
	raw_limit("max_objects", 65536);
	raw_limit("max_queue_mb", 1024);
}

#endif /* KFI_TESTS_USER_RAW_H */
