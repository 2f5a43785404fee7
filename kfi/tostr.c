// SPDX-License-Identifier: GPL-2.0
/*
 * tostr.c - values and structures as text, see fi_tostr(3). Tables list the members of each
 * structure.
 */
#include <linux/export.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/kernel.h>
#include <linux/seq_buf.h>
#include <linux/slab.h>
#include <linux/socket.h>
#include <linux/string.h>
#include <kfabric.h>
#include <kfi_domain.h>
#include <kfi_endpoint.h>
#include <kfi_eq.h>

#include "names.h"

/* Size of the text of kfi_tostr(), in bytes; an info with all capabilities needs 3000 */
#define TOSTR_MAX	8192

enum member_kind {
	AS_SIZE,	/* size_t */
	AS_U32,
	AS_INT,
	AS_HEX,		/* u64 */
	AS_POINTER,
	AS_STRING,
	AS_VERSION,	/* u32 */
	AS_ENUM,	/* int or u32, with names */
	AS_FLAGS,	/* u64, with names */
	AS_FLAGS32,	/* int, with names */
};

struct member {
	const char		*name;
	size_t			offset;
	enum member_kind	kind;
	const struct kfi_names	*names;
};

#define M(type, field, kind)	{ #field, offsetof(struct type, field), kind, NULL }
#define E(type, field, set)	{ #field, offsetof(struct type, field), AS_ENUM, &kfi_names_##set }
#define F(type, field, set)	{ #field, offsetof(struct type, field), AS_FLAGS, &kfi_names_##set }

static const struct member tx_members[] = {
	F(kfi_tx_attr, caps, caps),
	F(kfi_tx_attr, mode, mode),
	F(kfi_tx_attr, op_flags, op_flags),
	F(kfi_tx_attr, msg_order, msg_order),
	M(kfi_tx_attr, inject_size, AS_SIZE),
	M(kfi_tx_attr, size, AS_SIZE),
	M(kfi_tx_attr, iov_limit, AS_SIZE),
	M(kfi_tx_attr, rma_iov_limit, AS_SIZE),
	E(kfi_tx_attr, tclass, tclass),
	{ }
};

static const struct member rx_members[] = {
	F(kfi_rx_attr, caps, caps),
	F(kfi_rx_attr, mode, mode),
	F(kfi_rx_attr, op_flags, op_flags),
	F(kfi_rx_attr, msg_order, msg_order),
	M(kfi_rx_attr, size, AS_SIZE),
	M(kfi_rx_attr, iov_limit, AS_SIZE),
	{ }
};

static const struct member ep_members[] = {
	E(kfi_ep_attr, type, ep_type),
	E(kfi_ep_attr, protocol, protocol),
	M(kfi_ep_attr, protocol_version, AS_U32),
	M(kfi_ep_attr, max_msg_size, AS_SIZE),
	M(kfi_ep_attr, msg_prefix_size, AS_SIZE),
	M(kfi_ep_attr, max_order_raw_size, AS_SIZE),
	M(kfi_ep_attr, max_order_war_size, AS_SIZE),
	M(kfi_ep_attr, max_order_waw_size, AS_SIZE),
	M(kfi_ep_attr, mem_tag_format, AS_HEX),
	M(kfi_ep_attr, tx_ctx_cnt, AS_SIZE),
	M(kfi_ep_attr, rx_ctx_cnt, AS_SIZE),
	M(kfi_ep_attr, auth_key_size, AS_SIZE),
	{ }
};

