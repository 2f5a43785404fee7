/* SPDX-License-Identifier: GPL-2.0 */
/* wire-user.h - definitions of the kernel for the wire.[ch] of the providers, in the fuzzers */
#ifndef _WIRE_USER_H
#define _WIRE_USER_H

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROMISE(x) do { \
	if (!(x)) { \
		fprintf(stderr, "broken promise: %s\n", #x); \
		abort(); \
	} \
} while (0)

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef uint16_t __le16;
typedef uint32_t __le32;
typedef uint64_t __le64;

#define __packed		__attribute__((packed))
#define noinline		__attribute__((noinline))
#define le16_to_cpu(x)		le16toh(x)
#define le32_to_cpu(x)		le32toh(x)
#define le64_to_cpu(x)		le64toh(x)
#define cpu_to_le16(x)		htole16(x)
#define cpu_to_le32(x)		htole32(x)
#define cpu_to_le64(x)		htole64(x)

#if __BYTE_ORDER == __BIG_ENDIAN
#error the fuzzer wants a little-endian host
#else
#undef __BIG_ENDIAN		/* as in the kernel, which defines only the one that applies */
#endif

static inline u16 get_unaligned_le16(const void *p)
{
	u16 v;

	memcpy(&v, p, sizeof(v));
	return le16toh(v);
}

static inline u32 get_unaligned_le32(const void *p)
{
	u32 v;

	memcpy(&v, p, sizeof(v));
	return le32toh(v);
}

static inline u64 get_unaligned_le64(const void *p)
{
	u64 v;

	memcpy(&v, p, sizeof(v));
	return le64toh(v);
}

static inline void put_unaligned_le16(u16 v, void *p)
{
	v = htole16(v);
	memcpy(p, &v, sizeof(v));
}

static inline void put_unaligned_le32(u32 v, void *p)
{
	v = htole32(v);
	memcpy(p, &v, sizeof(v));
}

static inline void put_unaligned_le64(u64 v, void *p)
{
	v = htole64(v);
	memcpy(p, &v, sizeof(v));
}

#endif
