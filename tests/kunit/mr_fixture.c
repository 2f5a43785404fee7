// SPDX-License-Identifier: GPL-2.0
/* Helpers of the tests of memory regions, see mr_fixture.h. */
#include "mr_fixture.h"

bool may(struct kfi_world *w, u64 key, u64 addr, size_t len, u64 access)
{
	struct iov_iter iter;
	struct kfi_mr *mr = kfi_mr_get(&w->ep, key, addr, len, access, &iter);

	if (IS_ERR(mr)) {
		KUNIT_EXPECT_EQ(w->test, -EACCES, (int)PTR_ERR(mr));
		return false;
	}
	KUNIT_EXPECT_EQ(w->test, len, iov_iter_count(&iter));
	kfi_mr_put(mr);
	return true;
}

static void job_done(struct kfi_mr_work *work, int err)
{
	struct job *j = container_of(work, struct job, work);

	j->calls++;
	j->err = err;
	complete(&j->done);
}

void job_init(struct job *j)
{
	*j = (struct job) { .work.done = job_done };
	init_completion(&j->done);
}

int attach(struct kfid_mr *mr, void *buf, size_t len, struct job *j)
{
	struct kvec iov = { .iov_base = buf, .iov_len = len };
	struct kfi_mr_attr attr = { .type = KFI_KVEC, .mr_iov = &iov, .iov_count = 1, .access = RW };
	int ret;

	job_init(j);
	ret = kfi_mr_register(mr, &attr, &j->work);
	if (!ret)
		wait_for_completion(&j->done);
	return ret;
}

int detach(struct kfid_mr *mr, struct job *j)
{
	int ret;

	job_init(j);
	ret = kfi_mr_invalidate(mr, &j->work);
	if (!ret)
		wait_for_completion(&j->done);
	return ret;
}
