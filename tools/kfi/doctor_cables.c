// SPDX-License-Identifier: GPL-2.0
/* doctor_cables.c - kfi doctor: cables, bridges, and what providers say of them */
#include <stdlib.h>
#include <string.h>

#include <linux/kfi.h>

#include "doctor.h"

#define CABLES	"sys/bus/thunderbolt/devices"
#define BRIDGES	"sys/bus/ntb/devices"

/* ---- what the kernel's thunderbolt driver knows ---- */

static const char *cable_text(struct doctor *d, const char *name, const char *what)
{
	return tree_text(d->tree, CABLES "/%s/%s", name, what);
}

/* Is this another computer, and not a dock or a disk? */
static bool is_computer(struct doctor *d, const char *name)
{
	const char *event = cable_text(d, name, "uevent");

	return event && strstr(event, "DEVTYPE=thunderbolt_xdomain");
}

static const char *host_behind(struct doctor *d, const char *name)
{
	const char *text = cable_text(d, name, "device_name");

	/* "(none)": the host had no name yet when its kernel told it, and kfi_usb4 does not run. */
	return text && *text && strcmp(text, "(none)") ? text : "another computer";
}

/* Services of a computer, as "0-1.0" of "0-1" */
struct services {
	struct doctor *d;
	const char *of;
	bool kfabric;
	bool net;
};

static void one_service(void *arg, const char *name)
{
	struct services *s = arg;
	size_t len = strlen(s->of);
	const char *text;

	if (strncmp(name, s->of, len) || name[len] != '.')
		return;
	text = cable_text(s->d, name, "key");
	s->kfabric |= text && !strcmp(text, "kfabric");
	text = tree_link(s->d->tree, CABLES "/%s/driver", name);
	s->net |= text && !strcmp(text, "thunderbolt-net");
}

static struct services services_of(struct doctor *d, const char *name)
{
	struct services s = { .d = d, .of = name };

	tree_each(d->tree, one_service, &s, CABLES);
	return s;
}

static void one_unused(void *arg, const char *name)
{
	struct doctor *d = arg;

	if (is_computer(d, name) && is_built(d) && !loaded(d, "kfi_usb4"))
		found(d, NULL, "a cable leads to %s (%s), and kfi_usb4 is not loaded",
		      host_behind(d, name), name);
}

static void cable_unused(struct doctor *d)
{
	tree_each(d->tree, one_unused, d, CABLES);
}

static void cables_forbidden(struct doctor *d)
{
	const char *text = tree_text(d->tree, "sys/module/thunderbolt/parameters/xdomain");

	if (loaded(d, "kfi_usb4") && text && *text == 'N')
		found(d, NULL, "the kernel ignores other computers behind cables");
}

static void one_unauthorized(void *arg, const char *name)
{
	struct doctor *d = arg;
	const char *text = cable_text(d, name, "authorized");

	if (text && *text == '0')
		found(d, name,
		      "%s (%s) is plugged, and not authorized", host_behind(d, name), name);
}

static void cable_unauthorized(struct doctor *d)
{
	tree_each(d->tree, one_unauthorized, d, CABLES);
}

static void one_open(void *arg, const char *name)
{
	struct doctor *d = arg;
	const char *level = cable_text(d, name, "security");
	const char *iommu = cable_text(d, name, "iommu_dma_protection");

	if (level && !strcmp(level, "none") && iommu && *iommu == '0')
		found(d, NULL,
		      "%s: what is plugged is not authorized, and no IOMMU restrains it", name);
}

static void cable_open(struct doctor *d)
{
	tree_each(d->tree, one_open, d, CABLES);
}

static void one_without_kfabric(void *arg, const char *name)
{
	struct doctor *d = arg;

	if (is_computer(d, name) && loaded(d, "kfi_usb4") && !services_of(d, name).kfabric)
		found(d, NULL, "%s (%s) does not offer kfabric", host_behind(d, name), name);
}

static void peer_without_kfabric(struct doctor *d)
{
	tree_each(d->tree, one_without_kfabric, d, CABLES);
}

/* Gb/s of a lane: the cable "0-1" is in a port of the router "0-0", which is of some generation. */
static unsigned int best_speed(struct doctor *d, const char *name)
{
	const char *text = tree_text(d->tree, CABLES "/%.*s-0/generation",
				     (int)strcspn(name, "-"), name);

	return text && strtol(text, NULL, 10) < 3 ? 10 : 20;
}

