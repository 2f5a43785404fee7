// SPDX-License-Identifier: GPL-2.0
#include "world.h"

static int init_link(struct world *world, unsigned int n, const struct world_options *options)
{
	int rc = 0;

	link_init(&world->link[n], options->delay_ms);
	for (unsigned int side = 0; side < 2 && !rc; side++) {
		world->host[side].ntb[n] = &world->ntb[n][side];
		world->host[side].ntbs = n + 1;
		rc = ntb_init(&world->ntb[n][side], &world->link[n], side, n, options->window,
			      options->dir);
	}
	return rc;
}

int world_init(struct world *world, const struct world_options *options)
{
	int rc = 0;

	for (unsigned int side = 0; side < 2 && !rc; side++)
		rc = ioat_init(&world->host[side].ioat, &world->host[side], 'a' + side,
			       options->dir);
	for (world->links = 0; world->links < options->links && !rc; world->links++)
		rc = init_link(world, world->links, options);
	return rc;
}

struct device *world_device(void *context, unsigned int n)
{
	struct world *world = context;

	if (n < 2)
		return &world->host[n].ioat.dev;
	n -= 2;
	return n < 2 * world->links ? &world->ntb[n / 2][n % 2].dev : NULL;
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
