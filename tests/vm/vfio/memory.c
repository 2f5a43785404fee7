// SPDX-License-Identifier: GPL-2.0
/* The memory of a guest: ranges of files that the client maps for a device, and copies in them. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "device.h"

void memory_init(struct memory *mem)
{
	memset(mem, 0, sizeof(*mem));
	pthread_rwlock_init(&mem->lock, NULL);
}

static void forget(struct memory *mem, unsigned int at)
{
	munmap(mem->range[at].host, mem->range[at].size);
	mem->ranges--;
	memmove(&mem->range[at], &mem->range[at + 1], (mem->ranges - at) * sizeof(mem->range[0]));
}

void memory_clear(struct memory *mem)
{
	pthread_rwlock_wrlock(&mem->lock);
	while (mem->ranges)
		forget(mem, mem->ranges - 1);
	pthread_rwlock_unlock(&mem->lock);
}

/* Index of the first range that ends behind @address */
static unsigned int place_of(const struct memory *mem, uint64_t address)
{
	unsigned int low = 0, high = mem->ranges;

	while (low < high) {
		unsigned int mid = (low + high) / 2;

		if (mem->range[mid].address + mem->range[mid].size > address)
			high = mid;
		else
			low = mid + 1;
	}
	return low;
}

/* An access to a page behind the end of a file is a fatal signal, so such pages are not mapped. */
static bool file_has(int fd, uint64_t offset, uint64_t size)
{
	struct stat st;
	uint64_t end;

	return !fstat(fd, &st) && S_ISREG(st.st_mode) &&
	       !__builtin_add_overflow(offset, size, &end) && end <= (uint64_t)st.st_size;
}

static int insert(struct memory *mem, const struct memory_range *new)
{
	unsigned int at = place_of(mem, new->address);

	if (mem->ranges == MEMORY_RANGES)
		return -ENOSPC;
	if (at < mem->ranges && mem->range[at].address < new->address + new->size)
		return -EEXIST;
	memmove(&mem->range[at + 1], &mem->range[at], (mem->ranges - at) * sizeof(*new));
	mem->range[at] = *new;
	mem->ranges++;
	return 0;
}

int memory_map(struct memory *mem, uint64_t address, uint64_t size, int fd, uint64_t offset,
	       bool writable)
{
	struct memory_range new = { .address = address, .size = size, .writable = writable };
	uint64_t end;
	int rc;

	if (!size || __builtin_add_overflow(address, size, &end) || !file_has(fd, offset, size))
		return -EINVAL;
	new.host = mmap(NULL, size, PROT_READ | (writable ? PROT_WRITE : 0), MAP_SHARED, fd,
			(off_t)offset);
	if (new.host == MAP_FAILED)
		return -errno;
	pthread_rwlock_wrlock(&mem->lock);
	rc = insert(mem, &new);
	pthread_rwlock_unlock(&mem->lock);
	if (rc)
		munmap(new.host, size);
	return rc;
}

int memory_unmap(struct memory *mem, uint64_t address, uint64_t size)
{
	uint64_t end;
	unsigned int at;

	if (__builtin_add_overflow(address, size, &end))
		return -EINVAL;
	pthread_rwlock_wrlock(&mem->lock);
	at = place_of(mem, address);
	while (at < mem->ranges && mem->range[at].address >= address &&
	       mem->range[at].address + mem->range[at].size <= end)
		forget(mem, at);
	pthread_rwlock_unlock(&mem->lock);
	return 0;
}

/* Translate @address; *@len is limited to contiguous bytes. Under the lock. */
static uint8_t *piece(const struct memory *mem, uint64_t address, size_t *len, bool write)
{
	unsigned int at = place_of(mem, address);
	const struct memory_range *range = &mem->range[at];
	uint64_t room;

	if (at == mem->ranges || range->address > address || (write && !range->writable))
		return NULL;
	room = range->address + range->size - address;
	if (*len > room)
		*len = room;
	return range->host + (address - range->address);
}

static bool all_there(const struct memory *mem, uint64_t address, size_t len, bool write)
{
	size_t some;

	for (; len; len -= some, address += some) {
		some = len;
		if (!piece(mem, address, &some, write))
			return false;
	}
	return true;
}

#define MOVE_ONE(type) \
	__atomic_store_n((type *)(void *)to, __atomic_load_n((const type *)(const void *)from, __ATOMIC_RELAXED), \
			 __ATOMIC_RELEASE)

/* Guests read these bytes while they are copied: they must not see half of an index. */
static void move(uint8_t *to, const uint8_t *from, size_t len)
{
	bool aligned = !(((uintptr_t)to | (uintptr_t)from) & (len - 1));

	if (len == 8 && aligned)
		MOVE_ONE(uint64_t);
	else if (len == 4 && aligned)
		MOVE_ONE(uint32_t);
	else if (len == 2 && aligned)
		MOVE_ONE(uint16_t);
	else
		memmove(to, from, len);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

int memory_read(struct memory *mem, uint64_t address, void *data, size_t len)
{
	uint8_t *to = data, *in;
	size_t some;
	int rc = -EFAULT;

	pthread_rwlock_rdlock(&mem->lock);
	if (all_there(mem, address, len, false)) {
		for (; len; len -= some, address += some, to += some) {
			some = len;
			in = piece(mem, address, &some, false);
			move(to, in, some);
		}
		rc = 0;
	}
	pthread_rwlock_unlock(&mem->lock);
	return rc;
}

int memory_write(struct memory *mem, uint64_t address, const void *data, size_t len)
{
	const uint8_t *from = data;
	uint8_t *out;
	size_t some;
	int rc = -EFAULT;

	pthread_rwlock_rdlock(&mem->lock);
	if (all_there(mem, address, len, true)) {
		for (; len; len -= some, address += some, from += some) {
			some = len;
			out = piece(mem, address, &some, true);
			move(out, from, some);
		}
		rc = 0;
	}
	pthread_rwlock_unlock(&mem->lock);
	return rc;
}

static void copy_pieces(struct memory *to, uint64_t target, struct memory *from, uint64_t source,
			size_t len)
{
	uint8_t *out, *in;
	size_t some;

	for (; len; len -= some, target += some, source += some) {
		some = len;
		in = piece(from, source, &some, false);
		out = piece(to, target, &some, true);
		move(out, in, some);
	}
}

int memory_copy(struct memory *to, uint64_t target, struct memory *from, uint64_t source,
		size_t len)
{
	int rc = 0;

	/* Two locks for reading. A writer holds no other lock, so they have no order. */
	pthread_rwlock_rdlock(&from->lock);
	pthread_rwlock_rdlock(&to->lock);
	if (!all_there(from, source, len, false))
		rc = MEMORY_NO_SOURCE;
	else if (!all_there(to, target, len, true))
		rc = MEMORY_NO_TARGET;
	else
		copy_pieces(to, target, from, source, len);
	pthread_rwlock_unlock(&to->lock);
	pthread_rwlock_unlock(&from->lock);
	return rc;
}
