# SPDX-License-Identifier: BSD-2-Clause
"""bsn-perf beside perftest: the same operations in the same run, in turns, medians of rounds."""

import json
import re
import statistics

from tools import Problem, last_line

# (name in the report, program, path of bsn-perf)
WAYS = [('Bunsen', 'bsn-perf', 'direct'), ('Bunsen on verbs', 'bsn-perf', 'verbs'),
        ('perftest', 'perftest', None)]
PATHS = {way[2] for way in WAYS if way[2]}
TESTS = ('lat', 'bw')
OPS = ('write', 'read', 'send', 'atomic')
MOST = {'size': 1 << 30, 'iters': 1 << 30}
MIB = 1 << 20
BW_BYTES = 256 * MIB  # at most, of one measurement

QUICK = {'rounds': 2, 'cost_rounds': 5, 'lat_iters': 300, 'bw_iters': 300,
         'lat': [('write', 8)], 'bw': [('write', 64), ('write', 65536)]}
FULL = {'rounds': 5, 'cost_rounds': 200, 'lat_iters': 10000, 'bw_iters': 20000,
        'lat': [('write', 8), ('write', 4096), ('send', 8), ('read', 8), ('atomic', 8)],
        'bw': [('write', 8), ('write', 64), ('write', 512), ('write', 4096), ('write', 65536),
               ('write', MIB), ('read', 65536), ('send', 65536)]}
# A model's times mean nothing, so a few will do.
MODEL = dict(FULL, rounds=2, cost_rounds=20, lat_iters=300, bw_iters=1000)


# -- requests, which also come from other hosts

def request_of(way, test, op, size, iters):
    _, program, path = way
    return {'program': program, 'path': path, 'test': test, 'op': op, 'size': size, 'iters': iters}


def is_request(request):
    """Whether a request is one that a peer may send: nothing else is started."""
    return (isinstance(request, dict) and request.get('test') in TESTS
            and request.get('op') in OPS
            and (request.get('program'), request.get('path')) in {way[1:] for way in WAYS}
            and all(isinstance(request.get(key), int) and 0 < request[key] <= most
                    for key, most in MOST.items()))


def command(tools, request, port, host=None):
    """Program and arguments of the server, or with the host of one the client."""
    size, iters = request['size'], request['iters']
    if request['program'] == 'perftest':
        gid = ['-x', tools.gid_index] if tools.gid_index is not None else []
        return [f'ib_{request["op"]}_{request["test"]}', '-F', '-d', tools.device, *gid, '-p', port,
                *([] if request['op'] == 'atomic' else ['-s', size]), '-n', max(iters, 5),
                *([host] if host else [])]
    options = ['--device', tools.device, '--path', request['path'], '--port', port]
    if not host:
        return ['tools/bsn-perf', request['test'], *options, 'server']
    return ['tools/bsn-perf', request['test'], *options, '--op', request['op'], '--size', size,
            '--iters', iters, '--json', 'client', host]


def name_of(request):
    return ' '.join(str(request[key]) for key in ('program', 'path', 'test', 'op', 'size')
                    if request[key])


# -- what they print

def row_of_perftest(out):
    """The numbers of its one row, or None."""
    rows = re.findall(r'^\s*\d+\s+\d+\s+([\d.]+(?:\s+[\d.]+)+)\s*$', out, re.MULTILINE)
    if not rows:
        return None
    return [float(number) for number in rows[-1].split()]


def result_of(request, out):
    """Latencies in nanoseconds, or rates."""
    if request['program'] == 'bsn-perf':
        told = json.loads(out)
        keys = (('min', 'p50', 'p99', 'p99_9', 'max') if request['test'] == 'lat'
                else ('bytes_per_second', 'messages_per_second'))
        return {key: told[key] for key in keys}
    row = row_of_perftest(out)
    if not row:
        raise Problem(f'{name_of(request)}: it reported nothing')
    if request['test'] == 'bw':  # peak and average in MiB/s, millions of messages/s
        return {'bytes_per_second': row[1] * MIB, 'messages_per_second': row[2] * 1e6}
    least, most, typical, _, _, p99, p99_9 = (1000 * value for value in row)
    return {'min': least, 'p50': typical, 'p99': p99, 'p99_9': p99_9, 'max': most}


def run_pair(tools, peer, request):
    port = peer.start(request)
    status, out, err = tools.run(*command(tools, request, port, peer.host))
    if status == 0:
        peer.finish()
        return result_of(request, out)
    peer.kill()
    raise Problem(f'{name_of(request)}: {last_line(out + err, f"exit status {status}")}')


def measure_once(tools, peer, request):
    """perftest calibrates its clock, and reports nothing where a busy machine upsets that."""
    for attempts_left in (2, 1, 0) if request['program'] == 'perftest' else (0,):
        try:
            return run_pair(tools, peer, request)
        except Problem:
            if not attempts_left:
                raise


def medians(results):
    return {key: statistics.median(result[key] for result in results) for key in results[0]}


def iterations(plan, test, size):
    most = plan[f'{test}_iters']
    return most if test == 'lat' else max(5, min(most, BW_BYTES // size))


def measure(tools, peer, plan, test, problems):
    """Rows of the report: each way of each operation and size; the ways take turns."""
    rows = []
    ways = [way for way in WAYS if tools.is_direct or way[2] != 'direct']
    for op, size in plan[test]:
        results = {way: [] for way in ways}
        for _ in range(plan['rounds']):
            for way in ways:
                request = request_of(way, test, op, size, iterations(plan, test, size))
                try:
                    results[way].append(measure_once(tools, peer, request))
                except Problem as problem:
                    problems.append(str(problem))
        rows += [{'way': way[0], 'op': op, 'size': size, 'where': peer.name, 'rounds': len(got),
                  **medians(got)} for way, got in results.items() if got]
    return rows


def cost(tools, plan):
    status, out, err = tools.run('tools/bsn-perf', 'cost', '--device', tools.device, '--rounds',
                                 plan['cost_rounds'], '--json', seconds=600)
    if status != 0:
        raise Problem(last_line(err, 'bsn-perf cost failed'))
    return json.loads(out)
