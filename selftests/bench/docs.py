#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""docs.py DOCS [RESULTS...]: results into DOCS/performance.

Each of RESULTS is a directory that run and report.py (profile.py) have been in: its
bench.json (profile.json) becomes DOCS/performance/SUITE-DEVICE-MODE.json
(...-profile.json). Then the plots and the tables of results.md and conclusions.md are
made anew from all files in DOCS/performance. A table stands between

        <!-- begin NAME -->
        <!-- end -->

NAME is a file's, "goals" (the met and missed ones), "judged" (those of Linux 7.2), or
"summary". The rest of the
documents is not touched. ...-profile-before.json, if there is one, is what a profile
was before everything that has been done about it.
"""

import glob
import json
import os
import re
import sys

import plot
import report
import results

DOCUMENTS = ['results.md', 'conclusions.md']
SUMMARY = ['create_destroy', 'cycle', 'ping_events', 'ping_polling', 'ping_beside',
           'send_64_1', 'send_64_16', 'send_65536_16', 'write_4096_16', 'read_4096_1',
           'srq_16']
PROFILED = ['create', 'destroy', 'cycle', 'ping_events',
            'ping_polling', 'send_64_1', 'send_64_16', 'write_64_16',
            'write_4096_16', 'read_4096_1', 'send_65536_1', 'srq_16']


def load(path):
    with open(path, encoding='ascii') as text:
        return json.load(text)


def save(path, text):
    with open(path, 'w', encoding='utf-8') as out:
        out.write(text)


def name_of(info):
    return f'{info["suite"]}-{results.kind(info["device"])}-{info["mode"]}'


def version(info):
    """(7, 2) of Linux 7.2.13"""
    return tuple(int(part) for part in info['kernel'].split('.')[:2])


def dumps(data):
    """JSON with a line for each operation, so that a change shows what has changed."""
    parts = []
    for key, value in data.items():
        if key == 'rows':
            text = '[\n' + ',\n'.join(json.dumps(row) for row in value) + '\n]'
        elif key == 'profiles':
            text = '{\n' + ',\n'.join(f'{json.dumps(name)}: {json.dumps(both)}'
                                      for name, both in value.items()) + '\n}'
        else:
            text = json.dumps(value)
        parts.append(f'{json.dumps(key)}: {text}')
    return '{\n' + ',\n'.join(parts) + '\n}\n'


def take(directory, kept):
    """bench.json and profile.json of a run, to where they are kept"""
    info = results.read_info(directory)
    taken = False
    for name, suffix in (('bench.json', ''), ('profile.json', '-profile')):
        path = os.path.join(directory, name)
        if not os.path.exists(path):
            continue
        data = load(path)
        if suffix:
            # The first functions are enough for an overview.
            for both in data.values():
                for one in both.values():
                    one['functions'] = one['functions'][:12]
            data = {'info': info, 'profiles': data}
        save(os.path.join(kept, name_of(info) + suffix + '.json'),
             dumps(data))
        taken = True
    if not taken:
        sys.exit(f'{directory}: no results')


def markdown(head, lines):
    return '\n'.join('| ' + ' | '.join(line) + ' |' for line in
                     [head, ['---'] + ['---:'] * (len(head) - 1)] + lines)


def results_table(data):
    head = [h or 'result' for h in report.HEAD]
    lines = [report.cells(row) for row in data['rows']]
    if not any(line[4] for line in lines):
        # Single measurements have no spread.
        head = head[:4] + head[5:]
        lines = [line[:4] + line[5:] for line in lines]
    return markdown(head, lines)


def latency_table(data):
    keys = ('p50', 'p99', 'p999')
    lines = [[row['name']] + [str(row[stack][k])
                              for stack in ('stock_percentiles', 'ours_percentiles')
                              for k in keys]
             for row in data['rows']
             if row['stock_percentiles'] and row['ours_percentiles']]
    return markdown(['operation'] + [f'{stack} {k}' for stack in ('stock', 'ours')
                                     for k in ('p50', 'p99', 'p99.9')], lines)


def profile_table(data, before):
    profiles = {}
    for name, both in data['profiles'].items():
        rows = {'stock': both.get('stock'),
                'ours, before': before.get(name, {}).get('ours'),
                'ours': both.get('ours')}
        profiles[name] = {stack: one for stack, one in rows.items() if one}
    names = [n for n in PROFILED if n in profiles]
    groups = list(dict.fromkeys(g for n in names for p in profiles[n].values()
                                for g in p['groups']))
    lines = [[n, stack, str(one['instructions'])] +
             [str(one['groups'].get(g, 0)) for g in groups]
             for n in names for stack, one in profiles[n].items()]
    return markdown(['operation', 'stack', 'all'] + groups, lines)


def goals_table(reports):
    lines = []
    for name, data in sorted(reports.items()):
        for row in data['rows']:
            if 'met' not in row:
                continue
            value = row['ours'] if 'value_goal' in row else row['ratio']
            lines.append([row['name'], name, f'{value:.3f}'.rstrip('0').rstrip('.'),
                          report.goal(row), 'met' if row['met'] else '**missed**'])
        floors = [row for row in data['rows'] if 'ours_floor' in row]
        over = [f'{row["name"]} {row["ours_floor"]:.3f}' for row in floors
                if row['ours_floor'] > results.FLOOR_GOAL]
        if floors:
            lines.append([f'ours / floor, {len(floors)} operations', name,
                          f'{max(row["ours_floor"] for row in floors):.2f}',
                          f'{results.FLOOR_GOAL:g}',
                          f'**missed** by {", ".join(over)}' if over else 'met'])
    return markdown(['operation', 'where', 'value', 'goal', 'result'], lines)


def judged_table(reports):
    """Ratios of the counted reports of Linux 7.2 that have a goal, both devices in a line; without
    large READs and WRITEs, which are alike"""
    lines = {}
    names = ['sid-rxe-counted', 'sid-siw-counted']
    for i, name in enumerate(names):
        for row in reports.get(name, {'rows': []})['rows']:
            if 'met' in row and 'ratio' in row and 'value_goal' not in row and \
               not re.search('_(4096|65536)_', row['name']):
                line = lines.setdefault(row['name'], [row['name']] + [''] * 6)
                line[1 + 3 * i:4 + 3 * i] = [
                    f'{row["ratio"]:.2f}', report.goal(row),
                    'met' if row['met'] else '**missed**']
    return markdown(['ours / stock', 'rxe', 'goal', 'result', 'siw', 'goal', 'result'],
                    list(lines.values()))


def summary_table(reports):
    """Ratios of the counted reports"""
    names = sorted((name for name in reports if name.endswith('-counted')), reverse=True,
                   key=lambda name: (version(reports[name]['info']), name))
    ratios = {name: {row['name']: row.get('ratio') for row in reports[name]['rows']}
              for name in names}
    lines = [[op] + [f'{ratios[name][op]:.2f}' if ratios[name].get(op) else ''
                     for name in names] for op in SUMMARY]
    heads = [f'{reports[name]["info"]["device"].strip()}, Linux '
             f'{".".join(map(str, version(reports[name]["info"])))}' for name in names]
    return markdown(['ours / stock'] + heads, lines)


def render(docs):
    kept = os.path.join(docs, 'performance')
    reports, blocks = {}, {}
    for path in sorted(glob.glob(os.path.join(kept, '*.json'))):
        name = os.path.basename(path)[:-len('.json')]
        if name.endswith('-before'):
            continue
        data = load(path)
        kernel = f'Linux {data["info"]["kernel"]}, {data["info"]["device"].strip()}'
        picture = f'![{name}]({name}.svg)'
        if 'profiles' in data:
            drawing = plot.profiles(data['profiles'], kernel, PROFILED)
            old = path.replace('.json', '-before.json')
            before = load(old)['profiles'] if os.path.exists(old) else {}
            blocks[name] = f'{kernel}.\n\n{profile_table(data, before)}\n\n{picture}'
        else:
            data['rows'] = [results.judge(row, data['info']) for row in data['rows']]
            reports[name] = data
            drawing = plot.ratios(data, f'{kernel}, {data["info"]["mode"]}')
            blocks[name] = (f'{report.title(data)}.\n\n{results_table(data)}\n\n'
                            f'{latency_table(data)}\n\n{picture}')
        save(os.path.join(kept, f'{name}.svg'), drawing)
    blocks['goals'] = goals_table(reports)
    blocks['summary'] = summary_table(reports)
    blocks['judged'] = judged_table(reports)
    there = set()
    for path in (os.path.join(kept, name) for name in DOCUMENTS):
        with open(path, encoding='utf-8') as text:
            document = text.read()
        there |= set(re.findall(r'<!-- begin (\S+) -->', document))
        for name, block in blocks.items():
            document = re.sub(rf'(<!-- begin {re.escape(name)} -->\n).*?(<!-- end -->)',
                              lambda m, b=block: f'{m[1]}{b}\n{m[2]}', document,
                              flags=re.DOTALL)
        save(path, document)
    for name in sorted(set(blocks) - there):
        print(f'{kept}: no place for {name}', file=sys.stderr)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    kept = os.path.join(sys.argv[1], 'performance')
    os.makedirs(kept, exist_ok=True)
    for directory in sys.argv[2:]:
        take(directory, kept)
    render(sys.argv[1])


if __name__ == '__main__':
    main()
