#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""report.py DIRECTORY: what run has left there, as DIRECTORY/bench.json and as a table.

Fails if an operation has been measured on one of the stacks only, unless the other one
can not do it.
"""

import json
import os
import sys

import results


def value(number):
    if number is None:
        return '-'
    return f'{number:.2f}' if number < 100 and number % 1 else f'{number:.0f}'


def ratio(row, key):
    return f'{row[key]:.3f}' if key in row else ''


def spread(row):
    low, high = row.get('ratio_spread', (0, 0))
    return f'{low:.3f}-{high:.3f}' if high > low else ''


def goal(row):
    if 'goal' in row:
        return f'<= {row["goal"]:.2f}'
    if 'least_goal' in row:
        return f'>= {row["least_goal"]:.2f}'
    if 'value_goal' in row:
        return f'<= {row["value_goal"]} (ours)'
    return ''


def met(row):
    return {True: 'met', False: 'missed', None: ''}[row.get('met')]


def cells(row):
    """Of a table: operation, stock, ours, ratio, spread, floor, ..."""
    return [row['name'], value(row['stock']), value(row['ours']),
            ratio(row, 'ratio'), spread(row),
            value(row['floor']) if 'floor' in row else '',
            ratio(row, 'ours_floor'), goal(row), met(row)]


HEAD = ['operation', 'stock', 'ours', 'ours/stock', 'spread', 'floor',
        'ours/floor', 'goal', '']


def title(report):
    info = report['info']
    what = {'counted': 'instructions', 'timed': 'ns'}[info['mode']]
    return (f'Linux {info["kernel"]}, {info["device"].strip()}: {what} for one '
            f'operation (memory: bytes, calls: number)')


def show(report):
    lines = [HEAD] + [cells(row) for row in report['rows']]
    widths = [max(len(line[i]) for line in lines) for i in range(len(HEAD))]
    print(title(report))
    for line in lines:
        print('  '.join(cell.ljust(width) if i in (0, 7, 8) else cell.rjust(width)
                        for i, (cell, width) in enumerate(zip(line, widths)))
              .rstrip())


def percentiles(report):
    print('\nlatencies: p50, p99, p99.9 (stock; ours)')
    for row in report['rows']:
        if row['stock_percentiles'] and row['ours_percentiles']:
            stock, ours = ('  '.join(str(row[k][p]) for p in ('p50', 'p99', 'p999'))
                           for k in ('stock_percentiles', 'ours_percentiles'))
            print(f'{row["name"]:<18} {stock};  {ours}')


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    report = results.read_directory(sys.argv[1])
    with open(os.path.join(sys.argv[1], 'bench.json'), 'w',
              encoding='ascii') as out:
        json.dump(report, out, indent=1)
        out.write('\n')
    show(report)
    percentiles(report)
    missing = [row['name'] for row in report['rows']
               if any(row[stack] is None and row['name'] not in report['none'][stack]
                      for stack in ('stock', 'ours'))]
    if missing:
        sys.exit(f'only on one of the stacks: {" ".join(missing)}')


if __name__ == '__main__':
    main()
