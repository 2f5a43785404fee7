/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * private.h - what libibverbs and its providers say to each other, as far as kfi.c uses it
 *
 * libibverbs installs no header for that. It gives these structures and functions the symbol
 * version IBVERBS_PRIVATE_34, and names its providers after it, so that neither finds the other if
 * their numbers differ. The structures are those of rdma-core 36 to 56. 34 and 35 have the number,
 * too, and fewer operations: this library must not be used with them.
 */
#ifndef KFI_PRIVATE_H
#define KFI_PRIVATE_H

#include <stdbool.h>
#include <infiniband/verbs.h>
#include <rdma/ib_user_verbs.h>

struct verbs_sysfs_dev;

/*
 * A command of the first interface: a header, which the function fills in, and what the kernel
 * reads
 */
#define COMMAND(name)						\
	struct name {						\
		struct ib_uverbs_cmd_hdr	hdr;		\
		struct ib_uverbs_##name		core;		\
	}

COMMAND(get_context);
COMMAND(query_port);
COMMAND(alloc_pd);
COMMAND(reg_mr);
COMMAND(create_cq);
COMMAND(create_srq);
COMMAND(modify_srq);
COMMAND(query_srq);
COMMAND(create_qp);
COMMAND(modify_qp);
COMMAND(query_qp);

enum { VERBS_MATCH_DRIVER_ID = 3 };

/* A list of these ends with kind 0. */
struct verbs_match_ent {
	void		*driver_data;
	uint64_t	driver_id;
	uint16_t	vendor;
	uint16_t	device;
	uint8_t		kind;
};

struct verbs_device {
	struct ibv_device		device;
	const struct verbs_device_ops	*ops;
	int				refcount;
	void				*entry[2];
	struct verbs_sysfs_dev		*sysfs;
	uint64_t			core_support;
};

struct verbs_device_ops {
	const char			*name;
	uint32_t			match_min_abi_version;
	uint32_t			match_max_abi_version;
	const struct verbs_match_ent	*match_table;
	const struct verbs_device_ops	**static_providers;
	bool				(*match_device)(struct verbs_sysfs_dev *dev);
	struct verbs_context		*(*alloc_context)(struct ibv_device *device, int fd,
							  void *private_data);
	struct verbs_context		*(*import_context)(struct ibv_device *device, int fd);
	struct verbs_device		*(*alloc_device)(struct verbs_sysfs_dev *dev);
	void				(*uninit_device)(struct verbs_device *device);
};

struct verbs_mr {
	struct ibv_mr		mr;
	int			type;
	int			access;
};

