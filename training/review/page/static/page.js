'use strict';

// The token comes in the part of the address that browsers never send, and leaves the address bar at once. With
// #item=ID, or &item=ID behind the token, the page opens at that row.
const asked = new URLSearchParams(location.hash.slice(1));
const token = (() => {
  const given = asked.get('token');
  if (given) {
    asked.delete('token');
    sessionStorage.setItem('token', given);
    history.replaceState(null, '', location.pathname + (asked.size > 0 ? '#' + asked : ''));
  }
  return sessionStorage.getItem('token') || '';
})();
addEventListener('hashchange', () => location.reload()); // the address of a newer start, in the same tab

const $ = (id) => document.getElementById(id);

// element makes an element of text and other elements; nothing here is ever read as markup.
function element(name, properties, ...children) {
  const e = document.createElement(name);
  for (const [key, value] of Object.entries(properties || {})) {
    if (key in e) e[key] = value;
    else e.setAttribute(key, value);
  }
  e.append(...children);
  return e;
}

async function ask(path, body) {
  const request = { headers: { Authorization: 'Bearer ' + token } };
  if (body !== undefined) {
    request.method = 'POST';
    request.headers['Content-Type'] = 'application/json';
    request.body = JSON.stringify(body);
  }
  let reply;
  try {
    reply = await fetch(path, request);
  } catch {
    throw new Error('erreval does not answer. Start the review again and open its new address; what was saved stays saved.');
  }
  const data = await reply.json();
  if (!reply.ok) throw new Error(data.error);
  return data;
}

// ---- state

let batch;
let at = 0; // the item on the page; batch.items.length is the end
let busy = false; // an undo is under way
let typed = ''; // the beginning of a key of two strokes
let waiting = Promise.resolve(); // answers on their way, one after the other
const drafts = new Map(); // item id to what is not saved yet: {labels: Set, notes}

const item = () => batch.items[at];
const saved = (it) => ({ labels: new Set(it.answer ? it.answer.labels : []), notes: it.answer ? it.answer.notes : '' });
const shown = () => drafts.get(item().id) || saved(item());
const isOpen = (it) => !it.answer;
const isUnsure = (it) => it.answer && it.answer.skipped;

function change(edit) {
  const it = item(), draft = shown(), before = saved(it);
  edit(draft);
  const same = draft.notes === before.notes && draft.labels.symmetricDifference(before.labels).size === 0;
  if (same) drafts.delete(it.id);
  else drafts.set(it.id, draft);
  draw();
}

// ---- what a person does

function toggle(type) {
  if (!item()) return;
  $('groups').hidden = false;
  change(({ labels }) => {
    if (labels.delete(type.name)) return;
    for (const other of batch.types) if (type.no_error || other.no_error) labels.delete(other.name);
    labels.add(type.name);
  });
  $(`about-${type.key}`).closest('label').scrollIntoView({ block: 'nearest' });
  say(`${type.name} ${shown().labels.has(type.name) ? 'on' : 'off'}`);
}

function save() {
  if (!item()) return;
  const { labels, notes } = shown();
  const none = batch.types.find((t) => t.no_error);
  if (labels.size === 0 && none) {
    warn(`Give a label, or ${none.name} with ${none.key}, or skip the row with s.`);
    return;
  }
  send(batch.types.map((t) => t.name).filter((name) => labels.has(name)), notes, false);
}

function skip() {
  if (item()) send([], shown().notes, true);
}

// send goes on to the next row at once; should the answer not arrive, its row comes back.
function send(labels, notes, skipped) {
  const it = item(), before = it.answer, draft = drafts.get(it.id) || saved(it);
  const answer = { item_id: it.id, labels, notes, skipped };
  it.answer = answer;
  drafts.delete(it.id);
  warn('');
  let next = another(isOpen);
  if (next < 0 && before && before.skipped) next = another(isUnsure);
  goTo(next < 0 ? batch.items.length : next);
  say(skipped ? `Skipped: row ${batch.items.indexOf(it) + 1}` : `Saved: ${labels.join(', ') || 'no label'}`);
  waiting = waiting.then(() => ask('/answer', answer)).catch((problem) => {
    it.answer = before;
    drafts.set(it.id, draft);
    warn(`Not saved: ${problem.message}`);
    goTo(batch.items.indexOf(it));
    say('');
  });
}

async function undo() {
  if (item() && drafts.has(item().id)) {
    drafts.delete(item().id);
    draw();
    say('Changes of this row dropped');
    return;
  }
  busy = true;
  try {
    await waiting;
    const { taken, answer } = await ask('/undo', {});
    const it = batch.items.find((i) => i.id === taken.item_id);
    it.answer = answer;
    drafts.set(it.id, { labels: new Set(taken.labels), notes: taken.notes });
    warn('');
    goTo(batch.items.indexOf(it));
    const word = (a) => a.skipped ? 'the skip' : a.labels.join(', ') || 'no label';
    const left = answer ? `. The one given or merged before counts: ${word(answer)}` : '';
    say(`Taken back: ${word(taken)}${left}. Change it and save, or press z again to drop it.`);
  } catch (problem) {
    warn(problem.message);
  }
  busy = false;
}

