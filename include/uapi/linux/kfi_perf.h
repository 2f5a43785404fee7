/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR BSD-2-Clause */
/*
 * kfi_perf.h - generic netlink interface of kfi_perf.ko, which tests and measures kfabric in the
 * kernel: it has servers, which answer, and runs, which measure
 *
 * Each command concerns the network namespace of the socket. The commands that start and stop need
 * CAP_NET_ADMIN. A run belongs to the socket that has started it, and is cancelled and deleted when
 * that socket closes. A server exists until it is stopped, the namespace goes or the module is
 * unloaded.
 *
 * A request with an unknown attribute is refused. A reader of answers has to ignore unknown
 * attributes.
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
 * enum kfi_perf_cmd - requests; an answer has the number of its request
 *
 * @KFI_PERF_CMD_UNSPEC: not used
 * @KFI_PERF_CMD_SERVER_START: start a server.
 *	Request: SERVICE; optional PROV_NAME, NODE, EP_TYPE. Answer: ID
 * @KFI_PERF_CMD_SERVER_STOP: stop a server and its sessions.
 *	Request: optional ID; without it, all servers of the namespace are stopped.
 *	Fails with ENOENT if there is none
 * @KFI_PERF_CMD_SERVER_GET: list the servers (a dump).
 *	Answer: ID, PROV_NAME and NODE if the server was started with them, SERVICE, EP_TYPE, SERVER
 * @KFI_PERF_CMD_RUN_START: start a run.
 *	Request: SERVICE, OP, SIZE, and ITERATIONS or DURATION_MS; optional PROV_NAME, NODE,
 *	EP_TYPE, MODE, WAIT, MEM, DEPTH, BATCH, WARMUP, TIMEOUT_MS, VERIFY. Answer: ID
 * @KFI_PERF_CMD_RUN_GET: read the state of a run of this socket.
 *	Request: ID. Answer: ID, STATE, RESULT, and if it has failed ERROR and ERROR_TEXT. The
 *	same message is sent without a request, with sequence number 0, several times a second
 *	during the run, and at its end
 * @KFI_PERF_CMD_RUN_STOP: cancel a run, if it has not ended, and delete it.
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
 * enum kfi_perf_op - operation that is measured
 * @KFI_PERF_SEND: messages
 * @KFI_PERF_TAGGED: tagged messages
 * @KFI_PERF_WRITE: RMA writes with delivery complete
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
 * enum kfi_perf_mode - how the operation is measured
 * @KFI_PERF_LATENCY: one operation at a time. Messages go back and forth, and a sample is a round
 *	trip. For RMA a sample is the time from the post to the completion
 * @KFI_PERF_BANDWIDTH: DEPTH operations in flight, in one direction, until the peer has received
 *	all
 */
enum kfi_perf_mode {
	KFI_PERF_LATENCY,
	KFI_PERF_BANDWIDTH,
	__KFI_PERF_MODE_MAX
};

/**
 * enum kfi_perf_wait - how both sides wait for completions
 * @KFI_PERF_WAIT_BLOCK: a thread sleeps in kfi_cq_sread()
 * @KFI_PERF_WAIT_SOFTIRQ: callbacks in softirq post the next operation
 */
enum kfi_perf_wait {
	KFI_PERF_WAIT_BLOCK,
	KFI_PERF_WAIT_SOFTIRQ,
	__KFI_PERF_WAIT_MAX
};

/**
 * enum kfi_perf_mem - memory of the buffers on both sides
 * @KFI_PERF_MEM_PAGES: pages, passed as bio_vec
 * @KFI_PERF_MEM_KVEC: kernel virtual addresses: slab memory, or vmalloc() memory above a few pages
 * @KFI_PERF_MEM_DOMAIN: memory of kfi_mem_alloc(), passed as kvec. It is direct memory if the
 *	domain has any left
 */
enum kfi_perf_mem {
	KFI_PERF_MEM_PAGES,
	KFI_PERF_MEM_KVEC,
	KFI_PERF_MEM_DOMAIN,
	__KFI_PERF_MEM_MAX
};

