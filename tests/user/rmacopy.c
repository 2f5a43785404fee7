// SPDX-License-Identifier: GPL-2.0
/*
 * rmacopy - a program of libfabric that copies a file by RMA
 *
 *         rmacopy DOMAIN NODE SERVICE FILE        offer a file to one reader
 *         rmacopy DOMAIN NODE SERVICE FILE get    read it into FILE
 *
 * The owner registers the file's memory in pieces. The reader sends its address and gets a table of
 * the pieces; then it reads them, several at a time, while the owner only waits for the reader's
 * last message.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <fcntl.h>
#include <unistd.h>

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#define PIECE	(4UL << 20)
#define READ	(1UL << 20)
#define PIECES	256
#define DEPTH	8

struct table {
	uint64_t size, pieces;
	struct {
		uint64_t addr, key;
	} piece[PIECES];
};

static struct fid_domain *domain;
static struct fid_ep *ep;
static struct fid_cq *cq;
static struct fid_av *av;
static struct fi_info *info;
static struct table table;

static void must(ssize_t ret, const char *what)
{
	if (ret >= 0)
		return;
	fprintf(stderr, "rmacopy: %s: %s\n", what, fi_strerror(-ret));
	exit(1);
}

static void open_all(const char *name, const char *node, const char *service, int get)
{
	struct fi_info *hints = fi_allocinfo();
	struct fi_cq_attr cq_attr = { .format = FI_CQ_FORMAT_MSG,
				      .wait_obj = FI_WAIT_UNSPEC,
				      .size = 64 };
	struct fi_av_attr av_attr = { .type = FI_AV_TABLE, .count = 1 };
	struct fid_fabric *fabric;

	hints->caps = FI_MSG | FI_RMA;
	hints->ep_attr->type = FI_EP_RDM;
	hints->domain_attr->mr_mode = FI_MR_PROV_KEY | FI_MR_ALLOCATED | FI_MR_VIRT_ADDR;
	hints->domain_attr->name = strdup(name);
	hints->fabric_attr->prov_name = strdup("kfi");
	must(fi_getinfo(FI_VERSION(1, 17), node, service, get ? 0 : FI_SOURCE, hints, &info),
	     "fi_getinfo");
	must(fi_fabric(info->fabric_attr, &fabric, NULL), "fi_fabric");
	must(fi_domain(fabric, info, &domain, NULL), "fi_domain");
	must(fi_cq_open(domain, &cq_attr, &cq, NULL), "fi_cq_open");
	must(fi_av_open(domain, &av_attr, &av, NULL), "fi_av_open");
	must(fi_endpoint(domain, info, &ep, NULL), "fi_endpoint");
	must(fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV), "fi_ep_bind");
	must(fi_ep_bind(ep, &av->fid, 0), "fi_ep_bind");
	must(fi_enable(ep), "fi_enable");
	printf("rmacopy: fabric %s, domain %s\n", info->fabric_attr->name, info->domain_attr->name);
	fi_freeinfo(hints);
}

static void completion(void)
{
	struct fi_cq_msg_entry entry;
	struct fi_cq_err_entry error = { };
	ssize_t ret;

	do {
		ret = fi_cq_sread(cq, &entry, 1, NULL, -1);
	} while (ret == -FI_EAGAIN || ret == -FI_EINTR);
	if (ret == -FI_EAVAIL) {
		fi_cq_readerr(cq, &error, 0);
		must(-error.err, "an operation");
	}
	must(ret, "fi_cq_sread");
}

static void receive(void *buf, size_t len)
{
	must(fi_recv(ep, buf, len, NULL, FI_ADDR_UNSPEC, NULL), "fi_recv");
}

static void send_to(const void *buf, size_t len)
{
	ssize_t ret;

	do {
		ret = fi_send(ep, buf, len, NULL, 0, NULL);
	} while (ret == -FI_EAGAIN);
	must(ret, "fi_send");
	completion();
}

static void *memory(size_t size)
{
	void *buf = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (buf == MAP_FAILED) {
		perror("rmacopy: mmap");
		exit(1);
	}
	return buf;
}

static void offer(const char *path)
{
	char hello[256], bye;
	struct fid_mr *mr;
	struct stat st;
	char *data;
	size_t at, n;
	int file = open(path, O_RDONLY);

	if (file < 0 || fstat(file, &st) || (size_t)st.st_size > PIECES * PIECE) {
		fprintf(stderr, "rmacopy: %s: not there, or too long\n", path);
		exit(1);
	}
	table.size = st.st_size;
	data = memory(table.size);
	for (at = 0; at < table.size; at += n)
		must(n = read(file, data + at, table.size - at), "read");
	for (at = 0; at < table.size; at += PIECE) {
		n = table.size - at < PIECE ? table.size - at : PIECE;
		must(fi_mr_reg(domain, data + at, n, FI_REMOTE_READ, 0, table.pieces, 0, &mr, NULL),
		     "fi_mr_reg");
		table.piece[table.pieces].addr =
			info->domain_attr->mr_mode & FI_MR_VIRT_ADDR ? (uintptr_t)data + at : 0;
		table.piece[table.pieces++].key = fi_mr_key(mr);
	}
	receive(hello, sizeof(hello));
	printf("rmacopy: %llu bytes can be fetched\n", (unsigned long long)table.size);
	fflush(stdout);
	completion();
	if (fi_av_insert(av, hello, 1, NULL, 0, NULL) != 1)
		must(-FI_EINVAL, "fi_av_insert");
	receive(&bye, 1);
	send_to(&table, sizeof(table));
	completion();
}

static void get(const char *path)
{
	char hello[256] = "", bye = 0;
	size_t len = sizeof(hello), at, n, busy = 0;
	char *data;
	FILE *file;

	if (fi_av_insert(av, info->dest_addr, 1, NULL, 0, NULL) != 1)
		must(-FI_EINVAL, "fi_av_insert");
	must(fi_getname(&ep->fid, hello, &len), "fi_getname");
	receive(&table, sizeof(table));
	send_to(hello, len);
	completion();
	data = memory(table.size);
	for (at = 0; at < table.size; at += n) {
		size_t piece = at / PIECE, in = at % PIECE;
		ssize_t ret;

		n = table.size - at < READ ? table.size - at : READ;
		do {
			if (busy == DEPTH) {
				completion();
				busy--;
			}
			ret = fi_read(ep, data + at, n, NULL, 0, table.piece[piece].addr + in,
				      table.piece[piece].key, NULL);
			if (ret == -FI_EAGAIN && busy) {
				completion();
				busy--;
			}
		} while (ret == -FI_EAGAIN);
		must(ret, "fi_read");
		busy++;
	}
	while (busy--)
		completion();
	send_to(&bye, 1);
	file = fopen(path, "w");
	if (!file || fwrite(data, 1, table.size, file) != table.size || fclose(file)) {
		perror("rmacopy: write");
		exit(1);
	}
	printf("rmacopy: read %llu bytes\n", (unsigned long long)table.size);
}

int main(int argc, char **argv)
{
	if (argc < 5) {
		fprintf(stderr, "Usage: rmacopy DOMAIN NODE SERVICE FILE [get]\n");
		return 2;
	}
	open_all(argv[1], argv[2], argv[3], argc > 5);
	if (argc > 5)
		get(argv[4]);
	else
		offer(argv[4]);
	fi_close(&ep->fid);
	return 0;
}
