// SPDX-License-Identifier: GPL-2.0
/*
 * channel.c - the control channel: packets that services of two hosts exchange, over ring 0
 *
 * Handlers are called by the work item of the host's receiving ring 0. Both hosts have the same
 * handlers, as they are in one kernel. A packet that no handler takes is an answer, perhaps; the
 * first request that fits takes it.
 */
#include <linux/completion.h>
#include <linux/dmapool.h>
#include <linux/export.h>
#include <linux/kref.h>
#include <linux/module.h>
#include <linux/slab.h>
#include "mock.h"

#define TM_PACKETS	10		/* descriptors of either ring */
#define TM_CHECKSUM	4		/* bytes behind a packet; there is none in them */
#define TM_LENGTH_MASK	GENMASK(5, 0)	/* of tm_header.length_sn: words behind it */

/* What all packets begin with */
struct tm_header {
	u32	route_hi, route_lo, length_sn;
	uuid_t	uuid;		/* of the protocol */
	u32	type;
};

/* The protocol that hosts read properties with, which has no other handlers */
static const uuid_t tm_discovery = UUID_INIT(0xb638d70e, 0x42ff, 0x40bb, 0x97, 0xc2, 0x90, 0xe2,
					     0xc0, 0xb2, 0xff, 0x07);

struct tm_packet {
	struct ring_frame	frame;
	struct tb_ctl		*ctl;
	void			*buffer;
};

struct tb_ctl {
	struct tm_host		*host;
	struct dma_pool		*pool;
	struct tb_ring		*tx, *rx;
	struct tm_packet	*rx_packet[TM_PACKETS];
	/* protects the list, and what is copied to requests */
	struct mutex		lock;
	struct list_head	requests;
};

struct tm_request {
	struct list_head	entry;		/* empty: answered or canceled */
	const void		*request;
	void			*response;
	size_t			size;		/* of the response */
	struct completion	done;
	struct work_struct	work;
};

static LIST_HEAD(tm_handlers);			/* under tm_share_lock */

/* ---- packets ---- */

static void tm_packet_free(struct tm_packet *packet)
{
	if (!packet)
		return;
	dma_pool_free(packet->ctl->pool, packet->buffer, packet->frame.buffer_phy);
	kfree(packet);
}

static struct tm_packet *tm_packet_new(struct tb_ctl *ctl, ring_cb callback)
{
	struct tm_packet *packet = kzalloc(sizeof(*packet), GFP_KERNEL);

	if (!packet)
		return NULL;
	packet->ctl = ctl;
	packet->frame.callback = callback;
	packet->buffer = dma_pool_zalloc(ctl->pool, GFP_KERNEL, &packet->frame.buffer_phy);
	if (packet->buffer)
		return packet;
	kfree(packet);
	return NULL;
}

static void tm_sent(struct tb_ring *ring, struct ring_frame *frame, bool canceled)
{
	tm_packet_free(container_of(frame, struct tm_packet, frame));
}

static int tm_send(struct tb_ctl *ctl, const void *bytes, size_t len, enum tb_cfg_pkg_type type)
{
	struct tm_packet *packet;
	int err;

	if (WARN_ON(len % 4 || len > TB_FRAME_SIZE - TM_CHECKSUM))
		return -EINVAL;
	packet = tm_packet_new(ctl, tm_sent);
	if (!packet)
		return -ENOMEM;
	memcpy(packet->buffer, bytes, len);
	packet->frame.size = len + TM_CHECKSUM;
	packet->frame.sof = type;
	packet->frame.eof = type;
	err = tb_ring_tx(ctl->tx, &packet->frame);
	if (err)
		tm_packet_free(packet);
	return err;
}

/* ---- handlers ---- */

/*
 * The lock is not held while a handler runs, and the walk goes on from the one that was the next
 * before, as in the kernel: a driver that unregisters one at this time has to take care itself.
 */
