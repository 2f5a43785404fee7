// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * info.c - fi_getinfo(), and conversion of struct fi_info to and from the flat form of the kernel
 *
 * The kernel compares hints with the offers of its providers. The library does the rest:
 *
 * - Names. libfabric has one provider, kfi; the kernel has several. A fabric or domain "eth0" of
 *   the kernel's provider "sockets" is "sockets-eth0" here.
 * - FI_AV_MAP. The kernel's vectors are tables; an index serves as a handle.
 * - Memory registration. The kernel has no requirements (except that some providers choose keys
 *   themselves); programs get the modes that they expect.
 * - Capabilities that a process can't use through the device are removed.
 */
#include "kfi_fi.h"

/* Triggered operations, scalable endpoints, multicast; and bits of the kernel only */
#define HIDDEN_CAPS	(FI_TRIGGER | FI_NAMED_RX_CTX | FI_MULTICAST | FI_COLLECTIVE | FI_HMEM | \
			 0xFULL << 60)
/* KFI_BOUND of a domain. A program gives it back with the info, and so opens what it has chosen. */
#define BOUND_CAP	(1ULL << 60)
/* Bits with another meaning in libfabric 1, for example FI_HMEM_HOST_ALLOC */
#define NEW_CAPS	(1ULL << 45 | 1ULL << 46 | 1ULL << 48)

/* Capabilities of the info and its domain, not of one side of an endpoint */
#define DOMAIN_CAPS	(FI_LOCAL_COMM | FI_REMOTE_COMM | FI_SHARED_AV)

/* Flags of utility providers that search a provider to run over; none of them is a public flag */
#define LAYER_FLAGS	(0xFULL << 58)
/*
 * Flags that the kernel gets. Other flags are ignored, as by libfabric's own providers. One of them
 * is FI_RESCAN of libfabric 2.2: the kernel scans its networks again for each answer.
 */
#define PUBLIC_FLAGS	(FI_NUMERICHOST | FI_SOURCE | FI_PROV_ATTR_ONLY)

#define DEFAULT_ANSWERS	16

static uint64_t hidden_caps(uint32_t version)
{
	return HIDDEN_CAPS | (version < KFI_API_2 ? NEW_CAPS : 0);
}

/* SIZE_MAX is FI_SHARED_CONTEXT, whatever the size of a size_t. */
static uint64_t widen(size_t n)
{
	return n == SIZE_MAX ? UINT64_MAX : n;
}

static size_t clamp_size(uint64_t n)
{
	return n > SIZE_MAX ? SIZE_MAX : n;
}

/* ---- names ---- */

/*
 * Split "provider-name" into its parts, which have room for KFI_USER_NAME_MAX bytes. Without a '-'
 * the whole name is that of a provider, and the rest is empty.
 */
int kfi_name_split(const char *name, char *provider, char *rest)
{
	const char *dash = strchr(name, '-');
	size_t len = dash ? (size_t)(dash - name) : strlen(name);

	if (!len || len >= KFI_USER_NAME_MAX || (dash && strlen(dash + 1) >= KFI_USER_NAME_MAX))
		return -FI_ENODATA;
	memcpy(provider, name, len);
	provider[len] = '\0';
	strcpy(rest, dash ? dash + 1 : "");
	return 0;
}

static char *name_join(const char *provider, const char *name)
{
	size_t len = strlen(provider);
	char *joined;

	if (!*name)
		return strdup(provider);
	joined = malloc(len + strlen(name) + 2);
	if (!joined)
		return NULL;
	memcpy(joined, provider, len);
	joined[len] = '-';
	strcpy(joined + len + 1, name);
	return joined;
}

/*
 * Convert names of a fabric and a domain to those of the kernel. If a name has only the part of a
 * provider, it is returned to the caller and not passed to the kernel, which would try to load a
 * module of that name: "eth0" in the hints of a program that uses another libfabric provider must
 * not cause that.
 */