/**
 * enum kfi_perf_state - state of a run
 * @KFI_PERF_CONNECTING: the server has not answered yet
 * @KFI_PERF_RUNNING: measuring
 * @KFI_PERF_DONE: ended successfully; RESULT does not change any more
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
 * @KFI_PERF_A_PROV_NAME: string, provider to use; default: any
 * @KFI_PERF_A_NODE: string; of a server the local address, default: any; of a run the peer
 * @KFI_PERF_A_SERVICE: string, port number or the like
 * @KFI_PERF_A_EP_TYPE: u32, FI_EP_MSG or FI_EP_RDM (default)
 * @KFI_PERF_A_OP: u32, &enum kfi_perf_op
 * @KFI_PERF_A_MODE: u32, &enum kfi_perf_mode; default: latency
 * @KFI_PERF_A_WAIT: u32, &enum kfi_perf_wait; default: block
 * @KFI_PERF_A_MEM: u32, &enum kfi_perf_mem; default: pages
 * @KFI_PERF_A_SIZE: u32, length of a message in bytes, 1 to KFI_PERF_SIZE_MAX
 * @KFI_PERF_A_DEPTH: u32, number of operations in flight; default: 16; always 1 for latency
 * @KFI_PERF_A_BATCH: u32, number of operations that are posted together, all but the last with
 *	KFI_MORE; default: 1
 * @KFI_PERF_A_ITERATIONS: u64, number of operations to measure
 * @KFI_PERF_A_DURATION_MS: u32, milliseconds to measure, instead of ITERATIONS
 * @KFI_PERF_A_WARMUP: u32, number of operations before the measurement; default: 0
 * @KFI_PERF_A_TIMEOUT_MS: u32, milliseconds without progress after which either side gives up; 100
 *	to 600000, default: 10000
 * @KFI_PERF_A_VERIFY: flag, compare every byte that arrives
 * @KFI_PERF_A_STATE: u32, &enum kfi_perf_state
 * @KFI_PERF_A_ERROR: u32, positive error number, an errno or FI_E
 * @KFI_PERF_A_ERROR_TEXT: string, what has failed
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
 * enum kfi_perf_result_attr - results of a run, all u64
 * @KFI_PERF_RESULT_A_UNSPEC: not used
 * @KFI_PERF_RESULT_A_PAD: aligns 64-bit values
 * @KFI_PERF_RESULT_A_ITERATIONS: number of operations that were measured so far
 * @KFI_PERF_RESULT_A_BYTES: bytes of their payload, in one direction
 * @KFI_PERF_RESULT_A_ELAPSED_NS: time that all of them together took, nanoseconds
 * @KFI_PERF_RESULT_A_LAT_MIN_NS: smallest sample, nanoseconds (latency, when the run has ended)
 * @KFI_PERF_RESULT_A_LAT_MEDIAN_NS: median of the samples
 * @KFI_PERF_RESULT_A_LAT_P99_NS: 99th percentile of the samples
 * @KFI_PERF_RESULT_A_LAT_MAX_NS: largest sample
 * @KFI_PERF_RESULT_A_VERIFIED: messages of which all bytes were compared
 * @KFI_PERF_RESULT_A_VERIFY_ERRORS: messages of VERIFIED that were not as sent
 * @KFI_PERF_RESULT_A_LOST: messages that the server has not received
 * @KFI_PERF_RESULT_A_PERMILLE: progress of the run, 0 to 1000
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
 * enum kfi_perf_server_attr - statistics of a server, all u64
 * @KFI_PERF_SERVER_A_UNSPEC: not used
 * @KFI_PERF_SERVER_A_PAD: aligns 64-bit values
 * @KFI_PERF_SERVER_A_SESSIONS: clients that are being served
 * @KFI_PERF_SERVER_A_SESSIONS_TOTAL: clients that were served
 * @KFI_PERF_SERVER_A_REFUSED: clients that were refused
 * @KFI_PERF_SERVER_A_MESSAGES: messages received in sessions that have ended
 * @KFI_PERF_SERVER_A_BYTES: bytes of their payload
 * @KFI_PERF_SERVER_A_VERIFY_ERRORS: messages and written slots that were not as sent
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
