/* SPDX-License-Identifier: GPL-2.0 */
/*
 * commit.h - commits: data that the owners of regions make durable, see commit.c.
 */
#ifndef _KFI_PROTO_COMMIT_H
#define _KFI_PROTO_COMMIT_H

#include <linux/workqueue.h>
#include "engine.h"

#define KFP_COMMITS	4		/* work items of a connection that begin commits */

/**
 * struct kfp_committer - work item that calls persist() for the owners of regions
 * @work: the work item
 * @conn: its connection, referenced while @work is queued or runs
 */
struct kfp_committer {
	struct work_struct	work;
	struct kfp_conn		*conn;
};

/**
 * struct kfp_commits - commits of a connection, under kfp_conn.lock
 * @waiting: answers that wait for a committer
 * @running: committers that run, bits
 * @committers: see struct kfp_committer
 */
struct kfp_commits {
	struct list_head	waiting;
	unsigned long		running;
	struct kfp_committer	committers[KFP_COMMITS];
};

int kfp_rx_commit(struct kfp_conn *conn);
int kfp_rx_end(struct kfp_conn *conn);

extern const struct kfp_protocol kfp_commit_protocol;

#endif /* _KFI_PROTO_COMMIT_H */
