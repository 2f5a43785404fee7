// SPDX-License-Identifier: GPL-2.0
/* doctor_target.c - kfi doctor: ports of the NVMe target that wait for their address */
#include <arpa/inet.h>
#include <limits.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>

#include <linux/kfi.h>

#include "doctor.h"

#define PORTS	"sys/kernel/config/nvmet/ports"
#define TRTYPE	"253"	/* nvmet-kfi, unless a parameter lets it have the name "loop" */

/* ---- passive endpoints that listen ---- */

/* Columns of what the kernel says of endpoints */
enum { L_PROVIDER, L_DOMAIN, L_LOCAL, L_STATE, L_FIELDS };

static const struct field listener_fields[L_FIELDS] = {
	[L_PROVIDER] = { "provider", FIELD_STRING, 0, KFI_A_PROV_NAME },
	[L_DOMAIN] = { "domain", FIELD_STRING, 0, KFI_A_DOMAIN_NAME },
	[L_LOCAL] = { "local", FIELD_STRING, 0, KFI_A_SRC_ADDR },
	[L_STATE] = { "state", FIELD_EP_STATE, 0, KFI_A_EP_STATE },
};

/* Other endpoints have addresses of peers, which are nobody's business in a report. */
static void keep_listeners(struct list *list)
{
	size_t i, n = 0, c;

	for (i = 0; i < list->nrows; i++) {
		char **row = list->rows[i];

		if (row[L_STATE] && !strcmp(row[L_STATE], ep_state_name(KFI_NL_EP_LISTENING))) {
			list->rows[n++] = row;
			continue;
		}
		for (c = 0; c < list->n; c++)
			free(row[c]);
		free(row);
	}
	list->nrows = n;
}

/* Return: is it known who listens? */
static bool find_listeners(struct doctor *d, struct list *list)
{
	if (tree_rows(d->tree, "listeners", L_FIELDS, list))
		return true;
	if (!tree_is_live(d->tree))
		return false;
	if (list_fetch(KFI_CMD_GET_EP, listener_fields, L_FIELDS, list)) {
		complain("the kernel does not list endpoints");
		tree_add_unseen(d->tree);
		return false;
	}
	keep_listeners(list);
	tree_note_rows(d->tree, "listeners", list);
	return true;
}

/* ---- does one of them have the address of a port? ---- */

/* An address of IP, without the name of an interface behind it */
static int parse_ip(const char *text, unsigned char ip[sizeof(struct in6_addr)])
{
	char copy[64];

	snprintf(copy, sizeof(copy), "%.*s", (int)strcspn(text, "%"), text);
	return inet_pton(AF_INET, copy, ip) == 1 ? AF_INET :
	       inet_pton(AF_INET6, copy, ip) == 1 ? AF_INET6 : AF_UNSPEC;
}

static bool same_ip(const char *traddr, const char *local)
{
	static const unsigned char any[sizeof(struct in6_addr)];
	unsigned char a[sizeof(any)] = {}, b[sizeof(any)] = {};
	int family = parse_ip(traddr, a);

	return parse_ip(local, b) == family &&
	       (!memcmp(a, b, sizeof(a)) || !memcmp(a, any, sizeof(a)) ||
		!memcmp(b, any, sizeof(b)));
}

/* Is this a name of the domain, of its interface, or of this machine at each of its cables? */
static bool names_domain(struct doctor *d, char **row, const char *traddr)
{
	const char *host = tree_text(d->tree, "proc/sys/kernel/hostname");
	const char *domain = row[L_DOMAIN];
	size_t i;

	if (!domain)
		return false;
	if (!strcmp(domain, traddr) ||
	    (host && !strcmp(host, traddr) && !strcmp(row[L_PROVIDER], "usb4")))
		return true;
	for (i = 0; i < d->devices.nrows; i++) {
		char **device = d->devices.rows[i];

		if (device[DEVICE_NAME] && device[DEVICE_PART] && device[DEVICE_STATE] &&
		    !strcmp(device[DEVICE_NAME], domain) && !strcmp(device[DEVICE_PART], "names") &&
		    has_word(device[DEVICE_STATE], traddr))
			return true;
	}
	/* An interface may have other names, which only the kernel knows. */
	return tree_is_live(d->tree) && if_nametoindex(traddr) &&
	       if_nametoindex(traddr) == if_nametoindex(domain);
}

