/* SPDX-License-Identifier: GPL-2.0 */
/* identity.h - Ethernet addresses of what stays over loads and boots */
#ifndef KNET_IDENTITY_H
#define KNET_IDENTITY_H

#include <linux/if_ether.h>
#include <linux/types.h>

/* Return: true if this UUID of the firmware is that of one machine; false if it is NULL */
bool knet_identifies(const char *uuid);

/*
 * Make the address of a port. @uuid: that of the machine; @device, @port: the port, see
 * &kfi_domain_limits.port_device; @n: number of the network device at that port, 0 for the first
 * one; @mac: for the address. UUIDs can't be found out from it
 */
void knet_make_address(const char *uuid, const char *device, u64 port, unsigned int n, u8 *mac);

#endif /* KNET_IDENTITY_H */
