#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Check the text of rdma-ep metrics.

usage: metrics.py FILE          OpenMetrics: reports what is not
       metrics.py FILE DASHBOARD  the same, and whether it has each metric that
                                the dashboard names
"""

import json
import re
import sys

NAME = r'[a-zA-Z_:][a-zA-Z0-9_:]*'
LABEL = NAME + r'="(?:[^"\\\n]|\\[\\n"])*"'
SAMPLE = re.compile(rf'({NAME})(?:{{((?:{LABEL},)*{LABEL})}})? ([0-9]+)')


def check(text):
    """Returns what is wrong, and the names of the samples."""
    bad, families, seen = [], {}, set()
    lines = text.split('\n')
    if lines[-2:] != ['# EOF', '']:
        bad.append('it does not end with # EOF')
    family = None
    for line in lines[:-2]:
        head = re.fullmatch(rf'# (TYPE|UNIT|HELP) ({NAME}) (.+)', line)
        if head:
            kind, name, value = head.groups()
            if kind == 'TYPE':
                if name in families or value not in ('gauge', 'counter'):
                    bad.append(line)
                families[name] = value
                family = name
            elif name != family or (kind == 'UNIT' and not name.endswith('_' + value)):
                bad.append(line)
            continue
        sample = SAMPLE.fullmatch(line)
        if not sample or not family:
            bad.append(line)
            continue
        suffix = '_total' if families[family] == 'counter' else ''
        key = sample[1], sample[2]
        if sample[1] != family + suffix or key in seen:
            bad.append(line)
        seen.add(key)
    return bad, {name for name, _ in seen}


def named(dashboard):
    """The names of metrics in the expressions of a dashboard."""
    names = set()
    for panel in dashboard['panels']:
        for target in panel['targets']:
            names |= set(re.findall(r'\brdma_ep_[a-z_]+', target['expr']))
    for variable in dashboard['templating']['list']:
        names |= set(re.findall(r'\brdma_ep_[a-z_]+', str(variable['query'])))
    return names


with open(sys.argv[1], encoding='utf-8') as file:
    wrong, samples = check(file.read())
if len(sys.argv) > 2:
    with open(sys.argv[2], encoding='utf-8') as file:
        wanted = named(json.load(file))
    if len(wanted) < 10:
        wrong.append(f'the dashboard names {len(wanted)} metrics')
    wrong += [f'no metric {name}, which the dashboard names' for name in sorted(wanted - samples)]
    wrong += [f'no panel shows {name}' for name in sorted(samples - wanted)]
for line in wrong[:20]:
    print('#', line)
sys.exit(bool(wrong))
