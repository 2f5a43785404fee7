/* SPDX-License-Identifier: GPL-2.0 */
/*
 * test.h - the client of the unit tests: it has both ends of the first bridge, and counts their
 * events.
 */
#ifndef KFI_NTB_MOCK_TEST_H
#define KFI_NTB_MOCK_TEST_H

#include <kunit/test.h>
#include <linux/delay.h>
#include <linux/io.h>
#include <linux/ntb.h>
#include "command.h"

#define MK_MEM	SZ_64K	/* bytes of the window that are translated */

struct mk_side {
	/* NULL while the device is gone; WRITE_ONCE by probe and remove */
	struct ntb_dev		*ntb;
	phys_addr_t		addr;		/* of the window to the peer */
	resource_size_t		size;		/* of the window */
	void __iomem		*window;
	void			*mem;		/* what the peer's window shows */
	dma_addr_t		dma;
	size_t			mem_size;
	atomic_t		links, bells;	/* events */
	unsigned long		vectors;	/* doorbells that rang; set_bit() */
	/* an event came in another context than hard interrupt context */
	bool			soft;
	/* called in the event if set */
	void			(*on_bell)(struct mk_side *side);
	bool			up_at_bell;	/* ntb_link_is_up() in the last doorbell event */
};

extern struct mk_side mk_side[2];
extern struct kunit_suite mk_bridge_suite, mk_dma_suite;

/* Does the condition become true within some seconds? */
#define SOON(condition)							\
({									\
	bool __so = false;						\
	int __try;							\
									\
	for (__try = 0; __try < 10000 && !(__so = (condition)); __try++)	\
		usleep_range(500, 1000);				\
	__so;								\
})

int mk_suite_init(struct kunit_suite *suite);
void mk_suite_exit(struct kunit_suite *suite);
/* both ends up, memory behind the windows, doorbells unmasked and not pending */
int mk_init(struct kunit *test);
void mk_exit(struct kunit *test);
void mk_command(struct kunit *test, const char *line);
void mk_up(struct kunit *test);		/* enable both ends and wait */
void mk_open(struct kunit *test, struct mk_side *side);
void mk_close(struct mk_side *side);

static inline u64 mk_count(int port, const char *name)
{
	return kfi_ntb_mock_count(0, port, name);
}

#endif
