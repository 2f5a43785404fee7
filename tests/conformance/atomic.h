/* SPDX-License-Identifier: GPL-2.0 */
/*
 * atomic.h - shared by the cases of atomic operations: two nodes, a checked region, and posts by
 * kind.
 */
#ifndef KFI_CONFORMANCE_ATOMIC_H
#define KFI_CONFORMANCE_ATOMIC_H

#include "harness.h"
#include <kfi_atomic.h>

#define C_ATOMIC	(KFI_ATOMIC | KFI_READ | KFI_WRITE | KFI_REMOTE_READ | KFI_REMOTE_WRITE)
#define ALL_RIGHTS	(KFI_REMOTE_READ | KFI_REMOTE_WRITE)

/* The three kinds of calls */
enum kind { BASE, FETCH, COMPARE, KINDS };

extern const u64 kind_flag[KINDS];	/* for queries */
extern const u64 kind_comp[KINDS];	/* of completions */

#define LAB_LEN		8192	/* bytes of each piece of memory */

/**
 * struct lab - B's region, and A's memory for operands and results
 * @far: B's memory, of which @r is the middle half
 * @v: operands
 * @cmp: values to compare with
 * @old: results
 */
struct lab {
	struct test	*t;
	struct pair	*p;
	struct region	r;
	u8		*far, *v, *cmp, *old;
};

struct lab *lab_open(struct test *t, u64 access, const struct node_opts *b);
/* The region's memory, as it is now. */
static inline u64 *lab_words(struct lab *l)
{
	return (u64 *)l->r.buf;
}

/* Post @n elements from the lab's memory. */
ssize_t lab_post(struct lab *l, enum kind how, unsigned int op, unsigned int type, size_t n,
		 u64 addr, u64 key, void *ctx);
/* Post, and wait for the end. Return: its error, positive. */
int lab_do(struct lab *l, enum kind how, unsigned int op, unsigned int type, size_t n, u64 addr,
	   u64 key);

/* All integer types of up to 64 bits */
struct int_type {
	enum kfi_datatype	type;
	size_t			size;
	bool			sign;
};

extern const struct int_type int_types[8];

#endif /* KFI_CONFORMANCE_ATOMIC_H */