static int pack_names(const char *fabric, const char *domain, struct kfi_user_info *flat,
		      const char **provider)
{
	char prov[2][KFI_USER_NAME_MAX] = { "", "" };

	if (fabric && kfi_name_split(fabric, prov[0], flat->fabric.name))
		return -FI_ENODATA;
	if (domain && kfi_name_split(domain, prov[1], flat->domain.name))
		return -FI_ENODATA;
	if (*prov[0] && *prov[1] && strcmp(prov[0], prov[1]))
		return -FI_ENODATA;
	if (*flat->fabric.name || *flat->domain.name)
		strcpy(flat->fabric.prov_name, *prov[0] ? prov[0] : prov[1]);
	else if (fabric || domain)
		*provider = fabric ? fabric : domain;
	return 0;
}

/* ---- modes of registration ---- */

/* Return the requirements on registrations, from mr_mode as a number or as a set of bits. */
int kfi_mr_bits(uint32_t version, int mr_mode)
{
	if (mr_mode & KFI_MR_BASIC || (version < KFI_API_MODES && mr_mode == KFI_MR_UNSPEC))
		return KFI_MR_BITS;
	return mr_mode & ~KFI_MR_SCALABLE;
}

/* Return the mr_mode of an answer. @required: requirements of the kernel's provider */
static int mr_mode_answer(uint32_t version, const struct fi_info *hints, int required)
{
	int requested = hints && hints->domain_attr ? hints->domain_attr->mr_mode : KFI_MR_BITS;

	if (version < KFI_API_MODES)
		return hints && hints->domain_attr && requested == KFI_MR_SCALABLE ?
		       KFI_MR_SCALABLE : KFI_MR_BASIC;
	if (requested & KFI_MR_BASIC)
		return KFI_MR_BASIC;
	if (requested == KFI_MR_SCALABLE)
		return KFI_MR_SCALABLE;
	return required | (requested & KFI_MR_BITS);
}

/* ---- to the kernel ---- */

/*
 * A label, such as "low latency", is optional: libfabric's own providers do not refuse a label that
 * they don't support, and benchmarks use one. A code point of Differentiated Services is a
 * requirement.
 */
static uint32_t traffic_class(uint32_t tclass)
{
	return tclass & FI_TC_DSCP ? tclass : FI_TC_UNSPEC;
}

void kfi_pack_tx(const struct fi_tx_attr *attr, struct kfi_user_info *flat)
{
	flat->tx.caps = attr->caps;
	flat->tx.mode = attr->mode;
	flat->tx.op_flags = attr->op_flags;
	flat->tx.msg_order = attr->msg_order;
	flat->tx.inject_size = attr->inject_size;
	flat->tx.size = attr->size;
	flat->tx.iov_limit = attr->iov_limit;
	flat->tx.rma_iov_limit = attr->rma_iov_limit;
	flat->tx.tclass = traffic_class(attr->tclass);
}

void kfi_pack_rx(const struct fi_rx_attr *attr, struct kfi_user_info *flat)
{
	flat->rx.caps = attr->caps;
	flat->rx.mode = attr->mode;
	flat->rx.op_flags = attr->op_flags;
	flat->rx.msg_order = attr->msg_order;
	flat->rx.size = attr->size;
	flat->rx.iov_limit = attr->iov_limit;
}

static int pack_key(uint8_t *to, uint32_t *to_size, const uint8_t *key, size_t size)
{
	if (!key || !size)
		return 0;
	if (size > KFI_USER_DATA_MAX)
		return -FI_ENODATA;
	memcpy(to, key, size);
	*to_size = size;
	return 0;
}

