// SPDX-License-Identifier: GPL-2.0
/* doctor_machine.c - kfi doctor: providers, and what they and their users need of this machine */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timex.h>

#include "doctor.h"

#define MEMLOCK_LOW	(64ull << 20)	/* bytes; docs/programs-and-mpi.md asks for 256 MiB */
#define FAST_MBITS	10000
#define JUMBO		9000

static void no_provider(struct doctor *d)
{
	if (loaded(d, "kfi") && !loaded(d, "kfi_loop") && !loaded(d, "kfi_ntb") &&
	    !loaded(d, "kfi_sockets") && !loaded(d, "kfi_usb4") && !loaded(d, "kfi_verbs"))
		found(d, NULL, "kfi is loaded, and no provider");
}

static bool is_empty(struct doctor *d, const char *folder)
{
	return !tree_each(d->tree, NULL, NULL, folder);
}

static void no_rdma_device(struct doctor *d)
{
	if (loaded(d, "kfi_verbs") && is_empty(d, "sys/class/infiniband"))
		found(d, NULL, "kfi_verbs is loaded, and there is no RDMA device");
}

static void no_bridge(struct doctor *d)
{
	if (loaded(d, "kfi_ntb") && is_empty(d, "sys/bus/ntb/devices"))
		found(d, NULL, "kfi_ntb is loaded, and there is no bridge");
}

static void no_usb4_port(struct doctor *d)
{
	if (loaded(d, "kfi_usb4") && is_empty(d, "sys/bus/thunderbolt/devices"))
		found(d, NULL,
		      "kfi_usb4 is loaded, and the kernel knows no USB4 or Thunderbolt port");
}

static bool keep_memlock(const char *line)
{
	return !strncmp(line, "Max locked memory", 17);
}

static void memlock_low(struct doctor *d)
{
	const char *line = loaded(d, "kfi_ib") ?
			   tree_pick(d->tree, "\n", keep_memlock, "proc/self/limits") : NULL;
	const char *digits = line ? strpbrk(line, "0123456789\n") : NULL;

	if (digits && *digits != '\n' && strtoull(digits, NULL, 10) < MEMLOCK_LOW)
		found(d, NULL, "a process of this user may lock %llu KiB of memory",
		      strtoull(digits, NULL, 10) >> 10);
}

/* ---- TLS ---- */

static const char *tls_mode(struct doctor *d)
{
	const char *text = loaded(d, "kfi_sockets") ?
			   tree_text(d->tree, "sys/module/kfi_sockets/parameters/tls") : NULL;

	return text && strcmp(text, "no") ? text : NULL;
}

static bool is_number(const char *name)
{
	return *name && !name[strspn(name, "0123456789")];
}

/* Other processes are nobody's business, so the report has nothing but the answer. */
static const char *tlshd_state(struct doctor *d)
{
	DIR *proc = tree_is_live(d->tree) ? opendir("/proc") : NULL;
	bool runs = false;
	struct dirent *entry;

	if (!proc)
		return tree_text(d->tree, "kfi/tlshd");
	while ((entry = readdir(proc))) {
		char path[300], name[32] = "";
		FILE *file;

		if (!is_number(entry->d_name))
			continue;
		snprintf(path, sizeof(path), "/proc/%s/comm", entry->d_name);
		file = fopen(path, "re");
		if (file && fgets(name, sizeof(name), file))
			runs |= !strcmp(name, "tlshd\n");
		if (file)
			fclose(file);
	}
	closedir(proc);
	return tree_note(d->tree, "kfi/tlshd", runs ? "runs" : "absent");
}

static void no_tlshd(struct doctor *d)
{
	const char *nvme = tree_text(d->tree, "sys/module/nvme_kfi/parameters/tls");
	const char *state;

	if (!tls_mode(d) && !(nvme && *nvme == 'Y'))
		return;
	state = tlshd_state(d);
	if (state && !strcmp(state, "absent"))
		found(d, NULL, "%s demands TLS, and tlshd does not run",
		      tls_mode(d) ? "kfi_sockets" : "nvme_kfi");
}

