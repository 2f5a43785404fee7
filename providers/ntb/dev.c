// SPDX-License-Identifier: GPL-2.0
/*
 * dev.c - bridges as ways of the multiplexer: probe and removal, and what domains and endpoints of
 * a bridge have beside what the multiplexer gives them. kfi/mux/way.c has the steps of a removal.
 */
#include <linux/ntb.h>
#include "ntb.h"

#define NT_REMOVE_LATE	(30 * HZ)	/* a removal that waits longer is logged */

/* ---- domains and endpoints ---- */

static struct nt_link *nt_domain_link(struct kfi_domain *domain)
{
	return to_nt_link(container_of(domain, struct kfi_mux_domain, domain)->mux);
}

/* Millions of bits per second, without those of the coding */
static unsigned int nt_speed(const struct nt_link *link)
{
	static const unsigned int lane[] = {
		[NTB_SPEED_GEN1] = 2000, [NTB_SPEED_GEN2] = 4000, [NTB_SPEED_GEN3] = 7877,
		[NTB_SPEED_GEN4] = 15754,
	};
	enum ntb_speed speed = NTB_SPEED_NONE;
	enum ntb_width width = NTB_WIDTH_NONE;

	ntb_link_is_up(link->ntb, &speed, &width);
	return speed > 0 && speed < ARRAY_SIZE(lane) && width > 0 ? lane[speed] * width : 0;
}

int nt_domain_open(struct kfi_domain *domain)
{
	int ret = kfi_mux_domain_open(domain);
	struct nt_link *link;

	if (ret)
		return ret;
	link = nt_domain_link(domain);
	domain->limits = (struct kfi_domain_limits) {
		.numa_node = dev_to_node(ntb_get_dma_dev(link->ntb)),
		.mr_page_limit = SIZE_MAX,
		.sge_limit = KFI_PROTO_IOV_MAX,
		.short_msg_limit = nt_proto.params.eager_size,
		.place_device = nt_pages_device(link),
		.place_min = NT_COPY,
		.p2p_device = nt_p2p_device(link),
		.speed = nt_speed(link),
		.port_device = link->ntb->pdev ? &link->ntb->pdev->dev : NULL,
	};
	/* A consumer may use them until the close. */
	get_device(domain->limits.place_device);
	get_device(domain->limits.p2p_device);
	get_device(domain->limits.port_device);
	return 0;
}

void nt_domain_close(struct kfi_domain *domain)
{
	kfi_mux_domain_close(domain);
	put_device(domain->limits.place_device);
	put_device(domain->limits.p2p_device);
	put_device(domain->limits.port_device);
}

/* The domain can't die during this call. */
int nt_mem_alloc(struct kfi_domain *domain, struct kfi_mem *mem)
{
	struct nt_link *link = nt_domain_link(domain);

	mem->addr = nt_mem_get(link, mem->len);
	if (IS_ERR(mem->addr))
		return PTR_ERR(mem->addr);
	mem->priv = link->win.in;
	mem->numa_node = link->win.in->node;
	return 0;
}

void nt_mem_free(struct kfi_domain *domain, struct kfi_mem *mem)
{
	nt_mem_put(mem->priv, mem->addr, mem->len);
}

int nt_ep_open(struct kfi_ep *ep)
{
	int ret = kfi_mux_ep_open(ep);

	/*
	 * With flat or mapped the engine of the peer can write a long message to its receive, so
	 * that no CPU copies it. Such a message has to ask for the receive.
	 */
	if (!ret && nt_domain_link(ep->domain)->flat.index >= 0)
		ep->eager_max = min_t(size_t, ep->eager_max, nt_proto.params.eager_size);
	return ret;
}

void nt_addr_str(const void *addr, size_t len, char *buf, size_t size)
{
	const struct ntw_addr *a = addr;

	if (len < sizeof(*a))
		snprintf(buf, size, "ntb:?");
	else
		snprintf(buf, size, "ntb:%u:%u", le32_to_cpu(a->side), le32_to_cpu(a->port));
}

struct nt_parts {
	int	(*emit)(void *arg, const struct kfi_part *part);
	void	*arg;
};

static int nt_parts_dev(struct kfi_mux *mux, void *arg)
{
	struct nt_parts *w = arg;

	return nt_link_parts(to_nt_link(mux), mux->number, w->emit, w->arg);
}

int nt_parts(struct net *net, int (*emit)(void *arg, const struct kfi_part *part), void *arg)
{
	struct nt_parts w = { emit, arg };

	return net == &init_net ? kfi_mux_each(&nt_prov, nt_parts_dev, &w) : 0;
}

/* ---- callbacks of the link ---- */

/*
 * Completion handlers run in kfi_batch_end(), not after each record, but after NT_BURST bytes of
 * records: a consumer has to post receives again before the messages behind them need one.
 */
#define NT_BURST	4096U

void nt_rx_burst_begin(struct nt_ring *ring) __acquires(RCU)
{
	rcu_read_lock();
	kfi_batch_begin();
	ring->burst = 0;
}

void nt_rx_burst_end(struct nt_ring *ring) __releases(RCU)
{
	kfi_batch_end();
	rcu_read_unlock();
}

void nt_rx_record(struct nt_ring *ring, const struct ntw_rec *head, const void *body, size_t len)
{
	struct kfi_mux_rec rec;

	rec.type = head->type;
	rec.bits = head->bits;
	rec.conn = le32_to_cpu(head->conn);
	rec.len = len;
	kfi_mux_rx(&nt_ring_link(ring)->mux, ring->index, &rec, body);
	ring->burst += len;
	if (ring->burst < NT_BURST)
		return;
	nt_rx_burst_end(ring);
	nt_rx_burst_begin(ring);
}

void nt_rx_room(struct nt_ring *ring)
{
	kfi_mux_room(&nt_ring_link(ring)->mux, ring->index);
}

/* ---- bridges ---- */

static int nt_probe(struct ntb_client *client, struct ntb_dev *ntb)
{
	struct nt_link *link = nt_link_add(ntb);
	int ret;

	if (IS_ERR(link))
		return PTR_ERR(link);
	ret = nt_link_start(link);
	if (ret)
		nt_link_remove(link);
	else
		kfi_mux_list(&link->mux);
	return ret;
}

static void nt_remove(struct ntb_client *client, struct ntb_dev *ntb)
{
	struct kfi_mux *mux = kfi_mux_find(&nt_prov, dev_name(&ntb->dev));
	struct nt_link *link;

	if (!mux)
		return;
	link = to_nt_link(mux);
	kfi_mux_unlist(mux);
	kfi_mux_put(mux);
	/* This kernel ends. The last connection may wait for the engine, so do not wait for it. */
	if (READ_ONCE(link->hung)) {
		nt_link_stop(link);
		return;
	}
	kfi_mux_gone(mux);
	nt_link_stop(link);
	if (READ_ONCE(link->hung))
		return;
	kfi_mux_drop(mux);
	while (!kfi_mux_idle(mux, NT_REMOVE_LATE))
		dev_warn(&ntb->dev,
			 "the removal waits for consumers; devices write to the peer's memory (%u places)\n",
			 nt_pages_pinned(link));
	nt_link_remove(link);
}

static struct ntb_client nt_client = {
	.ops = {
		.probe	= nt_probe,
		.remove	= nt_remove,
	},
};

int nt_devs_init(void)
{
	return ntb_register_client(&nt_client);
}

void nt_devs_exit(void)
{
	ntb_unregister_client(&nt_client);
}
