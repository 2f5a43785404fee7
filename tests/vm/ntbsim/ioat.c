// SPDX-License-Identifier: GPL-2.0
/* The registers of the DMA engine. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "world.h"

/*
 * A channel sends one interrupt and no other until the driver has handled it and sets INT_REARM,
 * which is part of IOAT_CHANCTRL_RUN at the end of ioat_cleanup_event(). An interrupt in between is
 * sent then.
 */
void ioat_interrupt(struct ioat *ioat, unsigned int number)
{
	struct ioat_channel *ch = &ioat->channel[number];

	ch->waiting = !ch->armed || !(ioat->interrupts & IOAT_INTRCTRL_MASTER);
	if (ch->waiting)
		return;
	/* without the interrupt the driver won't rearm: only this one is to get lost */
	ch->armed = !device_interrupt(&ioat->dev, number);
}

static void control_written(struct ioat *ioat, unsigned int number, uint16_t value)
{
	struct ioat_channel *ch = &ioat->channel[number];

	ch->control = value & ~IOAT_CTRL_REARM;
	if (!(value & IOAT_CTRL_REARM))
		return;
	ch->armed = true;
	if (ch->waiting)
		ioat_interrupt(ioat, number);
}

/*
 * A reset clears all but CHANCTRL: ioat_restart_channel() sets "the completion address register
 * again", but nothing restores the control bits after ioat_reboot_chan().
 */
static void reset_channel(struct ioat_channel *ch)
{
	*ch = (struct ioat_channel) {
		.state = IOAT_HALTED, .control = ch->control, .armed = true,
		.restarts = ch->restarts + 1,
	};
}

/*
 * ioat_reset_sync() and ioat_quiesce() wait until the channel reports that it is idle. Here it is
 * at once.
 */
static void command_written(struct ioat_channel *ch, uint8_t value)
{
	if (value & IOAT_CMD_RESET) {
		reset_channel(ch);
	} else if ((value & IOAT_CMD_SUSPEND) && ch->state != IOAT_HALTED) {
		ch->state = IOAT_SUSPENDED;
		ch->restarts++;
	}
}

/*
 * A new chain: __ioat_restart_chan() begins to count from 0 again, and "the completion address and
 * the channel status will be 0 due to starting a new chain" (__ioat_cleanup).
 */
static void chain_written(struct ioat_channel *ch)
{
	ch->restarts++;
	ch->next = ch->chain;
	ch->last = 0;
	ch->count = 0;
	ch->done = 0;
}

/*
 * A halted channel stays halted until its errors are cleared, which ioat_eh() does before it
 * restarts.
 */
static void count_written(struct ioat_channel *ch, uint16_t value)
{
	ch->count = value;
	if (!ch->error && ch->count != ch->done)
		ch->state = IOAT_ACTIVE;
}

static void put(void *image, unsigned int offset, uint64_t value, size_t len)
{
	memcpy((uint8_t *)image + offset, &value, len);
}

/* All registers of a channel */
static void channel_image(const struct ioat_channel *ch, uint8_t image[IOAT_HEADER])
{
	memset(image, 0, IOAT_HEADER);
	put(image, IOAT_CHANCTRL, ch->control | !ch->armed, 2);
	put(image, IOAT_DMACOUNT, ch->count, 2);
	put(image, IOAT_CHANSTS, ch->last | ch->state, 8);
	put(image, IOAT_CHAINADDR, ch->chain, 8);
	put(image, IOAT_CHANCMP, ch->completion, 8);
	put(image, IOAT_CHANERR, ch->error, 4);
	put(image, IOAT_CHANERR_MASK, ch->error_mask, 4);
}

static void header_image(const struct ioat *ioat, uint8_t image[IOAT_HEADER])
{
	memset(image, 0, IOAT_HEADER);
	image[IOAT_CHANCNT] = IOAT_CHANNELS;
	image[IOAT_XFERCAP] = IOAT_XFERCAP_LOG;
	image[IOAT_INTRCTRL] = ioat->interrupts;
	image[IOAT_VER] = IOAT_VER_3_4;
	/* the capabilities at 0x10 are 0: it only copies */
}

static void cpu_read(struct device *dev, unsigned int bar, uint64_t offset, void *data, size_t len)
{
	struct ioat *ioat = (struct ioat *)dev;
	uint8_t image[IOAT_HEADER];
	uint64_t block = offset / IOAT_HEADER;

	count(&dev->counters, COUNT_mmio_reads);
	memset(data, 0, len);
	offset %= IOAT_HEADER;
	if (block > IOAT_CHANNELS || len > IOAT_HEADER - offset) {
		count(&dev->counters, COUNT_mmio_refused);
		return;
	}
	if (block)
		channel_image(&ioat->channel[block - 1], image);
	else
		header_image(ioat, image);
	memcpy(data, image + offset, len);
}

/* Each half of an address may be written alone: ioat_set_chainaddr(). */
static bool put_half(uint64_t *address, unsigned int at, uint64_t offset, const void *data,
		     size_t len)
{
	if (offset < at || offset + len > at + 8 || len < 4)
		return false;
	memcpy((uint8_t *)address + (offset - at), data, len);
	return true;
}