function goTo(index) {
  at = Math.max(0, Math.min(index, batch.items.length));
  draw();
  scrollTo(0, 0);
  document.querySelector('article').scrollTop = 0;
  $('groups').scrollTop = 0;
  (item() ? $('place') : $('end-title')).focus({ preventScroll: true });
}

// another finds the next row of a kind behind this one, then from the start; -1 where there is none.
function another(kind) {
  const all = [...batch.items.keys()];
  return all.slice(at + 1).concat(all.slice(0, at)).find((i) => kind(batch.items[i])) ?? -1;
}

function nextUnsure() {
  const next = another(isUnsure);
  if (next >= 0) goTo(next);
  say(next >= 0 ? 'A row that you skipped' : 'No other row is skipped');
}

const commands = [
  { key: 'Enter', name: 'Save', does: save, says: 'save the labels, and go on to the next row without an answer', main: true },
  { key: 's', name: 'Skip', does: skip, says: 'skip: you are not sure', main: true },
  { key: 'z', name: 'Undo', does: undo, says: 'drop what is not saved; else take back the last answer saved, and so on', main: true },
  { key: 'ArrowLeft', also: 'k', shows: '←', name: 'Back', does: () => goTo(at - 1), says: 'the row before (also k)' },
  { key: 'ArrowRight', also: 'j', shows: '→', name: 'Next', does: () => goTo(at + 1), says: 'the row after (also j)' },
  { key: 'u', name: 'Next unsure', does: nextUnsure, says: 'the next row that you skipped' },
  { key: 'n', name: 'Notes', does: () => item() && $('notes').focus(), says: 'write notes', hidden: true },
  { key: 'd', name: 'Definitions', does: () => document.body.classList.toggle('brief'), says: 'definitions of the labels on or off' },
  { key: '?', name: 'Keys', does: () => $('help').showModal(), says: 'this list' },
];

addEventListener('keydown', (event) => {
  if (!batch || busy || event.isComposing || event.altKey || event.metaKey || $('help').open) return;
  const { key, target } = event;
  if (target === $('notes')) {
    if (key === 'Escape') $('place').focus({ preventScroll: true });
    else if (key === 'Enter' && event.ctrlKey) save();
    else return;
    event.preventDefault();
    return;
  }
  if (event.ctrlKey && key !== 'z' && key !== 'Enter') return;
  if (target.tagName === 'BUTTON' && (key === 'Enter' || key === ' ')) return; // the button's own
  const command = commands.find((c) => c.key === key || c.also === key);
  if (event.repeat && !(command && key.startsWith('Arrow'))) return;
  if (command) {
    typed = '';
    event.preventDefault();
    command.does();
    return;
  }
  if (event.ctrlKey || key.length !== 1) return;
  typed += key;
  const folded = typed.toLowerCase(); // Caps Lock
  const type = batch.types.find((t) => t.key === typed) || batch.types.find((t) => t.key === folded);
  if (type) {
    typed = '';
    event.preventDefault();
    toggle(type);
  } else if (!batch.types.some((t) => t.key.startsWith(typed))) {
    typed = '';
  }
});

addEventListener('beforeunload', (event) => {
  if (drafts.size > 0) event.preventDefault();
});

// ---- what is on the page

function say(words) { $('said').textContent = words; }

function warn(words) {
  $('alert').textContent = words;
  $('alert').hidden = !words;
}

function draw() {
  const answered = batch.items.filter((it) => it.answer && !it.answer.skipped).length;
  const skipped = batch.items.filter(isUnsure).length;
  const n = batch.items.length;
  $('counts').textContent = `${answered} of ${n} answered` + (skipped ? ` · ${skipped} skipped` : '');
  $('done').style.width = `${(100 * answered) / n}%`;
  $('set-aside').style.width = `${(100 * skipped) / n}%`;
  $('progress').setAttribute('aria-valuenow', answered);
  $('progress').setAttribute('aria-valuemax', n);
  $('work').hidden = !item();
  $('end').hidden = Boolean(item());
  if (item()) drawItem();
  else drawEnd(n - answered - skipped, skipped);
}

function drawItem() {
  const it = item(), { labels, notes } = shown();
  $('place').textContent = `Row ${at + 1} of ${batch.items.length}`;
  const state = drafts.has(it.id) ? 'not saved' : !it.answer ? '' : it.answer.skipped ? 'skipped' : 'saved';
  $('state').textContent = state;
  $('state').className = state.replace(' ', '-');
  $('chosen').textContent = [...labels].join(', ');
  if ($('fields').dataset.item !== it.id) drawFields(it);
  for (const box of $('groups').querySelectorAll('input')) box.checked = labels.has(box.value);
  if ($('notes').value !== notes) $('notes').value = notes;
}

