#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Hold 8 MiB of registered memory and completion queues of an RDMA device until
a line is read.

usage: accounting.py DEVICE CQS ENTRIES
"""

import sys

from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.pyverbs_error import PyverbsError
try:
    from pyverbs.enums import IBV_ACCESS_LOCAL_WRITE
except ModuleNotFoundError:     # rdma-core 65
    from pyverbs.libibverbs_enums import ibv_access_flags
    IBV_ACCESS_LOCAL_WRITE = ibv_access_flags.IBV_ACCESS_LOCAL_WRITE

number, entries = map(int, sys.argv[2:])
try:
    # quote program
    context = Context(name=sys.argv[1])
    pd = PD(context)
    mr = MR(pd, 8 << 20, IBV_ACCESS_LOCAL_WRITE)
    cqs = [CQ(context, entries) for _ in range(number)]
    # end quote
except PyverbsError as error:
    sys.exit(str(error))
print('ready', flush=True)
sys.stdin.readline()
