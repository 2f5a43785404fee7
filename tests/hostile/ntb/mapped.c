// SPDX-License-Identifier: GPL-2.0
/*
 * mapped.c - a window behind an IOMMU, a region, and a peer that writes to all of it.
 */
#include <linux/gfp.h>
#include <linux/io.h>
#include <linux/string.h>
#include <kfi_domain.h>
#include "../../mock/command.h"
#include "hostile.h"

#define WINDOW	1			/* parameter of kfi_ntb */
/* length of the region: whole pages, because the window shows whole pages */
#define LEN	(2 * PAGE_SIZE)

struct mapped_test {
	struct victim	*v;
	u8		*mem, *page;
	void __iomem	*window;
	resource_size_t	len;
};

/* Write everything but the first page, which would end the link. */
static void write_all(struct mapped_test *s, u8 byte)
{
	resource_size_t at;

	memset(s->page, byte, PAGE_SIZE);
	for (at = PAGE_SIZE; at < s->len; at += PAGE_SIZE)
		memcpy_toio(s->window + at, s->page, PAGE_SIZE);
}

static u64 faults(void)
{
	return kfi_ntb_mock_count(0, 1, "lost_fault");
}

static bool refused(struct mapped_test *s, const char *what)
{
	u64 before = faults();

	memset(s->mem, 0xa5, LEN);
	write_all(s, 0x3c);
	return hp_check(!memchr_inv(s->mem, 0xa5, LEN), what) &
	       hp_check(faults() - before == s->len / PAGE_SIZE - 1,
			"not all writes to what is not mapped were stopped");
}

static bool reached(struct mapped_test *s)
{
	u64 before = faults();

	write_all(s, 0x5a);
	return hp_check(!memchr_inv(s->mem, 0x5a, LEN),
			"a region is not where its window shows it") &
	       hp_check(faults() - before == s->len / PAGE_SIZE - 1 - LEN / PAGE_SIZE,
			"more is mapped than one region");
}

static bool open_region(struct mapped_test *s)
{
	return hp_check(!victim_region(s->v, s->mem, LEN, KFI_REMOTE_WRITE, 1), "no region");
}

static bool close_region(struct mapped_test *s)
{
	bool ok = hp_check(!kfi_close(&s->v->mr->fid), "the region does not close");

	s->v->mr = NULL;
	return ok;
}

/* Write before there is a region, while there is one, after that, and once more. */
static bool rounds(struct mapped_test *s)
{
	bool ok = refused(s, "it reaches memory that was never registered");
	int i;

	for (i = 0; i < 2 && ok; i++)
		ok = open_region(s) && reached(s) && close_region(s) &&
		     refused(s, "it reaches memory that is no longer registered");
	return ok;
}

bool hp_mapped(struct hp *hp, struct victim *v)
{
	struct mapped_test s = { .v = v };
	phys_addr_t base;
	bool ok;

	if (!hp_check(!ntb_peer_mw_get_addr(hp->ntb, WINDOW, &base, &s.len), "no second window"))
		return false;
	s.window = ioremap(base, s.len);
	s.mem = alloc_pages_exact(LEN, GFP_KERNEL | __GFP_ZERO);
	s.page = (u8 *)__get_free_page(GFP_KERNEL);
	ok = hp_check(s.window && s.mem && s.page, "no memory") && rounds(&s);
	/* After a failure a region may be open: close it before its memory is freed. */
	if (v->mr)
		close_region(&s);
	free_page((unsigned long)s.page);
	if (s.mem)
		free_pages_exact(s.mem, LEN);
	if (s.window)
		iounmap(s.window);
	return ok;
}
