// SPDX-License-Identifier: GPL-2.0
/*
 * stats.c - what `rdma statistic show` prints of a device: counters per CPU, which any context
 * increases.
 */
#include "kib.h"

static const struct rdma_stat_desc stat_descs[] = {
	[KIB_SENDS]		= { .name = "rdma_sends" },
	[KIB_RECVS]		= { .name = "rdma_recvs" },
	[KIB_WRITES]		= { .name = "rdma_writes" },
	[KIB_READS]		= { .name = "rdma_reads" },
	[KIB_ATOMICS]		= { .name = "rdma_atomics" },
	[KIB_SENT]		= { .name = "sent_bytes" },
	[KIB_RECEIVED]		= { .name = "rcvd_bytes" },
	[KIB_REGISTRATIONS]	= { .name = "registrations" },
	[KIB_FAILED]		= { .name = "failed_requests" },
	[KIB_CONNECTED]		= { .name = "connections" },
};

static_assert(ARRAY_SIZE(stat_descs) == KIB_COUNTERS);

struct rdma_hw_stats *kib_alloc_hw_stats(struct ib_device *ib, u32 port)
{
	return rdma_alloc_hw_stats_struct(stat_descs, KIB_COUNTERS,
					  RDMA_HW_STATS_DEFAULT_LIFESPAN);
}

/* Return: the number of counters that were stored */
int kib_get_hw_stats(struct ib_device *ib, struct rdma_hw_stats *stats, u32 port, int index)
{
	const struct kib_dev *dev = to_kib_dev(ib);
	int cpu, i;

	if (!port)
		return -EINVAL;
	for (i = 0; i < KIB_COUNTERS; i++) {
		stats->value[i] = 0;
		for_each_possible_cpu(cpu)
			stats->value[i] += READ_ONCE(per_cpu_ptr(dev->counts, cpu)->value[i]);
	}
	return KIB_COUNTERS;
}

/* A send request has ended without an error. */
void kib_count_send(struct kib_dev *dev, const struct kib_slot *s)
{
	switch (s->opcode) {
	case IB_WR_RDMA_READ:
		kib_count(dev, KIB_READS, 1);
		kib_count(dev, KIB_RECEIVED, s->len);
		return;
	case IB_WR_ATOMIC_FETCH_AND_ADD:
	case IB_WR_ATOMIC_CMP_AND_SWP:
		kib_count(dev, KIB_ATOMICS, 1);
		return;
	case IB_WR_RDMA_WRITE:
	case IB_WR_RDMA_WRITE_WITH_IMM:
		kib_count(dev, KIB_WRITES, 1);
		break;
	case IB_WR_REG_MR:
		kib_count(dev, KIB_REGISTRATIONS, 1);
		return;
	case IB_WR_LOCAL_INV:
		return;
	default:
		kib_count(dev, KIB_SENDS, 1);
		break;
	}
	kib_count(dev, KIB_SENT, s->len);
}
