/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR BSD-2-Clause */
/*
 * kfi_perf.h - generic netlink interface of kfi_perf.ko, the in-kernel tester:
 * servers that answer, and runs that measure
 *
 * Everything happens in the network namespace of the socket. Starting and
 * stopping needs CAP_NET_ADMIN. A run belongs to the socket that started it:
 * it is cancelled and forgotten when that socket closes. A server stays until
 * it is stopped, the namespace goes away or the module is unloaded.
 *
 * Unknown attributes of a request are refused; a reader of answers skips those
 * it doesn't know.
 */
#ifndef _UAPI_LINUX_KFI_PERF_H
#define _UAPI_LINUX_KFI_PERF_H

#define KFI_PERF_GENL_NAME	"kfi_perf"
#define KFI_PERF_GENL_VERSION	1

/* Limits of a run */
#define KFI_PERF_SIZE_MAX	(16U << 20)	/* bytes of a message */
#define KFI_PERF_DEPTH_MAX	1024U		/* operations in flight */
#define KFI_PERF_MEMORY_MAX	(256U << 20)	/* size times depth, bytes */

/**
 * enum kfi_perf_cmd - requests, and the answers that carry the same number
 *
 * @KFI_PERF_CMD_SERVER_START: start answering.
 *	Request: SERVICE; optional PROV_NAME, NODE, EP_TYPE. Answer: ID
 * @KFI_PERF_CMD_SERVER_STOP: end a server and its sessions.
 *	Request: optional ID; without it all of the namespace.
 *	Fails with ENOENT if there is none
 * @KFI_PERF_CMD_SERVER_GET: dump of servers.
 *	Answer: ID, PROV_NAME, NODE if it was given, SERVICE, EP_TYPE,
 *	SERVER
 * @KFI_PERF_CMD_RUN_START: start measuring.
 *	Request: SERVICE, OP, SIZE, and ITERATIONS or DURATION_MS; optional
 *	PROV_NAME, NODE, EP_TYPE, MODE, WAIT, MEM, DEPTH, BATCH, WARMUP,
 *	TIMEOUT_MS, VERIFY. Answer: ID
 * @KFI_PERF_CMD_RUN_GET: state of a run of this socket.
 *	Request: ID. Answer: ID, STATE, RESULT, and if it has failed ERROR and
 *	ERROR_TEXT. The same message comes unasked, with sequence number 0,
 *	several times a second while the run is going on, and when it ends
 * @KFI_PERF_CMD_RUN_STOP: cancel a run, if it is going on, and forget it.
 *	Request: ID
 */
enum kfi_perf_cmd {
	KFI_PERF_CMD_UNSPEC,
	KFI_PERF_CMD_SERVER_START,
	KFI_PERF_CMD_SERVER_STOP,
	KFI_PERF_CMD_SERVER_GET,
	KFI_PERF_CMD_RUN_START,
	KFI_PERF_CMD_RUN_GET,
	KFI_PERF_CMD_RUN_STOP,

	__KFI_PERF_CMD_MAX,
	KFI_PERF_CMD_MAX = __KFI_PERF_CMD_MAX - 1
};

/**
 * enum kfi_perf_op - what is measured
 * @KFI_PERF_SEND: messages
 * @KFI_PERF_TAGGED: tagged messages
 * @KFI_PERF_WRITE: RMA writes, up to their delivery at the target
 * @KFI_PERF_READ: RMA reads
 */
enum kfi_perf_op {
	KFI_PERF_SEND,
	KFI_PERF_TAGGED,
	KFI_PERF_WRITE,
	KFI_PERF_READ,
	__KFI_PERF_OP_MAX
};

/**
 * enum kfi_perf_mode - how it is measured
 * @KFI_PERF_LATENCY: one at a time. Messages go back and forth, a sample is the
 *	round trip; of RMA a sample is the time from post to completion
 * @KFI_PERF_BANDWIDTH: DEPTH in flight, in one direction, until the peer has
 *	all
 */
enum kfi_perf_mode {
	KFI_PERF_LATENCY,
	KFI_PERF_BANDWIDTH,
	__KFI_PERF_MODE_MAX
};

/**
 * enum kfi_perf_wait - how both ends learn of completions
 * @KFI_PERF_WAIT_BLOCK: a thread sleeps in kfi_cq_sread()
 * @KFI_PERF_WAIT_SOFTIRQ: callbacks in softirq, which post the next operation
 */
