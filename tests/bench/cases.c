// SPDX-License-Identifier: GPL-2.0
/* cases.c - the variants that are compared; report.py interprets the results. */
#include "kfi.h"
#include "peer/modules.h"
#include "peer/raw.h"

/*
 * The same cases for every kind of device; the guest creates the device that a case is named after.
 */
#define VERBS_CASES(_device)											\
	{ "verbs-" _device "-block", {										\
		&bench_rv_pingpong_block, &kb_verbs_msg_block, &kb_verbs_rdm_block,				\
	} },													\
	{ "verbs-" _device "-softirq", {									\
		&bench_rv_pingpong_softirq, &bench_rv_pingpong_longer, &kb_verbs_msg_handler, &kb_verbs_msg_done,	\
		&kb_verbs_rdm_handler, &kb_verbs_rdm_done,							\
	} },													\
	{ "verbs-" _device "-poll", {										\
		&bench_rv_pingpong_poll, &kb_verbs_msg_poll, &kb_verbs_rdm_poll,				\
	} },													\
	{ "verbs-" _device "-messages", {									\
		&bench_rv_messages_single, &bench_rv_messages_chain, &bench_rv_messages_longer,			\
		&kb_verbs_messages_msg,										\
		&kb_verbs_messages_rdm, &kb_verbs_single_msg, &kb_verbs_single_rdm,				\
	} },													\
	{ "verbs-" _device "-stream", {										\
		&bench_rv_stream_send, &kb_verbs_send_msg, &kb_verbs_send_rdm,					\
		&bench_rv_stream_write, &kb_verbs_write_msg, &kb_verbs_write_rdm,				\
	} }

/* MSG endpoints, which are plain queue pairs, on each kind of device that has them */
#define BARE_CASES(_device)											\
	{ "verbs-" _device "-bare-block", { &bench_rv_pingpong_block, &kb_verbs_bare_block } },		\
	{ "verbs-" _device "-bare-softirq", {									\
		&bench_rv_pingpong_softirq, &kb_verbs_bare_handler, &kb_verbs_bare_done,			\
	} },													\
	{ "verbs-" _device "-bare-poll", { &bench_rv_pingpong_poll, &kb_verbs_bare_poll } },			\
	{ "verbs-" _device "-bare-messages", {									\
		&bench_rv_messages_single, &bench_rv_messages_chain, &kb_verbs_messages_bare, &kb_verbs_single_bare,	\
	} }

/* A device without cost shows the cost of the software. */
#define NULL_CASES												\
	{ "verbs-null-softirq", {										\
		&bench_rv_pingpong_softirq, &kb_verbs_msg_handler, &kb_verbs_msg_done,				\
		&kb_verbs_rdm_handler, &kb_verbs_rdm_done,							\
	} },													\
	{ "verbs-null-poll", {											\
		&bench_rv_pingpong_poll, &kb_verbs_msg_poll, &kb_verbs_rdm_poll,				\
	} },													\
	{ "verbs-null-messages", {										\
		&bench_rv_messages_single, &bench_rv_messages_chain, &kb_verbs_messages_msg,			\
		&kb_verbs_messages_rdm, &kb_verbs_single_msg, &kb_verbs_single_rdm,				\
	} },													\
	{ "verbs-null-write", {											\
		&bench_rv_write_8, &kb_verbs_write_msg_8, &kb_verbs_write_rdm_8,				\
		&bench_rv_write_4k, &kb_verbs_write_msg_4k, &kb_verbs_write_rdm_4k,				\
	} }

/*
 * One disk that is used in two or three ways; @...: other limits. The guest creates the disks that
 * a case is named after.
 */
#define DISK_CASE(_set, _what, _arg, _size, _depth, _peer, ...)							\
	{ "nvme-" _set "-" _what, {										\
		KB_DISK("kfi", _arg, _size, _depth), KB_DISK(_peer, _arg, _size, _depth), ##__VA_ARGS__		\
	} }

