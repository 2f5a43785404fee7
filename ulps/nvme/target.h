/* SPDX-License-Identifier: GPL-2.0 */
/* target.h - shared by the files of nvmet-kfi.ko. */
#ifndef KFNT_TARGET_H
#define KFNT_TARGET_H

#include <linux/kref.h>
#include <kfi_rw.h>
#include <target/nvmet.h>
#include "proto.h"

/**
 * struct kfnt_port - a port of configfs
 * @ref: references: one held by the port itself, and one by each queue
 * @nport: the core's port. It exists until the last queue of the port was released, see
 *	kfnt_remove_port()
 * @listener: where it listens. A connection is ready when NVMe's connect is executed
 */
struct kfnt_port {
	struct kref		ref;
	struct nvmet_port	*nport;
	struct kfi_listener	listener;
};

/**
 * struct kfnt_check - the comparison of the data of a READ that bypasses RAM (tverify.c)
 * @ns: namespace, held until the comparison has ended; NULL: nothing is compared
 * @disk: the data as the disk has it in RAM; NULL: nothing is compared
 * @host: the data as the host has it
 * @n: number of entries of each
 */
struct kfnt_check {
	struct nvmet_ns		*ns;
	struct scatterlist	*disk;
	struct scatterlist	*host;
	unsigned int		n;
};

struct kfnt_place;
struct kfnt_places;

/**
 * struct kfnt_cmd - buffer and state of a command, from its receive to the end of its answer
 * @rx: its receive: the SQE, and room for data of the capsule or other short data
 * @req: the core's part
 * @cqe: the answer
 * @answer: the same, and its digest
 * @rw: transfer of its data and its answer
 * @got: done() of the get of @place
 * @inv: the answer has to detach the host's region
 * @fetch: the data has to be read from that region
 * @capsule: bytes of data that were received in the capsule
 * @place: where the disk writes the data of a READ, or NULL: to RAM (tplace.c)
 * @own_sg: scatterlist that describes the memory of @rx to the core
 *
 * One context at a time owns a command: the receive, the execution, or the transfer.
 */
struct kfnt_cmd {
	struct kfi_rxbuf	rx;
	struct nvmet_req	req;
	union {
		struct nvme_completion	cqe;
		struct kfn_cqe		answer;
	};
	struct kfi_rw		rw;
	struct kfi_cqe		got;
	bool			inv;
	bool			fetch;
	u32			capsule;
	struct kfnt_place	*place;
	struct scatterlist	own_sg;
};

/* Flags of struct kfnt_queue */
enum {
	KFNT_Q_CONNECT_CAME,	/* NVMe's connect was passed to the core */
	KFNT_Q_INSTALLED,	/* kfnt_install_queue() has succeeded: the queue has a controller */
};

/**
 * struct kfnt_queue - a connection of a host
 * @conn: connection
 * @entry: entry in the list of all queues, under its lock
 * @port: port to which the host has connected; held
 * @traddr: address at which it has
 * @sq: the core's submission queue
 * @cq: the core's completion queue
 * @qid: number that the host has chosen
 * @depth: commands that the host may send
 * @inline_size: bytes of data that a capsule may have
 * @digests: KFN_DIGEST_* that the host demands
 * @has_places: its endpoint has KFI_PLACE, and bypassing is permitted
 * @places: handles for places, from NVMe's connect on; NULL: all data goes through RAM
 * @flags: KFNT_Q_*
 */
struct kfnt_queue {
	struct kfi_conn		conn;
	struct list_head	entry;
	struct kfnt_port	*port;
	char			traddr[64];
	struct nvmet_sq		sq;
	struct nvmet_cq		cq;
	u16			qid;
	unsigned int		depth;
	unsigned int		inline_size;
	u8			digests;
	bool			has_places;
	struct kfnt_places	*places;
	unsigned long		flags;
};

static inline struct kfnt_cmd *to_kfnt_cmd(struct nvmet_req *req)
{
	return container_of(req, struct kfnt_cmd, req);
}

static inline struct kfnt_queue *kfnt_queue(const struct kfnt_cmd *cmd)
{
	return container_of(cmd->rx.conn, struct kfnt_queue, conn);
}

static inline struct nvme_command *kfnt_sqe(const struct kfnt_cmd *cmd)
{
	return cmd->rx.head;
}

/* target.c */
extern struct nvmet_fabrics_ops kfnt_ops;
extern struct kfi_conn_ops kfnt_conn_ops;
void kfnt_provider(char name[KFI_NAME_MAX]);
unsigned int kfnt_connect_ms(void);

/* tlayout.c */
int kfnt_check_layouts(void);

/* port.c */
int kfnt_add_port(struct nvmet_port *nport);
void kfnt_remove_port(struct nvmet_port *nport);
void kfnt_port_put(struct kfnt_port *port);
void kfnt_ports_exit(void);

/* tqueue.c */
int kfnt_called(struct kfi_caller *caller);
void kfnt_lost(struct kfi_conn *conn, int err);
void kfnt_release(struct kfi_conn *conn);
void kfnt_delete_ctrl(struct nvmet_ctrl *ctrl);
unsigned int kfnt_queue_limit(struct nvmet_port *nport);
bool kfnt_may_connect(struct kfnt_queue *queue, const struct nvmf_connect_command *c);
u16 kfnt_install_queue(struct nvmet_sq *sq);

/* tcmd.c */
void kfnt_received(struct kfid_cq *cq, struct kfi_cqe *cqe, const struct kfi_cq_err_entry *wc);
u16 kfnt_map_ram(struct kfnt_cmd *cmd, u32 len);
void kfnt_queue_response(struct nvmet_req *req);

/* tplace.c */
bool kfnt_bypass(void);
void kfnt_places_open(struct kfnt_queue *queue);
void kfnt_places_close(struct kfnt_queue *queue);
bool kfnt_place_begin(struct kfnt_cmd *cmd, u32 len);
void kfnt_place_get(struct kfnt_cmd *cmd);
struct scatterlist *kfnt_place_host(const struct kfnt_cmd *cmd);
bool kfnt_place_put(struct kfnt_cmd *cmd);
void kfnt_place_failed(struct kfnt_cmd *cmd);
void kfnt_place_check(struct kfnt_cmd *cmd, int err);
void kfnt_place_end(struct kfnt_cmd *cmd);
void kfnt_count_staged(const struct kfnt_cmd *cmd);
void kfnt_places_init(void);
void kfnt_places_exit(void);

/* tverify.c */
bool kfnt_check_begin(const struct kfnt_cmd *cmd, struct kfnt_check *check, u32 len);
void kfnt_check_end(struct kfnt_check *check);
const char *kfnt_check_result(const struct kfnt_cmd *cmd, struct kfnt_check *check, int err);

#endif /* KFNT_TARGET_H */
