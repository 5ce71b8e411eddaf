// The preview beside the text: it scrolls along, can be hidden, and both can fill the screen.

const form = document.getElementById('post');
const text = document.getElementById('field-markdown');
const preview = document.getElementById('preview');
const editor = form.querySelector('.editor');

/** Lines of the text to look for a block of the preview. */
const MAX_SEARCH = 300;
const MAX_LETTERS = 24;

/** Letters and digits of a line as the preview shows them. */
const lettersOf = (line) =>
  line
    .replaceAll(/\]\([^)]*\)|\]\[[^\]]*\]|^\s*```.*/g, '')
    .replaceAll(/[^\p{L}\p{N}]/gu, '')
    .slice(0, MAX_LETTERS);

/** Pairs of a line of the text and the block of the preview that it begins. */
function findAnchors(lines) {
  const letters = lines.map(lettersOf);
  const anchors = [];
  let next = 0;
  for (const block of preview.querySelectorAll('h1, h2, h3, h4, h5, h6, p, li, pre, tr')) {
    const start = lettersOf(block.textContent.trimStart().split('\n')[0]);
    if (start === '') continue;
    const end = Math.min(next + MAX_SEARCH, lines.length);
    for (let line = next; line < end; line++) {
      const known = letters[line].replace(/^\d{1,3}(?=\D)/, (digits) =>
        start.startsWith(digits) ? digits : '',
      );
      if (known === '' || !(known.startsWith(start) || start.startsWith(known))) continue;
      anchors.push({ line, block });
      next = line + 1;
      break;
    }
  }
  return anchors;
}

/** Measures where lines of the text begin, in a copy of the text area. */
function measure(lines, anchors) {
  const mirror = document.createElement('div');
  mirror.className = 'mirror';
  mirror.style.width = `${text.clientWidth}px`;
  mirror.style.padding = getComputedStyle(text).padding;
  const marks = new Map(anchors.map(({ line }) => [line, document.createElement('span')]));
  let pending = '';
  for (const [index, line] of lines.entries()) {
    if (marks.has(index)) {
      mirror.append(pending, marks.get(index));
      pending = '';
    }
    pending += `${line}\n`;
  }
  mirror.append(pending);
  editor.append(mirror);
  const tops = anchors.map(({ line }) => marks.get(line).offsetTop);
  mirror.remove();
  return tops;
}

/** Points at which text and preview show the same, from the top to the end. Null: measure again. */
let points = null;

function findPoints() {
  const lines = text.value.split('\n');
  const anchors = findAnchors(lines);
  const tops = measure(lines, anchors);
  const offset = preview.getBoundingClientRect().top - preview.scrollTop;
  const inner = anchors.map(({ block }, index) => [tops[index], block.getBoundingClientRect().top - offset]);
  const ends = [text.scrollHeight - text.clientHeight, preview.scrollHeight - preview.clientHeight];
  return [[0, 0], ...inner.filter(([from, to]) => from > 0 && from < ends[0] && to < ends[1]), ends];
}

function scrollAlong() {
  points ??= findPoints();
  const at = text.scrollTop;
  const index = points.findIndex(([top]) => top > at);
  const [toFrom, toTop] = points[index] ?? points.at(-1);
  const [from, top] = points[index - 1] ?? points.at(-1);
  const part = toFrom > from ? (at - from) / (toFrom - from) : 0;
  preview.scrollTop = top + part * (toTop - top);
}

const forget = () => {
  points = null;
};
text.addEventListener('scroll', () => requestAnimationFrame(scrollAlong), { passive: true });
text.addEventListener('input', forget);
new ResizeObserver(forget).observe(text);
new MutationObserver(() => {
  forget();
  scrollAlong();
}).observe(preview, { childList: true });

// Views

const button = (name) => form.querySelector(`[data-view=${name}]`);
const isOn = (name) => button(name).getAttribute('aria-pressed') === 'true';

function setPreview(on) {
  button('preview').setAttribute('aria-pressed', String(on));
  editor.classList.toggle('text-only', !on);
}

/** Everything around the form, which is out of reach while the form fills the screen. */
function* surroundings() {
  for (let part = form; part !== document.body; part = part.parentElement) {
    for (const sibling of part.parentElement.children) if (sibling !== part) yield sibling;
  }
}

function setFull(on) {
  if (on === isOn('full')) return;
  button('full').setAttribute('aria-pressed', String(on));
  form.classList.toggle('full', on);
  document.documentElement.classList.toggle('writing', on);
  for (const part of surroundings()) part.inert = on;
  text.focus();
}

button('preview').addEventListener('click', () => {
  const on = !isOn('preview');
  setPreview(on);
  localStorage.setItem('tidings-preview', on ? 'on' : 'off');
});
button('full').addEventListener('click', () => setFull(!isOn('full')));
document.addEventListener('keydown', (event) => {
  if (event.key === 'Escape' && !event.defaultPrevented) setFull(false);
});
// On a narrower screen, the text needs the room beside the panel.
const wanted = localStorage.getItem('tidings-preview');
setPreview(matchMedia('(min-width: 1440px)').matches ? wanted !== 'off' : wanted === 'on');
