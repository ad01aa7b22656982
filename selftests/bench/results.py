# SPDX-License-Identifier: GPL-2.0-only
"""What run has left in a directory, as one structure (and JSON file); the goals."""

import os
import re
import statistics

# Upper limits of ours / stock, by the kind of device: 'rxe', 'siw'
RATIO_GOALS_7_2 = [
    (r'create_destroy', {'rxe': 0.70, 'siw': 0.65}),
    (r'cycle', {'rxe': 0.55, 'siw': 0.60}),
    (r'ping_events', {'rxe': 0.90, 'siw': 1.36}),
    (r'ping_polling', {'rxe': 1.15, 'siw': 1.60}),
    (r'ping_beside', {'rxe': 1.00, 'siw': 1.50}),
    (r'(send|write|read)_64_1', {'rxe': 0.95, 'siw': 1.70}),
    (r'send_64_(16|64)', {'rxe': 1.10, 'siw': 1.12}),
    (r'(write|read)_(4096|65536)_.*', {'rxe': 1.00, 'siw': 1.00}),
    (r'srq_(1|16)', {'rxe': 1.10, 'siw': 1.20}),
    (r'srq_256', {'rxe': 1.20, 'siw': 1.20}),
]
# The same for Linux 6.1, whose rxe differs much from that of 7.2
RATIO_GOALS_6_1 = [
    (r'ping_(events|polling)', {'rxe': 1.00, 'siw': 1.30}),
]
RATIO_GOALS = {'7.2.': RATIO_GOALS_7_2, '6.1.': RATIO_GOALS_6_1}
# Lower limits of ours / stock for values in megabytes per second, Linux 7.2
LEAST_GOALS = {'beside_ping': {'siw': 0.70}}
# Upper limit of ours / floor
FLOOR_GOAL = 1.10
# Upper limits of ours, independent of stock
VALUE_GOALS = {
    'calls_active': 6,
    'calls_passive': 5,
    'calls_start': 60,
    'calls_start_alone': 60,
    'calls_start_linked': 60,
    'idle_growth': 1.2,
    'share_4': 1.2,
}


def kind(device):
    """rxe0 and siw0 have goals, others have none."""
    return re.sub(r'[0-9]+$', '', device.split()[0]) if device.split() else ''


def ratio_goal(name, info):
    for kernel, goals in RATIO_GOALS.items():
        for pattern, values in goals if info['kernel'].startswith(kernel) else ():
            if re.fullmatch(pattern, name):
                return values.get(kind(info['device']))
    return None


def judge(row, info):
    """The goals of a row, which may have been measured when they were others."""
    for key in ('goal', 'least_goal', 'value_goal', 'met'):
        row.pop(key, None)
    name, ratio = row['name'], row.get('ratio')
    goal = ratio_goal(name, info)
    least = None
    if info['kernel'].startswith('7.2.'):
        least = LEAST_GOALS.get(name, {}).get(kind(info['device']))
    if goal is not None and ratio is not None:
        row['goal'] = goal
        row['met'] = ratio <= goal
    if least is not None and ratio is not None:
        row['least_goal'] = least
        row['met'] = ratio >= least
    if name in VALUE_GOALS and row['ours'] is not None:
        row['value_goal'] = VALUE_GOALS[name]
        row['met'] = row['ours'] <= VALUE_GOALS[name]
    return row


