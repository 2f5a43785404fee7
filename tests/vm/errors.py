# SPDX-License-Identifier: GPL-2.0
"""What goes wrong with machines and what stands beside them."""


class VmError(Exception):
    """Any failure that the modules of this folder report."""
