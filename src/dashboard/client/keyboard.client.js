// Keys, and the palette that jumps anywhere. Shares the scope of `dialogs.client.js`.

const jump = document.querySelector('a[data-jump]');
const isMac = /Mac|iPhone|iPad/.test(navigator.platform);
const base = jump?.getAttribute('href').replace(/\/jump$/, '');
const hasShortcuts = document.documentElement.dataset.shortcuts !== 'off';

for (const hint of document.querySelectorAll('[data-modifier]')) if (isMac) hint.textContent = '⌘ K';

/** Opens the search over the page. Its results come from the server. */
function openPalette() {
  if (document.querySelector('dialog[open]')) return;
  const dialog = document.createElement('dialog');
  dialog.className = 'dialog palette';
  dialog.setAttribute('aria-label', 'Search');
  const input = document.createElement('input');
  input.type = 'text';
  input.placeholder = 'Search posts, pages and actions';
  input.maxLength = 200;
  const list = document.createElement('ul');
  list.className = 'jumps';
  list.id = 'palette-results';
  list.setAttribute('role', 'listbox');
  list.setAttribute('aria-label', 'Results');
  for (const [name, value] of Object.entries({
    role: 'combobox',
    'aria-label': 'Search posts, pages and actions',
    'aria-expanded': 'true',
    'aria-controls': list.id,
    'aria-autocomplete': 'list',
    autocomplete: 'off',
  })) {
    input.setAttribute(name, value);
  }
  dialog.append(input, list);
  let at = 0;
  let newest = 0;
  let waiting;
  const choose = (index) => {
    const options = [...list.children];
    at = options.length === 0 ? 0 : (index + options.length) % options.length;
    options.forEach((option, each) => {
      option.setAttribute('aria-selected', String(each === at));
    });
    const chosen = options[at];
    input.setAttribute('aria-activedescendant', chosen?.id ?? '');
    chosen?.scrollIntoView({ block: 'nearest' });
  };
  const refresh = async () => {
    const mine = ++newest;
    const response = await fetch(`${jump.href}?list=yes&q=${encodeURIComponent(input.value)}`);
    const html = await response.text();
    // Ignore a response that a later one overtook, and a redirect to the sign-in.
    if (mine !== newest || !response.ok || response.redirected) return;
    list.innerHTML = html;
    [...list.children].forEach((option, index) => {
      option.id = `palette-${index}`;
      option.setAttribute('role', 'option');
      option.querySelector('a').tabIndex = -1;
    });
    choose(0);
  };
  input.addEventListener('input', () => {
    clearTimeout(waiting);
    waiting = setTimeout(refresh, 120);
  });
  input.addEventListener('keydown', (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) choose(at + step);
    else if (event.key === 'Enter') list.children[at]?.querySelector('a').click();
    else return;
    event.preventDefault();
  });
  dialog.addEventListener('click', (event) => {
    if (event.target === dialog) dialog.close();
  });
  dialog.addEventListener('close', () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  input.focus();
  void refresh();
}

jump?.addEventListener('click', (event) => {
  if (event.metaKey || event.ctrlKey || event.shiftKey) return;
  event.preventDefault();
  openPalette();
});

const shortcuts = [
  [isMac ? '⌘ K' : 'Ctrl K', 'Search everything'],
  ['/', 'Search this list'],
  ['g p', 'Go to posts'],
  ['g d', 'Go to deliveries'],
  ['g i', 'Go to integrations'],
  ['g s', 'Go to settings'],
  ['?', 'Show these shortcuts'],
];

function showShortcuts() {
  const list = document.createElement('dl');
  list.className = 'keys-list';
  for (const [keys, meaning] of shortcuts) {
    const name = document.createElement('dt');
    name.textContent = meaning;
    const value = document.createElement('dd');
    for (const key of keys.split(' ')) {
      const element = document.createElement('kbd');
      element.textContent = key;
      value.append(element, ' ');
    }
    list.append(name, value);
  }
  const hint = document.createElement('p');
  hint.className = 'hint';
  hint.textContent = 'Turn single-key shortcuts off in your account.';
  const { activeElement } = document;
  openDialog('Keyboard shortcuts', [list, hint], [], () => activeElement?.focus());
}

const places = { p: 'posts', d: 'deliveries', i: 'integrations', s: 'settings' };
let isGoing = false;

document.addEventListener('keydown', (event) => {
  if (jump === null) return;
  if (
    (event.metaKey || event.ctrlKey) &&
    !event.shiftKey &&
    !event.altKey &&
    event.key.toLowerCase() === 'k'
  ) {
    event.preventDefault();
    openPalette();
    return;
  }
  const isTyping = event.target.matches?.('input:not([type=checkbox], [type=radio]), textarea, select');
  const isModified = event.metaKey || event.ctrlKey || event.altKey;
  if (!hasShortcuts || isTyping || isModified || document.querySelector('dialog[open]')) return;
  const wasGoing = isGoing;
  isGoing = event.key === 'g';
  if (wasGoing && places[event.key] !== undefined) location.assign(`${base}/${places[event.key]}`);
  else if (event.key === '?') showShortcuts();
  else if (event.key === '/') {
    const field = document.querySelector('main [data-search], main input[type=search]');
    if (field === null) openPalette();
    else field.select();
    event.preventDefault();
  }
});