/* In the order of libibverbs. NULL is an operation that fails with EOPNOTSUPP. */
struct verbs_context_ops {
	void *advise_mr, *alloc_dm, *alloc_mw, *alloc_null_mr, *alloc_parent_domain;
	struct ibv_pd *(*alloc_pd)(struct ibv_context *ctx);
	void *alloc_td, *async_event, *attach_counters_point_flow, *attach_mcast, *bind_mw;
	void *close_xrcd, *cq_event;
	struct ibv_ah *(*create_ah)(struct ibv_pd *pd, struct ibv_ah_attr *attr);
	void *create_counters;
	struct ibv_cq *(*create_cq)(struct ibv_context *ctx, int cqe,
				    struct ibv_comp_channel *channel, int vector);
	void *create_cq_ex, *create_flow, *create_flow_action_esp;
	struct ibv_qp *(*create_qp)(struct ibv_pd *pd, struct ibv_qp_init_attr *attr);
	void *create_qp_ex, *create_rwq_ind_table;
	struct ibv_srq *(*create_srq)(struct ibv_pd *pd, struct ibv_srq_init_attr *attr);
	void *create_srq_ex, *create_wq, *dealloc_mw;
	int (*dealloc_pd)(struct ibv_pd *pd);
	void *dealloc_td;
	int (*dereg_mr)(struct verbs_mr *mr);
	int (*destroy_ah)(struct ibv_ah *ah);
	void *destroy_counters;
	int (*destroy_cq)(struct ibv_cq *cq);
	void *destroy_flow, *destroy_flow_action;
	int (*destroy_qp)(struct ibv_qp *qp);
	void *destroy_rwq_ind_table;
	int (*destroy_srq)(struct ibv_srq *srq);
	void *destroy_wq, *detach_mcast;
	void (*free_context)(struct ibv_context *ctx);
	void *free_dm, *get_srq_num, *import_dm, *import_mr, *import_pd, *modify_cq;
	void *modify_flow_action_esp;
	int (*modify_qp)(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask);
	void *modify_qp_rate_limit;
	int (*modify_srq)(struct ibv_srq *srq, struct ibv_srq_attr *attr, int mask);
	void *modify_wq, *open_qp, *open_xrcd;
	int (*poll_cq)(struct ibv_cq *cq, int nr, struct ibv_wc *wc);
	int (*post_recv)(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
	int (*post_send)(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
	void *post_srq_ops;
	int (*post_srq_recv)(struct ibv_srq *srq, struct ibv_recv_wr *wr,
			     struct ibv_recv_wr **bad);
	int (*query_device_ex)(struct ibv_context *ctx,
			       const struct ibv_query_device_ex_input *input,
			       struct ibv_device_attr_ex *attr, size_t size);
	void *query_ece;
	int (*query_port)(struct ibv_context *ctx, uint8_t port, struct ibv_port_attr *attr);
	int (*query_qp)(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
			struct ibv_qp_init_attr *init);
	void *query_qp_data_in_order, *query_rt_values;
	int (*query_srq)(struct ibv_srq *srq, struct ibv_srq_attr *attr);
	void *read_counters, *reg_dm_mr, *reg_dmabuf_mr;
	struct ibv_mr *(*reg_mr)(struct ibv_pd *pd, void *addr, size_t len, uint64_t hca_va,
				 int access);
	int (*req_notify_cq)(struct ibv_cq *cq, int solicited);
	void *rereg_mr, *resize_cq, *set_ece, *unimport_dm, *unimport_mr, *unimport_pd;
};

void verbs_register_driver_34(const struct verbs_device_ops *ops);
void *_verbs_init_and_alloc_context(struct ibv_device *device, int fd, size_t size,
				    struct verbs_context *offset, uint32_t driver_id);
void verbs_uninit_context(struct verbs_context *ctx);
void verbs_set_ops(struct verbs_context *ctx, const struct verbs_context_ops *ops);

int ibv_cmd_get_context(struct verbs_context *ctx, struct get_context *cmd, size_t size,
			struct ib_uverbs_get_context_resp *resp, size_t resp_size);
int ibv_cmd_query_device_any(struct ibv_context *ctx,
			     const struct ibv_query_device_ex_input *input,
			     struct ibv_device_attr_ex *attr, size_t attr_size,
			     struct ib_uverbs_ex_query_device_resp *resp, size_t *resp_size);
int ibv_cmd_query_port(struct ibv_context *ctx, uint8_t port, struct ibv_port_attr *attr,
		       struct query_port *cmd, size_t size);
int ibv_cmd_alloc_pd(struct ibv_context *ctx, struct ibv_pd *pd, struct alloc_pd *cmd, size_t size,
		     struct ib_uverbs_alloc_pd_resp *resp, size_t resp_size);
int ibv_cmd_dealloc_pd(struct ibv_pd *pd);
int ibv_cmd_reg_mr(struct ibv_pd *pd, void *addr, size_t len, uint64_t hca_va, int access,
		   struct verbs_mr *mr, struct reg_mr *cmd, size_t size,
		   struct ib_uverbs_reg_mr_resp *resp, size_t resp_size);
int ibv_cmd_dereg_mr(struct verbs_mr *mr);
int ibv_cmd_create_ah(struct ibv_pd *pd, struct ibv_ah *ah, struct ibv_ah_attr *attr,
		      struct ib_uverbs_create_ah_resp *resp, size_t resp_size);
int ibv_cmd_destroy_ah(struct ibv_ah *ah);
int ibv_cmd_create_cq(struct ibv_context *ctx, int cqe, struct ibv_comp_channel *channel,
		      int vector, struct ibv_cq *cq, struct create_cq *cmd, size_t size,
		      struct ib_uverbs_create_cq_resp *resp, size_t resp_size);
int ibv_cmd_poll_cq(struct ibv_cq *cq, int nr, struct ibv_wc *wc);
int ibv_cmd_destroy_cq(struct ibv_cq *cq);
int ibv_cmd_create_srq(struct ibv_pd *pd, struct ibv_srq *srq, struct ibv_srq_init_attr *attr,
		       struct create_srq *cmd, size_t size,
		       struct ib_uverbs_create_srq_resp *resp, size_t resp_size);
int ibv_cmd_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr, int mask,
		       struct modify_srq *cmd, size_t size);
int ibv_cmd_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr, struct query_srq *cmd,
		      size_t size);
int ibv_cmd_destroy_srq(struct ibv_srq *srq);
int ibv_cmd_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
int ibv_cmd_create_qp(struct ibv_pd *pd, struct ibv_qp *qp, struct ibv_qp_init_attr *attr,
		      struct create_qp *cmd, size_t size,
		      struct ib_uverbs_create_qp_resp *resp, size_t resp_size);
int ibv_cmd_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
		      struct modify_qp *cmd, size_t size);
int ibv_cmd_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
		     struct ibv_qp_init_attr *init, struct query_qp *cmd, size_t size);
int ibv_cmd_destroy_qp(struct ibv_qp *qp);
int ibv_cmd_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
int ibv_cmd_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);

#endif /* KFI_PRIVATE_H */