static int pack_ep(const struct fi_ep_attr *attr, struct kfi_user_info *flat)
{
	/* There are no scalable endpoints for processes. */
	if ((attr->tx_ctx_cnt > 1 && attr->tx_ctx_cnt != FI_SHARED_CONTEXT) ||
	    (attr->rx_ctx_cnt > 1 && attr->rx_ctx_cnt != FI_SHARED_CONTEXT))
		return -FI_ENODATA;
	flat->ep.type = attr->type;
	flat->ep.protocol = attr->protocol;
	flat->ep.protocol_version = attr->protocol_version;
	flat->ep.max_msg_size = attr->max_msg_size;
	flat->ep.msg_prefix_size = attr->msg_prefix_size;
	flat->ep.max_order_raw_size = attr->max_order_raw_size;
	flat->ep.max_order_war_size = attr->max_order_war_size;
	flat->ep.max_order_waw_size = attr->max_order_waw_size;
	flat->ep.mem_tag_format = attr->mem_tag_format;
	flat->ep.tx_ctx_cnt = widen(attr->tx_ctx_cnt);
	flat->ep.rx_ctx_cnt = widen(attr->rx_ctx_cnt);
	return pack_key(flat->ep.auth_key, &flat->ep.auth_key_size, attr->auth_key,
			attr->auth_key_size);
}

static int pack_domain(const struct fi_domain_attr *attr, uint32_t version,
		       struct kfi_user_info *flat)
{
	flat->domain.threading = attr->threading;
	flat->domain.control_progress = attr->control_progress;
	flat->domain.data_progress = attr->data_progress;
	flat->domain.resource_mgmt = attr->resource_mgmt;
	flat->domain.av_type = attr->av_type == FI_AV_MAP ? FI_AV_TABLE : attr->av_type;
	flat->domain.mr_mode = kfi_mr_bits(version, attr->mr_mode);
	flat->domain.tclass = traffic_class(attr->tclass);
	flat->domain.mr_key_size = attr->mr_key_size;
	flat->domain.cq_data_size = attr->cq_data_size;
	flat->domain.cq_cnt = attr->cq_cnt;
	flat->domain.ep_cnt = attr->ep_cnt;
	flat->domain.tx_ctx_cnt = attr->tx_ctx_cnt;
	flat->domain.rx_ctx_cnt = attr->rx_ctx_cnt;
	flat->domain.max_ep_tx_ctx = attr->max_ep_tx_ctx;
	flat->domain.max_ep_rx_ctx = attr->max_ep_rx_ctx;
	flat->domain.max_ep_stx_ctx = attr->max_ep_stx_ctx;
	flat->domain.max_ep_srx_ctx = attr->max_ep_srx_ctx;
	flat->domain.cntr_cnt = attr->cntr_cnt;
	flat->domain.mr_iov_limit = attr->mr_iov_limit;
	flat->domain.caps = attr->caps;
	flat->domain.mode = attr->mode;
	flat->domain.max_err_data = attr->max_err_data;
	flat->domain.mr_cnt = attr->mr_cnt;
	return pack_key(flat->domain.auth_key, &flat->domain.auth_key_size, attr->auth_key,
			attr->auth_key_size);
}

static int pack_addr(uint8_t *to, uint32_t *to_len, const void *addr, size_t len)
{
	if (!addr || !len)
		return 0;
	if (len > KFI_USER_ADDR_MAX)
		return -FI_ENODATA;
	memcpy(to, addr, len);
	*to_len = len;
	return 0;
}

static bool caps_known(const struct fi_info *info, uint32_t version)
{
	uint64_t caps = info->caps | (info->tx_attr ? info->tx_attr->caps : 0) |
			(info->rx_attr ? info->rx_attr->caps : 0);

	return !(caps & hidden_caps(version));
}

/*
 * No provider promises completions in the order of the posts, for which 2.0 has no flag any more.
 */
static bool order_known(const struct fi_info *info, uint32_t version)
{
	return version >= KFI_API_2 || !((info->tx_attr && info->tx_attr->comp_order) ||
					 (info->rx_attr && info->rx_attr->comp_order));
}

/**
 * kfi_info_pack() - make the flat form of an info or of hints
 * @info: the info; parts of it may be absent
 * @version: version of the interface for which the program was written
 * @flat: the result
 * @provider: set to a provider of the kernel if the names have only a provider, without a fabric or
 *	domain; else unchanged
 *
 * Return: 0; -FI_ENODATA if the kernel can't offer such an endpoint.
 */