static bool tm_call_handlers(const struct tm_header *header, size_t len)
{
	struct tb_protocol_handler *handler, *next;
	int ret = 0;

	mutex_lock(&tm_share_lock);
	list_for_each_entry_safe(handler, next, &tm_handlers, list) {
		if (!uuid_equal(&header->uuid, handler->uuid))
			continue;
		mutex_unlock(&tm_share_lock);
		ret = handler->callback(header, len, handler->data);
		mutex_lock(&tm_share_lock);
		if (ret)
			break;
	}
	mutex_unlock(&tm_share_lock);
	return ret > 0;
}

/* Return: the packet is done with */
static bool tm_handle(const struct tm_header *header, size_t len)
{
	const size_t before = offsetof(struct tm_header, uuid);
	size_t words;

	if (len < before)
		return true;
	words = header->length_sn & TM_LENGTH_MASK;
	if (words != (len - before) / 4 || words < (sizeof(*header) - before) / 4)
		return true;
	return !uuid_equal(&header->uuid, &tm_discovery) && tm_call_handlers(header, len);
}

int tb_register_protocol_handler(struct tb_protocol_handler *handler)
{
	if (!handler->uuid || !handler->callback || uuid_equal(handler->uuid, &tm_discovery))
		return -EINVAL;
	mutex_lock(&tm_share_lock);
	list_add_tail(&handler->list, &tm_handlers);
	mutex_unlock(&tm_share_lock);
	return 0;
}
EXPORT_SYMBOL_GPL(tb_register_protocol_handler);

void tb_unregister_protocol_handler(struct tb_protocol_handler *handler)
{
	mutex_lock(&tm_share_lock);
	list_del_init(&handler->list);
	mutex_unlock(&tm_share_lock);
}
EXPORT_SYMBOL_GPL(tb_unregister_protocol_handler);

/* ---- requests ---- */

/* Route and protocol decide, and nothing else. */
static bool tm_answers(const struct tm_packet *packet, const struct tm_request *rq)
{
	const struct tm_header *a = packet->buffer, *q = rq->request;

	return packet->frame.eof == TB_CFG_PKG_XDOMAIN_RESP &&
	       packet->frame.size >= rq->size / 4 &&
	       (a->route_hi & ~BIT(31)) == q->route_hi && a->route_lo == q->route_lo &&
	       uuid_equal(&a->uuid, &q->uuid);
}

static void tm_answer(struct tb_ctl *ctl, const struct tm_packet *packet)
{
	struct tm_request *rq;

	mutex_lock(&ctl->lock);
	list_for_each_entry(rq, &ctl->requests, entry) {
		if (!tm_answers(packet, rq))
			continue;
		memcpy(rq->response, packet->buffer, min_t(size_t, packet->frame.size, rq->size));
		list_del_init(&rq->entry);
		schedule_work(&rq->work);
		break;
	}
	mutex_unlock(&ctl->lock);
}

static void tm_received(struct tb_ring *ring, struct ring_frame *frame, bool canceled)
{
	struct tm_packet *packet = container_of(frame, struct tm_packet, frame);
	bool handled = false;

	if (canceled)
		return;
	if (frame->size >= TM_CHECKSUM && frame->size % 4 == 0) {
		frame->size -= TM_CHECKSUM;
		if (frame->eof == TB_CFG_PKG_XDOMAIN_REQ || frame->eof == TB_CFG_PKG_XDOMAIN_RESP)
			handled = tm_handle(packet->buffer, frame->size);
		if (!handled)
			tm_answer(packet->ctl, packet);
	}
	tb_ring_rx(ring, frame);
}

static void tm_request_work(struct work_struct *work)
{
	complete(&container_of(work, struct tm_request, work)->done);
}

/*
 * The answer comes by a work item of the kernel's common queue, for which the caller waits. So it
 * must not be a work item of a queue that is for reclaiming memory.
 */