static bool channel_write(struct ioat *ioat, unsigned int number, uint64_t offset, const void *data,
			  size_t len)
{
	struct ioat_channel *ch = &ioat->channel[number];
	uint64_t value = 0;

	memcpy(&value, data, len < 8 ? len : 8);
	if (offset == IOAT_CHANCTRL && len == 2)
		control_written(ioat, number, value);
	else if (offset == IOAT_CHANCMD && len == 1)
		command_written(ch, value);
	else if (offset == IOAT_DMACOUNT && len == 2)
		count_written(ch, value);
	else if (put_half(&ch->chain, IOAT_CHAINADDR, offset, data, len))
		chain_written(ch);
	else if (put_half(&ch->completion, IOAT_CHANCMP, offset, data, len))
		return true;
	else if (offset == IOAT_CHANERR && len == 4)
		ch->error &= ~value;
	else if (offset == IOAT_CHANERR_MASK && len == 4)
		ch->error_mask = value;
	else	/* written by ioat3_dma_probe() to configure other engines */
		return offset == IOAT_DCACTRL && len == 4;
	return true;
}

static void cpu_write(struct device *dev, unsigned int bar, uint64_t offset, const void *data,
		      size_t len)
{
	struct ioat *ioat = (struct ioat *)dev;
	uint64_t block = offset / IOAT_HEADER;
	bool known = false;

	count(&dev->counters, COUNT_mmio_writes);
	pthread_rwlock_wrlock(dev->lock);
	if (!block && offset == IOAT_INTRCTRL && len == 1) {
		ioat->interrupts = *(const uint8_t *)data;
		known = true;
	} else if (block && block <= IOAT_CHANNELS) {
		known = channel_write(ioat, block - 1, offset % IOAT_HEADER, data, len);
	}
	pthread_rwlock_unlock(dev->lock);
	if (!known)
		count(&dev->counters, COUNT_mmio_refused);
}

static bool has_work(const struct ioat_channel *ch)
{
	return ch->state == IOAT_ACTIVE && ch->done != ch->count;
}

/* Each channel has a turn; register accesses are served between turns. */
static long work(struct device *dev)
{
	struct ioat *ioat = (struct ioat *)dev;
	long wait = DEVICE_IDLE;

	for (unsigned int i = 0; i < IOAT_CHANNELS; i++)
		if (has_work(&ioat->channel[i]) && (ioat_run(ioat, i) || has_work(&ioat->channel[i])))
			wait = 0;
	return wait;
}

static void reset(struct device *dev)
{
	struct ioat *ioat = (struct ioat *)dev;

	ioat->interrupts = 0;
	for (unsigned int i = 0; i < IOAT_CHANNELS; i++) {
		ioat->channel[i].control = 0;
		reset_channel(&ioat->channel[i]);
	}
}

static void attach(struct device *dev, bool there)
{
}

static const struct device_ops ioat_ops = {
	.reset	= reset,
	.attach	= attach,
	.read	= cpu_read,
	.write	= cpu_write,
	.work	= work,
};

/* Room for the longest copy of a descriptor */
static int make_room(struct memory *fetched)
{
	const uint64_t size = 1ull << IOAT_XFERCAP_LOG;
	int fd = memfd_create("fetched", MFD_CLOEXEC), rc;

	if (fd < 0)
		return -errno;
	memory_init(fetched);
	rc = ftruncate(fd, size) ? -errno : memory_map(fetched, 0, size, fd, 0, true);
	close(fd);
	return rc;
}

int ioat_init(struct ioat *ioat, struct host *host, char side, const char *dir)
{
	char name[sizeof(ioat->dev.name)];
	int rc;

	ioat->host = host;
	ioat->id = (struct pci_identity) {
		.vendor = VENDOR_INTEL,
		.device = IOAT_DEVICE_ID,
		.class = 0x088000,	/* system peripheral, other */
		.revision = 4,
		.vectors = IOAT_CHANNELS,
		.msix_table = IOAT_MSIX_TABLE,
		.msix_pending = IOAT_MSIX_PENDING,
		.bar = { [0] = IOAT_BAR0_SIZE },
	};
	pthread_rwlock_init(&ioat->lock, NULL);
	snprintf(name, sizeof(name), "dma.%c", side);
	rc = make_room(&ioat->fetched);
	return rc ? rc : device_init(&ioat->dev, &ioat_ops, &ioat->id, name, &ioat->lock, dir);
}

/*
 * Execution of descriptors. A descriptor is read once, then checked: the guest may change it at any
 * time.
 */

/* Limits of one turn of a channel, after which other channels and registers have a turn */
#define TURN_DESCRIPTORS	64
#define TURN_BYTES		(4u << 20)
/* What one message reads from another device */
#define FETCH_BYTES		4096

static bool write_completion(struct ioat *ioat, struct ioat_channel *ch)
{
	uint64_t record = ch->last | ch->state;

	if ((ch->completion & 7) ||
	    memory_write(&ioat->dev.memory, ch->completion, &record, sizeof(record)))
		return false;
	count(&ioat->dev.counters, COUNT_completions);
	return true;
}