int kfi_info_pack(const struct fi_info *info, uint32_t version, struct kfi_user_info *flat,
		  const char **provider)
{
	const struct fi_domain_attr *domain = info->domain_attr;
	const struct fi_fabric_attr *fabric = info->fabric_attr;

	memset(flat, 0, sizeof(*flat));
	if (!caps_known(info, version) || !order_known(info, version))
		return -FI_ENODATA;
	flat->caps = info->caps;
	flat->mode = info->mode;
	flat->addr_format = info->addr_format;
	if (info->tx_attr)
		kfi_pack_tx(info->tx_attr, flat);
	if (info->rx_attr)
		kfi_pack_rx(info->rx_attr, flat);
	if (info->ep_attr && pack_ep(info->ep_attr, flat))
		return -FI_ENODATA;
	flat->domain.mr_mode = KFI_MR_BITS | FI_MR_ENDPOINT;
	if (domain && pack_domain(domain, version, flat))
		return -FI_ENODATA;
	if (pack_addr(flat->src_addr, &flat->src_addrlen, info->src_addr, info->src_addrlen) ||
	    pack_addr(flat->dest_addr, &flat->dest_addrlen, info->dest_addr, info->dest_addrlen))
		return -FI_ENODATA;
	return pack_names(fabric ? fabric->name : NULL, domain ? domain->name : NULL, flat,
			  provider);
}

/* ---- from the kernel ---- */

static uint8_t *copy_bytes(const void *from, size_t len)
{
	void *copy = malloc(len);

	if (copy)
		memcpy(copy, from, len);
	return copy;
}

static void unpack_tx(const struct kfi_user_info *flat, uint64_t hidden, struct fi_tx_attr *attr)
{
	attr->caps = flat->tx.caps & ~hidden & ~DOMAIN_CAPS;
	attr->mode = flat->tx.mode;
	attr->op_flags = flat->tx.op_flags;
	attr->msg_order = flat->tx.msg_order;
	attr->inject_size = clamp_size(flat->tx.inject_size);
	attr->size = clamp_size(flat->tx.size);
	attr->iov_limit = clamp_size(flat->tx.iov_limit);
	attr->rma_iov_limit = clamp_size(flat->tx.rma_iov_limit);
	attr->tclass = flat->tx.tclass;
	/* Vectors of the interface may be shorter than those that kernel consumers are offered. */
	if (attr->iov_limit > KFI_USER_IOV_MAX)
		attr->iov_limit = KFI_USER_IOV_MAX;
	if (attr->rma_iov_limit > KFI_USER_IOV_MAX)
		attr->rma_iov_limit = KFI_USER_IOV_MAX;
}

static void unpack_rx(const struct kfi_user_info *flat, uint64_t hidden, struct fi_rx_attr *attr)
{
	attr->caps = flat->rx.caps & ~hidden & ~DOMAIN_CAPS;
	attr->mode = flat->rx.mode;
	attr->op_flags = flat->rx.op_flags;
	attr->msg_order = flat->rx.msg_order;
	attr->size = clamp_size(flat->rx.size);
	attr->iov_limit = clamp_size(flat->rx.iov_limit);
	if (attr->iov_limit > KFI_USER_IOV_MAX)
		attr->iov_limit = KFI_USER_IOV_MAX;
}

static bool unpack_ep(const struct kfi_user_info *flat, struct fi_ep_attr *attr)
{
	attr->type = flat->ep.type;
	attr->protocol = flat->ep.protocol;
	attr->protocol_version = flat->ep.protocol_version;
	attr->max_msg_size = clamp_size(flat->ep.max_msg_size);
	attr->msg_prefix_size = clamp_size(flat->ep.msg_prefix_size);
	attr->max_order_raw_size = clamp_size(flat->ep.max_order_raw_size);
	attr->max_order_war_size = clamp_size(flat->ep.max_order_war_size);
	attr->max_order_waw_size = clamp_size(flat->ep.max_order_waw_size);
	attr->mem_tag_format = flat->ep.mem_tag_format;
	attr->tx_ctx_cnt = clamp_size(flat->ep.tx_ctx_cnt);
	attr->rx_ctx_cnt = clamp_size(flat->ep.rx_ctx_cnt);
	if (!flat->ep.auth_key_size || flat->ep.auth_key_size > KFI_USER_DATA_MAX)
		return true;
	attr->auth_key_size = flat->ep.auth_key_size;
	attr->auth_key = copy_bytes(flat->ep.auth_key, attr->auth_key_size);
	return attr->auth_key;
}

