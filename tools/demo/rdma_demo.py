# SPDX-License-Identifier: GPL-2.0
"""Implementation of `make demo ULP=nfs` and ULP=iser, see run: the kernel's own RDMA ULPs over kfi_ib, with TLS=1 under TLS"""

import json
import os

import nvme_demo
import pair as vm
import rdma

WIRE = "wire"


class Demo:
    """A ULP whose server is machine b, as tests/vm/rdma.py has it"""

    def __init__(self, ulp):
        self.ulp = ulp

    def demo(self, series, provider, mtu, out, progress):
        """Return release and rows; everything that was written was read back and compared."""
        if series != rdma.SERIES or provider not in rdma.NETWORKS:
            known = [name for name, network in rdma.NETWORKS.items() if not network.secret]
            raise vm.VmError(f"ULP={self.ulp} runs on KERNEL={rdma.SERIES}, over PROVIDER={' or '.join(known)}")
        with rdma.machines([self.ulp], series, provider, out, progress, mtu=mtu) as pair:
            rows = self.use(pair, rdma.NETWORKS[provider](pair), out, progress)
            self.log(pair, out)
            pair.check_logs()
            release = pair.release
        with open(os.path.join(out, "results.json"), "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)
            file.write("\n")
        return release, rows

    def use(self, pair, network, out, progress):
        ulp = rdma.ULPS[self.ulp](pair, network)
        progress(f"a, b: rdma link add {rdma.LINK} type kfi netdev {network.netdev}")
        rdma.enter(pair, network, *pair.vms)
        progress(f"b: the server, {ulp.__doc__}")
        ulp.serve()
        progress("a: mount or login, write, read, compare")
        ulp.connect()
        ulp.copied()
        nvme_demo.verified(ulp.host, ulp.where, progress)
        rows = nvme_demo.figures(ulp, ulp.where, progress)
        if network.machines == "sockets":
            progress("a: a text is written and read, and looked for on the wire")
            seen = rdma.on_the_wire(pair, ulp, os.path.join(out, "wire.pcap"))
            rows.append({"bench": WIRE, "bytes": len(seen), "readable": rdma.MARK.encode() in seen})
        return rows

    @staticmethod
    def log(pair, out):
        """Write the state of both machines to logs."""
        for name in pair.vms:
            with open(os.path.join(out, f"rdma-{name}.log"), "w", encoding="utf-8") as file:
                file.write(pair.run(name, "rdma link; rdma resource show; rdma resource show qp; kfi show endpoints; kfi stats", check=False).text)

    @staticmethod
    def table(rows):
        nvme_demo.table(rows)
        for row in rows:
            if row.get("bench") == WIRE:
                print(f"\nA text that was written and read {'can be read' if row['readable'] else 'is nowhere'} in the {row['bytes'] >> 10} KiB "
                      "that were on the wire meanwhile.")
