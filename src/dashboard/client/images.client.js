// Uploads images into the text of a post: chosen, pasted or dropped. Each has a placeholder in the text meanwhile. Then
// the person may describe it.

/** At most so many uploads at a time: a person may drop a whole folder. */
const AT_ONCE = 3;

for (const tools of document.querySelectorAll('[data-images]')) {
  const text = document.getElementById(tools.dataset.for);
  if (text !== null) connect(tools, text);
}

function connect(tools, text) {
  const part = (name) => tools.querySelector(`[data-images-${name}]`);
  const [choose, input, hint, problems, status] = ['choose', 'file', 'hint', 'problems', 'status'].map(part);
  const [alts, template] = ['alts', 'template'].map(part);
  const waiting = [];
  let running = 0;
  /** When the person last changed the text: a field must not take the focus from somebody who types. */
  let typedAt = 0;
  choose.hidden = false;
  hint.hidden = false;

  choose.addEventListener('click', () => input.click());
  input.addEventListener('change', () => {
    add([...input.files]);
    // The same file can be chosen again.
    input.value = '';
  });
  text.addEventListener('paste', (event) => {
    const files = imagesOf(event.clipboardData);
    // A copied table brings its picture along: the text is meant.
    if (files.length === 0 || event.clipboardData.types.includes('text/plain')) return;
    event.preventDefault();
    add(files);
  });
  text.addEventListener('dragover', (event) => {
    if (!event.dataTransfer.types.includes('Files')) return;
    event.preventDefault();
    text.classList.add('dropping');
  });
  text.addEventListener('dragleave', () => text.classList.remove('dropping'));
  text.addEventListener('drop', (event) => {
    text.classList.remove('dropping');
    if (!event.dataTransfer.types.includes('Files')) return;
    event.preventDefault();
    add([...event.dataTransfer.files]);
  });
  text.addEventListener('input', ({ isTrusted }) => {
    if (isTrusted) typedAt = performance.now();
  });
  // Leaving would lose what is under way.
  addEventListener('beforeunload', (event) => {
    if (running + waiting.length > 0) event.preventDefault();
  });
  text.form?.addEventListener('submit', (event) => {
    if (running + waiting.length === 0) return;
    event.preventDefault();
    show('Wait until the images are uploaded, then save.');
  });

  function add(files) {
    problems.replaceChildren();
    for (const file of files) {
      const placeholder = placeholderFor(file, text.value);
      insert(text, placeholder);
      waiting.push({ file, placeholder, addedAt: performance.now() });
    }
    next();
  }

  function next() {
    while (running < AT_ONCE && waiting.length > 0) {
      running++;
      void upload(waiting.shift()).finally(() => {
        running--;
        next();
      });
    }
  }

  async function upload({ file, placeholder, addedAt }) {
    status.textContent = `Uploading ${file.name}…`;
    try {
      const body = new FormData();
      body.set('file', file, file.name);
      const image = await send(tools.dataset.images, body);
      replace(text, placeholder, image.markdown);
      status.textContent = `${file.name} is in the text.`;
      ask(image, typedAt < addedAt);
    } catch (error) {
      replace(text, placeholder, '');
      show(`${file.name}: ${error.message}`);
      status.textContent = '';
    }
  }

  /** Adds a field for the description. It takes the focus if the person waits for the upload. */
  function ask({ id, alt, path, markdown }, isWaiting) {
    const item = template.content.firstElementChild.cloneNode(true);
    const field = item.querySelector('input');
    item.querySelector('img').src = path;
    field.value = alt;
    let isSettled = false;
    const skip = () => {
      isSettled = true;
      close(item);
    };
    const save = async () => {
      if (isSettled) return;
      isSettled = true;
      try {
        const body = new URLSearchParams({ alt: field.value });
        const changed = await send(`${tools.dataset.images}/${id}`, body);
        replace(text, markdown, changed.markdown);
        close(item);
        status.textContent = 'Description saved.';
      } catch (error) {
        isSettled = false;
        show(`The description is not saved: ${error.message}`);
      }
    };
    item.querySelector('[data-save]').addEventListener('click', save);
    item.querySelector('[data-skip]').addEventListener('click', skip);
    // What was typed is saved also when the person goes back to the text.
    item.addEventListener('focusout', ({ relatedTarget }) => {
      if (field.value !== alt && !item.contains(relatedTarget)) void save();
    });
    // Safari does not focus a button that is pressed.
    item.addEventListener('pointerdown', (event) => {
      if (event.target.closest('button')) event.preventDefault();
    });
    item.addEventListener('keydown', (event) => {
      if (event.key !== 'Escape' && (event.key !== 'Enter' || event.target !== field)) return;
      // Enter would send the form, and Escape leave the full screen.
      event.preventDefault();
      event.stopPropagation();
      if (event.key === 'Enter') void save();
      else skip();
    });
    alts.append(item);
    if (isWaiting && [text, choose, document.body].includes(document.activeElement)) focus(field);
  }

  function close(item) {
    const next = item.nextElementSibling?.querySelector('input') ?? null;
    const hadFocus = item.contains(document.activeElement);
    item.remove();
    if (!hadFocus) return;
    if (next === null) text.focus();
    else focus(next);
  }

  function show(message) {
    const item = document.createElement('li');
    item.className = 'error';
    item.textContent = message;
    problems.append(item);
  }
}

function focus(field) {
  field.focus();
  field.select();
}

/** Sends a form and returns the response, or throws an error whose message the person can read. */
async function send(path, body) {
  const headers = { accept: 'application/json' };
  const response = await fetch(path, { method: 'POST', body, headers }).catch(() => {
    throw new Error('The connection was lost. Try again.');
  });
  if (response.status === 401) throw new Error('You are signed out. Sign in in another tab, then try again.');
  const isJson = response.headers.get('content-type')?.startsWith('application/json');
  const answer = isJson ? await response.json() : {};
  if (!response.ok) throw new Error(answer.error ?? 'The server failed. Try again.');
  return answer;
}

function imagesOf(transfer) {
  return [...(transfer?.files ?? [])].filter(({ type }) => type.startsWith('image/'));
}

/** Unique in the text, so that it can be found again. */
function placeholderFor({ name }, value) {
  const label = name.replaceAll(/[[\]()\\]/g, '');
  for (let number = 1; ; number++) {
    const placeholder = `![Uploading ${label}${number === 1 ? '' : ` (${number})`}…]()`;
    if (!value.includes(placeholder)) return placeholder;
  }
}

/** At the caret, as a paragraph of its own. */
function insert(text, placeholder) {
  const { selectionStart: start, selectionEnd: end, value } = text;
  const [, above] = /(\n{0,2})$/.exec(value.slice(0, start));
  const [below] = /^\n{0,2}/.exec(value.slice(end));
  const before = start === 0 ? '' : '\n'.repeat(2 - above.length);
  const after = end === value.length ? '' : '\n'.repeat(2 - below.length);
  text.setRangeText(before + placeholder + after, start, end, 'end');
  changed(text);
}

/** Keeps the caret where the person types meanwhile. */
function replace(text, placeholder, replacement) {
  const at = text.value.indexOf(placeholder);
  // The person deleted it.
  if (at === -1) return;
  text.setRangeText(replacement, at, at + placeholder.length, 'preserve');
  changed(text);
}

function changed(text) {
  text.dispatchEvent(new Event('input', { bubbles: true }));
}