enum kfi_perf_wait {
	KFI_PERF_WAIT_BLOCK,
	KFI_PERF_WAIT_SOFTIRQ,
	__KFI_PERF_WAIT_MAX
};

/**
 * enum kfi_perf_mem - what the buffers of both ends are
 * @KFI_PERF_MEM_PAGES: pages, passed as bio_vec
 * @KFI_PERF_MEM_KVEC: kernel virtual addresses: slab memory, or above a few
 *	pages vmalloc memory
 * @KFI_PERF_MEM_DOMAIN: what kfi_mem_alloc() gives, passed as kvec: where the
 *	domain has memory that a peer's device reaches, that, as long as it lasts
 */
enum kfi_perf_mem {
	KFI_PERF_MEM_PAGES,
	KFI_PERF_MEM_KVEC,
	KFI_PERF_MEM_DOMAIN,
	__KFI_PERF_MEM_MAX
};

/**
 * enum kfi_perf_state - how far a run is
 * @KFI_PERF_CONNECTING: no answer from the server yet
 * @KFI_PERF_RUNNING: measuring
 * @KFI_PERF_DONE: ended as it should; RESULT is final
 * @KFI_PERF_FAILED: ended by an error
 * @KFI_PERF_CANCELED: ended by KFI_PERF_CMD_RUN_STOP or with its namespace
 */
enum kfi_perf_state {
	KFI_PERF_CONNECTING,
	KFI_PERF_RUNNING,
	KFI_PERF_DONE,
	KFI_PERF_FAILED,
	KFI_PERF_CANCELED,
};

/**
 * enum kfi_perf_attr - attributes of messages
 * @KFI_PERF_A_UNSPEC: not used
 * @KFI_PERF_A_PAD: aligns 64-bit values
 * @KFI_PERF_A_ID: u32, number of a server or run
 * @KFI_PERF_A_PROV_NAME: string, provider to use; default any
 * @KFI_PERF_A_NODE: string; server: local address, default any; run: peer
 * @KFI_PERF_A_SERVICE: string, port or the like
 * @KFI_PERF_A_EP_TYPE: u32, FI_EP_MSG or FI_EP_RDM (default)
 * @KFI_PERF_A_OP: u32, &enum kfi_perf_op
 * @KFI_PERF_A_MODE: u32, &enum kfi_perf_mode; default latency
 * @KFI_PERF_A_WAIT: u32, &enum kfi_perf_wait; default block
 * @KFI_PERF_A_MEM: u32, &enum kfi_perf_mem; default pages
 * @KFI_PERF_A_SIZE: u32, bytes of a message, 1 to KFI_PERF_SIZE_MAX
 * @KFI_PERF_A_DEPTH: u32, operations in flight; default 16, latency: always 1
 * @KFI_PERF_A_BATCH: u32, operations posted together, all but the last with
 *	KFI_MORE; default 1
 * @KFI_PERF_A_ITERATIONS: u64, operations that count
 * @KFI_PERF_A_DURATION_MS: u32, milliseconds, in place of ITERATIONS
 * @KFI_PERF_A_WARMUP: u32, operations before, that do not count; default 0
 * @KFI_PERF_A_TIMEOUT_MS: u32, milliseconds without any progress after which
 *	either side gives up; 100 to 600000, default 10000
 * @KFI_PERF_A_VERIFY: flag, compare every byte that arrives
 * @KFI_PERF_A_STATE: u32, &enum kfi_perf_state
 * @KFI_PERF_A_ERROR: u32, positive error number, also of FI_E
 * @KFI_PERF_A_ERROR_TEXT: string, what failed
 * @KFI_PERF_A_RESULT: nest of &enum kfi_perf_result_attr
 * @KFI_PERF_A_SERVER: nest of &enum kfi_perf_server_attr
 */
enum kfi_perf_attr {
	KFI_PERF_A_UNSPEC,
	KFI_PERF_A_PAD,
	KFI_PERF_A_ID,
	KFI_PERF_A_PROV_NAME,
	KFI_PERF_A_NODE,
	KFI_PERF_A_SERVICE,
	KFI_PERF_A_EP_TYPE,
	KFI_PERF_A_OP,
	KFI_PERF_A_MODE,
	KFI_PERF_A_WAIT,
	KFI_PERF_A_MEM,
	KFI_PERF_A_SIZE,
	KFI_PERF_A_DEPTH,
	KFI_PERF_A_BATCH,
	KFI_PERF_A_ITERATIONS,
	KFI_PERF_A_DURATION_MS,
	KFI_PERF_A_WARMUP,
	KFI_PERF_A_TIMEOUT_MS,
	KFI_PERF_A_VERIFY,
	KFI_PERF_A_STATE,
	KFI_PERF_A_ERROR,
	KFI_PERF_A_ERROR_TEXT,
	KFI_PERF_A_RESULT,
	KFI_PERF_A_SERVER,

