// SPDX-License-Identifier: GPL-2.0
/* cases.c - the variants that are compared; report.py interprets the results. */
#include "kfi.h"
#include "peer/modules.h"
#include "peer/raw.h"

/* Tasks of more than one case; @...: provider, type of endpoints */
#define STREAM(_name, _op, _depth, _size, ...)	KB(_name, _op, BANDWIDTH, _depth, _size, __VA_ARGS__)
#define SEND_1M(_name, ...)	STREAM(_name, KFI_PERF_SEND, BENCH_BLOCKS, BENCH_MB, __VA_ARGS__)
#define SEND_4K(_name, ...)	STREAM(_name, KFI_PERF_SEND, BENCH_BLOCKS, SZ_4K, __VA_ARGS__)
#define WRITE_1M(_name, ...)	STREAM(_name, KFI_PERF_WRITE, BENCH_BLOCKS, BENCH_MB, __VA_ARGS__)
#define WRITE_4K(_name, ...)	STREAM(_name, KFI_PERF_WRITE, BENCH_BLOCKS, SZ_4K, __VA_ARGS__)
#define WRITE_8(_name, ...)	STREAM(_name, KFI_PERF_WRITE, BENCH_BLOCKS, 8, __VA_ARGS__)
#define WRITE_LONG(_name, ...)	STREAM(_name, KFI_PERF_WRITE, BENCH_LONGS, BENCH_LONG, __VA_ARGS__, KB_SOFTIRQ)
#define WRITE_PLACED(_name, ...)	\
	STREAM(_name, KFI_PERF_WRITE, BENCH_PLACED, BENCH_MB, __VA_ARGS__, KB_SOFTIRQ, KB_PLACED)

