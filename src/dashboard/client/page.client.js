// Conveniences: every page works without this script.

/** `data-copy` of a button is the text to copy, or the id of the element with the text. */
document.addEventListener('click', async (event) => {
  const button = event.target instanceof Element ? event.target.closest('[data-copy]') : null;
  if (button === null) return;
  const { copy } = button.dataset;
  await navigator.clipboard.writeText(document.getElementById(copy)?.textContent ?? copy);
  const label = button.querySelector('span') ?? button;
  const text = label.textContent;
  const spoken = document.querySelector('[data-spoken]');
  label.textContent = spoken.textContent = 'Copied';
  button.classList.add('copied');
  setTimeout(() => {
    button.classList.remove('copied');
    label.textContent = text;
    spoken.textContent = '';
  }, 1500);
});

/** A text that is cut in a list is whole in its tooltip. */
document.addEventListener('pointerover', ({ target }) => {
  const cut = target.closest?.('.ellipsis, .main > a');
  if (cut) cut.title = cut.scrollWidth > cut.clientWidth ? cut.textContent : '';
});

/** A browser skips the autofocus of a refused form where the address names a place of the page. */
document.querySelector('[data-problem]')?.focus();

/** A second click would replace the response that shows a secret once. */
document.addEventListener('submit', (event) => {
  const form = event.target;
  if (!(form instanceof HTMLFormElement) || form.dataset.once === undefined) return;
  if (form.dataset.once === 'sent') event.preventDefault();
  form.dataset.once = 'sent';
  setTimeout(() => {
    form.dataset.once = '';
  }, 5000);
});

/** Keeps what a person types into the forms of the page. */
const typed = 'form[method=post]:is(:has(textarea, [name=seen]), [data-asks])';
if (document.body.dataset.person && (document.querySelector(typed) || sessionStorage.getItem('tidings-sent')))
  void import('./unsaved.client.js');

/** Signing out removes the unsaved texts that the editor keeps in this browser. */
document.addEventListener('submit', ({ target }) => {
  if (!target.getAttribute('action')?.endsWith('/sign-out')) return;
  for (const key of Object.keys(localStorage))
    if (key.startsWith('tidings-unsaved ')) localStorage.removeItem(key);
});

/** A button with `data-busy` shows that text while the response takes its time. */
document.addEventListener('submit', (event) => {
  const button = event.submitter;
  if (event.defaultPrevented || button?.dataset.busy === undefined) return;
  // Wait for the browser to collect the form: it leaves out a disabled button.
  setTimeout(() => {
    const label = button.innerHTML;
    button.textContent = button.dataset.busy;
    button.disabled = true;
    // Enable the button for a person who comes back to this page.
    addEventListener(
      'pageshow',
      () => {
        button.innerHTML = label;
        button.disabled = false;
      },
      { once: true },
    );
  });
});

/** Filters a long list of choices by the typed words. Selected choices stay visible. */
const filter = document.querySelector('input[data-filter]');
if (filter !== null) {
  filter.addEventListener('input', () => {
    const words = filter.value.toLowerCase().split(/\s+/);
    for (const item of document.getElementById(filter.dataset.filter).children) {
      const text = item.textContent.toLowerCase();
      item.hidden = !words.every((word) => text.includes(word)) && item.querySelector(':checked') === null;
    }
  });
  filter.addEventListener('keydown', (event) => {
    if (event.key === 'Enter') event.preventDefault();
  });
}

/** The bar of a list with checkboxes: counts the selected rows, and is hidden while there are none. */
for (const bar of document.querySelectorAll('form[data-selection]')) {
  const count = bar.querySelector('[data-selection-count]');
  const boxes = () => [...document.querySelectorAll(`input[name=selected][form="${bar.id}"]`)];
  const all = document.querySelector('[data-select-all]');
  let last = null;
  const refresh = () => {
    const selected = boxes().filter(({ checked }) => checked);
    bar.hidden = selected.length === 0;
    count.textContent = `${selected.length} selected`;
    if (all === null) return;
    // With the page's rows selected, those of the other pages are one more click.
    const rest = bar.querySelector('[data-all-matching]');
    if (rest !== null) {
      rest.hidden = selected.length < boxes().length;
      const box = rest.querySelector('input');
      if (box !== null && rest.hidden) box.checked = false;
    }
    all.checked = selected.length > 0 && selected.length === boxes().length;
    all.indeterminate = selected.length > 0 && !all.checked;
  };
  document.addEventListener('click', (event) => {
    const box = event.target;
    if (!(box instanceof HTMLInputElement) || !boxes().includes(box)) return;
    // Shift selects the rows in between.
    if (event.shiftKey && last !== null) {
      const range = boxes();
      const [from, to] = [range.indexOf(last), range.indexOf(box)].sort((one, other) => one - other);
      for (const each of range.slice(Math.max(from, 0), to + 1)) each.checked = box.checked;
    }
    last = box;
    refresh();
  });
  all?.addEventListener('change', () => {
    for (const box of boxes()) box.checked = all.checked;
    refresh();
  });
  // A browser keeps the boxes when a person comes back.
  addEventListener('pageshow', refresh);
}

/** Shows the buttons that need this script; those that copy only where the browser has a clipboard. */
function showButtons() {
  for (const element of document.querySelectorAll('[data-script]'))
    element.hidden = element.dataset.copy !== undefined && navigator.clipboard === undefined;
}

// When the scripts of the page listen too: what a person types or presses before that is lost.
document.addEventListener('DOMContentLoaded', showButtons);
// The page of a new post gets more of them once the draft exists.
document.addEventListener('draft-created', showButtons);