	__KFI_PERF_A_MAX,
	KFI_PERF_A_MAX = __KFI_PERF_A_MAX - 1
};

/**
 * enum kfi_perf_result_attr - figures of a run; all u64
 * @KFI_PERF_RESULT_A_UNSPEC: not used
 * @KFI_PERF_RESULT_A_PAD: aligns
 * @KFI_PERF_RESULT_A_ITERATIONS: operations that counted, so far
 * @KFI_PERF_RESULT_A_BYTES: their payload, of one direction
 * @KFI_PERF_RESULT_A_ELAPSED_NS: what they took together
 * @KFI_PERF_RESULT_A_LAT_MIN_NS: smallest sample (latency, at the end)
 * @KFI_PERF_RESULT_A_LAT_MEDIAN_NS: median of the samples
 * @KFI_PERF_RESULT_A_LAT_P99_NS: 99th percentile
 * @KFI_PERF_RESULT_A_LAT_MAX_NS: largest sample
 * @KFI_PERF_RESULT_A_VERIFIED: messages whose bytes have all been compared
 * @KFI_PERF_RESULT_A_VERIFY_ERRORS: of these, how many were not as sent
 * @KFI_PERF_RESULT_A_LOST: messages that the server has not seen
 * @KFI_PERF_RESULT_A_PERMILLE: how much of the run is done
 */
enum kfi_perf_result_attr {
	KFI_PERF_RESULT_A_UNSPEC,
	KFI_PERF_RESULT_A_PAD,
	KFI_PERF_RESULT_A_ITERATIONS,
	KFI_PERF_RESULT_A_BYTES,
	KFI_PERF_RESULT_A_ELAPSED_NS,
	KFI_PERF_RESULT_A_LAT_MIN_NS,
	KFI_PERF_RESULT_A_LAT_MEDIAN_NS,
	KFI_PERF_RESULT_A_LAT_P99_NS,
	KFI_PERF_RESULT_A_LAT_MAX_NS,
	KFI_PERF_RESULT_A_VERIFIED,
	KFI_PERF_RESULT_A_VERIFY_ERRORS,
	KFI_PERF_RESULT_A_LOST,
	KFI_PERF_RESULT_A_PERMILLE,

	__KFI_PERF_RESULT_A_MAX,
	KFI_PERF_RESULT_A_MAX = __KFI_PERF_RESULT_A_MAX - 1
};

/**
 * enum kfi_perf_server_attr - what a server has done so far; all u64
 * @KFI_PERF_SERVER_A_UNSPEC: not used
 * @KFI_PERF_SERVER_A_PAD: aligns
 * @KFI_PERF_SERVER_A_SESSIONS: clients that are being served now
 * @KFI_PERF_SERVER_A_SESSIONS_TOTAL: clients that have been served
 * @KFI_PERF_SERVER_A_REFUSED: clients that have been sent away
 * @KFI_PERF_SERVER_A_MESSAGES: messages received, in ended sessions
 * @KFI_PERF_SERVER_A_BYTES: their payload
 * @KFI_PERF_SERVER_A_VERIFY_ERRORS: messages and written slots that were not as
 *	sent
 */
enum kfi_perf_server_attr {
	KFI_PERF_SERVER_A_UNSPEC,
	KFI_PERF_SERVER_A_PAD,
	KFI_PERF_SERVER_A_SESSIONS,
	KFI_PERF_SERVER_A_SESSIONS_TOTAL,
	KFI_PERF_SERVER_A_REFUSED,
	KFI_PERF_SERVER_A_MESSAGES,
	KFI_PERF_SERVER_A_BYTES,
	KFI_PERF_SERVER_A_VERIFY_ERRORS,

	__KFI_PERF_SERVER_A_MAX,
	KFI_PERF_SERVER_A_MAX = __KFI_PERF_SERVER_A_MAX - 1
};

#endif /* _UAPI_LINUX_KFI_PERF_H */
