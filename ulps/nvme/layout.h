/* SPDX-License-Identifier: GPL-2.0 */
/*
 * layout.h - check that the private structures of the running kernel have the layout with which
 * this module was compiled.
 *
 * No other check detects a difference: versions of symbols come from the kernel's headers, but
 * the layout of the NVMe core's structures comes from a source that the builder has unpacked. The
 * kernel describes the layout of its own structures in /sys/kernel/btf/<module>: a list of types,
 * whose names are in that file or, up to the length of its strings, in the file of vmlinux. The
 * content is trusted, but nothing is read beyond its end.
 *
 * Included by hlayout.c and tlayout.c, one in each module.
 */
#ifndef KFN_LAYOUT_H
#define KFN_LAYOUT_H

#include <linux/btf.h>
#include <linux/err.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/string.h>

/**
 * struct kfn_layout - an offset or a size with which the module was compiled
 * @type: name of a structure
 * @member: one of its members; NULL: the structure as a whole
 * @value: offset of @member, or size, in bytes
 */
struct kfn_layout {
	const char	*type;
	const char	*member;
	size_t		value;
};

#define KFN_SIZE(t)		{ #t, NULL, sizeof(struct t) }
#define KFN_OFFSET(t, m)	{ #t, #m, offsetof(struct t, m) }

/**
 * struct kfn_btf - a file of types
 * @hdr: its content; NULL: not open
 * @types: the first type
 * @end: end of the types
 * @strings: names
 * @len: bytes of @strings; the last byte is 0
 * @base: the file that has the first names, or NULL
 */
struct kfn_btf {
	struct btf_header	*hdr;
	const void		*types;
	const void		*end;
	const char		*strings;
	size_t			len;
	const struct kfn_btf	*base;
};

/* ---- reading ---- */

static inline int kfn_btf_fill(struct file *file, void *data, size_t size)
{
	loff_t pos = 0;
	ssize_t n;

	while (pos < size) {
		n = kernel_read(file, data + pos, size - pos, &pos);
		if (n <= 0)
			return n ?: -EIO;
	}
	return 0;
}

static inline void *kfn_btf_read(const char *name, size_t *size)
{
	char path[64];
	struct file *file;
	void *data;
	int ret;

	snprintf(path, sizeof(path), "/sys/kernel/btf/%s", name);
	file = filp_open(path, O_RDONLY, 0);
	if (IS_ERR(file))
		return file;
	*size = i_size_read(file_inode(file));
	data = *size <= SZ_64M ? kvmalloc(*size, GFP_KERNEL) : NULL;
	ret = data ? kfn_btf_fill(file, data, *size) : -ENOMEM;
	fput(file);
	if (!ret)
		return data;
	kvfree(data);
	return ERR_PTR(ret);
}

static inline int kfn_btf_check(struct kfn_btf *btf, size_t size)
{
	const struct btf_header *hdr = btf->hdr;
	size_t types, strings;

	if (size < sizeof(*hdr) || hdr->magic != BTF_MAGIC)
		return -EINVAL;
	types = size_add(hdr->hdr_len, hdr->type_off);
	strings = size_add(hdr->hdr_len, hdr->str_off);
	if (size_add(types, hdr->type_len) > size || size_add(strings, hdr->str_len) > size ||
	    !hdr->str_len)
		return -EINVAL;
	btf->types = (void *)hdr + types;
	btf->end = btf->types + hdr->type_len;
	btf->strings = (void *)hdr + strings;
	btf->len = hdr->str_len;
	return btf->strings[btf->len - 1] ? -EINVAL : 0;
}

static inline void kfn_btf_close(struct kfn_btf *btf)
{
	kvfree(btf->hdr);
	btf->hdr = NULL;
}

static inline int kfn_btf_open(struct kfn_btf *btf, const char *name, const struct kfn_btf *base)
{
	size_t size;
	void *data = kfn_btf_read(name, &size);
	int ret;

	if (IS_ERR(data))
		return PTR_ERR(data);
	btf->hdr = data;
	btf->base = base;
	ret = kfn_btf_check(btf, size);
	if (ret)
		kfn_btf_close(btf);
	return ret;
}

/* ---- looking up ---- */

static inline const char *kfn_btf_name(const struct kfn_btf *btf, u32 off)
{
	size_t base = btf->base ? btf->base->len : 0;

	if (off < base)
		return btf->base->strings + off;
	return off - base < btf->len ? btf->strings + (off - base) : "";
}

