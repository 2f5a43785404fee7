// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * test_fork.c - a child of fork() has no descriptor of the device, even if other threads open it
 *
 * The device is /dev/null here, and its calls succeed. A thread opens and closes it all the time.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kfi_fi.h"

#undef KFI_USER_DEVICE
#define KFI_USER_DEVICE	"/dev/null"

static int fake_ioctl(int fd, unsigned long request, void *arg)
{
	if (request == KFI_IOC_VERSION)
		((struct kfi_user_version *)arg)->abi = KFI_USER_ABI;
	return 0;
}

#define ioctl fake_ioctl
#include "device.c"

#define FORKS	300

struct fi_provider kfi_prov = { .name = "kfi" };
static atomic_bool over;

static void *opener(void *unused)
{
	struct kfi_fabric *fabric;
	uint32_t api;

	while (!atomic_load(&over)) {
		fabric = calloc(1, sizeof(*fabric));
		if (!fabric || kfi_device_open(fabric, &api))
			abort();
		kfi_device_close(fabric);
		free(fabric);
	}
	return NULL;
}

/*
 * Count descriptors that exec() closes: those from before the start of this program are not closed.
 */
static int descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;
	int count = 0, fd;

	while (dir && (entry = readdir(dir))) {
		fd = atoi(entry->d_name);
		if (fd > 2 && fd != dirfd(dir) && fcntl(fd, F_GETFD) == FD_CLOEXEC)
			count++;
	}
	closedir(dir);
	return count;
}

int main(void)
{
	struct kfi_fabric fabric = {};
	int n, status, failures = 0;
	pthread_t thread;
	uint32_t api;
	pid_t pid;

	if (kfi_device_watch_fork() || kfi_device_open(&fabric, &api) ||
	    pthread_create(&thread, NULL, opener, NULL))
		return 1;
	for (n = 0; n < FORKS; n++) {
		pid = fork();
		if (!pid)
			_exit(descriptors() || fabric.fd != -1 ||
			      kfi_call(&fabric, KFI_IOC_CLOSE, NULL) != -FI_EIO);
		failures += pid < 0 || waitpid(pid, &status, 0) != pid || status;
	}
	atomic_store(&over, true);
	pthread_join(thread, NULL);
	failures += fabric.fd < 0;
	kfi_device_close(&fabric);
	failures += descriptors();
	printf("test_fork: %s\n", failures ? "failed" : "passed");
	return failures != 0;
}
