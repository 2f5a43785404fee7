// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * init.c - libkfi-fi.so: a libfabric provider over /dev/kfi
 *
 * libfabric loads every *-fi.so of its provider directory and calls fi_prov_ini(), which does not
 * open the device: most programs that load the library never use it.
 */
#include "kfi_fi.h"

struct fi_provider kfi_prov = {
	.version	= FI_VERSION(1, 0),
	.name		= "kfi",
	.getinfo	= kfi_getinfo,
	.fabric		= kfi_fabric_open,
};

FI_EXT_INI
{
	/*
	 * libfabric ignores a provider that was written for an older interface than the program.
	 * The parts of libfabric 1.17 that this library uses are the same in 2.x, so its version is
	 * that of the libfabric that loads it.
	 */
	kfi_prov.fi_version = fi_version();
	if (kfi_device_watch_fork())
		return NULL;
	fi_param_define(&kfi_prov, "layered", FI_PARAM_BOOL,
			"Let utility providers such as ofi_rxm run over kfi (default: no)");
	return &kfi_prov;
}
