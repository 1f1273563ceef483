#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The README's program in Python, by ctypes: a WRITE between two queue pairs of its own.

usage: hello.py [LIBRARY], by default libbunsen.so.1

Every call of bsn.h is also a symbol of the library. Structures are those of the headers.
"""

import ctypes as c
import sys

RC, SIGNALED, RING = 0, 1 << 11, 1 << 16
U8, U16, U32, U64, P = c.c_uint8, c.c_uint16, c.c_uint32, c.c_uint64, c.c_void_p


def structure(*fields):
    return type('Structure', (c.Structure,), {'_fields_': list(fields)})


Address = structure(('bytes', U8 * 64))
Sge = structure(('addr', U64), ('length', U32), ('lkey', U32))
Remote = structure(('addr', U64), ('rkey', U32))
Mr = structure(('data', P), ('addr', U64), ('length', U64), ('lkey', U32), ('rkey', U32))
QpAttr = structure(
    ('type', c.c_int), ('cq', P), ('recv_cq', P), ('srq', P), ('pd', P), ('lane', P),
    *((name, U32) for name in ('send_depth', 'recv_depth', 'max_send_sge', 'max_recv_sge',
                               'max_inline', 'max_inline_recv', 'max_inline_resp')),
    ('signal_every', c.c_int), ('signal_all', c.c_bool), ('ce_on_first_error', c.c_bool),
    ('user', P))
Completion = structure(
    ('id', U64), ('user', P), ('byte_len', U32), ('status', U8), ('flags', U8), ('syndrome', U8),
    ('vendor_syndrome', U8), ('who', U32), ('imm', U32), ('src_qpn', U32), ('wqe_index', U16),
    ('hw_syndrome', U8), ('sl', U8), ('data', P), ('slid', U16), ('dlid_path_bits', U8),
    ('reserved', U8 * 5), ('timestamp', U64))

if sys.argv[1:2] == ['--help']:
    sys.exit(print(__doc__))
library = c.CDLL(sys.argv[1] if len(sys.argv) > 1 else 'libbunsen.so.1')
library.bsn_error_text.restype = c.c_char_p
library.bsn_qp_ep.restype = P
library.bsn_qp_ep.argtypes = [P]


def must(err):
    if err:
        sys.exit(library.bsn_error_text().decode())


def make(create, *args, result=P):
    made = result()
    must(create(*args, c.byref(made)))
    return made


device = make(library.bsn_device_open, None, None)
buffer = make(library.bsn_buf_alloc, device, c.c_size_t(8192), None, result=c.POINTER(Mr))
memory = buffer.contents
cq = make(library.bsn_cq_create, device, None)
attr = QpAttr(type=RC, cq=cq)
qps = [make(library.bsn_qp_create, device, c.byref(attr)) for _ in range(2)]
addresses = [make(library.bsn_qp_address, qp, result=Address) for qp in qps]
for qp, peer in zip(qps, reversed(addresses)):
    must(library.bsn_qp_connect(qp, c.byref(peer), None))

c.memmove(memory.data, b'hello', 5)
local = Sge(memory.addr, 5, memory.lkey)
remote = Remote(memory.addr + 4096, memory.rkey)
must(library.bsn_write(P(library.bsn_qp_ep(qps[0])), c.byref(local), c.byref(remote), U64(42),
                       SIGNALED | RING))
done = Completion()
while not (n := library.bsn_poll(cq, c.byref(done), 1)):
    pass
if n < 0 or done.status:
    sys.exit('the request failed')
print(f'request {done.id}: {c.string_at(memory.data + 4096, 5).decode()}')

for destroy, made in [(library.bsn_qp_destroy, qps[1]), (library.bsn_qp_destroy, qps[0]),
                      (library.bsn_cq_destroy, cq), (library.bsn_buf_free, buffer),
                      (library.bsn_device_close, device)]:
    must(destroy(made))
