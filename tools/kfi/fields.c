// SPDX-License-Identifier: GPL-2.0
/*
 * fields.c - print objects of the kernel as JSON, as a table, or as blocks of lines. A table of
 * fields describes an object; all three outputs are made from this table.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <linux/kfi.h>
#include <netlink/genl/genl.h>

#include "kfi.h"

/* ---- one value ---- */

static bool is_number(enum field_kind kind)
{
	return kind == FIELD_U32 || kind == FIELD_U64;
}

static uint64_t value_of(const struct nlattr *a)
{
	return nla_len(a) == sizeof(uint64_t) ? nla_get_u64(a) :
	       nla_len(a) == sizeof(uint32_t) ? nla_get_u32(a) : 0;
}

static void named(const char *name, uint64_t value, char *buf, size_t size)
{
	if (name)
		snprintf(buf, size, "%s", name);
	else
		snprintf(buf, size, "0x%" PRIx64, value);
}

static void ipv4_text(const struct nlattr *a, char *buf, size_t size)
{
	if (nla_len(a) != sizeof(struct in_addr) || !inet_ntop(AF_INET, nla_data(a), buf, size))
		snprintf(buf, size, "?");
}

static void value_text(const struct nlattr *a, enum field_kind kind, char *buf, size_t size)
{
	uint64_t v = kind == FIELD_STRING ? 0 : value_of(a);

	switch (kind) {
	case FIELD_STRING:
		snprintf(buf, size, "%.*s", (int)strnlen(nla_data(a), nla_len(a)),
			 (char *)nla_data(a));
		break;
	case FIELD_VERSION:
		snprintf(buf, size, "%" PRIu64 ".%" PRIu64, v >> 16, v & 0xffff);
		break;
	case FIELD_EP_TYPE:
		named(ep_type_name(v), v, buf, size);
		break;
	case FIELD_EP_STATE:
		named(ep_state_name(v), v, buf, size);
		break;
	case FIELD_CAPS:
		caps_text(v, buf, size);
		break;
	case FIELD_MR_MODE:
		mr_mode_text(v, buf, size);
		break;
	case FIELD_PROTOCOL:
		named(protocol_name(v), v, buf, size);
		break;
	case FIELD_FORMAT:
		named(addr_format_name(v), v, buf, size);
		break;
	case FIELD_IPV4:
		ipv4_text(a, buf, size);
		break;
	case FIELD_HEX:
		named(NULL, v, buf, size);
		break;
	default:
		snprintf(buf, size, "%" PRIu64, v);
	}
}

/* ---- one object ---- */

static const struct nlattr *find(struct nlmsghdr *nlh, const struct field *f)
{
	struct nlattr *head = genlmsg_attrdata(nlmsg_data(nlh), 0);
	int len = genlmsg_attrlen(nlmsg_data(nlh), 0);
	const struct nlattr *nest;

	if (!f->nest)
		return nla_find(head, len, f->attr);
	nest = nla_find(head, len, f->nest);
	return nest ? nla_find(nla_data(nest), nla_len(nest), f->attr) : NULL;
}

static void object_json(struct list *list, struct nlmsghdr *nlh)
{
	const struct nlattr *a;
	char text[1024];
	size_t i;

	json_begin(NULL, '{');
	for (i = 0; i < list->n; i++) {
		a = find(nlh, &list->fields[i]);
		if (!a)
			continue;
		value_text(a, list->fields[i].kind, text, sizeof(text));
		if (is_number(list->fields[i].kind))
			json_u64(list->fields[i].key, value_of(a));
		else
			json_string(list->fields[i].key, text);
	}
	json_end('}');
}

static void object_text(struct list *list, struct nlmsghdr *nlh)
{
	char **row = must(calloc(list->n, sizeof(*row)));
	const struct nlattr *a;
	char text[1024];
	size_t i;

	for (i = 0; i < list->n; i++) {
		a = find(nlh, &list->fields[i]);
		if (!a)
			continue;
		value_text(a, list->fields[i].kind, text, sizeof(text));
		row[i] = must(strdup(text));
	}
	list->rows = must(reallocarray(list->rows, list->nrows + 1, sizeof(*list->rows)));
	list->rows[list->nrows++] = row;
}

static void list_keep(struct nlmsghdr *nlh, void *list)
{
	object_text(list, nlh);
}

void list_add(struct nlmsghdr *nlh, void *arg)
{
	struct list *list = arg;

	list->count++;
	if (options.json)
		object_json(list, nlh);
	else
		object_text(list, nlh);
}

/* ---- all objects ---- */

void list_begin(struct list *list, const struct field *fields, size_t n, enum layout layout,
		bool details)
{
	*list = (struct list){ .fields = fields, .n = n, .layout = layout, .details = details };
	if (options.json)
		json_begin(NULL, '[');
}

