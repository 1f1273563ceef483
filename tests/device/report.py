# SPDX-License-Identifier: BSD-2-Clause
"""The report of a run: report.json, and the same as one HTML page that needs nothing else."""

import html
import json
import math

FORMAT = 1  # of report.json; report.schema.json describes it
COLOURS = ['#0072b2', '#e69f00', '#009e73', '#d55e00', '#cc79a7']
PERCENTILES = [('min', 'min'), ('p50', '50 %'), ('p99', '99 %'), ('p99_9', '99.9 %'),
               ('max', 'max')]
COST_COLUMNS = [('bunsen', 'Bunsen'), ('ibv_wr', 'ibv_wr_*'), ('ibv', 'ibv_post_send, ibv_poll_cq')]

STYLE = '''
body { font: 15px/1.45 sans-serif; max-width: 62em; margin: 2em auto; padding: 0 1em; color: #222 }
h1 { font-size: 1.5em } h2 { font-size: 1.2em; margin-top: 2em; border-bottom: 1px solid #ccc }
table { border-collapse: collapse; margin: .7em 0 } caption { text-align: left; font-weight: bold }
th, td { border: 1px solid #ddd; padding: .2em .6em; text-align: left; vertical-align: top }
td.n { text-align: right; font-variant-numeric: tabular-nums }
.model { background: #fff1c2; border: 2px solid #d9a400; padding: .6em 1em }
.ok, .pass { color: #00703c } .bad, .fail { color: #b00020; font-weight: bold }
.advice, .skip { color: #7a5900 } .unknown { color: #666 }
svg { max-width: 100%; height: auto; display: block; margin: 1em 0 }
'''


def esc(value):
    return html.escape(str(value))


# -- numbers

def short(value):
    """Three digits or so: 0.052, 3.62, 117, 4820."""
    return f'{value:.0f}' if value >= 100 else f'{value:.3g}'


def ns_text(ns):
    return f'{short(ns)} ns' if ns < 1000 else f'{short(ns / 1000)} µs' if ns < 1e6 \
        else f'{short(ns / 1e6)} ms'


def rate_text(rate):
    return f'{short(rate / 1e9)} GB/s' if rate >= 1e9 else f'{short(rate / 1e6)} MB/s'


def size_text(size):
    return f'{size >> 20} MiB' if size >= 1 << 20 else f'{size >> 10} KiB' if size >= 1 << 10 \
        else f'{size} B'


# -- pictures

class Picture:
    WIDTH, LEFT, TOP = 760, 80, 34

    def __init__(self, title, height):
        self.height = height
        self.parts = [f'<title>{esc(title)}</title>']
        self.text(self.LEFT, 18, title, weight='bold')

    def text(self, x, y, text, anchor='start', weight='normal', colour='#222'):
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}" '
                          f'font-weight="{weight}">{esc(text)}</text>')

    def line(self, x1, y1, x2, y2, colour='#ddd'):
        self.parts.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" '
                          f'stroke="{colour}"/>')

    def bar(self, x, y, width, height, colour):
        self.parts.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" '
                          f'height="{height:.1f}" fill="{colour}"/>')

    def curve(self, points, colour):
        path = ' '.join(f'{x:.1f},{y:.1f}' for x, y in points)
        self.parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" '
                          'stroke-width="2"/>')
        self.parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>'
                       for x, y in points]

    def legend(self, names):
        for i, name in enumerate(names):
            x = self.LEFT + 170 * i
            self.bar(x, self.height - 16, 12, 10, COLOURS[i])
            self.text(x + 17, self.height - 7, name)

    def svg(self):
        return (f'<svg viewBox="0 0 {self.WIDTH} {self.height}" width="{self.WIDTH}" '
                f'height="{self.height}" font-family="sans-serif" font-size="12" role="img">'
                + ''.join(self.parts) + '</svg>')


def decades(values):
    """From the power of ten below the least value to the one above the greatest."""
    low = math.floor(math.log10(min(values)))
    return low, max(low + 1, math.ceil(math.log10(max(values))))


