// Helps with the templates of a trigger while a person types: line numbers, a live preview, variables at the caret.

const form = document.getElementById('rule');
const help = document.querySelector('[data-workbench]');
const title = document.getElementById('field-titleTemplate');
const body = document.getElementById('field-bodyTemplate');
const type = document.getElementById('field-contentType');
const starters = document.getElementById('field-starter');
const result = help.querySelector('[data-preview-result]');
const statusLine = help.querySelector('[data-preview-status]');

/** Replaces the selection, so that the browser can undo it. */
function insert(area, text) {
  area.focus();
  if (!document.execCommand('insertText', false, text))
    area.setRangeText(text, area.selectionStart, area.selectionEnd, 'end');
}

/** Line numbers beside the body. They mark the line of its error. */
const gutter = document.createElement('div');
gutter.className = 'gutter mono';
gutter.setAttribute('aria-hidden', 'true');
const frame = document.createElement('div');
frame.className = 'numbered';
body.wrap = 'off';
body.before(frame);
frame.append(gutter, body);

function number() {
  const count = Math.max(body.value.split('\n').length, 1);
  while (gutter.children.length > count) gutter.lastChild.remove();
  while (gutter.children.length < count) {
    const line = document.createElement('span');
    line.textContent = gutter.children.length + 1;
    gutter.append(line);
  }
  const wrong = Number(body.dataset.line);
  for (const [index, line] of [...gutter.children].entries())
    line.className = index + 1 === wrong ? 'wrong' : '';
  gutter.scrollTop = body.scrollTop;
}
body.addEventListener('input', number);
body.addEventListener('scroll', () => {
  gutter.scrollTop = body.scrollTop;
});
addEventListener('pageshow', number);
number();

/** Puts the caret where a template fails. */
function goTo(area) {
  const { line, column } = area.dataset;
  area.focus();
  if (line === undefined) return;
  const lines = area.value.split('\n');
  const start = lines.slice(0, line - 1).reduce((sum, each) => sum + each.length + 1, 0) + (column - 1);
  area.setSelectionRange(start, start);
  area.scrollTop = Math.max(line - 4, 0) * Number.parseFloat(getComputedStyle(area).lineHeight);
}
document.addEventListener('click', (event) => {
  const link = event.target instanceof Element ? event.target.closest('.problem a[href^="#field-"]') : null;
  const area = link === null ? null : document.getElementById(link.hash.slice(1));
  if (area !== title && area !== body) return;
  event.preventDefault();
  goTo(area);
});

/** Removes the error of a refused form that no longer applies. */
function clear(area) {
  const field = area.closest('.field');
  field.classList.remove('wrong');
  for (const each of field.querySelectorAll('.error, .excerpt')) each.remove();
  const summary = form.querySelector('[data-problem]');
  summary?.querySelector(`a[href="#${area.id}"]`)?.closest('li').remove();
  if (summary?.querySelector('ul')?.children.length === 0) summary.remove();
}

/** Marks the fields that the preview found wrong. */
function mark() {
  for (const area of [title, body]) {
    const error = result.querySelector(`[data-template-error="${area.name}"]`);
    if (error === null) {
      clear(area);
      area.removeAttribute('aria-invalid');
      delete area.dataset.line;
      delete area.dataset.column;
    } else {
      area.setAttribute('aria-invalid', 'true');
      if (error.dataset.line !== undefined) {
        area.dataset.line = error.dataset.line;
        area.dataset.column = error.dataset.column;
      }
    }
  }
  const first = result.querySelector('.problem a, .problem p');
  const news = first === null ? '' : first.textContent;
  if (statusLine.textContent !== news) statusLine.textContent = news;
  number();
}

let waiting;
let newest = 0;
async function refresh() {
  const mine = ++newest;
  try {
    const response = await fetch(help.dataset.workbench, {
      method: 'POST',
      body: new URLSearchParams(new FormData(form)),
    });
    const html = await response.text();
    // Ignore a response that a later one overtook, and a redirect to the sign-in.
    if (mine !== newest || response.redirected) return;
    if (!response.ok) throw new Error(`answered with ${response.status}`);
    result.innerHTML = html;
    mark();
  } catch {
    if (mine === newest) statusLine.textContent = 'The preview could not be updated.';
  }
}
function refreshSoon() {
  clearTimeout(waiting);
  waiting = setTimeout(refresh, 300);
}

/** The gray text of an empty field is the built-in template of the chosen type. */
function showBuiltIn() {
  const builtIn = [...starters.options].find(({ value }) => value === type.value);
  if (builtIn === undefined) return;
  title.placeholder = builtIn.dataset.title;
  body.placeholder = builtIn.dataset.body;
}

document.addEventListener('input', ({ target }) => {
  if (target.form !== form || target === starters) return;
  if (target === type) showBuiltIn();
  refreshSoon();
});

/** The field that a variable goes into: the one that had the focus last. */
let target = body;
for (const area of [title, body]) {
  area.addEventListener('focus', () => {
    target = area;
  });
}

document.addEventListener('click', (event) => {
  const button = event.target instanceof Element ? event.target.closest('button') : null;
  if (button?.dataset.insert !== undefined) insert(target, button.dataset.insert);
  if (button?.dataset.useTemplate === undefined) return;
  event.preventDefault();
  const { dataset } = starters.selectedOptions[0];
  type.value = dataset.type;
  showBuiltIn();
  for (const [area, text] of [
    [title, dataset.title],
    [body, dataset.body],
  ]) {
    area.select();
    insert(area, text);
  }
  body.setSelectionRange(0, 0);
  body.scrollTop = 0;
  refreshSoon();
});

// The preview follows by itself.
for (const button of help.querySelectorAll('[data-replaced]')) button.hidden = true;
