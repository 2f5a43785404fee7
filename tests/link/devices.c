// SPDX-License-Identifier: GPL-2.0
/* devices.c - devices of one side write to memory of the other one, through pages of the window. */
#include <linux/bvec.h>
#include <linux/delay.h>
#include <linux/string.h>
#include "link_test.h"
#include "../mock/command.h"

#define PAGES_LEN	5000U

/*
 * A device writes to memory of the peer; its bytes are there after the fence, also if they look
 * like a link that is down.
 */
static void device_writes(struct nt_link *link, struct nt_place *place, const u8 *mem, u8 byte)
{
	u8 bytes[64];
	struct bio_vec bv;
	unsigned int skip = PAGES_LEN % sizeof(bytes), at;

	memset(bytes, byte, sizeof(bytes));
	if (nt_pages(link, place, 1, &bv) || bv.bv_len != PAGES_LEN)
		return say_wrong("the peer's memory has no pages\n");
	kfi_ntb_mock_command("link 0 devices 100000");
	for (at = skip; at < PAGES_LEN; at += sizeof(bytes))
		if (!kfi_ntb_mock_device_write(bv.bv_page, bv.bv_offset + at, bytes, sizeof(bytes)))
			return say_wrong("the pages are not those of the window\n");
	if (nt_pages_fence(link, nt_link_life(link), &bv, 1) ||
	    memchr_inv(mem + skip, byte, PAGES_LEN - skip))
		say_wrong("what a device has written is not there after the fence\n");
	kfi_ntb_mock_command("link 0 devices 0");
}

/* No fence is good that has read a link which is down, before or after this side knows that. */
static void fence_down(struct nt_link *link, struct nt_place *place)
{
	unsigned int life = nt_link_life(link), i;
	struct bio_vec bv;
	int ret = 0;

	if (nt_pages(link, place, 1, &bv))
		return say_wrong("the peer's memory has no pages\n");
	kfi_ntb_mock_command("link 0 stuck on");	/* and nobody notices at once */
	kfi_ntb_mock_command("link 0 down");
	for (i = 0; !ret && i < 1000; i++) {
		ret = nt_pages_fence(link, life, &bv, 1);
		usleep_range(100, 200);
	}
	if (i != 1 || ret != -EIO)
		say_wrong("fence %u of a link that is down returns %d\n", i, ret);
	kfi_ntb_mock_command("link 0 stuck off");
	kfi_ntb_mock_command("link 0 up");
	for (i = 0; i < up_ms && nt_link_life(link) == life; i += 20)
		msleep(20);
	if (nt_pages_fence(link, life, &bv, 1) != -ENOTCONN)
		say_wrong("a fence is good although the life has ended\n");
	if (wait_up())
		say_wrong("the link does not come up (fence)\n");
}

/* As long as devices may write, a life may end, but no other one begins; nor is the fence good. */
static void devices_hold(struct nt_link *link)
{
	unsigned int life = nt_link_life(link), ms;

	nt_pages_pin(link);
	nt_link_fault(link, life, "it is asked to");
	for (ms = 0; ms < up_ms && nt_link_life(link) == life; ms += 20)
		msleep(20);
	if (!nt_pages_fence(link, life, NULL, 0))
		say_wrong("a fence is good although the life has ended\n");
	if (!wait_link(link, 1500))
		say_wrong("a life begins while devices may write because of the last one\n");
	nt_pages_unpin(link);
	if (wait_up())
		say_wrong("the link does not come up when devices have finished\n");
}

void paged(struct nt_link *link, struct nt_link *peer)
{
	struct nt_place place;
	struct iov_iter iter;
	struct bio_vec bv;
	struct kvec vec;
	u8 *mem;

	if (wait_up())
		return say_wrong("the link does not come up (pages)\n");
	mem = nt_mem_get(peer, PAGES_LEN);
	if (IS_ERR(mem))
		return say_wrong("no memory for devices\n");
	vec = (struct kvec) { mem, PAGES_LEN };
	iov_iter_kvec(&iter, ITER_DEST, &vec, 1, PAGES_LEN);
	if (nt_window_places(peer, &iter, PAGES_LEN, &place, 1) == 1)
		device_writes(link, &place, mem, 0x5a);
	else
		say_wrong("memory for devices is in no window\n");
	device_writes(link, &place, mem, 0xff);
	fence_down(link, &place);
	place.at += 1ULL << 40;
	if (nt_pages(link, &place, 1, &bv) != -EINVAL)
		say_wrong("there are pages behind the end of the peer's memory\n");
	nt_mem_put(peer->win.in, mem, PAGES_LEN);
	devices_hold(link);
}
