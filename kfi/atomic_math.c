// SPDX-License-Identifier: GPL-2.0
/*
 * Arithmetic of the atomic operations on one element, as fi_atomic(3) defines it. The caller
 * excludes other operations on the element.
 *
 * All types are computed in the widest one: values are sign or zero extended when they are loaded,
 * and truncated when they are stored. Sums, products and bit operations are correct modulo the size
 * of the type; only comparisons depend on whether the type is signed.
 */
#include <linux/bits.h>
#include <linux/export.h>
#include "atomic.h"

#if defined(CONFIG_64BIT) && defined(__SIZEOF_INT128__)
#define ATOMIC_128	16
typedef unsigned __int128 kfi_wide;
typedef __int128 kfi_swide;
#else
#define ATOMIC_128	0
typedef u64 kfi_wide;
typedef s64 kfi_swide;
#endif

/* ---- supported types and operations ---- */

static const u8 atomic_sizes[] = {
	[KFI_INT8]	= 1,		[KFI_UINT8]	= 1,
	[KFI_INT16]	= 2,		[KFI_UINT16]	= 2,
	[KFI_INT32]	= 4,		[KFI_UINT32]	= 4,
	[KFI_INT64]	= 8,		[KFI_UINT64]	= 8,
	[KFI_INT128]	= ATOMIC_128,	[KFI_UINT128]	= ATOMIC_128,
};

#define OPS_CHANGE	(BIT(KFI_MIN) | BIT(KFI_MAX) | BIT(KFI_SUM) | BIT(KFI_PROD) | \
			 BIT(KFI_LOR) | BIT(KFI_LAND) | BIT(KFI_BOR) | BIT(KFI_BAND) | \
			 BIT(KFI_LXOR) | BIT(KFI_BXOR) | BIT(KFI_ATOMIC_WRITE) | BIT(KFI_DIFF))
#define OPS_COMPARE	(BIT(KFI_CSWAP) | BIT(KFI_CSWAP_NE) | BIT(KFI_CSWAP_LE) | \
			 BIT(KFI_CSWAP_LT) | BIT(KFI_CSWAP_GE) | BIT(KFI_CSWAP_GT) | BIT(KFI_MSWAP))

static unsigned long atomic_ops(u8 code)
{
	switch (code) {
	case KFI_OPC_ATOMIC:
		return OPS_CHANGE;
	case KFI_OPC_FETCH_ATOMIC:
		return OPS_CHANGE | BIT(KFI_ATOMIC_READ);
	case KFI_OPC_COMPARE_ATOMIC:
		return OPS_COMPARE;
	default:
		return 0;
	}
}

size_t kfi_atomic_size(unsigned int datatype)
{
	return datatype < ARRAY_SIZE(atomic_sizes) ? atomic_sizes[datatype] : 0;
}
EXPORT_SYMBOL_GPL(kfi_atomic_size);

bool kfi_atomic_valid(u8 code, unsigned int op, unsigned int datatype)
{
	return op <= KFI_DIFF && (atomic_ops(code) & BIT(op)) && kfi_atomic_size(datatype);
}
EXPORT_SYMBOL_GPL(kfi_atomic_valid);

/* ---- one element ---- */

static bool is_signed(u16 datatype)
{
	return datatype == KFI_INT8 || datatype == KFI_INT16 || datatype == KFI_INT32 ||
	       datatype == KFI_INT64 || datatype == KFI_INT128;
}

/*
 * Access an element of up to a machine word with one load or store, so that the owner of the
 * memory, which takes no lock, never sees half of a store.
 */
static kfi_wide load(const void *p, u16 datatype)
{
	switch (datatype) {
	case KFI_INT8:
		return READ_ONCE(*(const s8 *)p);
	case KFI_UINT8:
		return READ_ONCE(*(const u8 *)p);
	case KFI_INT16:
		return READ_ONCE(*(const s16 *)p);
	case KFI_UINT16:
		return READ_ONCE(*(const u16 *)p);
	case KFI_INT32:
		return READ_ONCE(*(const s32 *)p);
	case KFI_UINT32:
		return READ_ONCE(*(const u32 *)p);
	case KFI_INT64:
		return __READ_ONCE(*(const s64 *)p);
	case KFI_UINT64:
		return __READ_ONCE(*(const u64 *)p);
	default:
		return *(const kfi_wide *)p;
	}
}

static void store(void *p, size_t size, kfi_wide value)
{
	switch (size) {
	case 1:
		WRITE_ONCE(*(u8 *)p, value);
		break;
	case 2:
		WRITE_ONCE(*(u16 *)p, value);
		break;
	case 4:
		WRITE_ONCE(*(u32 *)p, value);
		break;
	case 8:
		__WRITE_ONCE(*(u64 *)p, value);
		break;
	default:
		*(kfi_wide *)p = value;
	}
}

static bool less(kfi_wide a, kfi_wide b, bool sign)
{
	return sign ? (kfi_swide)a < (kfi_swide)b : a < b;
}

/*
 * New value of a target @t, for the operand @v and, in a compare operation, the value to compare
 * with @c.
 */
static kfi_wide atomic_value(u8 op, bool sign, kfi_wide t, kfi_wide v, kfi_wide c)
{
	switch (op) {
	case KFI_MIN:
		return less(v, t, sign) ? v : t;
	case KFI_MAX:
		return less(t, v, sign) ? v : t;
	case KFI_SUM:
		return t + v;
	case KFI_DIFF:
		return t - v;
	case KFI_PROD:
		return t * v;
	case KFI_LOR:
		return t || v;
	case KFI_LAND:
		return t && v;
	case KFI_LXOR:
		return !t != !v;
	case KFI_BOR:
		return t | v;
	case KFI_BAND:
		return t & v;
	case KFI_BXOR:
		return t ^ v;
	case KFI_ATOMIC_WRITE:
		return v;
	case KFI_CSWAP:
		return c == t ? v : t;
	case KFI_CSWAP_NE:
		return c != t ? v : t;
	case KFI_CSWAP_LE:
		return less(t, c, sign) ? t : v;
	case KFI_CSWAP_LT:
		return less(c, t, sign) ? v : t;
	case KFI_CSWAP_GE:
		return less(c, t, sign) ? t : v;
	case KFI_CSWAP_GT:
		return less(t, c, sign) ? v : t;
	case KFI_MSWAP:
		return (v & c) | (t & ~c);
	default:
		return t;	/* KFI_ATOMIC_READ */
	}
}

/*
 * A target whose value does not change is not written: with KFI_ATOMIC_READ its memory may be
 * read-only.
 */
void kfi_atomic_element(u8 op, u16 datatype, void *target, const void *operand, const void *compare,
			void *old)
{
	size_t size = atomic_sizes[datatype];
	kfi_wide t = load(target, datatype), new;

	new = atomic_value(op, is_signed(datatype), t, load(operand, datatype),
			   load(compare, datatype));
	store(old, size, t);
	if (new != t)
		store(target, size, new);
}
