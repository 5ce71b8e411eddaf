import { keeper } from './unsaved.client.js';

// Saves what a person types. A draft is saved by itself; a text that did not reach the server stays in this browser.

const AUTOSAVE_MS = 1000;
/** Somebody who types on and on is saved this often. */
const MAX_WAIT_MS = 10_000;
const MAX_RETRY_MS = 30_000;
/** Browsers send at most 64 KiB while a page closes. */
const MAX_LAST_BYTES = 60_000;

const form = document.getElementById('post');
const { title, markdown: text, contentType: type, seen, mark } = form.elements;
const status = document.getElementById('save-status');
const conflict = document.getElementById('conflict');

const current = () => ({ title: title.value, markdown: text.value, contentType: type.value });
/** The server trims titles. */
const isSame = (one, other) =>
  one?.title.trim() === other?.title.trim() &&
  one?.markdown === other?.markdown &&
  one?.contentType === other?.contentType;

/** The newest text that the server has; null when it refused the text of this page. */
let saved =
  form.dataset.unsaved === undefined
    ? {
        title: title.defaultValue,
        markdown: text.defaultValue,
        contentType: type.querySelector('[selected]').value,
      }
    : null;
/** A text that was sent, while its outcome is unknown: it is sent again first, so that it is no conflict. */
let unanswered = null;
let isStopped = conflict.childElementCount > 0;
let isLeaving = false;
let sending = null;
let retries = 0;
let saveTimer;
/** When the oldest text that is not sent yet was typed; null when all was sent. */
let waitingSince = null;

const isDirty = () => !isSame(saved, current());
const savesItself = () => form.dataset.status !== 'published' && !isStopped;
mark.value = Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) =>
  byte.toString(16).padStart(2, '0'),
).join('');

/** `link`: an element after the words. */
function announce(words, link = '', more = '') {
  status.parentElement.classList.toggle('trouble', words.startsWith('Not saved:'));
  const parts = [words, link, more].filter((part) => part !== '');
  const isSame = status.textContent === parts.map((part) => part.textContent ?? part).join(' ');
  if (!isSame) status.replaceChildren(...parts.flatMap((part, at) => (at === 0 ? part : [' ', part])));
}

function linkToSignIn() {
  const link = document.createElement('a');
  link.href = '/dashboard/~/sign-in';
  link.target = '_blank';
  link.textContent = 'Sign in in another tab';
  return link;
}

/** Saves the text once the request under way has ended. Returns whether the server has the newest text. */
async function save({ isExplicit = false, isLast = false } = {}) {
  clearTimeout(saveTimer);
  while (sending !== null && !isLast) await sending;
  // A person who saves a text that was saved by itself keeps it as a version.
  const keepsVersion = isExplicit && form.dataset.status !== 'new';
  if (!isDirty() && unanswered === null && !keepsVersion) {
    announce('Saved');
    return true;
  }
  if (!isExplicit && !savesItself()) return false;
  sending = send(isLast ? current() : (unanswered ?? current()), isExplicit, isLast);
  const outcome = await sending;
  sending = null;
  if (outcome === 'saved' && isDirty()) {
    // More was typed while the request was under way.
    if (isExplicit) return save({ isExplicit });
    schedule(AUTOSAVE_MS);
  }
  return outcome === 'saved';
}

async function send(sent, isExplicit, isLast) {
  unanswered = sent;
  waitingSince = null;
  // Most requests are too quick for a word about them.
  const slow = setTimeout(() => announce('Saving…'), 500);
  try {
    const body = new URLSearchParams(new FormData(form));
    for (const [name, value] of Object.entries(sent)) body.set(name, value);
    if (isExplicit) body.set('explicit', 'on');
    const response = await fetch(form.dataset.autosave, {
      method: 'POST',
      body,
      keepalive: isLast && new Blob([body]).size < MAX_LAST_BYTES,
    });
    return await handle(response, sent);
  } catch {
    return retry('Not saved: the server cannot be reached.');
  } finally {
    clearTimeout(slow);
  }
}

async function handle(response, sent) {
  if (response.status === 401) return retry('Not saved: signed out.', linkToSignIn());
  if (response.status === 404) return stop('Not saved: this post was deleted.');
  if (response.status === 413) return stop('Not saved: the text is too long.');
  if (response.status >= 500 || response.status === 429 || response.status === 408) {
    return retry('Not saved: the server is busy.');
  }
  if (!response.ok || response.redirected) return stop('Not saved: the server did not accept the text.');
  const template = document.createElement('template');
  template.innerHTML = await response.text();
  const answer = template.content.firstElementChild;
  unanswered = null;
  retries = 0;
  switch (answer?.dataset.outcome) {
    case 'saved':
      await accept(answer, sent);
      return 'saved';
    case 'conflict':
      see(answer.dataset);
      conflict.replaceChildren(...answer.childNodes);
      return stop('Not saved: somebody else changed this post.');
    case 'published':
      form.dataset.status = 'published';
      return stop('Not saved: this post was published. Press Save to change it.');
    default:
      announce(`Not saved: ${answer?.textContent ?? 'the response could not be read.'}`);
      return 'invalid';
  }
}

