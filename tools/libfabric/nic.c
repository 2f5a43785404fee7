// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * nic.c - the network device of an info
 *
 * fi_freeinfo(), fi_dupinfo() and fi_tostr() call the operations of its fid.
 */
#include <stdarg.h>
#include <stdio.h>

#include "kfi_fi.h"

static struct fi_ops nic_ops;

static int nic_close(struct fid *fid)
{
	struct fid_nic *nic = kfi_container(fid, struct fid_nic, fid);

	if (nic->device_attr) {
		free(nic->device_attr->name);
		free(nic->device_attr->driver);
	}
	if (nic->link_attr) {
		free(nic->link_attr->address);
		free(nic->link_attr->network_type);
	}
	free(nic->device_attr);
	free(nic->bus_attr);
	free(nic->link_attr);
	free(nic);
	return 0;
}

static struct fid_nic *nic_alloc(void)
{
	struct fid_nic *nic = calloc(1, sizeof(*nic));

	if (!nic)
		return NULL;
	nic->fid.fclass = FI_CLASS_NIC;
	nic->fid.ops = &nic_ops;
	nic->device_attr = calloc(1, sizeof(*nic->device_attr));
	nic->bus_attr = calloc(1, sizeof(*nic->bus_attr));
	nic->link_attr = calloc(1, sizeof(*nic->link_attr));
	if (nic->device_attr && nic->bus_attr && nic->link_attr)
		return nic;
	nic_close(&nic->fid);
	return NULL;
}

/* Return: false without memory. An absent string stays absent. */
static bool copy_string(char **to, const char *from)
{
	if (from && *from)
		*to = strdup(from);
	return !from || !*from || *to;
}

struct fid_nic *kfi_nic(const struct kfi_user_info *flat)
{
	struct fid_nic *nic = nic_alloc();

	if (!nic)
		return NULL;
	if (!copy_string(&nic->device_attr->name, flat->nic.device) ||
	    !copy_string(&nic->device_attr->driver, flat->nic.driver) ||
	    !copy_string(&nic->link_attr->address, flat->nic.link_address) ||
	    !copy_string(&nic->link_attr->network_type, flat->nic.network_type)) {
		nic_close(&nic->fid);
		return NULL;
	}
	nic->link_attr->mtu = flat->nic.mtu;
	nic->link_attr->speed = flat->nic.speed;
	nic->link_attr->state = flat->nic.link_state;
	nic->bus_attr->bus_type = flat->nic.bus_type;
	nic->bus_attr->attr.pci.domain_id = flat->nic.pci_domain;
	nic->bus_attr->attr.pci.bus_id = flat->nic.pci_bus;
	nic->bus_attr->attr.pci.device_id = flat->nic.pci_device;
	nic->bus_attr->attr.pci.function_id = flat->nic.pci_function;
	return nic;
}

static int nic_dup(const struct fid_nic *nic, struct fid_nic **dup)
{
	struct fid_nic *copy = nic_alloc();

	if (!copy)
		return -FI_ENOMEM;
	*copy->bus_attr = *nic->bus_attr;
	copy->link_attr->mtu = nic->link_attr->mtu;
	copy->link_attr->speed = nic->link_attr->speed;
	copy->link_attr->state = nic->link_attr->state;
	if (!copy_string(&copy->device_attr->name, nic->device_attr->name) ||
	    !copy_string(&copy->device_attr->driver, nic->device_attr->driver) ||
	    !copy_string(&copy->link_attr->address, nic->link_attr->address) ||
	    !copy_string(&copy->link_attr->network_type, nic->link_attr->network_type)) {
		nic_close(&copy->fid);
		return -FI_ENOMEM;
	}
	*dup = copy;
	return 0;
}

static int nic_control(struct fid *fid, int command, void *arg)
{
	if (command != FI_DUP)
		return -FI_ENOSYS;
	return nic_dup(kfi_container(fid, struct fid_nic, fid), arg);
}

/* Append to the text in the buffer. */
static void append(char *buf, size_t size, const char *format, ...)
{
	size_t at = strnlen(buf, size);
	va_list args;

	if (at >= size)
		return;
	va_start(args, format);
	vsnprintf(buf + at, size - at, format, args);
	va_end(args);
}

static const char *or_none(const char *text)
{
	return text ? text : "(null)";
}

static int nic_tostr(const struct fid *fid, char *buf, size_t len)
{
	static const char *const states[] = { "unknown", "down", "up" };
	const struct fid_nic *nic = kfi_container(fid, const struct fid_nic, fid);
	const struct fi_link_attr *link = nic->link_attr;

	append(buf, len, "    nic:\n        device: %s\n        driver: %s\n",
	       or_none(nic->device_attr->name), or_none(nic->device_attr->driver));
	if (nic->bus_attr->bus_type == FI_BUS_PCI)
		append(buf, len, "        pci: %04x:%02x:%02x.%x\n",
		       nic->bus_attr->attr.pci.domain_id, nic->bus_attr->attr.pci.bus_id,
		       nic->bus_attr->attr.pci.device_id, nic->bus_attr->attr.pci.function_id);
	append(buf, len, "        link: %s, %s, %s, mtu %zu, speed %zu\n",
	       or_none(link->network_type), or_none(link->address),
	       link->state <= FI_LINK_UP ? states[link->state] : "?", link->mtu, link->speed);
	return 0;
}

static struct fi_ops nic_ops = {
	.size		= sizeof(struct fi_ops),
	.close		= nic_close,
	.bind		= kfi_no_bind,
	.control	= nic_control,
	.ops_open	= kfi_no_ops_open,
	.tostr		= nic_tostr,
	.ops_set	= kfi_no_ops_set,
};
