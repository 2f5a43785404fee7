// SPDX-License-Identifier: GPL-2.0
/* vfio-user messages: only their bytes and file descriptors. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>
#include <stdio.h>
#include <sys/un.h>

#include "protocol.h"

union fd_space {
	struct cmsghdr header;
	char space[CMSG_SPACE(VFU_MAX_FDS * sizeof(int))];
};

static void take_fds(struct vfu_message *msg, struct msghdr *from)
{
	struct cmsghdr *c;

	for (c = CMSG_FIRSTHDR(from); c; c = CMSG_NXTHDR(from, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		msg->fds = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		memcpy(msg->fd, CMSG_DATA(c), msg->fds * sizeof(int));
	}
}

/* The descriptors come with the first byte of the header. */
static int receive_header(int fd, struct vfu_message *msg)
{
	struct iovec iov = { &msg->header, sizeof(msg->header) };
	union fd_space space;
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &space,
			    .msg_controllen = sizeof(space) };
	ssize_t got;

	do {
		got = recvmsg(fd, &m, MSG_WAITALL | MSG_CMSG_CLOEXEC);
	} while (got < 0 && errno == EINTR);
	if (got <= 0)
		return -ECONNRESET;
	take_fds(msg, &m);
	if (got != sizeof(msg->header) || (m.msg_flags & MSG_CTRUNC))
		return -EPROTO;
	return 0;
}

static int receive_body(int fd, struct vfu_message *msg)
{
	uint32_t at = 0;
	ssize_t got;

	if (msg->header.size < sizeof(msg->header) ||
	    msg->header.size - sizeof(msg->header) > sizeof(msg->body))
		return -EPROTO;
	msg->len = msg->header.size - sizeof(msg->header);
	while (at < msg->len) {
		got = recv(fd, msg->body + at, msg->len - at, MSG_WAITALL);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return -ECONNRESET;
		at += got;
	}
	return 0;
}

int vfu_receive(int fd, struct vfu_message *msg)
{
	int rc;

	msg->fds = 0;
	msg->len = 0;
	rc = receive_header(fd, msg);
	if (!rc)
		rc = receive_body(fd, msg);
	if (rc)
		vfu_release(msg);
	return rc;
}

void vfu_release(struct vfu_message *msg)
{
	for (unsigned int i = 0; i < msg->fds; i++) {
		if (msg->fd[i] >= 0)
			close(msg->fd[i]);
	}
	msg->fds = 0;
}

static int send_all(int fd, struct iovec *iov, int parts)
{
	struct msghdr m = { .msg_iov = iov, .msg_iovlen = parts };
	ssize_t sent;

	while (m.msg_iovlen) {
		sent = sendmsg(fd, &m, MSG_NOSIGNAL);
		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0)
			return -errno;
		while (m.msg_iovlen && (size_t)sent >= m.msg_iov->iov_len) {
			sent -= m.msg_iov->iov_len;
			m.msg_iov++;
			m.msg_iovlen--;
		}
		if (m.msg_iovlen) {
			m.msg_iov->iov_base = (char *)m.msg_iov->iov_base + sent;
			m.msg_iov->iov_len -= sent;
		}
	}
	return 0;
}

int vfu_reply(int fd, const struct vfu_header *to, int error, const void *body, size_t len)
{
	struct vfu_header header = *to;
	struct iovec iov[2] = { { &header, sizeof(header) }, { (void *)body, len } };

	if (to->flags & VFU_NO_REPLY)
		return 0;
	header.flags = VFU_TYPE_REPLY | (error ? VFU_ERROR : 0);
	header.error = error;
	header.size = sizeof(header) + len;
	return send_all(fd, iov, len ? 2 : 1);
}

int vfu_dma_write(int fd, uint16_t id, uint64_t address, const void *data, size_t len)
{
	struct vfu_dma dma = { .address = address, .count = len };
	struct vfu_header header = {
		.id = id, .command = VFU_DMA_WRITE, .size = sizeof(header) + sizeof(dma) + len,
	};
	struct iovec iov[3] = { { &header, sizeof(header) },
				{ &dma, sizeof(dma) },
				{ (void *)data, len } };

	return send_all(fd, iov, 3);
}

int vfu_dma_read(int fd, uint16_t id, uint64_t address, size_t len)
{
	struct vfu_dma dma = { .address = address, .count = len };
	struct vfu_header header = {
		.id = id, .command = VFU_DMA_READ, .size = sizeof(header) + sizeof(dma),
	};
	struct iovec iov[2] = { { &header, sizeof(header) }, { &dma, sizeof(dma) } };

	return send_all(fd, iov, 2);
}

/* ---- a socket ---- */

#define BACKLOG 8

int listen_at(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd, rc;

	if (snprintf(address.sun_path, sizeof(address.sun_path), "%s", path) >=
	    (int)sizeof(address.sun_path))
		return -ENAMETOOLONG;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	unlink(path);
	if (!bind(fd, (struct sockaddr *)&address, sizeof(address)) && !listen(fd, BACKLOG))
		return fd;
	rc = -errno;
	close(fd);
	return rc;
}
