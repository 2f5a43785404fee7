/* SPDX-License-Identifier: GPL-2.0 */
/* command.h - messages of dmsetup, and promotion */
#ifndef KFM_COMMAND_H
#define KFM_COMMAND_H

#include <linux/completion.h>
#include <linux/list.h>

struct kfm;
struct kfm_msg;
struct kfm_peer;

#define KFM_RATE_MAX	(1u << 30)	/* KiB a second */

/**
 * struct kfm_cmd - a dm message, or a suspend, on the stack of its caller
 * @entry: in kfm.cmds
 * @argc: words
 * @argv: the words
 * @done: completed by the worker
 * @ret: result
 */
struct kfm_cmd {
	struct list_head	entry;
	unsigned int		argc;
	char			**argv;
	struct completion	done;
	int			ret;
};

void kfm_commands(struct kfm *m);
void kfm_promote_answer(struct kfm_peer *p, const struct kfm_msg *msg);
void kfm_promote_tick(struct kfm *m);
void kfm_cmd_end(struct kfm_cmd *cmd, int ret);
int kfm_store_outdated(struct kfm *m);
void kfm_leave_send(struct kfm_peer *p);
void kfm_leave(struct kfm *m, struct kfm_cmd *cmd);
void kfm_leave_tick(struct kfm *m);
void kfm_leave_message(struct kfm_peer *p);
void kfm_leave_end(struct kfm *m, int ret);
int kfm_demote(struct kfm *m);
int kfm_invalidate(struct kfm *m);
int kfm_writes_missing(struct kfm *m);
int kfm_log_unusable(struct kfm *m);
int kfm_rate_parse(const char *word, unsigned int *kib);
int kfm_command(struct kfm *m, unsigned int argc, char **argv);

#endif /* KFM_COMMAND_H */
