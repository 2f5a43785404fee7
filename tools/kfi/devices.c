// SPDX-License-Identifier: GPL-2.0
/* devices.c - what providers say of their devices, and why nothing gets through to a node */
#include <string.h>

#include <linux/kfi.h>

#include "kfi.h"

const struct field provider_fields[2] = {
	{ "provider", FIELD_STRING, 0, KFI_A_PROV_NAME },
	{ "version", FIELD_VERSION, 0, KFI_A_PROV_VERSION },
};

const struct field device_fields[DEVICE_FIELDS] = {
	[DEVICE_PROVIDER] = { "provider", FIELD_STRING, 0, KFI_A_PROV_NAME },
	[DEVICE_NAME] = { "device", FIELD_STRING, 0, KFI_A_DOMAIN_NAME },
	[DEVICE_PART] = { "part", FIELD_STRING, KFI_A_PART, KFI_PART_A_NAME },
	[DEVICE_STATE] = { "state", FIELD_STRING, KFI_A_PART, KFI_PART_A_STATE },
	[DEVICE_HELP] = { "help", FIELD_STRING, KFI_A_PART, KFI_PART_A_HELP },
};

bool part_is_link(const char *part)
{
	return part && (!strcmp(part, "cable") || !strcmp(part, "link"));
}

bool link_is_up(const char *state)
{
	return state && !strncmp(state, "up", 2) && (!state[2] || state[2] == ',');
}

bool device_is_meant(const char *node, const char *device)
{
	size_t len = strcspn(node, "/");
	const char *number = strrchr(device, '.');

	return (strlen(device) == len && !strncmp(node, device, len)) ||
	       (number && len == (size_t)(number - device) && !strncmp(node, device, len));
}

bool has_word(const char *words, const char *word)
{
	size_t len = strcspn(word, "/");

	for (; len && *words; words += strspn(words, ",; ")) {
		if (strcspn(words, ",; ") == len && !strncmp(words, word, len))
			return true;
		words += strcspn(words, ",; ");
	}
	return false;
}

void complain_unserved(const char *provider, const char *node)
{
	bool any = !provider || !strcmp(provider, "any"), loaded = false;
	struct list list;
	size_t i;

	if (!list_fetch(KFI_CMD_GET_PROVIDER, provider_fields, ARRAY_SIZE(provider_fields), &list))
		for (i = 0; i < list.nrows; i++)
			loaded |= any || (list.rows[i][0] && !strcmp(list.rows[i][0], provider));
	list_free(&list);
	if (!loaded && any)
		complain("no provider is loaded; try: modprobe kfi_" PERF_PROVIDER);
	else if (!loaded)
		complain("no provider %s offers that, as it is not loaded; try: modprobe kfi_%s",
			 provider, provider);
	else if (node && any)
		complain("no provider offers that to reach %s", node);
	else if (node)
		complain("no provider offers that: %s is loaded, but has nothing of that kind to reach %s",
			 provider, node);
	else if (any)
		complain("no provider offers that");
	else
		complain("no provider offers that: %s is loaded, but has nothing of that kind here; try: kfi doctor",
			 provider);
}

static bool of_provider(char **row, const char *provider)
{
	return row[DEVICE_PROVIDER] && row[DEVICE_NAME] && row[DEVICE_STATE] &&
	       part_is_link(row[DEVICE_PART]) &&
	       (!strcmp(provider, "any") || !strcmp(row[DEVICE_PROVIDER], provider));
}

bool complain_links(const char *provider, const char *node)
{
	bool named = false, up = false, said = false;
	struct list list;
	size_t i;

	if (list_fetch(KFI_CMD_GET_DEVICE, device_fields, ARRAY_SIZE(device_fields), &list))
		goto out;
	for (i = 0; i < list.nrows; i++)
		named |= of_provider(list.rows[i], provider) &&
			 device_is_meant(node, list.rows[i][DEVICE_NAME]);
	/* A node that names no device, as a UUID, may be behind any of them. */
	for (i = 0; i < list.nrows; i++)
		if (of_provider(list.rows[i], provider) &&
		    (!named || device_is_meant(node, list.rows[i][DEVICE_NAME])))
			up |= link_is_up(list.rows[i][DEVICE_STATE]);
	for (i = 0; i < list.nrows && !up; i++) {
		char **row = list.rows[i];

		if (!of_provider(row, provider) ||
		    (named && !device_is_meant(node, row[DEVICE_NAME])))
			continue;
		complain("the %s of %s: %s%s%s", row[DEVICE_PART], row[DEVICE_NAME],
			 row[DEVICE_STATE], row[DEVICE_HELP] ? "; " : "",
			 row[DEVICE_HELP] ? row[DEVICE_HELP] : "");
		said = true;
	}
out:
	list_free(&list);
	return said;
}