/* Return: bytes that follow a type, or -1 if its kind is unknown. */
static inline ssize_t kfn_btf_tail(const struct btf_type *type)
{
	u32 n = BTF_INFO_VLEN(type->info);

	switch (BTF_INFO_KIND(type->info)) {
	case BTF_KIND_PTR: case BTF_KIND_FWD: case BTF_KIND_TYPEDEF: case BTF_KIND_VOLATILE:
	case BTF_KIND_CONST: case BTF_KIND_RESTRICT: case BTF_KIND_FUNC: case BTF_KIND_FLOAT:
	case BTF_KIND_TYPE_TAG:
		return 0;
	case BTF_KIND_INT: case BTF_KIND_VAR: case BTF_KIND_DECL_TAG:
		return sizeof(u32);
	case BTF_KIND_ARRAY:
		return sizeof(struct btf_array);
	case BTF_KIND_STRUCT: case BTF_KIND_UNION:
		return n * sizeof(struct btf_member);
	case BTF_KIND_ENUM:
		return n * sizeof(struct btf_enum);
	case BTF_KIND_FUNC_PROTO:
		return n * sizeof(struct btf_param);
	case BTF_KIND_DATASEC:
		return n * sizeof(struct btf_var_secinfo);
	case BTF_KIND_ENUM64:
		return n * sizeof(struct btf_enum64);
	default:
		return -1;
	}
}

static inline const struct btf_type *kfn_btf_next(const struct kfn_btf *btf,
						  const struct btf_type *type)
{
	ssize_t tail = kfn_btf_tail(type);
	size_t room = btf->end - (void *)(type + 1);

	/* the next type must be there as a whole, without its own tail */
	return tail >= 0 && room >= tail + sizeof(*type) ? (void *)(type + 1) + tail : NULL;
}

static inline const struct btf_type *kfn_btf_struct(const struct kfn_btf *btf, const char *name)
{
	const struct btf_type *type = btf->end - btf->types >= sizeof(*type) ? btf->types : NULL;

	for (; type; type = kfn_btf_next(btf, type))
		if (BTF_INFO_KIND(type->info) == BTF_KIND_STRUCT &&
		    !strcmp(kfn_btf_name(btf, type->name_off), name))
			break;
	return type && (void *)(type + 1) + kfn_btf_tail(type) <= btf->end ? type : NULL;
}

/* Return: offset in bytes, or -1. */
static inline long kfn_btf_offset(const struct kfn_btf *btf, const struct btf_type *type,
				  const char *name)
{
	const struct btf_member *member = (void *)(type + 1);
	u32 i, bits;

	for (i = 0; i < BTF_INFO_VLEN(type->info); i++) {
		if (strcmp(kfn_btf_name(btf, member[i].name_off), name))
			continue;
		bits = BTF_INFO_KFLAG(type->info) ? BTF_MEMBER_BIT_OFFSET(member[i].offset) :
						    member[i].offset;
		return bits / BITS_PER_BYTE;
	}
	return -1;
}

/* ---- comparing ---- */

static inline int kfn_layout_row(const struct kfn_btf *btf, const char *module,
				 const struct kfn_layout *row)
{
	const struct btf_type *type = kfn_btf_struct(btf, row->type);
	/* -1: there is no such structure or member */
	long is = !type ? -1 :
		  row->member ? kfn_btf_offset(btf, type, row->member) : (long)type->size;

	if (is == (long)row->value)
		return 0;
	pr_err(KBUILD_MODNAME ": not built for this kernel's %s: struct %s%s%s %s %zu in the headers of the build, %ld in the kernel\n",
	       module, row->type, row->member ? "." : "", row->member ?: "",
	       row->member ? "is at" : "has the size", row->value, is);
	return -ENOEXEC;
}

/**
 * kfn_layout_check() - compare the compiled-in layout with the running kernel
 * @module: name of the kernel's module that has the structures, as in /sys/kernel/btf; the same if
 *	it is built in
 * @rows: structures and members
 * @n: number of @rows
 *
 * If the kernel does not describe its structures (CONFIG_DEBUG_INFO_BTF_MODULES), nothing is
 * compared, and a message is logged.
 *
 * Context: Process context; /sys has to be mounted in the namespace of the process that loads the
 * module.
 * Return: 0; or -ENOEXEC, with the reason in the log.
 */
static inline int kfn_layout_check(const char *module, const struct kfn_layout *rows, size_t n)
{
	struct kfn_btf kernel = {}, own = {};
	const struct kfn_btf *btf = &own;
	int ret;
	size_t i;

	ret = kfn_btf_open(&kernel, "vmlinux", NULL);
	if (!ret && kfn_btf_open(&own, module, &kernel))
		btf = kfn_btf_struct(&kernel, rows->type) ? &kernel : NULL;
	if (ret || !btf)
		pr_info(KBUILD_MODNAME ": this kernel has no BTF of %s: its layout was not compared\n",
			module);
	for (i = 0; i < n && !ret && btf; i++)
		ret = kfn_layout_row(btf, module, &rows[i]);
	kfn_btf_close(&own);
	kfn_btf_close(&kernel);
	return ret == -ENOEXEC ? ret : 0;
}

#endif /* KFN_LAYOUT_H */
