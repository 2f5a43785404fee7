/* SPDX-License-Identifier: GPL-2.0 */
/*
 * mr_fixture.h - what the tests of memory regions share.
 */
#ifndef _KFI_KUNIT_MR_FIXTURE_H
#define _KFI_KUNIT_MR_FIXTURE_H

#include <linux/completion.h>
#include "fixture.h"

#define RW	(KFI_REMOTE_READ | KFI_REMOTE_WRITE)

/* May a peer touch this? */
bool may(struct kfi_world *w, u64 key, u64 addr, size_t len, u64 access);

/**
 * struct job - a work and what became of it
 * @calls: of done(); @err: what it was told
 */
struct job {
	struct kfi_mr_work	work;
	struct completion	done;
	int			calls, err;
};

void job_init(struct job *j);
/* Register or invalidate, and wait for done(). */
int attach(struct kfid_mr *mr, void *buf, size_t len, struct job *j);
int detach(struct kfid_mr *mr, struct job *j);

#endif /* _KFI_KUNIT_MR_FIXTURE_H */