static void clock_unset(struct doctor *d)
{
	const char *wanted = tls_mode(d), *state;
	struct timex now = {};

	if (!wanted || strcmp(wanted, "x509"))
		return;
	if (tree_is_live(d->tree))
		state = tree_note(d->tree, "kfi/clock",
				  adjtimex(&now) == TIME_ERROR ? "not set" : "set");
	else
		state = tree_text(d->tree, "kfi/clock");
	if (state && strcmp(state, "set"))
		found(d, NULL, "nothing sets the clock of this machine");
}

/* ---- network devices ---- */

static long number_of(struct doctor *d, const char *dev, const char *what)
{
	const char *text = tree_text(d->tree, "sys/class/net/%s/%s", dev, what);

	return text ? strtol(text, NULL, 10) : 0;
}

static bool is_up(struct doctor *d, const char *dev)
{
	const char *text = tree_text(d->tree, "sys/class/net/%s/operstate", dev);

	return text && strcmp(text, "down") && strcmp(text, "lowerlayerdown");
}

static void one_small_mtu(void *arg, const char *dev)
{
	struct doctor *d = arg;

	if (tree_has(d->tree, NULL, "sys/class/net/%s/device", dev) && is_up(d, dev) &&
	    number_of(d, dev, "speed") >= FAST_MBITS && number_of(d, dev, "mtu") < JUMBO)
		found(d, dev, "%s has %ld Mb/s, and an MTU of %ld", dev, number_of(d, dev, "speed"),
		      number_of(d, dev, "mtu"));
}

static void small_mtu(struct doctor *d)
{
	if (loaded(d, "kfi_sockets"))
		tree_each(d->tree, one_small_mtu, d, "sys/class/net");
}

static void one_net_down(void *arg, const char *dev)
{
	struct doctor *d = arg;

	if (tree_has(d->tree, NULL, "sys/class/net/%s/kfi", dev) && !is_up(d, dev))
		found(d, dev, "the network device %s is down", dev);
}

static void net_down(struct doctor *d)
{
	if (loaded(d, "kfi_net"))
		tree_each(d->tree, one_net_down, d, "sys/class/net");
}

const struct check checks_of_machine[] = {
	{ "no-provider", no_provider,
	  "kfi reaches nothing by itself: a provider knows a network",
	  "modprobe kfi_sockets   (any network), kfi_usb4 (cables), kfi_ntb (bridges) or kfi_verbs (RDMA)" },
	{ "no-rdma-device", no_rdma_device,
	  "kfi_verbs offers nothing before there is one",
	  "rdma link   lists devices; load the driver of the card, or: rdma link add rxe0 type rxe netdev DEVICE" },
	{ "no-bridge", no_bridge,
	  "kfi_ntb offers nothing before the driver of a bridge is loaded",
	  "modprobe ntb_hw_intel   (or the driver of your bridge); docs/ntb-hardware.md" },
	{ "no-usb4-port", no_usb4_port,
	  "kfi_usb4 offers nothing without one",
	  "modprobe thunderbolt, and look for USB4 or Thunderbolt in the setup of the firmware" },
	{ "memlock-low", memlock_low,
	  "programs that use kfi_ib register memory, which counts as locked",
	  "a file in /etc/security/limits.d with: @users - memlock 262144   (LimitMEMLOCK= for a service)" },
	{ "no-tlshd", no_tlshd,
	  "tlshd makes each handshake of TLS; without it no connection begins",
	  "apt install ktls-utils && systemctl enable --now tlshd" },
	{ "clock-unset", clock_unset,
	  "certificates are valid from one time to another, by this clock",
	  "timedatectl set-ntp true" },
	{ "small-mtu", small_mtu,
	  "a CPU handles each packet; with six times as many it is busy before the cable is",
	  "ip link set %s mtu 9000   (on all machines and switches of that network)" },
	{ "net-down", net_down,
	  "nothing goes through a device that is down",
	  "ip link set %s up   (and see kfi show devices)" },
	{}
};