def curves(title, labels, series, unit):
    """A line for each (name, values), over the labels; the axis of values is logarithmic."""
    picture = Picture(title, 300)
    bottom, right = picture.height - 55, picture.WIDTH - 30
    low, high = decades([value for _, values in series for value in values if value])

    def y_of(value):
        return bottom - (math.log10(value) - low) / (high - low) * (bottom - picture.TOP)

    def x_of(i):
        return picture.LEFT + 30 + i * (right - picture.LEFT - 60) / max(1, len(labels) - 1)

    for power in range(low, high + 1):
        picture.line(picture.LEFT, y_of(10 ** power), right, y_of(10 ** power))
        picture.text(picture.LEFT - 6, y_of(10 ** power) + 4, unit(10 ** power), 'end')
    for i, label in enumerate(labels):
        picture.text(x_of(i), bottom + 18, label, 'middle')
    for (_, values), colour in zip(series, COLOURS):
        picture.curve([(x_of(i), y_of(value)) for i, value in enumerate(values) if value], colour)
    picture.legend([name for name, _ in series])
    return picture.svg()


def bars(title, groups, names, unit):
    """A group of horizontal bars for each (label, values); None has no bar."""
    thick, gap, left = 11, 10, 190
    picture = Picture(title, Picture.TOP + len(groups) * (len(names) * thick + gap) + 30)
    most = max(value for _, values in groups for value in values if value is not None)
    y = picture.TOP
    for label, values in groups:
        picture.text(left - 8, y + len(names) * thick / 2 + 4, label, 'end')
        for value, colour in zip(values, COLOURS):
            if value is not None:
                width = max(1, value / most * (picture.WIDTH - left - 90))
                picture.bar(left, y, width, thick - 2, colour)
                picture.text(left + width + 5, y + thick - 3, unit(value))
            y += thick
        y += gap
    picture.legend(names)
    return picture.svg()


# -- the page

def table(caption, heads, rows):
    """Cells are text; (text, class) has a class of its own."""
    out = [f'<table><caption>{esc(caption)}</caption>']
    if any(heads):
        out += ['<tr>', *(f'<th>{esc(head)}</th>' for head in heads), '</tr>']
    for row in rows:
        cells = (cell if isinstance(cell, tuple) else (cell, '') for cell in row)
        out.append('<tr>' + ''.join(f'<td class="{kind}">{esc(text)}</td>' for text, kind in cells)
                   + '</tr>')
    return ''.join(out) + '</table>'


def head_of(report):
    made, device = report['made'], report['device']
    name = device['name'] if device else 'no device'
    yield f'<h1>Bunsen on {esc(name)}</h1>'
    if report['is_model']:
        yield ('<p class="model"><strong>This device was a model</strong>: softcx, the software '
               'ConnectX. What passes here has passed on the model only, and no time or rate says '
               'anything about a NIC.</p>')
    commit = made['commit'] or 'not known'
    facts = [('made', f'{made["time"]}, in {made["seconds"]:.0f} s'
              + (', shortened' if made['quick'] else '')),
             ('commit', commit + (' with changes' if made['has_changes'] else '')),
             ('version', made['version']), ('host', made['host'])]
    facts += [(row['name'], row['value']) for row in report['machine'] if row['name'] == 'CPU']
    if device:
        facts += [('path', device['why']), ('store', device['store'] or 'none'),
                  ('link', f'{device["link_layer"]}, {device["port_state"]}')]
    yield table('', ['', ''], facts)
    if report['problems']:
        yield '<h2>Problems</h2><ul>'
        yield from (f'<li class="bad">{esc(problem)}</li>' for problem in report['problems'])
        yield '</ul>'


def machine_of(report):
    yield '<h2>Machine</h2>'
    yield table('', ['', 'found', '', 'what to do'],
                [(row['name'], row['value'], (row['verdict'], row['verdict']), row['advice'])
                 for row in report['machine']])


def checks_of(report):
    if not report['checks']:
        return
    kinds = {'ok': 'ok', 'wrong': 'bad'}
    yield '<h2>Host</h2>'
    yield table('What bsn-info --check finds', ['', 'of', '', 'found', 'what to do'],
                [(row['check'], row['subject'],
                  (row['status'], kinds.get(row['status'], 'unknown')),
                  row['found'], row['mend'] or '') for row in report['checks']])


def tests_of(report):
    yield '<h2>Tests</h2>'
    if not report['tests']:
        yield '<p>None ran.</p>'
        return
    programs = {}
    for row in report['tests']:
        counts = programs.setdefault((row['suite'], row['program']), dict.fromkeys(
            ('pass', 'fail', 'skip'), 0))
        counts[row['outcome']] += 1
    yield table('cases', ['suite', 'program', 'passed', 'failed', 'left out'],
                [(suite, program, (counts['pass'], 'n'),
                  (counts['fail'], 'n fail' if counts['fail'] else 'n'), (counts['skip'], 'n'))
                 for (suite, program), counts in programs.items()])
    for outcome, caption in (('fail', 'failed'), ('skip', 'left out')):
        rows = [(row['program'], row['case'], row['reason']) for row in report['tests']
                if row['outcome'] == outcome]
        if rows:
            yield table(caption, ['program', 'case', 'why'], rows)


