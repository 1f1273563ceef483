#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The page that wqe-dump --html writes. usage: dump_page.py PROGRAM"""

import html
import html.parser
import json
import shutil
import struct
import subprocess
import sys
import zlib

from dump_rig import SHAPES, dump, error_of, golden, goldens, libmlx5, ring_of, run, send_ring
from harness import check, main, need


class Page(html.parser.HTMLParser):
    """What is wrong with a page, and what is in it."""

    VOID = {'meta', 'br', 'link', 'img', 'input'}

    def __init__(self, text):
        super().__init__()
        self.open, self.ids, self.links, self.titles = [], [], [], []
        self.records, self.cells, self.is_head = [], [], False
        self.feed(text)
        self.close()
        check(not self.open, f'left open: {self.open}')
        check(len(self.ids) == len(set(self.ids)), 'an id twice')
        missing = [link for link in self.links if link[1:] not in self.ids]
        check(not missing, f'lead nowhere: {missing}')

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        classes = attrs.get('class', '').split()
        if 'title' in attrs:
            self.titles.append((attrs['title'], classes))
        if 'id' in attrs:
            self.ids.append(attrs['id'])
        if 'href' in attrs:
            self.links.append(attrs['href'])
        if {'found', 'slot'} & set(classes):
            self.records.append(attrs)
            self.cells.append([])
        self.is_head |= tag == 'header'
        if tag == 'tr' and self.cells and not self.is_head:
            self.cells[-1].append([])
        if tag == 'td' and self.cells and not self.is_head:
            self.cells[-1][-1].append('')
        check('src' not in attrs and tag not in ('link', 'img'), 'not self-contained')
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_data(self, data):
        if self.open and self.open[-1] == 'td' and not self.is_head:
            self.cells[-1][-1][-1] += data

    def handle_endtag(self, tag):
        check(self.open and self.open.pop() == tag, f'</{tag}> where it does not belong')


def page_of(text, *args):
    done = run(text, '--html', *args)
    check(done.returncode == 0, done.stderr)
    return done.stdout.decode()


def test_page(bench):
    text = ring_of(0xc7, 37) + 'then\n' + error_of(0xc7, 38)
    page = Page(page_of(text))
    found = dump(text)['records']
    check(len(page.titles) == 16, page.titles)
    check(len(page.ids) == len(found), 'one id for each')
    bad = [title for title, classes in page.titles if 'bad' in classes]
    check(bad == ['slot 6: RDMA_WRITE'], bad)
    check('has the WQE</p>' in page_of(text), 'the error does not say where its WQE is')
    text = error_of(0xc7, 38) + 'then\n' + ring_of(0xc7, 37)
    check('has the error</p>' in page_of(text), 'the WQE does not say where its error is')
    producer = [title for title, classes in page.titles if 'producer' in classes]
    check(producer == ['slot 3: empty, producer'], producer)


def test_page_of_a_log(bench):
    """No ring, and names that would be markup."""
    text = page_of('', str(bench.file('\n'.join(libmlx5()), '<a id="x">&lt;.log')))
    check(Page(text).ids == ['r1'], 'one error')
    check('<a id' not in text and '<a id="x">&lt;.log' in html.unescape(text), text)


def send_wqes(count, first=37):
    """So many WQEs of a queue, in order, as a dump that is no whole ring."""
    ring = send_ring(16, first, 0xc7)
    return SHAPES['dwords'](b''.join(ring[64 * ((first + i) % 16):][:64]
                                     for i in range(count))) + '\n'


def test_page_of_a_part(bench):
    """Three WQEs that follow each other are drawn; a single WQE is not."""
    titles = [title for title, _ in Page(page_of(send_wqes(3))).titles]
    check([title.split(':')[0] for title in titles] == ['index 37', 'index 38', 'index 39'], titles)
    page = page_of(send_wqes(1) + 'then\n' + send_wqes(3, 45) + 'then\n' + send_wqes(1))
    check(page.count('<section class="ring">') == 1, page)
    titles = [title.split(':')[0] for title, _ in Page(page).titles]
    check(titles == ['index 45', 'index 46', 'index 47'], page)


def test_page_folds_what_is_empty(bench):
    """Of 2048 slots three are used: the empty slots after the producer are folded."""
    ring = bytes(64) + send_ring(16, 1, 0xc7)[64:4 * 64] + bytes((2048 - 4) * 64)
    titles = [title for title, _ in Page(page_of(ring)).titles]
    check(titles[0] == 'slot 0: empty', titles)
    check([title[:6] for title in titles[1:4]] == ['slot 1', 'slot 2', 'slot 3'], titles)
    check(titles[4:] == ['slot 4: empty, producer', 'slots 5 to 2047: empty'], titles)


def test_page_begins_with_a_summary(bench):
    """How often each kind of error came, and a link to the first."""
    text = page_of(error_of(0xc7, 38) + 'then\n' + error_of(0xc8, 3) + 'then\n' + ring_of(0xc7, 37))
    head = text[text.index('<header'):]
    check('2 error_cqe, ' in head and head.count('<tr>') == 2, head[:400])
    check('<td>2</td>' in head and 'href="#r1"' in head and 'cause' in head, head[:400])


