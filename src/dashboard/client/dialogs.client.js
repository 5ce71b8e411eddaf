// Menus, dialogs, notices and charts: every page works without this script.

/** Closes an open menu on Escape, and when the person clicks elsewhere. */
document.addEventListener('click', (event) => {
  for (const menu of document.querySelectorAll('details.dropdown[open]')) {
    if (!menu.contains(event.target)) menu.open = false;
  }
});
document.addEventListener('keydown', (event) => {
  const menu = event.key === 'Escape' && document.querySelector('details.dropdown[open]');
  if (!menu) return;
  menu.open = false;
  menu.querySelector('summary').focus();
});

/** A dialog with a heading and buttons at its end. Removes itself when it closes. */
function openDialog(title, nodes, buttons, onClose) {
  const dialog = document.createElement('dialog');
  dialog.className = 'dialog';
  const heading = document.createElement('h2');
  heading.id = 'dialog-title';
  heading.textContent = title;
  const actions = document.createElement('div');
  actions.className = 'dialog-actions';
  const cancel = document.createElement('button');
  cancel.type = 'button';
  cancel.className = 'button';
  cancel.textContent = buttons.length === 0 ? 'Close' : 'Cancel';
  cancel.addEventListener('click', () => dialog.close());
  actions.append(cancel, ...buttons);
  dialog.append(heading, ...nodes, actions);
  dialog.setAttribute('aria-labelledby', heading.id);
  dialog.addEventListener('click', (event) => {
    if (event.target === dialog && !isInside(dialog, event)) dialog.close();
  });
  dialog.addEventListener('close', () => {
    onClose?.();
    dialog.remove();
  });
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

function isInside(element, { clientX, clientY }) {
  const { left, right, top, bottom } = element.getBoundingClientRect();
  return clientX >= left && clientX <= right && clientY >= top && clientY <= bottom;
}

/** A dangerous action, which unfolds without the script, opens as a dialog. */
document.addEventListener('click', (event) => {
  const summary = event.target instanceof Element && event.target.closest('details[data-confirm] > summary');
  if (!summary) return;
  event.preventDefault();
  const details = summary.parentElement;
  const content = [...details.children].filter((child) => child !== summary);
  const forms = content.filter((child) => child.matches('form'));
  const words = content.filter((child) => !child.matches('form'));
  openDialog(summary.textContent, words, forms, () => {
    details.append(...content);
    summary.focus();
  });
});

/** A time lies above the link of its row, to show its title. It opens the row too. */
document.addEventListener('click', (event) => {
  const time = event.target instanceof Element && event.target.closest('.list tr > td time');
  if (time) time.closest('tr').querySelector('td:is(.main, .title) > a')?.click();
});

/** A notice is announced when it is put into its live region. One without "Undo" closes by itself. */
const BRIEF_MS = 8_000;
for (const notice of document.querySelectorAll('[data-notice]')) {
  const region = notice.parentElement;
  notice.remove();
  setTimeout(() => region.append(notice));
  const button = notice.querySelector('[data-close]');
  button.hidden = false;
  button.addEventListener('click', () => notice.remove());
  if (notice.dataset.notice !== 'brief') continue;
  const close = () => {
    // Wait while somebody points at it or is inside.
    if (notice.matches(':hover, :focus-within')) setTimeout(close, BRIEF_MS);
    else notice.remove();
  };
  setTimeout(close, BRIEF_MS);
}

/** The value of a chart's column shows when a person points at it or moves to it by an arrow key. */
for (const chart of document.querySelectorAll('[data-chart]')) {
  const columns = [...chart.querySelectorAll('g')];
  const value = chart.querySelector('[data-chart-value]');
  let at = columns.length;
  let shown = null;
  chart.tabIndex = 0;
  const show = (column) => {
    if (column === shown) return;
    shown = column;
    for (const each of columns) each.classList.toggle('on', each === column);
    if (value !== null) value.textContent = column?.querySelector('title').textContent ?? '';
  };
  // Not "pointerover": scrolling moves other columns below a pointer that rests.
  chart.addEventListener('pointermove', (event) => show(event.target.closest('g')));
  chart.addEventListener('pointerleave', () => show(null));
  chart.addEventListener('blur', () => show(null));
  chart.addEventListener('keydown', (event) => {
    const link = event.key === 'Enter' && columns[at]?.closest('a');
    if (link) location.assign(link.href.baseVal);
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    at = Math.min(Math.max(at + step, 0), columns.length - 1);
    show(columns[at]);
  });
}

/** The server shows times in this zone from the next page on. */
const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
if (
  timeZone &&
  !document.cookie.includes(`tidings_zone=${timeZone};`) &&
  !document.cookie.endsWith(`tidings_zone=${timeZone}`)
) {
  const secure = location.protocol === 'https:' ? '; secure' : '';
  // biome-ignore lint/suspicious/noDocumentCookie: Firefox and Safari have no cookieStore in all versions that we support.
  document.cookie = `tidings_zone=${timeZone}; path=/; max-age=31536000; samesite=lax${secure}`;
}
