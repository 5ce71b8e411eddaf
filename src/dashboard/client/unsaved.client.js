// Keeps what a person types into a form: asks before the page closes, and has a copy in this browser until the text is
// saved. The editor of posts does it with the same copies, and saves drafts by itself.

const COPY_MS = 300;
const COPY_DAYS = 30;
const COPIES = 'tidings-unsaved ';
/** The copy of the form that this tab sent last. */
const SENT = 'tidings-sent';
const UNKEPT = ['hidden', 'password', 'file', 'submit', 'button', 'reset', 'fieldset'];

const { person, done } = document.body.dataset;
let isSigningOut = false;

const controlsOf = (form) =>
  [...form.elements].filter(
    ({ name, type, dataset }) => name && !UNKEPT.includes(type) && dataset.unkept === undefined,
  );
const isSwitch = ({ type }) => type === 'checkbox' || type === 'radio';
const contentOf = (control) => (isSwitch(control) ? control.checked : control.value);
const snapshot = (form) => controlsOf(form).map((control) => [control.name, contentOf(control)]);
const texts = (fields) => JSON.stringify(fields.map(([name, value]) => [name, value.trim?.() ?? value]));

function defaultOf(control) {
  if (isSwitch(control)) return control.defaultChecked;
  if (control.type !== 'select-one') return control.defaultValue;
  const options = [...control.options];
  return (options.find(({ defaultSelected }) => defaultSelected) ?? options[0])?.value ?? '';
}

const hasChanged = (form) => controlsOf(form).some((control) => contentOf(control) !== defaultOf(control));

/** The copies of a form. `noun`: what it edits. */
export function keeper(form, noun = 'form') {
  const { seen, mark } = form.elements;
  // A button may have the name `action`.
  const key = () => `${COPIES}${person} ${new URL(form.getAttribute('action'), location).pathname}`;
  let timer;
  let note;
  /** The copy of an earlier visit, until the person decides about it. */
  let found = read();

  function read() {
    try {
      const copy = JSON.parse(localStorage.getItem(key()));
      return Array.isArray(copy?.fields) ? copy : null;
    } catch {
      return null;
    }
  }

  function keep() {
    clearTimeout(timer);
    if (found !== null || isSigningOut) return;
    // After a conflict, the text stays based on the version before it, so that restoring it shows the conflict again.
    const copy = { fields: snapshot(form), seen: seen?.dataset.base, mark: mark?.value, at: Date.now() };
    try {
      localStorage.setItem(key(), JSON.stringify(copy));
    } catch {
      // The storage is full or off, which must not stop the person from typing.
    }
  }

  function remove() {
    clearTimeout(timer);
    if (found === null) localStorage.removeItem(key());
  }

  function settle() {
    found = null;
    note?.remove();
  }

  function restore() {
    const left = [...found.fields];
    for (const control of controlsOf(form)) {
      const at = left.findIndex(([name]) => name === control.name);
      if (at === -1) continue;
      const [[, value]] = left.splice(at, 1);
      if (contentOf(control) === value) continue;
      control[isSwitch(control) ? 'checked' : 'value'] = value;
      control.dispatchEvent(new Event('input', { bubbles: true }));
      control.dispatchEvent(new Event('change', { bubbles: true }));
    }
    // The version that the text is based on: a newer one is a conflict, and is not overwritten.
    if (seen?.value) seen.value = seen.dataset.base = found.seen ?? '';
    else if (mark && found.mark) mark.value = found.mark;
    settle();
  }

  function offer() {
    note = document.createElement('div');
    note.className = 'note';
    note.id = 'unsaved-copy';
    note.innerHTML = `<p><strong>This browser has unsaved text of this ${noun}</strong>, typed <span></span>.</p>
      <div class="bar">
        <button type="button" class="button" data-restore-copy>Restore unsaved text</button>
        <button type="button" class="button" data-discard-copy>Discard</button>
      </div>`;
    const time = new Date(found.at);
    // The format of the page's other times.
    note.querySelector('span').textContent = time.toLocaleString('en-US', {
      dateStyle: 'medium',
      timeStyle: 'short',
      hourCycle: 'h23',
      timeZone: document.querySelector('.zone a')?.textContent,
    });
    note.addEventListener('click', ({ target }) => {
      const isRestored = target.dataset.restoreCopy !== undefined;
      if (!isRestored && target.dataset.discardCopy === undefined) return;
      if (isRestored) restore();
      else {
        settle();
        if (!hasChanged(form)) remove();
      }
      controlsOf(form)
        .find(({ type }) => type === 'textarea' || type === 'text')
        ?.focus();
    });
    form.before(note);
  }

  if (found !== null && texts(found.fields) === texts(snapshot(form))) {
    found = null;
    if (form.dataset.unsaved === undefined) remove();
  }
  if (found !== null) offer();
  return {
    key,
    keep,
    keepSoon() {
      clearTimeout(timer);
      timer = setTimeout(keep, COPY_MS);
    },
    remove,
    settle,
  };
}

function watch(form) {
  // The response of some forms shows a secret, and what is typed there may be one.
  const copy = form.dataset.once === undefined ? keeper(form) : null;
  let isLeaving = false;
  const isDirty = () => !isLeaving && (form.dataset.unsaved !== undefined || hasChanged(form));
  const keep = () => {
    if (isDirty()) copy?.keep();
  };
  document.addEventListener('input', ({ target }) => {
    if (target.form === form) copy?.keepSoon();
  });
  document.addEventListener('submit', (event) => {
    if (event.target !== form || event.defaultPrevented) return;
    if (copy !== null && isDirty()) {
      copy.keep();
      sessionStorage.setItem(SENT, copy.key());
    }
    isLeaving = true;
  });
  form.addEventListener('click', ({ target }) => {
    if (!(target instanceof Element) || target.closest('[data-discard]') === null) return;
    isLeaving = true;
    copy?.settle();
    copy?.remove();
  });
  addEventListener('beforeunload', (event) => {
    if (isDirty()) event.preventDefault();
  });
  addEventListener('pagehide', keep);
  document.addEventListener('visibilitychange', () => {
    if (document.visibilityState === 'hidden') keep();
  });
  addEventListener('pageshow', ({ persisted }) => {
    if (persisted) isLeaving = false;
  });
}

document.addEventListener(
  'submit',
  ({ target }) => {
    // Signing out removes the copies of this browser: keep none while the page closes.
    if (target.getAttribute('action')?.endsWith('/sign-out')) isSigningOut = true;
  },
  { capture: true },
);
addEventListener('pageshow', ({ persisted }) => {
  if (persisted) isSigningOut = false;
});

// The server did what this tab sent: the notice of the page says so.
const sent = sessionStorage.getItem(SENT);
sessionStorage.removeItem(SENT);
if (sent !== null && done !== undefined) localStorage.removeItem(sent);

for (const key of Object.keys(localStorage)) {
  if (!key.startsWith(COPIES)) continue;
  const { at = 0 } = JSON.parse(localStorage.getItem(key)) ?? {};
  if (Date.now() - at > COPY_DAYS * 86_400_000) localStorage.removeItem(key);
}

/** Text of several lines, or what is stored already. Elsewhere a line is soon typed again. */
function isWorthKeeping(form) {
  const types = controlsOf(form).map(({ type }) => type);
  if (types.includes('textarea')) return true;
  return types.includes('text') && (form.elements.seen !== undefined || form.dataset.asks !== undefined);
}

const forms = document.querySelectorAll('form[method=post]:not([data-autosave])');
for (const form of person === undefined ? [] : forms) if (isWorthKeeping(form)) watch(form);