#define DISK_CASES(_set, _kind, _peer, ...)									\
	DISK_CASE(_set, "read-4k-1", _kind | KB_DISK_RANDOM, SZ_4K, 1, _peer),					\
	DISK_CASE(_set, "write-4k-1", _kind | KB_DISK_RANDOM | KB_DISK_WRITE, SZ_4K, 1, _peer),			\
	DISK_CASE(_set, "read-4k-16", _kind | KB_DISK_RANDOM, SZ_4K, 16, _peer),				\
	DISK_CASE(_set, "write-4k-16", _kind | KB_DISK_RANDOM | KB_DISK_WRITE, SZ_4K, 16, _peer),		\
	DISK_CASE(_set, "read-64k", _kind, SZ_64K, 8, _peer, ##__VA_ARGS__),					\
	DISK_CASE(_set, "write-64k", _kind | KB_DISK_WRITE, SZ_64K, 8, _peer, ##__VA_ARGS__),			\
	DISK_CASE(_set, "read-1m", _kind, SZ_1M, 4, _peer, ##__VA_ARGS__),					\
	DISK_CASE(_set, "write-1m", _kind | KB_DISK_WRITE, SZ_1M, 4, _peer, ##__VA_ARGS__)

/* Mirrors of two copies each: tests/bench/mirrors */
#define MIRROR_CASE(_what, _arg, _size, _depth)						\
	{ "mirror-" _what, {								\
		KB_DISK("kfi", _arg, _size, _depth),					\
		KB_DISK("drbd", _arg, _size, _depth),					\
		KB_DISK("md", _arg, _size, _depth)					\
	} }

const struct bench_case bench_cases[] = {
	{ "roundtrip-block", {
		&bench_tcp_pingpong_block, &kb_pingpong_rdm_block, &kb_pingpong_msg_block,
		&kb_pingpong_tag_block,
	} },
	{ "roundtrip-softirq", {
		&bench_tcp_pingpong_softirq, &kb_pingpong_rdm_handler, &kb_pingpong_rdm_done,
		&kb_pingpong_msg_handler,
	} },
	{ "write-copy", {
		&bench_tcp_stream_copy, &kb_write_copy, &kb_write_copy_msg,
		&bench_tcp_stream_copy_block,
	} },
	{ "write-pages", {
		&bench_tcp_stream_splice, &kb_write_splice,
	} },
	{ "read", {
		&bench_tcp_stream_copy, &kb_read,
	} },
	{ "messages", {
		&bench_tcp_messages_single, &bench_tcp_messages_batch, &kb_messages,
		&kb_messages_multi,
	} },
	{ "peers", {
		&kb_many_1, &kb_many_16, &kb_many_64, &kb_many_256,
		&bench_tcp_many_1, &bench_tcp_many_16, &bench_tcp_many_64, &bench_tcp_many_256,
	} },
	{ "core", {
		&kb_pingpong_loop_done, &kb_messages_loop,
	} },
	{ "matching", {
		&kb_match_10, &kb_match_10000,
	} },
	{ "addresses", {
		&kb_av_16, &kb_av_1024, &kb_av_65536, &kb_table_16, &kb_table_1024, &kb_table_65536,
	} },
	{ "readers", {
		&kb_readers_1, &kb_readers_2,
	} },
	VERBS_CASES("rxe"),
	BARE_CASES("rxe"),
	{ "verbs-rxe-bare-stream", { &bench_rv_stream_send, &kb_verbs_send_bare } },
	VERBS_CASES("siw"),
	NULL_CASES,
	BARE_CASES("null"),
	{ "ntb-engine", {
		&bench_dma_8, &bench_dma_64, &bench_dma_4k, &bench_dma_64k, &bench_window_8,
		&bench_window_4k, &bench_window_64k,
	} },
	{ "ntb-roundtrip", {
		&bench_nt_roundtrip, &kb_ntb_msg_handler, &kb_ntb_msg_done, &kb_ntb_rdm_handler,
		&kb_ntb_rdm_done,
		&kb_ntb_msg_block, &kb_ntb_rdm_block,
	} },
	{ "ntb-messages", {
		&bench_nt_messages_64, &bench_nt_messages_4k, &kb_ntb_messages_msg,
		&kb_ntb_messages_rdm,
		&kb_ntb_single_msg, &kb_ntb_single_rdm,
	} },
	{ "ntb-stream", {
		&bench_window_blocks, &kb_ntb_send_msg, &kb_ntb_send_rdm, &kb_ntb_write_msg,
		&kb_ntb_write_rdm,
	} },
	{ "ntb-placed-msg", { &bench_window_placed, &kb_ntb_placed_msg } },
	{ "ntb-placed-rdm", { &bench_window_placed, &kb_ntb_placed_rdm } },
	{ "ntb-placed-long-msg", { &bench_window_placed_long, &kb_ntb_placed_long_msg } },
	{ "ntb-placed-long-rdm", { &bench_window_placed_long, &kb_ntb_placed_long_rdm } },
	{ "ntb-small", {
		&bench_window_blocks_4k, &kb_ntb_send_msg_4k, &kb_ntb_send_rdm_4k,
		&kb_ntb_write_msg_4k, &kb_ntb_write_rdm_4k,
		&kb_ntb_write_msg_8, &kb_ntb_write_rdm_8,
	} },
	{ "ntb-flat-stream", {
		&bench_window_blocks, &kb_ntb_send_msg, &kb_ntb_send_rdm, &kb_ntb_write_msg,
		&kb_ntb_write_rdm,
	} },
	{ "ntb-flat-long", { &bench_window_long, &kb_ntb_long_msg, &kb_ntb_long_rdm } },
	{ "ntb-loaded-msg", { &kb_ntb_idle_msg, &kb_ntb_loaded_msg } },
	{ "ntb-loaded-rdm", { &kb_ntb_idle_rdm, &kb_ntb_loaded_rdm } },
	{ "nvme-scarce-read", { &kb_scarce_bypass, &kb_scarce_through } },
	{ "nvme-scarce-ample", { &kb_scarce_bypass, &kb_scarce_through } },
	{ "nvme-scarce-neighbour", {
		&kb_neighbour_alone, &kb_neighbour_bypass, &kb_neighbour_through,
	} },
	DISK_CASES("null", KB_DISK_BLANK, "tcp", &bench_tcp_stream_copy),
	DISK_CASES("ram", 0, "tcp", &bench_tcp_stream_copy),
	DISK_CASES("nbd", 0, "nbd"),
	DISK_CASES("ntb", 0, "tcp"),
	DISK_CASES("rxe", 0, "rdma"),
	MIRROR_CASE("write-4k-1", KB_DISK_RANDOM | KB_DISK_WRITE, SZ_4K, 1),
	MIRROR_CASE("write-4k-16", KB_DISK_RANDOM | KB_DISK_WRITE, SZ_4K, 16),
	MIRROR_CASE("write-64k", KB_DISK_WRITE, SZ_64K, 8),
	{ "mirror-ntb-write-4k", {
		KB_DISK("kfi", KB_DISK_RANDOM | KB_DISK_WRITE, SZ_4K, 1), &kb_ntb_commit,
	} },
	{ "scale", {
		&kb_scale_messages, &kb_scale_write, &kb_scale_roundtrip, &kb_scale_atomics,
		&kb_scale_counters,
		&kb_readers_1, &kb_readers_2,
		&kb_scale_tcp_messages, &kb_scale_tcp_stream, &kb_scale_tcp_roundtrip,
	} },
	{ "queues", {
		&kb_queues_messages, &kb_queues_single, &kb_queues_roundtrip, &kb_queues_send,
		&kb_queues_write,
	} },
	{ }
};
