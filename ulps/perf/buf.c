// SPDX-License-Identifier: GPL-2.0
/*
 * buf.c - buffers of pages, kernel memory, or memory of a domain, and the patterns in them.
 *
 * A pattern is a sequence of little-endian 64-bit words that differ from one another and from those
 * of every other message, so that a comparison finds bytes that are damaged, missing, duplicated or
 * from elsewhere.
 */
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "perf.h"

#define GOLDEN	0x9e3779b97f4a7c15ULL
#define POISON	0x5a

static void *domain_alloc(struct perf_buf *buf, struct kfid_domain *domain)
{
	if (!domain || kfi_mem_alloc(domain, buf->len, 0, &buf->dom))
		return NULL;
	return buf->dom->addr;
}

static void *chunk_alloc(struct perf_buf *buf, struct kfid_domain *domain, size_t len)
{
	gfp_t gfp = GFP_KERNEL | __GFP_NOWARN | __GFP_RETRY_MAYFAIL;

	if (buf->mem == KFI_PERF_MEM_PAGES)
		return alloc_pages_exact(len, gfp);
	if (buf->mem == KFI_PERF_MEM_DOMAIN)
		return domain_alloc(buf, domain);
	return kvmalloc(len, GFP_KERNEL);
}

static void chunk_free(struct perf_buf *buf, void *va, size_t len)
{
	if (buf->mem == KFI_PERF_MEM_PAGES)
		free_pages_exact(va, len);
	else if (buf->mem == KFI_PERF_MEM_DOMAIN)
		WARN_ON_ONCE(kfi_mem_free(buf->dom));
	else
		kvfree(va);
}

static size_t chunk_len(const struct perf_buf *buf, unsigned int i)
{
	return min(buf->chunk, buf->len - i * buf->chunk);
}

/**
 * perf_buf_alloc() - allocate memory for payload, without a pattern in it
 * @domain: for memory of a domain, otherwise unused
 * @len: bytes
 * @mem: enum kfi_perf_mem
 * Return: the buffer, or NULL.
 */
struct perf_buf *perf_buf_alloc(struct kfid_domain *domain, size_t len, u8 mem)
{
	struct perf_buf *buf = kzalloc(sizeof(*buf), GFP_KERNEL);

	if (!buf)
		return NULL;
	buf->mem = mem;
	buf->len = len;
	buf->chunk = mem == KFI_PERF_MEM_PAGES ? perf_chunk(len) : len;
	if (DIV_ROUND_UP(len, buf->chunk) > PERF_IOV_MAX)
		goto free_buf;
	while (buf->nr * buf->chunk < len) {
		buf->va[buf->nr] = chunk_alloc(buf, domain, chunk_len(buf, buf->nr));
		if (!buf->va[buf->nr])
			goto free_buf;
		buf->nr++;
	}
	perf_wipe(buf, 0, len);
	return buf;

free_buf:
	perf_buf_free(buf);
	return NULL;
}

void perf_buf_free(struct perf_buf *buf)
{
	unsigned int i;

	if (!buf)
		return;
	for (i = 0; i < buf->nr; i++)
		chunk_free(buf, buf->va[i], chunk_len(buf, i));
	kfree(buf);
}

static void set_bvec(struct bio_vec *bv, void *va, size_t len)
{
	bv->bv_page = virt_to_page(va);
	bv->bv_len = len;
	bv->bv_offset = 0;
}

void perf_buf_vec(const struct perf_buf *buf, size_t len, struct perf_vec *vec)
{
	size_t n;

	vec->count = 0;
	if (buf->mem != KFI_PERF_MEM_PAGES) {
		vec->type = KFI_KVEC;
		vec->kvec[vec->count++] = (struct kvec){ .iov_base = buf->va[0], .iov_len = len };
		return;
	}
	vec->type = KFI_BVEC;
	while (len) {
		n = min(len, buf->chunk);
		set_bvec(&vec->bvec[vec->count], buf->va[vec->count], n);
		vec->count++;
		len -= n;
	}
}

/* Seeds of consecutive messages are unrelated (the finalizer of splitmix64). */
u64 perf_seed(u64 seed, u64 seq)
{
	u64 x = seed + (seq + 1) * GOLDEN;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
	return x ^ (x >> 31);
}

static void fill_piece(u8 *p, size_t len, u64 word)
{
	__le64 le;

	for (; len >= sizeof(le); p += sizeof(le), len -= sizeof(le), word += GOLDEN) {
		le = cpu_to_le64(word);
		memcpy(p, &le, sizeof(le));
	}
	le = cpu_to_le64(word);
	memcpy(p, &le, len);
}

static bool check_piece(const u8 *p, size_t len, u64 word)
{
	__le64 le;

	for (; len >= sizeof(le); p += sizeof(le), len -= sizeof(le), word += GOLDEN) {
		le = cpu_to_le64(word);
		if (memcmp(p, &le, sizeof(le)))
			return false;
	}
	le = cpu_to_le64(word);
	return !memcmp(p, &le, len);
}

/* Return the part of a buffer that begins at @pos and is in one chunk. */
static size_t piece(const struct perf_buf *buf, size_t pos, size_t len, u8 **p)
{
	unsigned int i = pos / buf->chunk;
	size_t offset = pos % buf->chunk;

	*p = buf->va[i] + offset;
	return min(len, chunk_len(buf, i) - offset);
}

/* Slots and chunks are aligned: only the last piece can end inside a word. */
static bool walk_words(const struct perf_buf *buf, size_t from, size_t len, u64 word,
		       bool (*fn)(u8 *p, size_t len, u64 word))
{
	size_t n;
	u8 *p;

	for (; len; from += n, len -= n, word += (n / sizeof(word)) * GOLDEN) {
		n = piece(buf, from, len, &p);
		if (!fn(p, n, word))
			return false;
	}
	return true;
}

static bool fill_fn(u8 *p, size_t len, u64 word)
{
	fill_piece(p, len, word);
	return true;
}

static bool check_fn(u8 *p, size_t len, u64 word)
{
	return check_piece(p, len, word);
}

void perf_fill(struct perf_buf *buf, size_t from, size_t len, u64 seed)
{
	walk_words(buf, from, len, seed, fill_fn);
}

bool perf_check(const struct perf_buf *buf, size_t from, size_t len, u64 seed)
{
	return walk_words(buf, from, len, seed, check_fn);
}

void perf_wipe(struct perf_buf *buf, size_t from, size_t len)
{
	size_t n;
	u8 *p;

	for (; len; from += n, len -= n) {
		n = piece(buf, from, len, &p);
		memset(p, POISON, n);
	}
}