static bool unpack_domain(const struct kfi_user_info *flat, uint64_t hidden,
			  struct fi_domain_attr *attr)
{
	attr->name = name_join(flat->fabric.prov_name, flat->domain.name);
	attr->threading = flat->domain.threading;
	attr->control_progress = flat->domain.control_progress;
	attr->data_progress = flat->domain.data_progress;
	attr->resource_mgmt = flat->domain.resource_mgmt;
	attr->av_type = flat->domain.av_type;
	attr->mr_mode = flat->domain.mr_mode;
	attr->tclass = flat->domain.tclass;
	attr->mr_key_size = clamp_size(flat->domain.mr_key_size);
	attr->cq_data_size = clamp_size(flat->domain.cq_data_size);
	attr->cq_cnt = clamp_size(flat->domain.cq_cnt);
	attr->ep_cnt = clamp_size(flat->domain.ep_cnt);
	attr->tx_ctx_cnt = clamp_size(flat->domain.tx_ctx_cnt);
	attr->rx_ctx_cnt = clamp_size(flat->domain.rx_ctx_cnt);
	attr->max_ep_tx_ctx = 1;
	attr->max_ep_rx_ctx = 1;
	attr->max_ep_stx_ctx = clamp_size(flat->domain.max_ep_stx_ctx);
	attr->max_ep_srx_ctx = clamp_size(flat->domain.max_ep_srx_ctx);
	attr->cntr_cnt = clamp_size(flat->domain.cntr_cnt);
	attr->mr_iov_limit = clamp_size(flat->domain.mr_iov_limit);
	if (attr->mr_iov_limit > KFI_USER_IOV_MAX)
		attr->mr_iov_limit = KFI_USER_IOV_MAX;
	attr->caps = flat->domain.caps & (~hidden | BOUND_CAP);
	attr->mode = flat->domain.mode;
	attr->max_err_data = clamp_size(flat->domain.max_err_data);
	attr->mr_cnt = clamp_size(flat->domain.mr_cnt);
	if (!flat->domain.auth_key_size || flat->domain.auth_key_size > KFI_USER_DATA_MAX)
		return attr->name;
	attr->auth_key_size = flat->domain.auth_key_size;
	attr->auth_key = copy_bytes(flat->domain.auth_key, attr->auth_key_size);
	return attr->name && attr->auth_key;
}

static bool unpack_addr(const uint8_t *from, uint32_t len, void **addr, size_t *addrlen)
{
	if (!len || len > KFI_USER_ADDR_MAX)
		return true;
	*addr = copy_bytes(from, len);
	*addrlen = len;
	return *addr;
}

/**
 * kfi_info_unpack() - make an info of the flat form
 * @flat: an answer of the kernel
 * @version: version of the interface for which the program was written
 *
 * mr_mode is that of the kernel, and av_type is FI_AV_TABLE: the caller replaces them by the values
 * that the program has requested. libfabric sets fabric_attr->prov_name.
 *
 * Return: the info, for fi_freeinfo(), or NULL without memory.
 */
struct fi_info *kfi_info_unpack(const struct kfi_user_info *flat, uint32_t version)
{
	struct fi_info *info = fi_allocinfo();
	uint64_t hidden = hidden_caps(version);