async function accept({ dataset: { path, status: newStatus, ...version }, textContent: words }, sent) {
  saved = sent;
  isStopped = false;
  see(version);
  seen.dataset.base = seen.value;
  conflict.replaceChildren();
  const isNew = form.dataset.status === 'new';
  if (isNew) copy.remove();
  form.dataset.status = newStatus;
  if (isNew) await becomePost(path);
  if (isDirty()) return;
  copy.remove();
  announce(words);
}

/** The forms of suggestions compare the time of the post; the editor, the buttons and the schedule its version. */
function see({ seen: version, updatedAt }) {
  for (const field of document.querySelectorAll('.note input[name=seen]')) field.value = updatedAt;
  for (const field of document.querySelectorAll('input[name=seen]'))
    field.value = field.value.replace(/title:.*/, version);
  // A new post has none yet.
  seen.value = version;
}

/** The page of a new post gets the rest of the page of its draft. Everything on it stays in its place. */
async function becomePost(path) {
  history.replaceState(null, '', path);
  form.action = path;
  form.dataset.autosave = `${path}/autosave`;
  const response = await fetch(path).catch(() => null);
  if (!response?.ok || response.redirected) return;
  const page = new DOMParser().parseFromString(await response.text(), 'text/html');
  const parts = page.querySelectorAll('.columns > aside > :not([data-stays])');
  document.querySelector('.columns > aside').append(...parts);
  // Publishing is what to do next.
  document.querySelector('.page-head .go').classList.remove('go');
  document.title = page.title;
  document.dispatchEvent(new Event('draft-created'));
}

function retry(words, link) {
  const isRetried = savesItself();
  // A link says what to do: the next attempt waits for it.
  announce(
    words,
    link,
    !isRetried ? 'Your text stays in this browser.' : link === undefined ? 'Retrying…' : '',
  );
  copy.keep();
  schedule(Math.min(AUTOSAVE_MS * 2 ** ++retries, MAX_RETRY_MS));
  return 'away';
}

function stop(words) {
  unanswered = null;
  isStopped = true;
  announce(words);
  copy.keep();
  return 'stopped';
}

function schedule(delay) {
  clearTimeout(saveTimer);
  if (savesItself()) saveTimer = setTimeout(save, delay);
}

/** The copy of a text that did not reach the server, also of an earlier visit. */
const copy = keeper(form, 'post');

// When to save

// On the document: the type stands outside of the form.
document.addEventListener('input', ({ target }) => {
  if (![title, text, type].includes(target)) return;
  // A type alone makes no draft.
  if (target === type && form.dataset.status === 'new' && saved !== null) saved.contentType = type.value;
  copy.keepSoon();
  if (savesItself()) {
    // While the server is away, typing does not hasten the next attempt.
    waitingSince ??= Date.now();
    if (retries === 0) schedule(Math.min(AUTOSAVE_MS, waitingSince + MAX_WAIT_MS - Date.now()));
    if (status.textContent === 'Saved') announce('');
  } else if (!isStopped) announce(isDirty() ? 'Not saved yet' : '');
});

form.addEventListener('focusout', ({ relatedTarget }) => {
  if (relatedTarget === null && isDirty() && savesItself()) void save();
});

document.addEventListener('keydown', (event) => {
  const isSave = (event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey && event.key === 's';
  if (!isSave) return;
  event.preventDefault();
  void save({ isExplicit: true });
});

/** A form waits for the request under way: it would be in conflict with the text that the request saves. */
document.addEventListener(
  'submit',
  async (event) => {
    const sent = event.target;
    if (sent.method !== 'post') return;
    const isOwn = sent === form;
    const mustSave =
      sending !== null || (isDirty() && savesItself() && (!isOwn || form.dataset.status === 'new'));
    if (!mustSave || isLeaving) {
      isLeaving = true;
      return;
    }
    event.preventDefault();
    event.stopImmediatePropagation();
    await sending;
    if (isDirty() && savesItself() && (!isOwn || form.dataset.status === 'new')) await save();
    if (conflict.childElementCount > 0) return;
    isLeaving = true;
    sent.requestSubmit(event.submitter?.isConnected ? event.submitter : null);
  },
  { capture: true },
);

document.addEventListener('click', (event) => {
  if (!(event.target instanceof Element) || event.target.closest('[data-discard]') === null) return;
  isLeaving = true;
  saved = current();
  copy.settle();
  copy.remove();
});

addEventListener('online', () => {
  if (isDirty()) void save();
});
addEventListener('beforeunload', (event) => {
  if (isLeaving || !isDirty()) return;
  // The text of a draft is sent while the page closes, if the server was there and the text is short enough.
  if (savesItself() && retries === 0 && text.value.length < MAX_LAST_BYTES / 4) return;
  event.preventDefault();
});
addEventListener('pagehide', () => {
  if (!isDirty()) return;
  // Also beside a form that is sent, which may not arrive. The next page removes a copy of what the server has.
  copy.keep();
  if (!isLeaving) void save({ isLast: true });
});
document.addEventListener('visibilitychange', () => {
  if (!isDirty() || isLeaving) return;
  if (document.visibilityState === 'hidden') copy.keep();
  // A person who comes back may have signed in in another tab.
  if (document.visibilityState === 'hidden' || retries > 0) void save();
});
addEventListener('pageshow', ({ persisted }) => {
  if (!persisted) return;
  isLeaving = false;
});