int tb_xdomain_request(struct tb_xdomain *xd, const void *request, size_t request_size,
		       enum tb_cfg_pkg_type request_type, void *response, size_t response_size,
		       enum tb_cfg_pkg_type response_type, unsigned int timeout_msec)
{
	struct tm_request rq = { .request = request, .response = response, .size = response_size };
	struct tb_ctl *ctl = xd->tb->ctl;
	int err;

	WARN_ON(READ_ONCE(ctl->host->unbound));
	init_completion(&rq.done);
	INIT_WORK_ONSTACK(&rq.work, tm_request_work);
	mutex_lock(&ctl->lock);
	list_add_tail(&rq.entry, &ctl->requests);
	mutex_unlock(&ctl->lock);

	err = tm_send(ctl, request, request_size, request_type);
	if (!err && !wait_for_completion_timeout(&rq.done, msecs_to_jiffies(timeout_msec)))
		err = -ETIMEDOUT;

	mutex_lock(&ctl->lock);
	list_del_init(&rq.entry);
	mutex_unlock(&ctl->lock);
	flush_work(&rq.work);
	destroy_work_on_stack(&rq.work);
	return err;
}
EXPORT_SYMBOL_GPL(tb_xdomain_request);

int tb_xdomain_response(struct tb_xdomain *xd, const void *response, size_t size,
			enum tb_cfg_pkg_type type)
{
	return tm_send(xd->tb->ctl, response, size, type);
}
EXPORT_SYMBOL_GPL(tb_xdomain_response);

/* ---- the life of a channel ---- */

static void tm_channel_free(struct tb_ctl *ctl)
{
	int i;

	if (ctl->rx)
		tb_ring_free(ctl->rx);
	if (ctl->tx)
		tb_ring_free(ctl->tx);
	for (i = 0; i < TM_PACKETS; i++)
		tm_packet_free(ctl->rx_packet[i]);
	dma_pool_destroy(ctl->pool);
	kfree(ctl);
}

static int tm_channel_alloc(struct tb_ctl *ctl)
{
	struct tb_nhi *nhi = &ctl->host->nhi;
	int i;

	ctl->pool = dma_pool_create("kfi_usb4_mock", nhi->dev, TB_FRAME_SIZE, 4, 0);
	if (!ctl->pool)
		return -ENOMEM;
	ctl->tx = tb_ring_alloc_tx(nhi, 0, TM_PACKETS, RING_FLAG_NO_SUSPEND);
	ctl->rx = tb_ring_alloc_rx(nhi, 0, TM_PACKETS, RING_FLAG_NO_SUSPEND, 0, 0xffff, 0xffff,
				   NULL, NULL);
	if (!ctl->tx || !ctl->rx)
		return -ENOMEM;
	for (i = 0; i < TM_PACKETS; i++) {
		ctl->rx_packet[i] = tm_packet_new(ctl, tm_received);
		if (!ctl->rx_packet[i])
			return -ENOMEM;
	}
	return 0;
}

int tm_channel_start(struct tm_host *host)
{
	struct tb_ctl *ctl = kzalloc(sizeof(*ctl), GFP_KERNEL);
	int i, err;

	if (!ctl)
		return -ENOMEM;
	ctl->host = host;
	mutex_init(&ctl->lock);
	INIT_LIST_HEAD(&ctl->requests);
	err = tm_channel_alloc(ctl);
	if (err) {
		tm_channel_free(ctl);
		return err;
	}
	host->tb->ctl = ctl;
	tb_ring_start(ctl->tx);
	tb_ring_start(ctl->rx);
	for (i = 0; i < TM_PACKETS; i++)
		tb_ring_rx(ctl->rx, &ctl->rx_packet[i]->frame);
	return 0;
}

void tm_channel_stop(struct tm_host *host)
{
	struct tb_ctl *ctl = host->tb->ctl;

	tb_ring_stop(ctl->rx);
	tb_ring_stop(ctl->tx);
	host->tb->ctl = NULL;
	tm_channel_free(ctl);
}