static const struct member domain_members[] = {
	M(kfi_domain_attr, domain, AS_POINTER),
	M(kfi_domain_attr, name, AS_STRING),
	E(kfi_domain_attr, threading, threading),
	E(kfi_domain_attr, control_progress, progress),
	E(kfi_domain_attr, data_progress, progress),
	E(kfi_domain_attr, resource_mgmt, resource_mgmt),
	E(kfi_domain_attr, av_type, av_type),
	{ "mr_mode", offsetof(struct kfi_domain_attr, mr_mode), AS_FLAGS32, &kfi_names_mr_mode },
	M(kfi_domain_attr, mr_key_size, AS_SIZE),
	M(kfi_domain_attr, cq_data_size, AS_SIZE),
	M(kfi_domain_attr, cq_cnt, AS_SIZE),
	M(kfi_domain_attr, ep_cnt, AS_SIZE),
	M(kfi_domain_attr, tx_ctx_cnt, AS_SIZE),
	M(kfi_domain_attr, rx_ctx_cnt, AS_SIZE),
	M(kfi_domain_attr, max_ep_tx_ctx, AS_SIZE),
	M(kfi_domain_attr, max_ep_rx_ctx, AS_SIZE),
	M(kfi_domain_attr, max_ep_stx_ctx, AS_SIZE),
	M(kfi_domain_attr, max_ep_srx_ctx, AS_SIZE),
	M(kfi_domain_attr, cntr_cnt, AS_SIZE),
	M(kfi_domain_attr, mr_iov_limit, AS_SIZE),
	F(kfi_domain_attr, caps, caps),
	F(kfi_domain_attr, mode, mode),
	M(kfi_domain_attr, auth_key_size, AS_SIZE),
	M(kfi_domain_attr, max_err_data, AS_SIZE),
	M(kfi_domain_attr, mr_cnt, AS_SIZE),
	E(kfi_domain_attr, tclass, tclass),
	M(kfi_domain_attr, max_ep_auth_key, AS_SIZE),
	M(kfi_domain_attr, max_group_id, AS_U32),
	{ }
};

static const struct member fabric_members[] = {
	M(kfi_fabric_attr, fabric, AS_POINTER),
	M(kfi_fabric_attr, name, AS_STRING),
	M(kfi_fabric_attr, prov_name, AS_STRING),
	M(kfi_fabric_attr, prov_version, AS_VERSION),
	M(kfi_fabric_attr, api_version, AS_VERSION),
	{ }
};

static const struct member av_members[] = {
	E(kfi_av_attr, type, av_type),
	M(kfi_av_attr, rx_ctx_bits, AS_INT),
	M(kfi_av_attr, count, AS_SIZE),
	M(kfi_av_attr, ep_per_node, AS_SIZE),
	M(kfi_av_attr, name, AS_STRING),
	M(kfi_av_attr, map_addr, AS_POINTER),
	M(kfi_av_attr, flags, AS_HEX),
	{ }
};

static const struct member cq_members[] = {
	M(kfi_cq_attr, size, AS_SIZE),
	M(kfi_cq_attr, flags, AS_HEX),
	E(kfi_cq_attr, format, cq_format),
	E(kfi_cq_attr, wait_obj, wait_obj),
	M(kfi_cq_attr, signaling_vector, AS_INT),
	E(kfi_cq_attr, wait_cond, cq_wait_cond),
	{ }
};

static const struct member mr_members[] = {
	E(kfi_mr_attr, type, iov_type),
	M(kfi_mr_attr, iov_count, AS_SIZE),
	F(kfi_mr_attr, access, access),
	M(kfi_mr_attr, offset, AS_HEX),
	M(kfi_mr_attr, requested_key, AS_HEX),
	M(kfi_mr_attr, context, AS_POINTER),
	M(kfi_mr_attr, auth_key_size, AS_SIZE),
	{ }
};

static const struct member cntr_members[] = {
	E(kfi_cntr_attr, events, cntr_events),
	E(kfi_cntr_attr, wait_obj, wait_obj),
	M(kfi_cntr_attr, flags, AS_HEX),
	{ }
};

