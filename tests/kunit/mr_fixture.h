/* SPDX-License-Identifier: GPL-2.0 */
/* mr_fixture.h - helpers of the tests of memory regions */
#ifndef _KFI_KUNIT_MR_FIXTURE_H
#define _KFI_KUNIT_MR_FIXTURE_H

#include <linux/completion.h>
#include "fixture.h"

#define RW	(KFI_REMOTE_READ | KFI_REMOTE_WRITE)

/* Has a peer this access? */
bool may(struct kfi_world *w, u64 key, u64 addr, size_t len, u64 access);

/**
 * struct job - a work item and the result of its call
 * @calls: calls of done()
 * @err: argument of done()
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
