// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/eventfd.h>

#include "world.h"

static const char *path_of(char *path, const char *dir, const char *name)
{
	if (!dir)
		return NULL;
	snprintf(path, PATH_MAX, "%s/%s", dir, name);
	return path;
}

static int init_link(struct world *world, unsigned int n, const struct world_options *options)
{
	char path[PATH_MAX], name[16];
	int rc = 0;

	link_init(&world->link[n], options->delay_ms, world->wake);
	for (unsigned int side = 0; side < 2 && !rc; side++) {
		snprintf(name, sizeof(name), "ntb%u.%c", n, 'a' + side);
		world->host[side].ntb[n] = &world->ntb[n][side];
		world->host[side].ntbs = n + 1;
		rc = ntb_init(&world->ntb[n][side], &world->link[n], side, n, options->window,
			      path_of(path, options->dir, name));
	}
	return rc;
}

int world_init(struct world *world, const struct world_options *options)
{
	char path[PATH_MAX], name[] = "dma.a";
	int rc = 0;

	world->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (world->wake < 0)
		return -errno;
	for (unsigned int side = 0; side < 2 && !rc; side++) {
		name[4] = 'a' + side;
		rc = ioat_init(&world->host[side].ioat, &world->host[side], 'a' + side,
			       path_of(path, options->dir, name));
	}
	for (world->links = 0; world->links < options->links && !rc; world->links++)
		rc = init_link(world, world->links, options);
	return rc;
}

struct device *world_device(struct world *world, unsigned int n)
{
	if (n < 2)
		return &world->host[n].ioat.dev;
	n -= 2;
	return n < 2 * world->links ? &world->ntb[n / 2][n % 2].dev : NULL;
}

int world_start(struct world *world)
{
	struct device *dev;
	int rc = 0;

	for (unsigned int n = 0; !rc && (dev = world_device(world, n)); n++)
		rc = device_start(dev);
	return rc;
}

/* ----  ---- */

static_assert((int)HOST_READ_ERROR == (int)WINDOW_READ_ERROR &&
		      (int)HOST_READ_ERROR == (int)MEMORY_NO_SOURCE &&
		      (int)HOST_WRITE_ERROR == (int)WINDOW_WRITE_ERROR &&
		      (int)HOST_WRITE_ERROR == (int)MEMORY_NO_TARGET,
	      "one set of numbers");

static int register_write(struct host *host, struct ntb *ntb, uint64_t offset,
			  struct memory *memory, uint64_t source, size_t len)
{
	uint64_t value;

	if (len > sizeof(value))
		return HOST_WRITE_ERROR;
	if (memory_read(memory, source, &value, len))
		return HOST_READ_ERROR;
	count(&host->ioat.dev.counters, COUNT_register_writes);
	return ntb_write_register(ntb, offset, &value, len) ? 0 : HOST_WRITE_ERROR;
}

static bool claims(struct ntb *ntb, unsigned int bar, uint64_t address, size_t len)
{
	return pci_claims(&ntb->dev.pci, bar, address, len);
}

/* Try registers first, because they take the lock themselves. */
static bool try_registers(struct host *host, struct ntb *ntb, struct memory *memory,
			  uint64_t target, uint64_t source, size_t len, int *rc)
{
	bool mine;

	pthread_rwlock_rdlock(&ntb->link->lock);
	mine = claims(ntb, 0, target, len);
	pthread_rwlock_unlock(&ntb->link->lock);
	if (!mine)
		return false;
	pthread_rwlock_wrlock(&ntb->link->lock);
	mine = claims(ntb, 0, target, len);
	if (mine)
		*rc = register_write(host, ntb, target - pci_base(&ntb->dev.pci, 0), memory, source,
				     len);
	pthread_rwlock_unlock(&ntb->link->lock);
	return mine;
}

static bool try_windows(struct ntb *ntb, struct memory *memory, uint64_t target,
			struct memory *from, uint64_t source, size_t len, int *rc)
{
	bool mine = false;

	pthread_rwlock_rdlock(&ntb->link->lock);
	for (unsigned int bar = 2; bar <= 4 && !mine; bar += 2) {
		mine = true;
		if (claims(ntb, bar, target, len))
			*rc = window_dma_write(ntb, bar, target - pci_base(&ntb->dev.pci, bar),
					       from, source, len);
		else if (from == memory && claims(ntb, bar, source, len))
			*rc = window_dma_read(ntb, bar, source - pci_base(&ntb->dev.pci, bar),
					      memory, target, len);
		else
			mine = false;
	}
	pthread_rwlock_unlock(&ntb->link->lock);
	return mine;
}

bool host_knows(struct host *host, struct memory *memory, uint64_t address)
{
	bool known;
	uint8_t byte;

	known = !memory_read(memory, address, &byte, sizeof(byte));
	for (unsigned int i = 0; i < host->ntbs && !known; i++) {
		pthread_rwlock_rdlock(&host->ntb[i]->link->lock);
		for (unsigned int bar = 0; bar <= 4; bar += 2)
			known |= claims(host->ntb[i], bar, address, sizeof(byte));
		pthread_rwlock_unlock(&host->ntb[i]->link->lock);
	}
	return known;
}

int host_copy(struct host *host, struct memory *memory, uint64_t target, struct memory *from,
	      uint64_t source, size_t len)
{
	int rc = 0;

	for (unsigned int i = 0; i < host->ntbs; i++) {
		if (try_windows(host->ntb[i], memory, target, from, source, len, &rc) ||
		    try_registers(host, host->ntb[i], from, target, source, len, &rc))
			return rc;
	}
	return memory_copy(memory, target, from, source, len);
}
