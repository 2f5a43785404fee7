// SPDX-License-Identifier: GPL-2.0
/*
 * cases.c - one after the other; after each the well-behaved peer is served as before, and so is somebody new.
 */
#include <linux/slab.h>
#include "hostile.h"

#define PORT_GOOD	900
#define PORT_NEW	901

bool check(bool truth, const char *what)
{
	if (!truth)
		pr_err("hostile: wrong: %s\n", what);
	return truth;
}

/* A message of this one comes. */
static bool served(struct hostile *h, struct hv *hv)
{
	struct kvw_packet p = { .type = KVW_MSG };
	u64 body[2] = { ++h->serial, ~h->serial };

	return check(!victim_post(&h->v), "no receive") &&
	       check(!hv_say(hv, &p, NULL, body, sizeof(body), 0), "a message can't be sent") &&
	       check(!victim_done(&h->v, HV_WAIT_MS), "a message is not received") &&
	       check(!memcmp(h->v.buf, body, sizeof(body)), "another message is received");
}

bool hostile_well(struct hostile *h)
{
	struct hv *hv = hv_open(&h->v, PORT_NEW);
	bool ok = check(!IS_ERR(hv), "nobody is let in any more") && served(h, hv);

	if (!IS_ERR(hv))
		hv_close(hv);
	ok &= check(!hv_gone(h->good), "somebody else has lost his connection");
	return ok && served(h, h->good);
}

static unsigned int run_cases(struct hostile *h, const struct hostile_case *c, const char *only, unsigned int *ran)
{
	unsigned int wrong = 0;
	bool ok;

	for (; c->name; c++) {
		if (*only && strcmp(only, c->name))
			continue;
		pr_info("hostile: begin %s\n", c->name);
		ok = c->run(h);
		ok &= hostile_well(h);
		pr_info("hostile: %s %s\n", ok ? "ok" : "FAILED", c->name);
		wrong += !ok;
		++*ran;
	}
	return wrong;
}

static unsigned int run_all(struct hostile *h, const char *only)
{
	unsigned int wrong, ran = 0;

	h->good = hv_open(&h->v, PORT_GOOD);
	if (!check(!IS_ERR(h->good), "nobody is let in"))
		return 1;
	wrong = run_cases(h, hello_cases, only, &ran);
	wrong += run_cases(h, packet_cases, only, &ran);
	wrong += run_cases(h, rma_cases, only, &ran);
	wrong += run_cases(h, plain_cases, only, &ran);
	hv_close(h->good);
	return check(ran, "no such case") ? wrong : 1;
}

int hostile_cases(const char *node, const char *only)
{
	struct hostile h = {};
	int wrong;

	if (!check(!victim_open(&h.v, node, false), "no endpoint"))
		return 1;
	wrong = check(!victim_share(&h.v), "no region") ? run_all(&h, only) : 1;
	if (!check(!victim_close_in_time(&h.v), "an endpoint can't be closed"))
		wrong++;
	return wrong;
}