def read_lines(path, words):
    """Lines "WORD NAME KEY=VALUE..." as {name: {key: value}}, in their order.

    Of several with one name that with the median.
    """
    rows = {}
    if not os.path.exists(path):
        return rows
    with open(path, encoding='ascii') as lines:
        for line in lines:
            fields = line.split()
            if len(fields) < 3 or fields[0] not in words:
                continue
            rows.setdefault(fields[1], []).append(
                dict(field.split('=', 1) for field in fields[2:]))
    return {name: sorted(values, key=lambda v: number(v)[0])[len(values) // 2]
            for name, values in rows.items()}


def number(values):
    """(value, unit) of a row"""
    for unit in ('ns', 'bytes', 'us', 'mb', 'times', 'n'):
        if unit in values:
            return float(values[unit]), unit
    raise ValueError(f'no value in {values}')


def read_turns(directory, stack):
    turns = []
    while os.path.exists(os.path.join(directory, f'{stack}.{len(turns) + 1}')):
        path = os.path.join(directory, f'{stack}.{len(turns) + 1}')
        turns.append(read_lines(path, ('result', 'sum')))
    return turns


def read_none(directory, stack):
    """What this stack could not do: "none NAME" lines."""
    names = []
    for name in (f'{stack}.1', f'tools.{stack}'):
        path = os.path.join(directory, name)
        if os.path.exists(path):
            with open(path, encoding='ascii') as lines:
                names += [line.split()[1] for line in lines
                          if line.startswith('none ')]
    names += [name + '_memory' for name in names if name.startswith('idle_')]
    return names + ['idle_growth'] * ('idle_10000' in names)


def grown(turns):
    """The last of many endpoints, compared with the tenth."""
    for turn in turns:
        if 'idle_10000' in turn and 'idle_10' in turn:
            ratio = (float(turn['idle_10000']['p50']) /
                     float(turn['idle_10']['p50']))
            turn['idle_growth'] = {'times': f'{ratio:.3f}'}


def middle(turns, name):
    """Median of all turns, percentiles of the one that is next to it."""
    turns = [turn[name] for turn in turns if name in turn]
    if not turns:
        return None, None, {}
    values = sorted((number(turn)[0], i) for i, turn in enumerate(turns))
    typical = turns[values[len(values) // 2][1]]
    percentiles = {p: int(typical[p]) for p in ('p50', 'p99', 'p999')
                   if p in typical}
    unit = number(typical)[1]
    return statistics.median(v for v, _ in values), unit, percentiles


def make_row(name, info, stock, ours, floor):
    row = {'name': name}
    row['stock'], row['unit'], row['stock_percentiles'] = middle(stock, name)
    row['ours'], unit, row['ours_percentiles'] = middle(ours, name)
    row['unit'] = row['unit'] or unit
    if row['unit'] == 'ns' and info['mode'] == 'counted':
        row['unit'] = 'instructions'
    ratios = [number(o[name])[0] / number(s[name])[0]
              for s, o in zip(stock, ours)
              if name in s and name in o and number(s[name])[0]]
    if ratios:
        row['ratio'] = statistics.median(ratios)
        row['ratio_spread'] = [min(ratios), max(ratios)]
    if name in floor:
        row['floor'] = number(floor[name])[0]
        row['floor_poll'] = floor[name].get('poll')
        row['ours_floor'] = row['ours'] / row['floor']
        row['floor_goal'] = FLOOR_GOAL
    return judge(row, info)


def read_info(directory):
    with open(os.path.join(directory, 'info'), encoding='utf-8') as lines:
        return dict(line.rstrip('\n').split('=', 1) for line in lines)


def read_directory(directory):
    """All of it. Raises an error if something is missing that must be there."""
    info = read_info(directory)
    stock = read_turns(directory, 'stock')
    ours = read_turns(directory, 'ours')
    grown(stock + ours)
    for name, turns in (('stock', stock), ('ours', ours)):
        for part in ('calls', 'tools'):
            more = read_lines(os.path.join(directory, f'{part}.{name}'),
                              ('calls', 'tool'))
            if more and not turns:
                turns.append({})
            for turn in turns:
                turn.update(more)
    floor = read_lines(os.path.join(directory, 'floor'), ('result',))
    names = list(dict.fromkeys(n for turn in stock + ours for n in turn))
    names = ([n for n in names if n not in VALUE_GOALS] +
             [n for n in names if n in VALUE_GOALS])
    return {
        'info': info,
        'none': {stack: read_none(directory, stack)
                 for stack in ('stock', 'ours')},
        'rows': [make_row(n, info, stock, ours, floor) for n in names],
    }