	if (!info)
		return NULL;
	info->caps = flat->caps & ~hidden;
	info->mode = flat->mode;
	info->addr_format = flat->addr_format;
	unpack_tx(flat, hidden, info->tx_attr);
	unpack_rx(flat, hidden, info->rx_attr);
	info->fabric_attr->name = name_join(flat->fabric.prov_name, flat->fabric.name);
	info->fabric_attr->prov_version = flat->fabric.prov_version;
	info->fabric_attr->api_version = version;
	if (unpack_ep(flat, info->ep_attr) && unpack_domain(flat, hidden, info->domain_attr) &&
	    unpack_addr(flat->src_addr, flat->src_addrlen, &info->src_addr, &info->src_addrlen) &&
	    unpack_addr(flat->dest_addr, flat->dest_addrlen, &info->dest_addr,
			&info->dest_addrlen) &&
	    info->fabric_attr->name)
		return info;
	fi_freeinfo(info);
	return NULL;
}

/* ---- fi_getinfo() ---- */

/* Set attributes of an answer that the program has requested and that the kernel does not have. */
static void fill_requested(struct fi_info *info, uint32_t version, const struct fi_info *hints)
{
	struct fi_domain_attr *attr = info->domain_attr;
	const struct fi_domain_attr *requested = hints ? hints->domain_attr : NULL;

	attr->mr_mode = mr_mode_answer(version, hints, attr->mr_mode);
	/* A program that uses a table counts the addresses itself. */
	attr->av_type = requested ? requested->av_type : FI_AV_UNSPEC;
	/* The kernel makes progress by itself, which satisfies a request for manual progress. */
	if (requested && requested->data_progress == FI_PROGRESS_MANUAL)
		attr->data_progress = FI_PROGRESS_MANUAL;
	if (requested && requested->control_progress == FI_PROGRESS_MANUAL)
		attr->control_progress = FI_PROGRESS_MANUAL;
	if (requested)
		attr->domain = requested->domain;
	if (hints && hints->fabric_attr)
		info->fabric_attr->fabric = hints->fabric_attr->fabric;
}

/* Ask the kernel. The answers are in memory for the caller to free. */
static int get_answers(const struct kfi_fabric *device, struct kfi_user_getinfo *arg,
		       struct kfi_user_info **answers)
{
	uint32_t room = DEFAULT_ANSWERS;
	int ret;

	for (;;) {
		*answers = calloc(room, sizeof(**answers));
		if (!*answers)
			return -FI_ENOMEM;
		arg->infos = (uintptr_t)*answers;
		arg->count = room;
		ret = kfi_call(device, KFI_IOC_GETINFO, arg);
		if (!ret && arg->count <= room)
			return 0;
		free(*answers);
		*answers = NULL;
		if (ret)
			return ret;
		room = arg->count;
	}
}

/*
 * A label such as FI_TC_LOW_LATENCY is optional, and programs set it for any network. If no
 * provider supports labels, the answer has none. A DSCP value is a requirement.
 */
static bool drop_labels(struct kfi_user_info *hints)
{
	bool dropped = (hints->tx.tclass | hints->domain.tclass) & FI_TC_LABEL;

	if (hints->tx.tclass & FI_TC_LABEL)
		hints->tx.tclass = FI_TC_UNSPEC;
	if (hints->domain.tclass & FI_TC_LABEL)
		hints->domain.tclass = FI_TC_UNSPEC;
	return dropped;
}

/* A question to the kernel, and its answers */
struct question {
	const struct kfi_fabric	*device;
	struct kfi_user_getinfo	arg;
	struct kfi_user_info	*hints;		/* NULL: none */
	struct kfi_user_info	*answers;
};

static int ask(void *question, const char *node, const char *service)
{
	struct question *q = question;
	int ret;

	q->arg.node = (uintptr_t)node;
	q->arg.service = (uintptr_t)service;
	ret = get_answers(q->device, &q->arg, &q->answers);
	if (ret == -FI_ENODATA && q->hints && drop_labels(q->hints))
		ret = get_answers(q->device, &q->arg, &q->answers);
	return ret;
}