static bool shown(const struct list *list, size_t i)
{
	return list->details || !list->fields[i].detail;
}

static int width(const struct list *list, size_t i)
{
	size_t w = strlen(list->fields[i].key), r, len;

	for (r = 0; r < list->nrows; r++) {
		len = list->rows[r][i] ? strlen(list->rows[r][i]) : 1;
		if (len > w)
			w = len;
	}
	return w;
}

static void print_cell(const struct list *list, size_t i, const char *text, bool last)
{
	int w = width(list, i);

	if (is_number(list->fields[i].kind))
		printf("%*s%s", w, text, last ? "\n" : "  ");
	else if (last)
		printf("%s\n", text);
	else
		printf("%-*s  ", w, text);
}

static void print_table(const struct list *list)
{
	size_t i, r, last = 0;

	for (i = 0; i < list->n; i++)
		if (shown(list, i))
			last = i;
	for (i = 0; i < list->n; i++)
		if (shown(list, i))
			print_cell(list, i, list->fields[i].key, i == last);
	for (r = 0; r < list->nrows; r++)
		for (i = 0; i < list->n; i++)
			if (shown(list, i))
				print_cell(list, i, list->rows[r][i] ? list->rows[r][i] : "-",
					   i == last);
}

/* The first field is the heading of the block. */
static void print_blocks(const struct list *list)
{
	size_t i, r;

	for (r = 0; r < list->nrows; r++) {
		printf("%s: %s\n", list->fields[0].key, list->rows[r][0] ? list->rows[r][0] : "-");
		for (i = 1; i < list->n; i++)
			if (shown(list, i) && list->rows[r][i])
				printf("    %s: %s\n", list->fields[i].key, list->rows[r][i]);
	}
}

void list_free(struct list *list)
{
	size_t i, r;

	for (r = 0; r < list->nrows; r++) {
		for (i = 0; i < list->n; i++)
			free(list->rows[r][i]);
		free(list->rows[r]);
	}
	free(list->rows);
}

int list_end(struct list *list)
{
	if (options.json)
		json_end(']');
	else if (list->layout == LAYOUT_BLOCKS)
		print_blocks(list);
	else if (list->nrows)
		print_table(list);
	list_free(list);
	return json_finish();
}

int list_fetch(int cmd, const struct field *fields, size_t n, struct list *list)
{
	struct nlx nlx;

	*list = (struct list){ .fields = fields, .n = n };
	if (nlx_open(&nlx, KFI_GENL_NAME, "kfi"))
		return ENOENT;
	nlx.message = list_keep;
	nlx.arg = list;
	nlx.error = nlx_call(&nlx, nlx_request(&nlx, cmd, NLM_F_DUMP));
	nlx_close(&nlx);
	return nlx.error;
}

static void count_one(struct nlmsghdr *nlh, void *count)
{
	++*(size_t *)count;
}

/*
 * The kernel has listed nothing of an endpoint: say whether there is no such endpoint, or it has
 * nothing of that kind. Return: an exit code.
 */
static int complain_empty(struct nlx *nlx, uint32_t ep_id)
{
	struct nl_msg *msg = nlx_request(nlx, KFI_CMD_GET_EP, NLM_F_DUMP);
	size_t count = 0;

	if (msg)
		nla_put_u32(msg, KFI_A_EP_ID, ep_id);
	nlx->message = count_one;
	nlx->arg = &count;
	nlx->error = nlx_call(nlx, msg);
	if (nlx->error)
		nlx_complain(nlx, "asking the kernel");
	else if (count)
		complain("the endpoint %u has none", ep_id);
	else
		complain("there is no endpoint %u in this network namespace", ep_id);
	return !nlx->error && count ? EXIT_OK : EXIT_FAILED;
}

int dump_list(int cmd, const struct field *fields, size_t n, enum layout layout, bool details,
	      uint32_t ep_id)
{
	struct nl_msg *msg;
	struct list list;
	struct nlx nlx;
	int ret, err;

	ret = nlx_open(&nlx, KFI_GENL_NAME, "kfi");
	if (ret)
		return ret;
	list_begin(&list, fields, n, layout, details);
	nlx.message = list_add;
	nlx.arg = &list;
	msg = nlx_request(&nlx, cmd, NLM_F_DUMP);
	if (msg && ep_id)
		nla_put_u32(msg, KFI_A_EP_ID, ep_id);
	err = nlx_call(&nlx, msg);
	ret = list_end(&list);
	if (err) {
		nlx.error = err;
		nlx_complain(&nlx, "asking the kernel");
		ret = EXIT_FAILED;
	} else if (ep_id && !list.count) {
		ret = complain_empty(&nlx, ep_id) ?: ret;
	}
	nlx_close(&nlx);
	return ret;
}
