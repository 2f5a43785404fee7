/* SPDX-License-Identifier: GPL-2.0 */
/* command.h - messages of dmsetup, and suspend */
#ifndef KFM_COMMAND_H
#define KFM_COMMAND_H

#include <linux/completion.h>
#include <linux/list.h>
#include <linux/string.h>

struct kfm;

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
int kfm_command(struct kfm *m, unsigned int argc, char **argv);

/* The caller goes on with the result. */
static inline void kfm_cmd_end(struct kfm_cmd *cmd, int ret)
{
	cmd->ret = ret;
	complete(&cmd->done);
}

/* Does this word follow the name of the command? */
static inline bool kfm_has_word(const struct kfm_cmd *cmd, const char *word)
{
	return cmd->argc > 1 && !strcmp(cmd->argv[1], word);
}

#endif /* KFM_COMMAND_H */