static const struct member cq_err_members[] = {
	M(kfi_cq_err_entry, op_context, AS_POINTER),
	F(kfi_cq_err_entry, flags, cq_flags),
	M(kfi_cq_err_entry, len, AS_SIZE),
	M(kfi_cq_err_entry, buf, AS_POINTER),
	M(kfi_cq_err_entry, data, AS_HEX),
	M(kfi_cq_err_entry, tag, AS_HEX),
	M(kfi_cq_err_entry, olen, AS_SIZE),
	M(kfi_cq_err_entry, err, AS_INT),
	M(kfi_cq_err_entry, prov_errno, AS_INT),
	M(kfi_cq_err_entry, err_data_size, AS_SIZE),
	M(kfi_cq_err_entry, src_addr, AS_HEX),
	{ }
};

static void print_enum(struct seq_buf *s, const struct kfi_names *names, u64 value)
{
	size_t i;

	for (i = 0; i < names->count; i++) {
		if (names->tab[i].value == value) {
			seq_buf_printf(s, "%s", names->tab[i].text);
			return;
		}
	}
	seq_buf_printf(s, "Unknown (0x%llx)", value);
}

/* Print the names of the flags that are set, and flags without a name as a number. */
static void print_flags(struct seq_buf *s, const struct kfi_names *names, u64 flags)
{
	const char *sep = "";
	size_t i;

	for (i = 0; i < names->count; i++) {
		if (!(flags & names->tab[i].value))
			continue;
		seq_buf_printf(s, "%s%s", sep, names->tab[i].text);
		flags &= ~names->tab[i].value;
		sep = ", ";
	}
	if (flags)
		seq_buf_printf(s, "%s0x%llx", sep, flags);
}

static void print_member_flags(struct seq_buf *s, const struct member *m, u64 flags)
{
	seq_buf_printf(s, "[ ");
	print_flags(s, m->names, flags);
	seq_buf_printf(s, " ]");
}

static void print_string(struct seq_buf *s, const char *text)
{
	seq_buf_printf(s, "%s", text ?: "(null)");
}

static void print_version(struct seq_buf *s, u32 version)
{
	seq_buf_printf(s, "%u.%u", KFI_MAJOR(version), KFI_MINOR(version));
}

static void print_value(struct seq_buf *s, const struct member *m, const void *at)
{
	switch (m->kind) {
	case AS_SIZE:
		seq_buf_printf(s, "%zu", *(const size_t *)at);
		break;
	case AS_U32:
		seq_buf_printf(s, "%u", *(const u32 *)at);
		break;
	case AS_INT:
		seq_buf_printf(s, "%d", *(const int *)at);
		break;
	case AS_HEX:
		seq_buf_printf(s, "0x%llx", *(const u64 *)at);
		break;
	case AS_POINTER:
		seq_buf_printf(s, "%p", *(void * const *)at);
		break;
	case AS_STRING:
		print_string(s, *(const char * const *)at);
		break;
	case AS_VERSION:
		print_version(s, *(const u32 *)at);
		break;
	case AS_ENUM:
		print_enum(s, m->names, *(const u32 *)at);
		break;
	case AS_FLAGS:
		print_member_flags(s, m, *(const u64 *)at);
		break;
	case AS_FLAGS32:
		print_member_flags(s, m, *(const u32 *)at);
		break;
	}
}

/* Print one line for each member, in the format of fi_info(1). */
static void print_struct(struct seq_buf *s, const char *indent, const char *name,
			 const struct member *m, const void *data)
{
	seq_buf_printf(s, "%s%s:%s\n", indent, name, data ? "" : " (null)");
	for (; data && m->name; m++) {
		seq_buf_printf(s, "%s    %s: ", indent, m->name);
		print_value(s, m, data + m->offset);
		seq_buf_printf(s, "\n");
	}
}

static bool is_inet(const struct sockaddr *sa, size_t len)
{
	if (len >= sizeof(struct sockaddr_in) && sa->sa_family == AF_INET)
		return true;
	return len >= sizeof(struct sockaddr_in6) && sa->sa_family == AF_INET6;
}

