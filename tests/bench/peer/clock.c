// SPDX-License-Identifier: GPL-2.0
/*
 * clock.c - time during which this machine had a CPU.
 *
 * A User Mode Linux kernel is a process of the host. While it waits for a CPU its clock runs, and a
 * run that was interrupted looks slow. The scheduler of the host counts that time (schedstat:
 * second figure), so it can be subtracted. Time in which the guest itself waits, e.g. for a timer,
 * is not subtracted. Elsewhere, and on demand, this is the monotonic clock.
 */
#include <linux/errno.h>
#include <linux/fcntl.h>
#include <linux/kernel.h>
#include <linux/timekeeping.h>
#include "../bench.h"

bool bench_clock_wall;

#if defined(CONFIG_UML) && defined(CONFIG_X86_64) && !defined(CONFIG_SMP)

#define HOST_OPENAT	257
#define HOST_CLOSE	3
#define HOST_PREAD	17

static long host = -1;

/* A system call of the host */
static long host_call(long nr, long a, long b, long c, long d)
{
	register long r10 asm("r10") = d;
	long ret;

	asm volatile("syscall" : "=a" (ret) : "0" (nr), "D" (a), "S" (b), "d" (c), "r" (r10)
		     : "rcx", "r11", "memory");
	return ret;
}

static u64 host_waited(void)
{
	u64 ran, waited;
	char text[64];
	long len;

	if (host < 0)
		return 0;
	len = host_call(HOST_PREAD, host, (long)text, sizeof(text) - 1, 0);
	if (len <= 0)
		return 0;
	text[len] = 0;
	return sscanf(text, "%llu %llu", &ran, &waited) == 2 ? waited : 0;
}

void bench_clock_open(void)
{
	host = host_call(HOST_OPENAT, AT_FDCWD, (long)"/proc/thread-self/schedstat", O_RDONLY, 0);
}

void bench_clock_close(void)
{
	if (host >= 0)
		host_call(HOST_CLOSE, host, 0, 0, 0);
}

#else

static u64 host_waited(void)
{
	return 0;
}

void bench_clock_open(void)
{
}

void bench_clock_close(void)
{
}

#endif

/*
 * The wait is read first: otherwise a wait between the two readings would set the clock back, and a
 * run could end before it began.
 */
u64 bench_clock(void)
{
	u64 now, waited;

	if (bench_clock_wall)
		return ktime_get_ns();
	do {
		waited = host_waited();
		now = ktime_get_ns();
	} while (host_waited() != waited);
	return now - waited;
}
