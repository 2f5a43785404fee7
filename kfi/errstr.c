// SPDX-License-Identifier: GPL-2.0
/* errstr.c - texts of error numbers. They are constant, so they can be used in any context. */
#include <linux/export.h>
#include <linux/kernel.h>
#include <kfi_errno.h>

static const char *const kfi_errors[] = {
	[0]		= "Success",
	[EPERM]		= "Operation not permitted",
	[ENOENT]	= "No such operation or object",
	[EINTR]		= "Interrupted",
	[EIO]		= "Input/output error",
	[E2BIG]		= "Argument list too long",
	[EBADF]		= "Bad handle",
	[EAGAIN]	= "Try again",
	[ENOMEM]	= "Out of memory",
	[EACCES]	= "Permission denied",
	[EFAULT]	= "Bad address",
	[EBUSY]		= "In use",
	[EEXIST]	= "Exists already",
	[ENODEV]	= "The device or network is gone",
	[EINVAL]	= "Invalid argument",
	[EMFILE]	= "Too many open objects",
	[ENOSPC]	= "No space left",
	[ERANGE]	= "Out of range",
	[ENOSYS]	= "Not implemented",
	[ENOMSG]	= "No message of the desired kind",
	[ENODATA]	= "No data available",
	[EPROTO]	= "Protocol error",
	[EOVERFLOW]	= "Value too large",
	[EMSGSIZE]	= "Message too long",
	[ENOPROTOOPT]	= "Unknown option",
	[EPROTONOSUPPORT] = "Protocol not supported",
	[EOPNOTSUPP]	= "Operation not supported",
	[EAFNOSUPPORT]	= "Address format not supported",
	[EADDRINUSE]	= "Address in use",
	[EADDRNOTAVAIL]	= "Address not available",
	[ENETDOWN]	= "Network is down",
	[ENETUNREACH]	= "Network is unreachable",
	[ECONNABORTED]	= "Connection aborted",
	[ECONNRESET]	= "Connection reset by peer",
	[ENOBUFS]	= "No buffer space",
	[EISCONN]	= "Connected already",
	[ENOTCONN]	= "Not connected",
	[ESHUTDOWN]	= "Shut down",
	[ETIMEDOUT]	= "Timed out",
	[ECONNREFUSED]	= "Connection refused",
	[EHOSTDOWN]	= "Host is down",
	[EHOSTUNREACH]	= "No route to host",
	[EALREADY]	= "Under way already",
	[EINPROGRESS]	= "In progress",
	[EREMOTEIO]	= "Remote input/output error",
	[ECANCELED]	= "Canceled",
	[EKEYREJECTED]	= "Key rejected",
	[KFI_EOTHER]	= "Unspecified error",
	[KFI_ETOOSMALL]	= "Provided buffer is too small",
	[KFI_EOPBADSTATE] = "Operation not permitted in this state",
	[KFI_EAVAIL]	= "Error entry available",
	[KFI_EBADFLAGS]	= "Flags not supported",
	[KFI_ENOEQ]	= "Missing or unavailable event queue",
	[KFI_EDOMAIN]	= "Objects of different domains",
	[KFI_ENOCQ]	= "Missing or unavailable completion queue",
	[KFI_ECRC]	= "Checksum error",
	[KFI_ETRUNC]	= "Message truncated",
	[KFI_ENOKEY]	= "Required key not available",
	[KFI_ENOAV]	= "Missing or unavailable address vector",
	[KFI_EOVERRUN]	= "Queue has been overrun",
	[KFI_ENORX]	= "Receiver not ready, no receive posted",
	[KFI_ENOMR]	= "Memory registration limit exceeded",
};

static_assert(ARRAY_SIZE(kfi_errors) == KFI_ERRNO_MAX);

/**
 * kfi_strerror() - see kfi_errno.h
 * @errnum: error number of either sign
 * Return: a constant string.
 */
const char *kfi_strerror(int errnum)
{
	unsigned int num = errnum < 0 ? -(unsigned int)errnum : errnum;

	if (num >= ARRAY_SIZE(kfi_errors) || !kfi_errors[num])
		return "Unknown error";
	return kfi_errors[num];
}
EXPORT_SYMBOL_GPL(kfi_strerror);