static int answer(const struct kfi_user_info *answers, uint32_t count, uint32_t version,
		  const struct fi_info *hints, const char *provider, struct fi_info **info)
{
	struct fi_info *head = NULL, **tail = &head;
	uint32_t i;

	for (i = 0; i < count; i++) {
		if (provider && strcmp(answers[i].fabric.prov_name, provider))
			continue;
		*tail = kfi_info_unpack(&answers[i], version);
		if (!*tail) {
			fi_freeinfo(head);
			return -FI_ENOMEM;
		}
		fill_requested(*tail, version, hints);
		tail = &(*tail)->next;
	}
	*info = head;
	return head ? 0 : -FI_ENODATA;
}

/* Require the name of an open object in the answer, and in the hints if they have one. */
static int require_name(char *name, const char *opened)
{
	if (*name && strcmp(name, opened))
		return -FI_ENODATA;
	strcpy(name, opened);
	return 0;
}

/* Open objects in the hints require that an answer is of their fabric and domain. */
static int pack_hints(const struct fi_info *hints, uint32_t version, struct kfi_user_info *flat,
		      const char **provider)
{
	const struct fid_domain *dfid = hints->domain_attr ? hints->domain_attr->domain : NULL;
	const struct fid_fabric *ffid = hints->fabric_attr ? hints->fabric_attr->fabric : NULL;
	const struct kfi_fabric *fabric = NULL;
	int ret;

	/* libfabric calls each provider, also with objects that another provider has opened. */
	if ((dfid && dfid->fid.ops != &kfi_domain_fid_ops) ||
	    (ffid && ffid->fid.ops != &kfi_fabric_fid_ops))
		return -FI_ENODATA;
	ret = kfi_info_pack(hints, version, flat, provider);
	if (dfid) {
		const struct kfi_domain *domain = kfi_container(dfid, struct kfi_domain, fid);

		fabric = domain->fabric;
		if (!ret)
			ret = require_name(flat->domain.name, domain->info.domain.name);
	} else if (ffid) {
		fabric = kfi_container(ffid, struct kfi_fabric, fid);
	}
	if (!ret && fabric)
		ret = require_name(flat->fabric.name, fabric->name);
	if (!ret && fabric)
		ret = require_name(flat->fabric.prov_name, fabric->prov_name);
	return ret;
}

/* FI_PROV_ATTR_ONLY: report that the provider exists; libfabric knows its name and version. */
static int answer_provider(struct fi_info **info)
{
	*info = fi_allocinfo();
	if (!*info)
		return -FI_ENOMEM;
	(*info)->fabric_attr->prov_version = kfi_prov.version;
	return 0;
}

int kfi_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
		const struct fi_info *hints, struct fi_info **info)
{
	struct kfi_fabric device = {};
	struct question q = {
		.device = &device,
		.arg.info_size = sizeof(struct kfi_user_info),
	};
	const char *provider = NULL;
	struct kfi_user_info flat;
	int layered = 0, ret;
	uint32_t api;

	if (flags & LAYER_FLAGS)
		fi_param_get_bool(&kfi_prov, "layered", &layered);
	if (flags & LAYER_FLAGS && !layered)
		return -FI_ENODATA;
	flags &= PUBLIC_FLAGS;
	if (!node && !service)
		flags &= ~FI_SOURCE;	/* there is no name */
	if (hints) {
		ret = pack_hints(hints, version, &flat, &provider);
		if (ret)
			return ret;
		q.hints = &flat;
		q.arg.hints = (uintptr_t)&flat;
	}
	if (kfi_device_open(&device, &api))
		return -FI_ENODATA;	/* no device, or not for this user: no message */
	if (flags & FI_PROV_ATTR_ONLY) {
		kfi_device_close(&device);
		return answer_provider(info);
	}
	q.arg.version = version < api ? version : api;
	q.arg.flags = flags;
	ret = kfi_resolve(node, service, hints ? hints->addr_format : FI_FORMAT_UNSPEC, flags, ask,
			  &q, -FI_ENODATA);
	kfi_device_close(&device);
	if (ret)
		return ret;
	ret = answer(q.answers, q.arg.count, version, hints, provider, info);
	free(q.answers);
	return ret;
}