def test_page_of_completions(bench):
    ring = golden('cqe_req') * 5 + bytes(63) + b'\xf0' + bytes(128)
    page = Page(page_of(ring))
    check(len(page.titles) == 8 and len(page.ids) == 5, page.titles)
    check('producer' in page.titles[5][1], page.titles)


def some_of_all():
    """A log that has each golden WQE and CQE, a responder's error, and a line without bytes."""
    dumps = [golden(name) for kind in ('send', 'cqe') for name, *_ in goldens(kind)]
    responder = bytearray(golden('cqe_err_remote_access'))
    responder[63] = responder[63] & 0xf | 0xe0
    text = ''.join(SHAPES['dwords'](dump) + '\nbehind it\n' for dump in dumps + [responder])
    return text + 'NET/IB: Got completion from peer a<b>&c"d with status=10 len=0 (Send)\n'


def check_fields(cells, record):
    """A page shows the same of a record as the JSON has."""
    fields = record['fields'].copy()
    for row in cells:
        if len(row) == 2:  # of a log
            check(str(fields.pop(row[0])) == row[1], row)
        elif len(row) == 3:  # bytes without fields
            check(fields.pop(row[1]) == row[2].replace(' ', ''), f'{row}: {record}')
        elif row:
            segment, name, value, meaning, _ = row
            key = name if segment.startswith('cqe_') else f'{segment}.{name}'
            symbol = fields.pop(f'{key}_name', None)
            check(fields.pop(key) == int(value, 16), f'{row}: {record}')
            check(meaning.startswith(f'{symbol}: ') if symbol else
                  name != 'wqe_opcode' or ':' not in meaning, f'{row}: {record}')
    check(not fields, f'not shown: {fields}')


def test_page_has_the_bytes(bench):
    """A page has the bytes, the places of their segments, and the tables that its script needs."""
    text = some_of_all()
    page, found = page_of(text), dump(text)['records']
    tables = json.loads(page.split('const tables = ')[1].split(';\n')[0])
    records = Page(page).records
    check(len(records) == len(found), 'one each')
    for shown, record in zip(records, found):
        raw = shown.get('data-raw', '')
        check(raw == record.get('raw', ''), record)
        keys = {key.split('.')[0] for key in record['fields'] if '.' in key}
        parts = [part.split('@') for part in shown.get('data-rows', '').split()]
        check({name for name, at in parts if '+' not in at and not name.startswith('cqe_')} ==
              {key.split('[')[0] for key in keys}, f'{shown}: {record}')
        for name, at in parts:
            check('+' in at or name in tables, f'{name} has no table')
            check(sum(map(int, at.split('+'))) <= len(raw) // 2, shown)


def browse(bench, page, *args):
    """What Chromium makes of a page in a file."""
    browser = shutil.which('chromium') or shutil.which('google-chrome')
    need(browser, 'Chromium is not installed')
    path = bench.file(page, 'page.html')
    return subprocess.run(
        [browser, '--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
         '--disable-background-networking', '--disable-component-update', '--disable-sync',
         f'--user-data-dir={bench.folder}/profile', '--window-size=1000,700', *args,
         f'file://{path}#r3'], capture_output=True, timeout=100, check=False)


def png_colours(data):
    """How many colours a picture of 8 bits a channel has, by its scan lines' bytes."""
    check(data[:8] == b'\x89PNG\r\n\x1a\n', 'no PNG')
    at, packed = 8, b''
    while at < len(data):
        size, kind = struct.unpack('>I4s', data[at:at + 8])
        packed += data[at + 8:at + 8 + size] if kind == b'IDAT' else b''
        at += 12 + size
    return len(set(zlib.decompress(packed)))


def test_page_in_a_browser(bench):
    picture = bench.folder / 'ring.png'
    done = browse(bench, page_of(ring_of(0xc7, 37)), f'--screenshot={picture}')
    check(picture.exists(), done.stderr.decode()[-500:])
    check(png_colours(picture.read_bytes()) > 32, 'hardly anything is drawn')


def test_page_draws_the_fields(bench):
    """The page draws the fields of the slot that a link leads to; draw() draws all of them."""
    ring = ring_of(0xc7, 37)
    done = browse(bench, page_of(ring), '--dump-dom')
    cells = Page(done.stdout.decode()).cells
    check_fields(cells[2], dump(ring)['records'][2])
    check(not any(cells[:2] + cells[3:]), 'nobody looks at the others')
    text = some_of_all()
    draw_all = "<script>document.querySelectorAll('[data-rows]').forEach(draw)</script></body>"
    done = browse(bench, page_of(text).replace('</body>', draw_all), '--dump-dom')
    for cells, record in zip(Page(done.stdout.decode()).cells, dump(text)['records'], strict=True):
        check_fields(cells, record)


sys.exit(main(globals()))