static void one_slow_cable(void *arg, const char *name)
{
	struct doctor *d = arg;
	const char *speed = cable_text(d, name, "rx_speed");
	const char *lanes = cable_text(d, name, "rx_lanes");

	if (!is_computer(d, name) || !speed || !lanes)
		return;
	if (strtod(speed, NULL) < best_speed(d, name) || strtol(lanes, NULL, 10) < 2)
		found(d, NULL,
		      "the cable to %s (%s) has %s lane(s) of %s, and its port here 2 of %u Gb/s",
		      host_behind(d, name), name, lanes, speed, best_speed(d, name));
}

static void slow_cable(struct doctor *d)
{
	tree_each(d->tree, one_slow_cable, d, CABLES);
}

/* ---- bridges ---- */

static double pci_number(struct doctor *d, const char *name, const char *what)
{
	const char *text = tree_text(d->tree, "sys/bus/pci/devices/%s/%s", name, what);

	return text ? strtod(text, NULL) : 0;
}

static void one_slow_bridge(void *arg, const char *name)
{
	struct doctor *d = arg;
	double speed = pci_number(d, name, "current_link_speed");
	double lanes = pci_number(d, name, "current_link_width");

	/* A link that is down has neither: that is another fault. */
	if (speed && lanes && (speed < pci_number(d, name, "max_link_speed") ||
			       lanes < pci_number(d, name, "max_link_width")))
		found(d, name, "the bridge %s works with %g GT/s on %g lanes, and can do %g on %g",
		      name, speed, lanes, pci_number(d, name, "max_link_speed"),
		      pci_number(d, name, "max_link_width"));
}

static void slow_bridge(struct doctor *d)
{
	tree_each(d->tree, one_slow_bridge, d, BRIDGES);
}

static void nothing(void *arg, const char *name)
{
}

static void no_iommu(struct doctor *d)
{
	if (loaded(d, "kfi_ntb") && tree_each(d->tree, nothing, NULL, BRIDGES) &&
	    !tree_each(d->tree, nothing, NULL, "sys/class/iommu"))
		found(d, NULL, "there is a bridge to another machine, and no IOMMU is on");
}

/* ---- what providers say ---- */

/* A cable that is plugged, and does not come up */
static bool has_stuck_cable(struct doctor *d)
{
	size_t i;

	for (i = 0; i < d->devices.nrows; i++) {
		char **row = d->devices.rows[i];

		if (row[DEVICE_PART] && !strcmp(row[DEVICE_PART], "cable") && row[DEVICE_STATE] &&
		    strncmp(row[DEVICE_STATE], "none", 4) && !link_is_up(row[DEVICE_STATE]))
			return true;
	}
	return false;
}

static void one_of_net(void *arg, const char *name)
{
	struct doctor *d = arg;

	if (is_computer(d, name) && services_of(d, name).net)
		found(d, NULL,
		      "thunderbolt_net has the cable to %s (%s), and kfi_usb4 gets no answer",
		      host_behind(d, name), name);
}

static void thunderbolt_net(struct doctor *d)
{
	if (has_stuck_cable(d))
		tree_each(d->tree, one_of_net, d, CABLES);
}

static void link_down(struct doctor *d)
{
	size_t i;

	for (i = 0; i < d->devices.nrows; i++) {
		char **row = d->devices.rows[i];

		if (row[DEVICE_NAME] && row[DEVICE_STATE] && part_is_link(row[DEVICE_PART]) &&
		    !link_is_up(row[DEVICE_STATE]))
			found(d, row[DEVICE_HELP] ? row[DEVICE_HELP] :
			      "look at the plugs, and at kfi doctor on the other machine",
			      "the %s of %s: %s", row[DEVICE_PART], row[DEVICE_NAME],
			      row[DEVICE_STATE]);
	}
}

static void device_degraded(struct doctor *d)
{
	size_t i;

	for (i = 0; i < d->devices.nrows; i++) {
		char **row = d->devices.rows[i];

		if (row[DEVICE_NAME] && row[DEVICE_PART] && row[DEVICE_STATE] &&
		    row[DEVICE_HELP] && !part_is_link(row[DEVICE_PART]))
			found(d, row[DEVICE_HELP], "%s of %s: %s", row[DEVICE_PART],
			      row[DEVICE_NAME], row[DEVICE_STATE]);
	}
}

