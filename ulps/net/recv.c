// SPDX-License-Identifier: GPL-2.0
/*
 * recv.c - frames of peers. Nothing in them is trusted.
 *
 * The endpoint places messages in large buffers, one after the other, and knet_poll() reads where.
 * A short frame is copied. Of a long one the headers are copied, and the stack gets a part of the
 * buffer, if there is a large page that can take the place of the buffer later. If not, as when
 * memory is fragmented, the frame is copied to small pages, or dropped if there are none. So
 * whatever becomes of memory, as many receives are posted as before, and the link, which loses
 * nothing, never stands still.
 *
 * Most kernels fill each page that they allocate with zeros, which costs as much as a copy of the
 * frame. So a page that was given to the stack is kept, and takes the place of a later buffer if
 * the stack has put all parts of it by then.
 */
#include <linux/bvec.h>
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include "knet.h"

/*
 * The pages are charged until the last part of them is freed, whoever has that. Context: any, as
 * @gfp says
 */
struct page *knet_page(struct knet *kn, gfp_t gfp, unsigned int order)
{
	struct mem_cgroup *memcg = knet_charge_to(kn);
	struct page *page;

	gfp |= kn->payer ? __GFP_ACCOUNT : 0;
	page = alloc_pages(gfp | __GFP_COMP | __GFP_NOWARN | __GFP_NORETRY, order);
	set_active_memcg(memcg);
	return page;
}

static struct knet *link_knet(struct knet_link *link)
{
	return link->peer->kn;
}

/* ---- pages of which the stack has parts ---- */

/* Keep a page in the place of the oldest one. One of the memory reserves goes back to these. */
static void page_give(struct knet_link *link, struct page *page)
{
	struct page **oldest = &link->given[link->given_at++ % KNET_GIVEN];

	if (*oldest)
		put_page(*oldest);
	*oldest = page_is_pfmemalloc(page) ? NULL : page;
	if (!*oldest)
		put_page(page);
}

/*
 * An allocation that may use the reserves may exceed the limit of a memory cgroup, too, so the
 * device of a user gets none of them. Softirq
 */
static struct page *page_new(struct knet *kn, unsigned int order)
{
	return knet_page(kn, kn->payer ? GFP_NOWAIT : GFP_ATOMIC | __GFP_MEMALLOC, order);
}

/*
 * A page that is kept, or a new one. With the link's own reference alone nobody else reads a page,
 * or can get it; the oldest is looked at first.
 */
static struct page *page_take(struct knet_link *link)
{
	struct knet *kn = link_knet(link);
	struct page **kept, *page;
	unsigned int i;

	for (i = 0; i < KNET_GIVEN; i++) {
		kept = &link->given[(link->given_at + i) % KNET_GIVEN];
		page = *kept;
		if (page && page_ref_count(page) == 1) {
			*kept = NULL;
			knet_count(kn, KNET_RX_REUSED);
			return page;
		}
	}
	return page_new(kn, get_order(KNET_BUF));
}

static void drop(struct knet_link *link, enum knet_counter why)
{
	knet_count(link_knet(link), why);
	dev_core_stats_rx_dropped_inc(link_knet(link)->dev);
}

/* ---- a frame ---- */

/* Copy the rest of a frame. Return: false: there is no memory */
static bool copy_rest(struct knet_link *link, struct sk_buff *skb, const u8 *data,
		      unsigned int len)
{
	struct page *page;
	unsigned int n;

	BUILD_BUG_ON(DIV_ROUND_UP(KNET_FRAME - KNET_HEAD, PAGE_SIZE) > MAX_SKB_FRAGS);
	for (; len; data += n, len -= n) {
		n = min_t(unsigned int, len, PAGE_SIZE);
		page = page_new(link_knet(link), 0);
		if (unlikely(!page))
			return false;
		memcpy(page_address(page), data, n);
		skb_add_rx_frag(skb, skb_shinfo(skb)->nr_frags, page, 0, n, PAGE_SIZE);
	}
	knet_count(link_knet(link), KNET_RX_SMALL);
	return true;
}

static struct sk_buff *make_skb(struct knet_link *link, struct knet_buf *buf, const u8 *data,
				unsigned int len)
{
	unsigned int head = len <= KNET_COPY ? len : KNET_HEAD;
	struct sk_buff *skb = napi_alloc_skb(&link->peer->napi, head);

	if (unlikely(!skb))
		return NULL;
	skb_put_data(skb, data, head);
	if (len == head) {
		knet_count(link_knet(link), KNET_RX_COPIED);
		return skb;
	}
	if (!buf->spare)
		buf->spare = page_take(link);
	if (unlikely(!buf->spare)) {
		if (copy_rest(link, skb, data + head, len - head))
			return skb;
		napi_consume_skb(skb, 1);
		return NULL;
	}
	get_page(buf->page);
	skb_add_rx_frag(skb, 0, buf->page, data + head - (u8 *)page_address(buf->page), len - head,
			max_t(unsigned int, len - head, KNET_BUF / 16));
	return skb;
}

