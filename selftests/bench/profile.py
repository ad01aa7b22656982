#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""profile.py DIRECTORY [OPERATION...]: where the instructions of each operation go.

DIRECTORY is what run has left, with profile.out of the emulator's plugin
(selftests/vm/profile.c). Result: DIRECTORY/profile.json, and a table of groups; with
names of operations also the functions that take most.

Groups are whose code is executed. The kernel itself is divided by the names of
functions, as well as names tell.
"""

import bisect
import collections
import json
import os
import re
import sys

MODULES = {
    'rdma_ep': 'rdma_ep',
    'ib_uverbs': 'uverbs, ucma', 'rdma_ucm': 'uverbs, ucma',
    'rdma_rxe': 'device', 'siw': 'device',
    'rdma_cm': 'RDMA core', 'ib_cm': 'RDMA core', 'iw_cm': 'RDMA core',
    'ib_core': 'RDMA core',
    'veth': 'IP stack', 'udp_tunnel': 'IP stack', 'ip6_udp_tunnel': 'IP stack',
    'libcrc32c': 'device', 'crc32_generic': 'device', 'crc32_pclmul': 'device',
}

# Functions of the kernel itself: the first pattern that matches
KERNEL = [(group, re.compile(pattern)) for group, pattern in (
    ('device', r'crc32'),
    ('system call', r'entry_SYSCALL|do_syscall|x64_sys_|__x64_|syscall_|ksys_'
                    r'|exit_to_user|fdget|fput|do_vfs_ioctl|vfs_|rw_verify'
                    r'|_copy_(from|to)_user|copy_user|rep_movs|security_|fget'
                    r'|arch_exit_to|fpregs|swapgs|__se_sys|import_|new_sync'),
    ('interrupts, timers', r'irq|softirq|apic|timer|tick|ktime|clock|tasklet'
                           r'|asm_|idle|itimer|sysvec'),
    ('scheduler', r'sched|try_to_wake|ttwu|wake_|pick_|enqueue|dequeue|switch_to'
                  r'|switch_mm|futex|finish_task|select_task|set_next|put_prev'
                  r'|process_one_work|work|kthread|poll|wait|completion|update_'
                  r'|rq_|_rq|entity|vruntime|yield|psi_|pelt|load_avg|avg_'
                  r'|cpuacct|place_|preempt|swake|hash_futex|plist'),
    ('memory', r'alloc|kfree|slab|vmalloc|vfree|vmap|vunmap|page|clear_|memset'
               r'|memcpy|memmove|memcg|_mm|mm_|pte|pmd|pgd|tlb|fault|mas_|mtree|mt_'
               r'|zone|rmqueue|folio|pin_|gup|obj_cgroup|charge|vma|refill|lru'
               r'|free|find_vm|kasan|get_random|percpu|objcg|buddy|brk|purge'),
    ('IP stack', r'ip_|ip4|ip6|ipv|udp|tcp|inet|sock|skb|net|dev_|neigh|arp|eth'
                 r'|napi|fib|dst_|rt_|route|qdisc|csum|gro|xmit|loopback|nf_'
                 r'|flow|checksum|sk_|rps'),
    ('locks, RCU', r'lock|mutex|rcu|spin|rwsem|down_|up_|osq|refcount|kref'),
    ('idr, xarray', r'xa_|xas_|idr_|ida_|radix|rhash|rht_|rb_'),
)]

GROUPS = ['program', 'libraries', 'system call', 'uverbs, ucma', 'rdma_ep',
          'RDMA core', 'device', 'IP stack', 'scheduler', 'memory',
          'interrupts, timers', 'locks, RCU', 'idr, xarray', 'other']


class Symbols:
    """Names of kernel addresses, from /proc/kallsyms; of others, from maps."""

    def __init__(self, directory):
        entries = []
        with open(os.path.join(directory, 'kallsyms'), encoding='ascii') as lines:
            for line in lines:
                address, sort, name, *module = line.split()
                if sort in 'tTwW':
                    entries.append((int(address, 16), name,
                                    module[0].strip('[]') if module else ''))
        entries.sort()
        self.starts = [entry[0] for entry in entries]
        self.entries = entries
        self.maps = {}
        for stack in ('stock', 'ours'):
            self.maps[stack] = list(self.read_maps(
                os.path.join(directory, f'maps.{stack}')))

    @staticmethod
    def read_maps(path):
        with open(path, encoding='ascii') as lines:
            for line in lines:
                fields = line.split()
                if len(fields) > 5 and 'x' in fields[1]:
                    start, end = (int(a, 16) for a in fields[0].split('-'))
                    yield start, end, os.path.basename(fields[5])

    def find(self, address, stack):
        """(group, name)"""
        if address < 1 << 63:
            for start, end, name in self.maps[stack]:
                if start <= address < end:
                    group = 'program' if name == 'bench' else 'libraries'
                    return group, re.sub(r'\.so.*', '.so', name)
            return 'other', 'unknown program'
        i = bisect.bisect_right(self.starts, address) - 1
        if i < 0:
            return 'other', 'unknown'
        _, name, module = self.entries[i]
        if module:
            return MODULES.get(module, 'other'), f'{name} [{module}]'
        for group, pattern in KERNEL:
            if pattern.search(name):
                return group, name
        return 'other', name


def read_phases(path):
    phase = None
    with open(path, encoding='ascii') as lines:
        for line in lines:
            first, second = line.split()
            if first == 'phase':
                if phase is not None:
                    yield phase
                phase = {}
            else:
                address = int(first, 16)
                phase[address] = phase.get(address, 0) + int(second)
    if phase is not None:
        yield phase


def read_results(directory):
    """(stack, operation, n, ns of all) in the order in which they were measured"""
    with open(os.path.join(directory, 'order'), encoding='ascii') as order:
        files = order.read().split()
    for name in files:
        with open(os.path.join(directory, name), encoding='ascii') as lines:
            for line in lines:
                fields = line.split()
                values = dict(f.split('=') for f in fields[2:] if '=' in f)
                if fields[0] == 'again':
                    # Phases of a benchmark that was repeated have no result.
                    for _ in range(int(fields[1])):
                        yield 'warm.', '', 1, 0
                if fields[0] == 'result' and 'ns' in values:
                    n = int(values['n'])
                    yield name, fields[1], n, int(values['ns']) * n


def profile(phase, symbols, stack, n):
    groups = collections.Counter()
    functions = collections.Counter()
    for address, count in phase.items():
        group, name = symbols.find(address, stack)
        groups[group] += count
        functions[f'{name} ({group})'] += count
    return {
        'instructions': round(sum(groups.values()) / n),
        'groups': {g: round(groups[g] / n) for g in GROUPS if groups[g]},
        'functions': [[f, round(count / n)]
                      for f, count in functions.most_common(40)],
    }


def read_profiles(directory):
    symbols = Symbols(directory)
    measured = list(read_results(directory))
    phases = list(read_phases(os.path.join(directory, 'profile.out')))
    if len(phases) != len(measured):
        sys.exit(f'{len(phases)} phases, but {len(measured)} results')
    profiles = {}
    for phase, (name, operation, n, nanoseconds) in zip(phases, measured):
        if name.startswith('warm.'):
            continue
        stack = name.split('.')[0]
        result = profile(phase, symbols, stack, n)
        # The clock also advances while no instruction is executed.
        result['clock'] = round(nanoseconds / n)
        profiles.setdefault(operation, {}).setdefault(stack, []).append(result)
    # As results.py: of several runs that with the median
    return {operation: {stack: sorted(runs, key=lambda r: r['instructions'])[len(runs) // 2]
                        for stack, runs in both.items()}
            for operation, both in profiles.items()}


def show(profiles, wanted):
    used = [g for g in GROUPS
            if any(g in p['groups'] for both in profiles.values()
                   for p in both.values())]
    width = [max(len(g), 7) for g in used]
    print('operation         stack    total  ' +
          '  '.join(g.rjust(w) for g, w in zip(used, width)))
    for operation, both in profiles.items():
        for stack, one in both.items():
            print(f'{operation:<17} {stack:<5} {one["instructions"]:>8}  ' +
                  '  '.join(str(one['groups'].get(g, 0)).rjust(w)
                            for g, w in zip(used, width)))
    for operation in wanted:
        for stack, one in profiles[operation].items():
            print(f'\n{operation}, {stack}: {one["instructions"]}')
            for name, count in one['functions']:
                print(f'{count:>9}  {name}')


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    profiles = read_profiles(sys.argv[1])
    with open(os.path.join(sys.argv[1], 'profile.json'), 'w',
              encoding='ascii') as out:
        json.dump(profiles, out, indent=1)
        out.write('\n')
    show(profiles, sys.argv[2:])


if __name__ == '__main__':
    main()