#define RDM(_task, _name, _prov, ...)	_task("rdm-" _name, _prov, KB_RDM, ##__VA_ARGS__)
#define BOTH(_task, _name, _prov, ...)	\
	_task("msg-" _name, _prov, KB_MSG, ##__VA_ARGS__), RDM(_task, _name, _prov, ##__VA_ARGS__)

/* A device over TCP: siw, which is one of iWARP and has no MSG endpoints, or kfi_ib beside it */
#define OVER_TCP(_device)	\
	{ "verbs-" _device, {	\
		RDM(KB_PINGPONG, "done", "verbs", KB_SOFTIRQ),	\
		RDM(KB_SINGLE, "single", "verbs"),	\
		RDM(KB_MORE, "more", "verbs"),	\
		RDM(WRITE_4K, "write-4k", "verbs"),	\
		RDM(SEND_1M, "send", "verbs"),	\
		RDM(WRITE_1M, "write", "verbs"),	\
	} }

/* What the engine moves, beside its own writes through a window */
#define NTB_STREAM(_case)	\
	{ _case, { &bench_window_blocks, BOTH(SEND_1M, "send", "ntb"), BOTH(WRITE_1M, "write", "ntb") } }

/*
 * One disk that is used in two or three ways; @...: other limits. The guest creates the disks that
 * a case is named after.
 */
#define DISK_CASE(_set, _what, _arg, _size, _depth, _peer, ...)							\
	{ "nvme-" _set "-" _what, {										\
		KB_DISK("kfi", _arg, _size, _depth), KB_DISK(_peer, _arg, _size, _depth), ##__VA_ARGS__		\
	} }

#define DISK_CASES(_set, _peer, ...)									\
	DISK_CASE(_set, "read-4k-1", KB_DISK_RANDOM, SZ_4K, 1, _peer),					\
	DISK_CASE(_set, "write-4k-1", KB_DISK_RANDOM | KB_DISK_WRITE, SZ_4K, 1, _peer),			\
	DISK_CASE(_set, "read-4k-16", KB_DISK_RANDOM, SZ_4K, 16, _peer),				\
	DISK_CASE(_set, "write-4k-16", KB_DISK_RANDOM | KB_DISK_WRITE, SZ_4K, 16, _peer),		\
	DISK_CASE(_set, "read-64k", 0, SZ_64K, 8, _peer, ##__VA_ARGS__),					\
	DISK_CASE(_set, "write-64k", KB_DISK_WRITE, SZ_64K, 8, _peer, ##__VA_ARGS__),			\
	DISK_CASE(_set, "read-1m", 0, SZ_1M, 4, _peer, ##__VA_ARGS__),					\
	DISK_CASE(_set, "write-1m", KB_DISK_WRITE, SZ_1M, 4, _peer, ##__VA_ARGS__)

/* Mirrors of two copies each, on disks of the kinds of tests/bench/mirrors */
#define MIRROR_CASE(_kind, _what, _arg, _size, _depth)					\
	{ "mirror-" _kind "-" _what, {							\
		KB_DISK("kfi", _arg, _size, _depth),					\
		KB_DISK("log", _arg, _size, _depth),					\
		KB_DISK("drbd", _arg, _size, _depth),					\
		KB_DISK("md", _arg, _size, _depth)					\
	} }

#define MIRROR_CASES(_kind, _arg)							\
	MIRROR_CASE(_kind, "4k-1", KB_DISK_RANDOM | KB_DISK_WRITE | _arg, SZ_4K, 1),	\
	MIRROR_CASE(_kind, "4k-16", KB_DISK_RANDOM | KB_DISK_WRITE | _arg, SZ_4K, 16)

const struct bench_case bench_cases[] = {
	{ "roundtrip-block", {
		&bench_tcp_pingpong_block, KB_PINGPONG("kfi-rdm-block", "sockets", KB_RDM),
		KB_PINGPONG("kfi-msg-block", "sockets", KB_MSG),
	} },
	{ "roundtrip-softirq", {
		&bench_tcp_pingpong_softirq, KB_PINGPONG("kfi-rdm-done", "sockets", KB_RDM, KB_SOFTIRQ),
		KB_PINGPONG("kfi-msg-done", "sockets", KB_MSG, KB_SOFTIRQ),
	} },
	{ "write-copy", {
		&bench_tcp_stream_copy,
		STREAM("kfi-write", KFI_PERF_WRITE, BENCH_DEPTH, BENCH_MB, "sockets", KB_RDM, KB_KVEC),
		STREAM("kfi-write-msg", KFI_PERF_WRITE, BENCH_DEPTH, BENCH_MB, "sockets", KB_MSG, KB_KVEC),
	} },
	{ "read", {
		&bench_tcp_stream_copy,
		STREAM("kfi-read", KFI_PERF_READ, BENCH_DEPTH, BENCH_MB, "sockets", KB_RDM, KB_KVEC),
	} },
	{ "messages", { KB_MORE("kfi-messages", "sockets", KB_RDM) } },
	{ "core", {
		KB_PINGPONG("loop-done", "loop", KB_RDM, KB_SOFTIRQ), KB_MORE("loop-messages", "loop", KB_RDM),
	} },
	/* on the devices that the guest creates. MSG endpoints are plain queue pairs. */
	{ "verbs-rxe-softirq", { BOTH(KB_PINGPONG, "done", "verbs", KB_SOFTIRQ) } },
	{ "verbs-rxe-messages",
	  { BOTH(KB_MORE, "more", "verbs"), BOTH(KB_SINGLE, "single", "verbs") } },
	{ "verbs-rxe-write",
	  { BOTH(WRITE_8, "write-8", "verbs"), BOTH(WRITE_4K, "write-4k", "verbs") } },
	OVER_TCP("siw"), OVER_TCP("kfi"),
	{ "ntb-roundtrip", {
		&bench_nt_roundtrip, BOTH(KB_PINGPONG, "done", "ntb", KB_SOFTIRQ), BOTH(KB_PINGPONG, "block", "ntb"),
	} },
	{ "ntb-messages", { &bench_nt_messages_64, BOTH(KB_MORE, "more", "ntb"), BOTH(KB_SINGLE, "single", "ntb") } },
	NTB_STREAM("ntb-stream"),
	/* in two cases: the window has room for one */
	{ "ntb-placed-msg", { &bench_window_placed, WRITE_PLACED("msg-placed", "ntb", KB_MSG) } },
	{ "ntb-placed-rdm", { &bench_window_placed, WRITE_PLACED("rdm-placed", "ntb", KB_RDM) } },
	{ "ntb-small", {
		&bench_window_blocks_4k, BOTH(SEND_4K, "send-4k", "ntb"), BOTH(WRITE_4K, "write-4k", "ntb"),
		BOTH(WRITE_8, "write-8", "ntb"),
	} },
	NTB_STREAM("ntb-flat-stream"),
	{ "ntb-flat-long", { &bench_window_long, BOTH(WRITE_LONG, "long", "ntb") } },
	DISK_CASES("ram", "tcp", &bench_tcp_stream_copy),
	DISK_CASES("ntb", "tcp"),
	DISK_CASES("rxe", "rdma"),
	DISK_CASES("ib", "rdma"),
	MIRROR_CASES("ram", 0), MIRROR_CASE("ram", "64k", KB_DISK_WRITE, SZ_64K, 8),
	MIRROR_CASE("ram", "1m", KB_DISK_WRITE, SZ_1M, 4),
	MIRROR_CASES("flush", 0), MIRROR_CASE("flush", "64k", KB_DISK_WRITE, SZ_64K, 8),
	MIRROR_CASES("span", KB_DISK_SPREAD),
	{ }
};
