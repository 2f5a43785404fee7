// SPDX-License-Identifier: GPL-2.0
/*
 * stream.c - the rings: bytes on their way to an end. The end that posts is the only producer of a
 * ring, and the end that reads the only consumer; each runs under the lock of its own link.
 */
#include "loop.h"

/* Copy to the ring of @to what has room, the frames first. */
static void loop_fill(struct loop_end *to, struct kfi_unit *unit)
{
	u64 head = to->head;
	/* pairs with loop_read(): the bytes before the tail were read */
	size_t room = LOOP_RING - (head - smp_load_acquire(&to->tail)), at, n;

	while (room && (unit->done < unit->len || unit->left)) {
		at = head % LOOP_RING;
		n = min(room, LOOP_RING - at);
		if (unit->done < unit->len) {
			n = min_t(size_t, n, unit->len - unit->done);
			memcpy(to->ring + at, unit->head + unit->done, n);
			unit->done += n;
		} else {
			n = min_t(u64, n, unit->left);
			kfi_copy_from(to->ring + at, unit->payload, n);
			unit->left -= n;
		}
		head += n;
		room -= n;
	}
	smp_store_release(&to->head, head);	/* pairs with loop_read() */
}

/*
 * If the other end is closed, the bytes would never be read. There is no room for them, and the end
 * of the connection follows what this end has not read yet.
 */
int loop_post(struct kfi_link *link, struct kfi_unit *unit)
{
	struct loop_end *self = loop_own(link), *to = loop_other(link);
	int ret = 0;

	if (unlikely(READ_ONCE(to->closed)))
		return -EAGAIN;
	if (unit->nplaces)
		ret = loop_place(to, unit);
	else
		loop_fill(to, unit);
	if (unlikely(ret))	/* the places have ended with the other end, or are wrong */
		return READ_ONCE(to->closed) ? -EAGAIN : ret;
	if (unlikely(unit->done < unit->len || unit->left)) {
		WRITE_ONCE(self->full, true);
		/* Either loop_read() at the other end sees @full, or this end the new tail. */
		smp_mb();
		loop_fill(to, unit);
		if (unit->done < unit->len || unit->left)
			ret = -EAGAIN;
	}
	queue_bh_work(&to->deliver);
	return ret;
}

/*
 * Pass on what was in the ring at the beginning. The other end has queued the work item for what it
 * has added since.
 */
void loop_read(struct kfi_link *link)
{
	struct loop_end *self = loop_own(link), *from = loop_other(link);
	u64 tail = self->tail, head = smp_load_acquire(&self->head);	/* pairs with loop_fill() */
	size_t at, len, used;

	do {
		at = tail % LOOP_RING;
		len = min_t(u64, head - tail, LOOP_RING - at);
		used = kfi_link_rx_bytes(link, self->ring + at, len);
		tail += used;
		smp_store_release(&self->tail, tail);	/* pairs with loop_fill() */
	} while (used == len && tail != head);
	smp_mb();		/* pairs with loop_post() */
	if (unlikely(READ_ONCE(from->full)))
		queue_bh_work(&from->deliver);
}
