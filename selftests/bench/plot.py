# SPDX-License-Identifier: GPL-2.0-only
"""SVG of results: without any library, so that it can be made everywhere."""

from xml.sax.saxutils import escape

WIDTH = 760
LEFT = 150		# of the names
ROW = 18
TOP = 54
SCALE_MAX = 2.0		# ours / stock; what is more is cut off
COLOURS = ['#4e79a7', '#f28e2b', '#e15759', '#76b7b2', '#59a14f', '#edc948',
           '#b07aa1', '#ff9da7', '#9c755f', '#bab0ac', '#86bcb6', '#d37295',
           '#499894', '#79706e']


def text(x, y, words, anchor='start', size=11, extra=''):
    return (f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" '
            f'text-anchor="{anchor}" {extra}>{escape(words)}</text>')


def rectangle(x, y, width, height, colour, title=''):
    return (f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 0):.1f}" '
            f'height="{height}" fill="{colour}">'
            f'<title>{escape(title)}</title></rect>')


def line(x1, y1, x2, y2, colour, width=1, dash=''):
    dash = f' stroke-dasharray="{dash}"' if dash else ''
    return (f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" '
            f'stroke="{colour}" stroke-width="{width}"{dash}/>')


def svg(height, parts):
    return '\n'.join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'width="{WIDTH}" height="{height}" font-family="sans-serif">',
        rectangle(0, 0, WIDTH, height, '#ffffff'), *parts, '</svg>', ''])


def ratios(report, title):
    """A bar of ours / stock for each operation, with its goal and its floor."""
    rows = [r for r in report['rows']
            if 'ratio' in r and r['unit'] in ('instructions', 'ns', 'us')
            and not r['name'].startswith('call_')]
    unit = (WIDTH - LEFT - 60) / SCALE_MAX
    bottom = TOP + ROW * len(rows)
    parts = [text(10, 20, title, size=14),
             text(10, 36, 'ours / stock, shorter is better; black: the goal; '
                  'dashed: as much as stock')]
    for tick in (0, 0.5, 1, 1.5, 2):
        x = LEFT + tick * unit
        parts.append(line(x, TOP - 4, x, bottom, '#888888' if tick == 1 else
                          '#dddddd', dash='4 3' if tick == 1 else ''))
        parts.append(text(x, TOP - 6, f'{tick:g}', 'middle', 9))
    for i, row in enumerate(rows):
        y = TOP + ROW * i
        colour = {True: '#59a14f', False: '#e15759', None: '#9aa9b5'}[row.get('met')]
        parts.append(text(LEFT - 6, y + 13, row['name'], 'end'))
        parts.append(rectangle(LEFT, y + 3, min(row['ratio'], SCALE_MAX) * unit,
                               ROW - 6, colour,
                               f'{row["name"]}: {row["ratio"]:.3f}'))
        parts.append(text(LEFT + min(row['ratio'], SCALE_MAX) * unit + 4, y + 13,
                          f'{row["ratio"]:.2f}', size=10))
        if 'goal' in row:
            x = LEFT + row['goal'] * unit
            parts.append(line(x, y + 1, x, y + ROW - 1, '#000000', 2))
    return svg(bottom + 12, parts)


def profiles(report, title, names):
    """Two bars for each operation, of where the instructions go."""
    wanted = [n for n in names if n in report]
    groups = list(dict.fromkeys(g for n in wanted for p in report[n].values()
                                for g in p['groups']))
    bottom = TOP + 24 + (2 * ROW + 8) * len(wanted)
    parts = [text(10, 20, title, size=14),
             text(10, 36, 'where the instructions go; stock above, ours below; '
                  'stock is 1')]
    for i, group in enumerate(groups):
        x, y = LEFT + i % 6 * 100, 44 + i // 6 * 14
        parts.append(rectangle(x, y, 9, 9, COLOURS[i % len(COLOURS)]))
        parts.append(text(x + 12, y + 9, group, size=9))
    unit = (WIDTH - LEFT - 60) / 1.5
    for i, name in enumerate(wanted):
        y = TOP + 24 + (2 * ROW + 8) * i
        stock = report[name].get('stock', {}).get('instructions')
        parts.append(text(LEFT - 6, y + ROW + 4, name, 'end'))
        for j, stack in enumerate(('stock', 'ours')):
            one = report[name].get(stack)
            if not one or not stock:
                continue
            x = LEFT
            for group, count in one['groups'].items():
                width = count / stock * unit
                parts.append(rectangle(x, y + j * ROW, width, ROW - 3,
                                       COLOURS[groups.index(group) % len(COLOURS)],
                                       f'{stack}, {group}: {count}'))
                x += width
            parts.append(text(x + 4, y + j * ROW + 12,
                              str(one['instructions']), size=10))
    return svg(bottom + 8, parts)