/*
 * ioat_cleanup() looks for a halt in the completion record and for its cause in CHANERR; ioat_eh()
 * calls BUG() for all but read and write errors, because only a driver can cause the others.
 */
static void halt(struct ioat *ioat, unsigned int number, uint32_t error)
{
	struct ioat_channel *ch = &ioat->channel[number];

	count(&ioat->dev.counters, COUNT_dma_errors);
	ch->error |= error;
	ch->state = IOAT_HALTED;
	if (ch->control & IOAT_CTRL_ERR_COMPLETE)
		write_completion(ioat, ch);
	if (ch->control & IOAT_CTRL_ERR_INT)
		ioat_interrupt(ioat, number);
}

static uint32_t fetch(struct ioat *ioat, struct ioat_channel *ch, struct ioat_descriptor *desc)
{
	if (ch->next & (sizeof(*desc) - 1))
		return IOAT_ERR_CHAIN_ADDR;
	if (!pci_is_master(&ioat->dev.pci) ||
	    memory_read(&ioat->dev.memory, ch->next, desc, sizeof(*desc)))
		return IOAT_ERR_NEXT_ADDR;
	return 0;
}

/* Read the source from another device. The guest may write registers meanwhile. */
static uint32_t fetch_source(struct ioat *ioat, const struct ioat_descriptor *desc)
{
	uint8_t bytes[FETCH_BYTES];
	uint32_t at, len;

	for (at = 0; at < desc->size; at += len) {
		len = desc->size - at < sizeof(bytes) ? desc->size - at : sizeof(bytes);
		if (device_fetch(&ioat->dev, desc->source + at, bytes, len) ||
		    memory_write(&ioat->fetched, at, bytes, len))
			return IOAT_ERR_READ_DATA;
	}
	return 0;
}

static uint32_t copy(struct ioat *ioat, const struct ioat_channel *ch,
		     const struct ioat_descriptor *desc)
{
	struct memory *memory = &ioat->dev.memory, *from = memory;
	uint32_t error, restarts = ch->restarts;
	uint64_t source = desc->source;

	if (!desc->size || desc->size > 1u << IOAT_XFERCAP_LOG)
		return IOAT_ERR_LENGTH;
	if (!host_knows(ioat->host, memory, source)) {
		error = fetch_source(ioat, desc);
		if (error || ch->restarts != restarts)
			return error;
		from = &ioat->fetched;
		source = 0;
	}
	switch (host_copy(ioat->host, memory, desc->target, from, source, desc->size)) {
	case HOST_READ_ERROR:
		return IOAT_ERR_READ_DATA;
	case HOST_WRITE_ERROR:
		return IOAT_ERR_WRITE_DATA;
	}
	count(&ioat->dev.counters, COUNT_descriptors);
	count_add(&ioat->dev.counters, COUNT_dma_bytes, desc->size);
	if (from == &ioat->fetched)
		count_add(&ioat->dev.counters, COUNT_foreign_bytes, desc->size);
	return 0;
}

static uint32_t execute(struct ioat *ioat, const struct ioat_channel *ch,
			const struct ioat_descriptor *desc)
{
	if (desc->control >> IOAT_DESC_OP_SHIFT != IOAT_OP_COPY)
		return IOAT_ERR_CONTROL;
	if (!(desc->control & IOAT_DESC_NULL))
		return copy(ioat, ch, desc);
	count(&ioat->dev.counters, COUNT_descriptors_null);
	return 0;
}

/* The descriptor was executed: report it as it requests. */
static uint32_t complete(struct ioat *ioat, unsigned int number, const struct ioat_descriptor *desc)
{
	struct ioat_channel *ch = &ioat->channel[number];

	ch->last = ch->next;
	ch->next = desc->next;
	ch->done++;
	if (ch->done == ch->count)
		ch->state = IOAT_DONE;
	if ((desc->control & IOAT_DESC_COMPLETE) && !write_completion(ioat, ch))
		return IOAT_ERR_COMPLETION;
	if (desc->control & IOAT_DESC_INT)
		ioat_interrupt(ioat, number);
	return 0;
}

bool ioat_run(struct ioat *ioat, unsigned int number)
{
	struct ioat_channel *ch = &ioat->channel[number];
	struct ioat_descriptor desc;
	uint32_t bytes = 0, restarts, error;

	for (unsigned int i = 0; i < TURN_DESCRIPTORS && bytes < TURN_BYTES; i++) {
		if (ch->state != IOAT_ACTIVE || ch->done == ch->count)
			return false;
		restarts = ch->restarts;
		error = fetch(ioat, ch, &desc);
		if (!error)
			error = execute(ioat, ch, &desc);
		if (ch->restarts != restarts)
			return true;	/* the guest has reset the channel during the copy */
		if (!error)
			error = complete(ioat, number, &desc);
		if (error) {
			halt(ioat, number, error);
			return false;
		}
		bytes += desc.size;
	}
	return true;
}
