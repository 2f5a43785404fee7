/* SPDX-License-Identifier: GPL-2.0 */
/*
 * route.h - calls of the consumer interface are made on the machine of the object.
 *
 * It comes before the interface's headers, so that their prototypes declare the calls below and
 * their inlines use them. With both sides in one kernel each of them tests a pointer and makes the
 * call.
 */
#ifndef KFI_CONFORMANCE_ROUTE_H
#define KFI_CONFORMANCE_ROUTE_H

#ifdef KFI_TYPES_H
#error "harness.h has to come before the headers of the interface"
#endif

#define kfi_getinfo_net		side_getinfo_net
#define kfi_fabric_net		side_fabric_net
#define kfi_close		side_close
#define kfi_bind		side_bind
#define kfi_control		side_control
#define kfi_open_ops		side_open_ops
#define kfi_setname		side_setname
#define kfi_getname		side_getname
#define kfi_getpeer		side_getpeer
#define kfi_listen		side_listen
#define kfi_connect		side_connect
#define kfi_accept		side_accept
#define kfi_reject		side_reject
#define kfi_shutdown		side_shutdown
#define kfi_domain		side_domain
#define kfi_domain_limits	side_domain_limits
#define kfi_cq_open		side_cq_open
#define kfi_cntr_open		side_cntr_open
#define kfi_mr_regattr		side_mr_regattr
#define kfi_mr_alloc		side_mr_alloc
#define kfi_mem_alloc		side_mem_alloc
#define kfi_mr_register		side_mr_register
#define kfi_mr_invalidate	side_mr_invalidate
#define kfi_av_open		side_av_open
#define kfi_av_insert		side_av_insert
#define kfi_av_insertsvc	side_av_insertsvc
#define kfi_av_insertsym	side_av_insertsym
#define kfi_av_remove		side_av_remove
#define kfi_av_lookup		side_av_lookup
#define kfi_av_straddr		side_av_straddr
#define kfi_eq_open		side_eq_open
#define kfi_eq_read		side_eq_read
#define kfi_eq_readerr		side_eq_readerr
#define kfi_eq_write		side_eq_write
#define kfi_eq_sread		side_eq_sread
#define kfi_cq_read		side_cq_read
#define kfi_cq_readfrom		side_cq_readfrom
#define kfi_cq_readerr		side_cq_readerr
#define kfi_cq_sread		side_cq_sread
#define kfi_cq_sreadfrom	side_cq_sreadfrom
#define kfi_cq_signal		side_cq_signal
#define kfi_cq_poll		side_cq_poll
#define kfi_cntr_read		side_cntr_read
#define kfi_cntr_readerr	side_cntr_readerr
#define kfi_cntr_add		side_cntr_add
#define kfi_cntr_set		side_cntr_set
#define kfi_cntr_adderr		side_cntr_adderr
#define kfi_cntr_seterr		side_cntr_seterr
#define kfi_cntr_wait		side_cntr_wait
#define kfi_endpoint		side_endpoint
#define kfi_passive_ep		side_passive_ep
#define kfi_scalable_ep		side_scalable_ep
#define kfi_cancel		side_cancel
#define kfi_ep_tx_flush		side_ep_tx_flush
#define kfi_setopt		side_setopt
#define kfi_getopt		side_getopt
#define kfi_tx_context		side_tx_context
#define kfi_rx_context		side_rx_context
#define kfi_stx_context		side_stx_context
#define kfi_srx_context		side_srx_context
#define kfi_ep_tx_space		side_ep_tx_space
#define kfi_recvmsg		side_recvmsg
#define kfi_sendmsg		side_sendmsg
#define kfi_trecvmsg		side_trecvmsg
#define kfi_tsendmsg		side_tsendmsg
#define kfi_readmsg		side_readmsg
#define kfi_writemsg		side_writemsg
#define kfi_flush		side_flush
#define kfi_query_atomic	side_query_atomic
#define kfi_ep_query_atomic	side_ep_query_atomic
#define kfi_atomicmsg		side_atomicmsg
#define kfi_fetch_atomicmsg	side_fetch_atomicmsg
#define kfi_compare_atomicmsg	side_compare_atomicmsg

#endif /* KFI_CONFORMANCE_ROUTE_H */