static void print_addr(struct seq_buf *s, const char *name, u32 format,
		       const void *addr, size_t len)
{
	seq_buf_printf(s, "    %s: ", name);
	if (!addr || !len)
		seq_buf_printf(s, "(null)");
	else if (format >= KFI_SOCKADDR && format <= KFI_SOCKADDR_IN6 && is_inet(addr, len))
		seq_buf_printf(s, "%pISpc", addr);
	else if (format == KFI_ADDR_STR)
		seq_buf_printf(s, "%.*s", (int)min_t(size_t, len, INT_MAX), (const char *)addr);
	else
		seq_buf_printf(s, "%*phN", (int)min_t(size_t, len, 64), addr);
	seq_buf_printf(s, "\n");
}

static void print_nic(struct seq_buf *s, const struct kfid_nic *nic)
{
	if (!nic)
		return;
	seq_buf_printf(s, "    nic:\n");
	if (nic->device_attr) {
		seq_buf_printf(s, "        device: ");
		print_string(s, nic->device_attr->name);
		seq_buf_printf(s, "\n");
	}
	if (nic->link_attr)
		seq_buf_printf(s, "        mtu: %zu\n        speed: %zu\n",
			       nic->link_attr->mtu, nic->link_attr->speed);
}

static void print_info(struct seq_buf *s, const struct kfi_info *info)
{
	seq_buf_printf(s, "kfi_info:\n    caps: [ ");
	print_flags(s, &kfi_names_caps, info->caps);
	seq_buf_printf(s, " ]\n    mode: [ ");
	print_flags(s, &kfi_names_mode, info->mode);
	seq_buf_printf(s, " ]\n    addr_format: ");
	print_enum(s, &kfi_names_addr_format, info->addr_format);
	seq_buf_printf(s, "\n");
	print_addr(s, "src_addr", info->addr_format, info->src_addr, info->src_addrlen);
	print_addr(s, "dest_addr", info->addr_format, info->dest_addr, info->dest_addrlen);
	print_struct(s, "    ", "kfi_tx_attr", tx_members, info->tx_attr);
	print_struct(s, "    ", "kfi_rx_attr", rx_members, info->rx_attr);
	print_struct(s, "    ", "kfi_ep_attr", ep_members, info->ep_attr);
	print_struct(s, "    ", "kfi_domain_attr", domain_members, info->domain_attr);
	print_struct(s, "    ", "kfi_fabric_attr", fabric_members, info->fabric_attr);
	print_nic(s, info->nic);
}

/* How a type of kfi_tostr() is printed: by a set of names, or member by member */
struct printer {
	const char		*name;		/* name of the structure */
	const struct member	*members;
	const struct kfi_names	*names;
	enum member_kind	kind;		/* kind of a value that has names */
};

#define ENUM(set)	{ .names = &kfi_names_##set, .kind = AS_ENUM }
#define FLAGS(set)	{ .names = &kfi_names_##set, .kind = AS_FLAGS }
#define STRUCT(type, m)	{ .name = #type, .members = m }