def features_of(report):
    """Each feature by each path that was tried."""
    if not report['features']:
        return
    paths = [path for path, found in report['features'].items() if any(found.values())]
    names = dict.fromkeys(name for path in paths for name in report['features'][path])
    yield '<h2>Features</h2><p>What each path does on this device, found out by doing it.</p>'
    rows = []
    for name in names:
        found = [report['features'][path].get(name, {}) for path in paths]
        rows.append((name, *((': '.join(filter(None, (one.get('is', 'not tried'), one.get('why')))),
                              'ok' if one.get('is') == 'yes' else 'skip') for one in found)))
    yield table('', ['', *paths], rows)


def syndromes_of(report):
    if not report['syndromes']:
        return
    yield '<h2>Errors</h2><p>What error completions said, syndrome and vendor syndrome, and what '
    yield 'public tables let expect. A difference is a finding about these tables, no failure.</p>'
    yield table('', ['cause', 'heard', 'expected', 'times', ''],
                [(row['cause'], ' '.join(f'{value:#04x}' for value in row['heard']),
                  ' '.join(f'{value:#04x}' for value in row['expected']), (row['times'], 'n'),
                  ('as expected', 'ok') if row['heard'] == row['expected'] else ('finding', 'bad'))
                 for row in report['syndromes']])


def grouped(rows, key):
    groups = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return groups.items()


def latency_of(report):
    if not report['latency']:
        return
    yield '<h2>Latency</h2><p>Half of a round trip; of READs and atomics, from post to completion. '
    yield 'Medians of the rounds, which the programs take in turns.</p>'
    for (op, size, where), rows in grouped(report['latency'],
                                           lambda row: (row['op'], row['size'], row['where'])):
        title = f'{op} of {size_text(size)}, to {where}'
        yield curves(title, [label for _, label in PERCENTILES],
                     [(row['way'], [row[key] for key, _ in PERCENTILES]) for row in rows], ns_text)
        yield table(title, ['', *(label for _, label in PERCENTILES)],
                    [(row['way'], *((ns_text(row[key]), 'n') for key, _ in PERCENTILES))
                     for row in rows])


def bandwidth_of(report):
    if not report['bandwidth']:
        return
    yield '<h2>Bandwidth</h2>'
    for (op, where), rows in grouped(report['bandwidth'], lambda row: (row['op'], row['where'])):
        sizes = sorted({row['size'] for row in rows})
        found = {(row['way'], row['size']): row for row in rows}
        ways = list(dict.fromkeys(row['way'] for row in rows))
        rates = [(way, [found.get((way, size), {}).get('bytes_per_second') for size in sizes])
                 for way in ways]
        title = f'{op}, to {where}'
        yield curves(title, [size_text(size) for size in sizes], rates, rate_text)
        yield table(title, ['', *map(size_text, sizes)],
                    [(way, *((rate_text(rate) if rate else '', 'n') for rate in values))
                     for way, values in rates])


def cost_of(report):
    if not report['cost']:
        return
    columns = [(key, name) for key, name in COST_COLUMNS
               if any(key in row for row in report['cost']['rows'])]
    rows = [(row['op'], [row[key]['ns'] if key in row else None for key, _ in columns])
            for row in report['cost']['rows']]
    yield '<h2>Cost</h2><p>CPU time of one operation, <code>bsn-perf cost</code>.</p>'
    yield bars('time of one operation', rows, [name for _, name in columns], ns_text)
    yield table('', ['', *(name for _, name in columns)],
                [(op, *((ns_text(value) if value is not None else '', 'n') for value in values))
                 for op, values in rows])


def page_of(report):
    sections = [head_of, machine_of, checks_of, tests_of, features_of, syndromes_of, latency_of,
                bandwidth_of, cost_of]
    body = '\n'.join(part for section in sections for part in section(report))
    return ('<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
            f'<title>Bunsen: report of {esc(report["made"]["host"])}</title>'
            f'<style>{STYLE}</style></head>\n<body>\n{body}\n</body></html>\n')


def write(report, folder):
    """Both files, complete or not at all."""
    for name, text in (('report.json', json.dumps(report, indent=1) + '\n'),
                       ('report.html', page_of(report))):
        new = folder / (name + '.new')
        new.write_text(text, encoding='utf-8')
        new.replace(folder / name)