function drawFields(it) {
  $('fields').dataset.item = it.id;
  $('fields').replaceChildren(...batch.fields.map((field, i) => element('div', { className: 'field' + (i ? '' : ' first') + (field.group ? ' shared' : '') },
    element('dt', { title: field.definition }, field.name),
    element('dd', { dir: 'auto' }, ...text(it.texts[i])))));
  const choices = (it.choices || []).map(({ by, labels }) => button(`as ${by}: ${labels.join(', ') || 'no label'}`,
    () => send(labels, shown().notes, false)));
  $('groups').hidden = choices.length > 0;
  if (choices.length > 0) choices.push(button('other labels', showLabels));
  $('choices').replaceChildren(...choices);
  for (const type of batch.types) {
    const hint = $(`hint-${type.key}`), p = (it.probabilities || {})[type.name];
    const proposed = (it.proposed || []).includes(type.name);
    hint.textContent = (proposed ? 'proposed ' : '') + (p === undefined ? '' : p.toFixed(2));
    hint.className = proposed ? 'hint proposed' : 'hint';
  }
}

function showLabels() {
  $('groups').hidden = false;
  $('place').focus({ preventScroll: true }); // so that keys are those of the labels, not of a button
}

function button(words, does, properties) {
  const b = element('button', { type: 'button', ...properties }, ...[words].flat());
  b.addEventListener('click', does);
  return b;
}

function text(pieces) {
  if (pieces.length === 0) return [element('em', {}, 'empty')];
  return pieces.flatMap((p) => (p.mark ? element('mark', {}, ...visible(p.text)) : visible(p.text)));
}

// visible shows characters that would only do something, such as turning the direction of writing, by their numbers.
function visible(words) {
  return words.split(/([\0-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e])/).map((part, i) => (i % 2 === 0 ? part
    : element('span', { className: 'control' }, 'U+' + part.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0'))));
}

function drawEnd(open, skipped) {
  $('end-title').textContent = open ? 'The end of the batch' : skipped ? 'Every row was seen' : 'All rows have an answer';
  const rest = [];
  if (open) rest.push(`${open} without an answer: go back with ←`);
  if (skipped) rest.push(`${skipped} skipped: go through them with u`);
  $('end-text').textContent = rest.join('. ');
  if (batch.merges) $('then').textContent = open ? 'the same line goes on with the rest.' : 'that merges what you decided.';
}

function drawLabels() {
  const groups = Map.groupBy(batch.types, (t) => t.category);
  $('groups').replaceChildren(...[...groups].map(([category, types]) => element('fieldset', {},
    element('legend', { hidden: types.every((t) => t.no_error) }, category), ...types.map(drawLabel))));
}

function drawLabel(type) {
  const box = element('input', { type: 'checkbox', value: type.name, 'aria-label': type.name, 'aria-keyshortcuts': type.key, 'aria-describedby': `about-${type.key} hint-${type.key}` });
  box.addEventListener('change', () => toggle(type));
  return element('label', {}, box, element('kbd', {}, type.key),
    element('span', {}, element('span', { className: 'name' }, type.name), ' ', element('span', { id: `about-${type.key}`, className: 'about' }, type.definition)),
    element('span', { id: `hint-${type.key}`, className: 'hint' }));
}

function drawCommands() {
  for (const c of commands) {
    const shows = c.shows || c.key;
    if (!c.hidden) {
      $(c.main ? 'main-actions' : 'other-actions').append(button([c.name + ' ', element('kbd', {}, shows)], () => c.does(),
        { 'aria-keyshortcuts': c.key }));
    }
    $('keys').append(element('dt', {}, element('kbd', {}, shows)), element('dd', {}, c.says));
  }
}

function begin(data) {
  batch = data;
  document.title = `${batch.batch} · erreval review`;
  $('task').textContent = batch.task;
  $('who').textContent = `batch ${batch.batch} · ${batch.reviewer}`;
  $('next').textContent = batch.next;
  $('next').hidden = batch.merges;
  document.body.classList.toggle('brief', batch.merges); // who decides knows the labels
  drawLabels();
  drawCommands();
  $('keys').prepend(element('dt', {}, element('kbd', {}, '1'), ' …'), element('dd', {}, 'the label with this key on or off'));
  for (const f of batch.fields) $('field-help').append(element('dt', {}, f.name), element('dd', {}, f.definition));
  $('notes').addEventListener('input', () => change((draft) => { draft.notes = $('notes').value; }));
  $('notes').addEventListener('focus', () => { $('notes-hint').hidden = false; });
  $('notes').addEventListener('blur', () => { $('notes-hint').hidden = true; });
  $('labels').addEventListener('submit', (event) => event.preventDefault());
  $('other-actions').hidden = false;
  const wanted = batch.items.findIndex((it) => it.id === asked.get('item'));
  const first = wanted < 0 ? batch.items.findIndex(isOpen) : wanted;
  goTo(first >= 0 ? first : batch.merges ? 0 : batch.items.length); // decisions are opened again to be corrected
}

ask('/batch').then(begin).catch((problem) => warn(problem.message));