/* The address is as the provider prints it: "10.0.0.1:4420", "[fd00::1]:4420", "ntb:1:4420". */
static bool listens_at(struct doctor *d, char **row, const char *traddr, const char *service)
{
	const char *end = row[L_LOCAL] ? strrchr(row[L_LOCAL], ':') : NULL;
	unsigned char ip[sizeof(struct in6_addr)];
	char local[128], *side;

	if (!row[L_PROVIDER] || !end || strcmp(end + 1, service))
		return false;
	snprintf(local, sizeof(local), "%.*s", (int)(end - row[L_LOCAL]), row[L_LOCAL]);
	local[strcspn(local, "]")] = '\0';
	side = local + (*local == '[');
	if (parse_ip(traddr, ip) != AF_UNSPEC)
		return same_ip(traddr, side);
	side = strchr(side, ':');
	/* Without the list of devices any name may be one of the domain. */
	return !d->devices_known || names_domain(d, row, traddr) ||
	       (side && !strcmp(side + 1, traddr));
}

/* ---- ports ---- */

static bool is_ours(struct doctor *d, const char *port)
{
	const char *set = tree_text(d->tree, "sys/module/nvmet_kfi/parameters/trtype");
	const char *type = tree_text(d->tree, PORTS "/%s/addr_trtype", port);
	bool loop = type && !strcmp(type, "loop");

	/* The configfs of the kernel has no name for 253. */
	return set && !strcmp(set, TRTYPE) ? type && (!*type || !strcmp(type, "kfi")) : loop;
}

/* A port is enabled by its first subsystem. */
static bool is_enabled(struct doctor *d, const char *port)
{
	char folder[NAME_MAX + sizeof(PORTS "//subsystems")];

	snprintf(folder, sizeof(folder), PORTS "/%s/subsystems", port);
	return tree_each(d->tree, NULL, NULL, folder);
}

/* What a port could have as its address: the devices of providers without IP */
static void device_names(const struct doctor *d, char *text, size_t size)
{
	const char *last = "";
	size_t i, len = 0;

	*text = '\0';
	for (i = 0; i < d->devices.nrows && len < size; i++) {
		char **row = d->devices.rows[i];

		if (!row[DEVICE_NAME] || !part_is_link(row[DEVICE_PART]) ||
		    !strcmp(row[DEVICE_NAME], last))
			continue;
		last = row[DEVICE_NAME];
		len += snprintf(text + len, size - len, "%s%s", len ? ", " : "", last);
	}
}

struct ports {
	struct doctor *d;
	struct list listeners;
};

static void one_waiting(void *arg, const char *port)
{
	struct ports *ports = arg;
	struct list *list = &ports->listeners;
	struct doctor *d = ports->d;
	const char *traddr, *service;
	bool listens = false;
	char names[512];
	size_t i;

	if (!is_ours(d, port) || !is_enabled(d, port))
		return;
	traddr = tree_text(d->tree, PORTS "/%s/addr_traddr", port);
	service = tree_text(d->tree, PORTS "/%s/addr_trsvcid", port);
	if (!traddr || !service)
		return;
	for (i = 0; i < list->nrows; i++)
		listens |= listens_at(d, list->rows[i], traddr, *service ? service : "4420");
	if (listens)
		return;
	device_names(d, names, sizeof(names));
	found(d, port, "port %s of the NVMe target waits: no device has the address %s%s%s%s", port,
	      traddr, *names ? " (there are " : "", names, *names ? ")" : "");
}

static void target_port_waits(struct doctor *d)
{
	struct ports ports = { .d = d };

	if (!loaded(d, "nvmet_kfi"))
		return;
	if (find_listeners(d, &ports.listeners))
		tree_each(d->tree, one_waiting, &ports, PORTS);
	list_free(&ports.listeners);
}

const struct check checks_of_target[] = {
	{ "target-port-waits", target_port_waits,
	  "no host is served there before a device has the address; a mistyped one never comes",
	  "cd /sys/kernel/config/nvmet; rm ports/%s/subsystems/NAME; "
	  "echo ADDRESS >ports/%s/addr_traddr; ln -s subsystems/NAME ports/%s/subsystems/" },
	{}
};
