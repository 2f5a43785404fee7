/* SPDX-License-Identifier: GPL-2.0 */
/* client.h - shared by the files of kfi_example.ko. */
#ifndef EX_CLIENT_H
#define EX_CLIENT_H

#include <linux/blk-mq.h>
#include <kfi_req.h>
#include "proto.h"

/**
 * struct ex_rq - a request
 * @req: the kit's part
 * @status: of the answer
 */
struct ex_rq {
	struct kfi_req		req;
	u32			status;
};

/* client.c */
extern struct kfi_conn ex_conn;	/* the connection to the server */
extern u64 ex_sectors;		/* size of the disk */
int ex_begin(const char *node, const char *service);
int ex_send(struct request *rq, bool more);
void ex_leave(void);
void ex_end(void);

/* client_disk.c */
void ex_rq_done(struct request *rq, int err);
struct ex_rq *ex_rq_find(unsigned int tag);
void ex_disk_pause(void);
void ex_disk_resume(void);

#endif /* EX_CLIENT_H */
