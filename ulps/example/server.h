/* SPDX-License-Identifier: GPL-2.0 */
/* server.h - shared by the files of kfi_example_server.ko. */
#ifndef EX_SERVER_H
#define EX_SERVER_H

#include <kfi_rw.h>
#include "proto.h"

/**
 * struct ex_cmd - a request that is executed
 * @rx: its receive
 * @rw: its data and answer
 * @req: copy of the request, which a hostile client can't change
 * @answer: the answer
 * @sg: memory for its data, or NULL
 * @nents: entries of @sg
 */
struct ex_cmd {
	struct kfi_rxbuf	rx;
	struct kfi_rw		rw;
	struct ex_request	req;
	struct ex_answer	answer;
	struct scatterlist	*sg;
	unsigned int		nents;
};

/* server.c */
int ex_listen(const char *node, const char *service);
void ex_unlisten(void);
void ex_reply(struct ex_cmd *cmd, int status);

/* server_disk.c */
u64 ex_sectors(void);
void ex_execute(struct ex_cmd *cmd);

#endif /* EX_SERVER_H */
