# SPDX-License-Identifier: GPL-2.0
"""Errors of machines and simulators"""


class VmError(Exception):
    """Any failure that the modules of this folder report"""