static const struct printer printers[] = {
	[KFI_TYPE_EP_TYPE]	= ENUM(ep_type),
	[KFI_TYPE_CAPS]		= FLAGS(caps),
	[KFI_TYPE_OP_FLAGS]	= FLAGS(op_flags),
	[KFI_TYPE_ADDR_FORMAT]	= ENUM(addr_format),
	[KFI_TYPE_TX_ATTR]	= STRUCT(kfi_tx_attr, tx_members),
	[KFI_TYPE_RX_ATTR]	= STRUCT(kfi_rx_attr, rx_members),
	[KFI_TYPE_EP_ATTR]	= STRUCT(kfi_ep_attr, ep_members),
	[KFI_TYPE_DOMAIN_ATTR]	= STRUCT(kfi_domain_attr, domain_members),
	[KFI_TYPE_FABRIC_ATTR]	= STRUCT(kfi_fabric_attr, fabric_members),
	[KFI_TYPE_THREADING]	= ENUM(threading),
	[KFI_TYPE_PROGRESS]	= ENUM(progress),
	[KFI_TYPE_PROTOCOL]	= ENUM(protocol),
	[KFI_TYPE_MSG_ORDER]	= FLAGS(msg_order),
	[KFI_TYPE_MODE]		= FLAGS(mode),
	[KFI_TYPE_AV_TYPE]	= ENUM(av_type),
	[KFI_TYPE_ATOMIC_TYPE]	= ENUM(datatype),
	[KFI_TYPE_ATOMIC_OP]	= ENUM(atomic_op),
	[KFI_TYPE_EQ_EVENT]	= ENUM(eq_event),
	[KFI_TYPE_CQ_EVENT_FLAGS] = FLAGS(cq_flags),
	[KFI_TYPE_MR_MODE]	= { .names = &kfi_names_mr_mode, .kind = AS_FLAGS32 },
	[KFI_TYPE_CQ_FORMAT]	= ENUM(cq_format),
	[KFI_TYPE_AV_ATTR]	= STRUCT(kfi_av_attr, av_members),
	[KFI_TYPE_CQ_ATTR]	= STRUCT(kfi_cq_attr, cq_members),
	[KFI_TYPE_MR_ATTR]	= STRUCT(kfi_mr_attr, mr_members),
	[KFI_TYPE_CNTR_ATTR]	= STRUCT(kfi_cntr_attr, cntr_members),
	[KFI_TYPE_CQ_ERR_ENTRY]	= STRUCT(kfi_cq_err_entry, cq_err_members),
};

static void print_named(struct seq_buf *s, const struct printer *p, const void *data)
{
	if (p->kind == AS_ENUM)
		print_enum(s, p->names, *(const u32 *)data);
	else if (p->kind == AS_FLAGS)
		print_flags(s, p->names, *(const u64 *)data);
	else
		print_flags(s, p->names, *(const u32 *)data);
}

static void print_fid(struct seq_buf *s, const struct kfid *fid)
{
	print_enum(s, &kfi_names_class, fid->fclass);
	seq_buf_printf(s, " context %p", fid->context);
}

static void print_any(struct seq_buf *s, const void *data, enum kfi_type type)
{
	const struct printer *p;

	if (type == KFI_TYPE_VERSION) {
		print_version(s, kfi_version());
		return;
	}
	p = (unsigned int)type < ARRAY_SIZE(printers) ? &printers[type] : NULL;
	if (!data)
		seq_buf_printf(s, "(null)");
	else if (type == KFI_TYPE_INFO)
		print_info(s, data);
	else if (type == KFI_TYPE_FID)
		print_fid(s, data);
	else if (p && p->members)
		print_struct(s, "", p->name, p->members, data);
	else if (p && p->names)
		print_named(s, p, data);
	else
		seq_buf_printf(s, "Unknown type");
}

/**
 * kfi_tostr_r() - see kfabric.h
 * @buf: buffer for the text
 * @len: bytes of @buf
 * @data: value or structure to be printed
 * @datatype: type of @data
 *
 * Return: @buf, or NULL.
 */
char *kfi_tostr_r(char *buf, size_t len, const void *data,
		  enum kfi_type datatype)
{
	struct seq_buf s;

	if (!buf || !len)
		return NULL;
	seq_buf_init(&s, buf, len);
	buf[0] = '\0';
	print_any(&s, data, datatype);
	buf[len - 1] = '\0';
	return buf;
}
EXPORT_SYMBOL_GPL(kfi_tostr_r);

/**
 * kfi_tostr() - see kfabric.h
 * @data: value or structure to be printed
 * @datatype: type of @data
 *
 * Return: text, which the caller frees with kfree(), or NULL.
 */
char *kfi_tostr(const void *data, enum kfi_type datatype)
{
	char *buf = kmalloc(TOSTR_MAX, GFP_KERNEL);
	char *text;

	if (!buf)
		return NULL;
	text = kstrdup(kfi_tostr_r(buf, TOSTR_MAX, data, datatype), GFP_KERNEL);
	kfree(buf);
	return text;
}
EXPORT_SYMBOL_GPL(kfi_tostr);