/* Columns of what the kernel says of versions */
enum { V_WIRE, V_PEER, V_LOWEST, V_HIGHEST, V_HELP, V_FIELDS };

static const struct field version_fields[V_FIELDS] = {
	[V_WIRE] = { "wire", FIELD_STRING, KFI_A_VERSIONS, KFI_VERSIONS_A_WIRE },
	[V_PEER] = { "refused", FIELD_STRING, KFI_A_VERSIONS, KFI_VERSIONS_A_PEER },
	[V_LOWEST] = { "lowest", FIELD_U32, KFI_A_VERSIONS, KFI_VERSIONS_A_LOWEST },
	[V_HIGHEST] = { "highest", FIELD_U32, KFI_A_VERSIONS, KFI_VERSIONS_A_HIGHEST },
	[V_HELP] = { "help", FIELD_STRING, KFI_A_VERSIONS, KFI_VERSIONS_A_HELP },
};

static void peer_version(struct doctor *d)
{
	struct list list;
	size_t i;

	if (!tree_rows(d->tree, "versions", V_FIELDS, &list) && tree_is_live(d->tree) &&
	    loaded(d, "kfi")) {
		if (list_fetch(KFI_CMD_GET_VERSIONS, version_fields, V_FIELDS, &list))
			tree_add_unseen(d->tree);
		tree_note_rows(d->tree, "versions", &list);
	}
	for (i = 0; i < list.nrows; i++) {
		char **row = list.rows[i];

		if (row[V_PEER] && row[V_WIRE] && row[V_LOWEST] && row[V_HIGHEST])
			found(d, row[V_HELP] ? row[V_HELP] : "upgrade the older machine",
			      "%s is refused: it speaks versions %s to %s of %s", row[V_PEER],
			      row[V_LOWEST], row[V_HIGHEST], row[V_WIRE]);
	}
	list_free(&list);
}

const struct check checks_of_cables[] = {
	{ "cable-unused", cable_unused,
	  "the cable carries kfabric when the module is loaded on both computers",
	  "modprobe kfi-provider-usb4, and a line kfi_usb4 in /etc/modules-load.d/kfabric.conf" },
	{ "cables-forbidden", cables_forbidden,
	  "with thunderbolt.xdomain=0 cables lead to docks and disks alone",
	  "remove thunderbolt.xdomain=0 from the kernel's command line, and boot" },
	{ "cable-unauthorized", cable_unauthorized,
	  "nothing behind a dock or hub works before it is authorized, another computer neither",
	  "boltctl enroll %s   (or: echo 1 > /sys/bus/thunderbolt/devices/%s/authorized)" },
	{ "cable-open", cable_open,
	  "a device that anybody plugs can read and write the whole memory",
	  "turn on the IOMMU (VT-d, AMD-Vi) and a security level in the setup of the firmware" },
	{ "peer-without-kfabric", peer_without_kfabric,
	  "a cable carries kfabric when both computers have loaded kfi_usb4",
	  "there: modprobe kfi-provider-usb4" },
	{ "thunderbolt-net-has-cable", thunderbolt_net,
	  "some connection managers in firmware allow one user of a cable, and that is thunderbolt_net",
	  "modprobe -r thunderbolt_net, and blacklist thunderbolt_net in a file of /etc/modprobe.d" },
	{ "slow-cable", slow_cable,
	  "a cable moves no more than its lanes do: both of 20 Gb/s make 40",
	  "use a cable marked 40 Gb/s, of at most 0.8 m if it is passive; plug it again; try another port" },
	{ "slow-bridge", slow_bridge,
	  "a bridge moves no more than its PCI Express link does",
	  "look at the slot, the cable and the setup of the firmware: lspci -vv -s %s shows LnkCap and LnkSta" },
	{ "no-iommu", no_iommu,
	  "without an IOMMU nothing but the bridge's windows keeps the other machine from this memory",
	  "turn on VT-d or AMD-Vi in the setup of the firmware; kfi_ntb(7), MAPPED WINDOW" },
	{ "link-down", link_down,
	  "nothing gets to the other machine, and connections wait or have ended",
	  "%s" },
	{ "device-degraded", device_degraded,
	  "the provider does without a part of the device, which costs speed or checks",
	  "%s" },
	{ "peer-version", peer_version,
	  "two versions of kfabric talk to each other only if they have a version of the wire in common",
	  "%s" },
	{}
};
