// SPDX-License-Identifier: BSD-2-Clause
// Draws the fields of a slot when its link is followed, and those of a log's records when they come
// into sight. A responder's error names no operation: its opcode field is the requester's.
function line(table, tag, texts) {
  const row = table.insertRow();
  for (const text of texts)
    row.appendChild(document.createElement(tag)).textContent = text;
}
function spaced(hex) { return hex.replace(/..(?=.)/g, '$& '); }
function segment(table, section, name, label, at) {
  for (const [field, doc, dword, lsb, bits, symbols] of tables[name]) {
    const word = bits == 64 ? 64 : 32, begin = at + 4 * dword;
    const hex = section.dataset.raw.substr(2 * begin, word / 4);
    const value = BigInt.asUintN(bits, BigInt('0x' + hex) >> BigInt(lsb));
    const first = word - lsb - bits >> 3, last = word - lsb - 1 >> 3;
    const is_none = field == 'wqe_opcode' && section.dataset.side == 'responder';
    const symbol = is_none ? null : symbols[value];
    line(table, 'td', [label, field, '0x' + value.toString(16),
      symbol ? symbol.join(': ') : doc, spaced(hex.slice(2 * first, 2 * last + 2))]);
  }
}
function draw(section) {
  const table = document.createElement('table'), seen = {};
  line(table, 'th', ['segment', 'field', 'value', 'meaning', 'bytes']);
  for (const part of section.dataset.rows.trim().split(' ')) {
    const [, name, at, size] = part.match(/(\w+)@(\d+)\+?(\d*)/);
    const nth = seen[name] = seen[name] + 1 || 0;
    const label = nth ? `${name}[${nth}]` : name;
    const bytes = section.dataset.raw.substr(2 * at, 2 * size);
    if (size)
      line(table, 'td', ['', label, spaced(bytes)]);
    else
      segment(table, section, name, label, +at);
  }
  section.appendChild(table);
  section.removeAttribute('data-rows');
}
function mark(link) {
  if (link.hash == location.hash) link.setAttribute('aria-current', 'true');
  else link.removeAttribute('aria-current');
}
function draw_target() {
  const section = document.getElementById(location.hash.slice(1));
  if (section && section.dataset.rows) draw(section);
  document.querySelectorAll('.slots a').forEach(mark);
}
const eye = new IntersectionObserver(seen => seen.forEach(
  one => one.isIntersecting && one.target.dataset.rows && draw(one.target)));
document.querySelectorAll('.found[data-rows]').forEach(section => eye.observe(section));
addEventListener('hashchange', draw_target);
draw_target();
