// SPDX-License-Identifier: GPL-2.0
/*
 * test.c - unit tests of bridge and engine: do they follow the rules of README.md? This file is the
 * client that all tests share. kfi_ntb_mock.ko must be loaded, and no other client may have its
 * first bridge.
 */
#include <linux/dma-mapping.h>
#include <linux/module.h>
#include "test.h"

struct mk_side mk_side[2];

static void mk_link_event(void *ctx)
{
	struct mk_side *side = ctx;

	if (!in_hardirq())
		side->soft = true;
	atomic_inc(&side->links);
}

static void mk_db_event(void *ctx, int vector)
{
	struct mk_side *side = ctx;

	if (!in_hardirq())
		side->soft = true;
	side->up_at_bell = ntb_link_is_up(side->ntb, NULL, NULL);
	set_bit(vector, &side->vectors);
	if (side->on_bell)
		side->on_bell(side);
	atomic_inc(&side->bells);
}

static const struct ntb_ctx_ops mk_ctx_ops = {
	.link_event = mk_link_event, .db_event = mk_db_event,
};

static int mk_probe(struct ntb_client *client, struct ntb_dev *ntb)
{
	struct mk_side *side = &mk_side[ntb_port_number(ntb)];

	if (strncmp(dev_name(&ntb->dev), "mock0.", 6))
		return -ENODEV;
	WRITE_ONCE(side->ntb, ntb);
	return ntb_set_ctx(ntb, side, &mk_ctx_ops);
}

static void mk_remove(struct ntb_client *client, struct ntb_dev *ntb)
{
	struct mk_side *side = ntb->ctx;

	mk_close(side);
	ntb_link_disable(ntb);
	ntb_clear_ctx(ntb);
	WRITE_ONCE(side->ntb, NULL);
}

static struct ntb_client mk_client = { .ops = { .probe = mk_probe, .remove = mk_remove } };

int mk_suite_init(struct kunit_suite *suite)
{
	int err;

	memset(mk_side, 0, sizeof(mk_side));
	err = ntb_register_client(&mk_client);
	if (err)
		return err;
	if (mk_side[0].ntb && mk_side[1].ntb)
		return 0;
	pr_err("the first bridge has another client\n");
	ntb_unregister_client(&mk_client);
	return -ENODEV;
}

void mk_suite_exit(struct kunit_suite *suite)
{
	ntb_unregister_client(&mk_client);
}

void mk_command(struct kunit *test, const char *line)
{
	KUNIT_EXPECT_EQ_MSG(test, kfi_ntb_mock_command(line), 0, "%s", line);
}

void mk_up(struct kunit *test)
{
	ntb_link_enable(mk_side[0].ntb, NTB_SPEED_AUTO, NTB_WIDTH_AUTO);
	ntb_link_enable(mk_side[1].ntb, NTB_SPEED_AUTO, NTB_WIDTH_AUTO);
	KUNIT_ASSERT_TRUE(test, SOON(ntb_link_is_up(mk_side[0].ntb, NULL, NULL) &&
				     ntb_link_is_up(mk_side[1].ntb, NULL, NULL)));
}

/* Allocate memory of the window's size, which is the alignment; only a part of it is shown. */
void mk_open(struct kunit *test, struct mk_side *side)
{
	resource_size_t align, size_align, size_max;

	KUNIT_ASSERT_EQ(test, ntb_peer_mw_get_addr(side->ntb, 0, &side->addr, &side->size), 0);
	KUNIT_ASSERT_EQ(test, ntb_mw_get_align(side->ntb, 0, 0, &align, &size_align, &size_max), 0);
	KUNIT_ASSERT_EQ(test, size_max, side->size);
	side->mem_size = align;
	side->mem = dma_alloc_coherent(ntb_get_dma_dev(side->ntb), side->mem_size, &side->dma,
				       GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, side->mem);
	side->window = ioremap_wc(side->addr, side->size);
	KUNIT_ASSERT_NOT_NULL(test, side->window);
	KUNIT_ASSERT_EQ(test, ntb_mw_set_trans(side->ntb, 0, 0, side->dma, MK_MEM), 0);
}

void mk_close(struct mk_side *side)
{
	ntb_mw_clear_trans(side->ntb, 0, 0);
	if (side->window)
		iounmap(side->window);
	if (side->mem)
		dma_free_coherent(ntb_get_dma_dev(side->ntb), side->mem_size, side->mem, side->dma);
	side->window = NULL;
	side->mem = NULL;
}

static void mk_quiet(struct mk_side *side)
{
	ntb_db_clear(side->ntb, ntb_db_valid_mask(side->ntb));
	ntb_db_clear_mask(side->ntb, ntb_db_valid_mask(side->ntb));
	atomic_set(&side->links, 0);
	atomic_set(&side->bells, 0);
	side->vectors = 0;
	side->on_bell = NULL;
	side->soft = false;
}

int mk_init(struct kunit *test)
{
	mk_up(test);
	mk_open(test, &mk_side[0]);
	mk_open(test, &mk_side[1]);
	mk_quiet(&mk_side[0]);
	mk_quiet(&mk_side[1]);
	return 0;
}

static const char * const mk_clean[] = {
	"link 0 stuck off", "link 0 up", "link 0 delay 0", "link 0 lag 0", "link 0 posted 0", "end 0.0 lose 0", "end 0.1 lose 0",
	"end 0.0 lose-tlp 0", "end 0.0 stuck off", "end 0.1 stuck off",
	"dma 0 fail-write 0", "dma 0 fail-read 0", "dma 0 drop 0", "dma 0 lose 0", "dma 0 slow 0", "dma 0 reorder off",
};

void mk_exit(struct kunit *test)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(mk_clean); i++)
		mk_command(test, mk_clean[i]);
	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_FALSE(test, mk_side[i].soft);
		if (!mk_side[i].ntb)
			continue;
		mk_close(&mk_side[i]);
		ntb_db_set_mask(mk_side[i].ntb, ntb_db_valid_mask(mk_side[i].ntb));
		ntb_link_disable(mk_side[i].ntb);
	}
	SOON(!ntb_link_is_up(mk_side[0].ntb, NULL, NULL) &&
	     !ntb_link_is_up(mk_side[1].ntb, NULL, NULL));
}

kunit_test_suites(&mk_bridge_suite, &mk_dma_suite);
MODULE_DESCRIPTION("unit tests of kfi_ntb_mock");
MODULE_LICENSE("GPL");