/* The helper checks offsets and types; the stack checks the rest (SKB_GSO_DODGY). */
static bool set_offloads(struct knet_link *link, struct sk_buff *skb,
			 const struct virtio_net_hdr *hdr)
{
	if (virtio_net_hdr_to_skb(skb, hdr, true))
		return false;
	if (hdr->flags & VIRTIO_NET_HDR_F_NEEDS_CSUM)
		knet_count(link_knet(link), KNET_RX_CSUM);
	else if (hdr->flags & VIRTIO_NET_HDR_F_DATA_VALID)
		skb->ip_summed = CHECKSUM_UNNECESSARY;
	if (skb_is_gso(skb))
		knet_count(link_knet(link), KNET_RX_GSO);
	return true;
}

static void receive(struct knet_link *link, struct knet_buf *buf, const u8 *data, size_t len)
{
	struct net_device *dev = link_knet(link)->dev;
	struct virtio_net_hdr hdr;
	struct sk_buff *skb;

	if (len < sizeof(hdr) + ETH_HLEN || len > KNET_MSG) {
		drop(link, KNET_RX_BAD);
		return;
	}
	memcpy(&hdr, data, sizeof(hdr));
	skb = make_skb(link, buf, data + sizeof(hdr), len - sizeof(hdr));
	if (!skb) {
		drop(link, KNET_RX_NOMEM);
		return;
	}
	if (!set_offloads(link, skb, &hdr)) {
		drop(link, KNET_RX_BAD);
		dev_kfree_skb_any(skb);
		return;
	}
	dev_sw_netstats_rx_add(dev, skb->len);
	skb->protocol = eth_type_trans(skb, dev);
	napi_gro_receive(&link->peer->napi, skb);
}

/* ---- receives ---- */

static void buf_returned(struct knet_link *link, struct knet_buf *buf)
{
	buf->posted = false;
	if (!buf->spare)
		return;
	page_give(link, buf->page);
	buf->page = buf->spare;
	buf->spare = NULL;
}

/* Post what is not posted. Without room there are entries, after which this is called again. */
static void post_bufs(struct knet_link *link)
{
	struct knet_buf *buf;
	struct bio_vec vec;
	struct kfi_msg msg = {
		.type = KFI_BVEC, .msg_biov = &vec, .iov_count = 1, .addr = KFI_ADDR_UNSPEC,
	};

	if (link->broken || !kfi_conn_enter(&link->conn))
		return;
	for (buf = link->bufs; buf < link->bufs + KNET_BUFS; buf++) {
		if (buf->posted)
			continue;
		bvec_set_page(&vec, buf->page, KNET_BUF, 0);
		msg.context = buf;
		buf->posted = true;
		if (kfi_recvmsg(link->conn.ep, &msg, KFI_MULTI_RECV | KFI_COMPLETION)) {
			buf->posted = false;
			break;
		}
	}
	kfi_conn_exit(&link->conn);
}

/* A message too long for an empty buffer ends the buffer, any other error the connection. */
static void read_error(struct knet_link *link)
{
	struct kfi_cq_err_entry wc = {};

	if (kfi_cq_readerr(link->conn.cq, &wc, 0) != 1)
		return;
	buf_returned(link, wc.op_context);
	if (wc.err == KFI_ETRUNC) {
		drop(link, KNET_RX_BAD);
	} else {
		link->broken = true;
		kfi_conn_fail(&link->conn, -wc.err);
	}
}

/* The read that finds nothing arms the queue, so entries from then on call knet_ready(). */
int knet_poll(struct napi_struct *napi, int budget)
{
	struct knet_link *link = container_of(napi, struct knet_peer, napi)->owner;
	struct kfi_cq_data_entry wc[8];
	int i, n, done = 0;

	knet_hold(link);
	while (done < budget) {
		n = kfi_cq_read(link->conn.cq, wc, min_t(int, budget - done, ARRAY_SIZE(wc)));
		if (n == -KFI_EAVAIL)
			read_error(link);
		else if (n < 0)
			break;
		for (i = 0; i < n; i++) {
			if (wc[i].flags & KFI_RECV)
				receive(link, wc[i].op_context, wc[i].buf, wc[i].len);
			if (wc[i].flags & KFI_MULTI_RECV)
				buf_returned(link, wc[i].op_context);
		}
		done += max(n, 1);
	}
	post_bufs(link);
	if (done < budget)
		napi_complete_done(napi, done);
	knet_release(link);	/* that has given the stack what GRO had kept */
	return min(done, budget);
}

/*
 * Softirq. A queue may be ready before its link is the owner: then the poll is disabled, or another
 * link's.
 */
void knet_ready(struct kfid_cq *cq, void *conn)
{
	napi_schedule(&container_of(conn, struct knet_link, conn)->peer->napi);
}
