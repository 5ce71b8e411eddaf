// What the dashboard does beyond links and forms. All of it works without this too, if less conveniently.

/** A button that copies: `data-copy` holds the text, or the id of what shows it. */
document.addEventListener('click', async (event) => {
  const button = event.target instanceof Element ? event.target.closest('[data-copy]') : null;
  if (button === null) return;
  const { copy } = button.dataset;
  await navigator.clipboard.writeText(document.getElementById(copy)?.textContent ?? copy);
  const label = button.textContent;
  button.textContent = 'Copied';
  setTimeout(() => {
    button.textContent = label;
  }, 1500);
});

/** The preview beside the editor follows what is typed. */
const source = document.querySelector('textarea[data-preview]');
const preview = document.getElementById('preview');
if (source !== null && preview !== null) {
  let waiting;
  let newest = 0;
  const refresh = async () => {
    const mine = ++newest;
    const body = new URLSearchParams(new FormData(source.form));
    const response = await fetch(source.dataset.preview, { method: 'POST', body });
    const html = await response.text();
    // An answer may be overtaken by a later one, or be the way to sign in.
    if (mine === newest && response.ok && !response.redirected) preview.innerHTML = html;
  };
  source.form.addEventListener('input', () => {
    clearTimeout(waiting);
    waiting = setTimeout(refresh, 200);
  });
}

/** Of a form whose answer shows a secret once, an impatient second click would hide that answer. */
document.addEventListener('submit', (event) => {
  const form = event.target;
  if (!(form instanceof HTMLFormElement) || form.dataset.once === undefined) return;
  if (form.dataset.once === 'sent') event.preventDefault();
  form.dataset.once = 'sent';
  setTimeout(() => {
    form.dataset.once = '';
  }, 5000);
});

/** Where the answer takes its time, the button that was pressed says so. */
document.addEventListener('submit', (event) => {
  const button = event.submitter;
  if (event.defaultPrevented || button?.dataset.busy === undefined) return;
  // Not at once: what the form sends is gathered after this, and a disabled button has no part in it.
  setTimeout(() => {
    const label = button.innerHTML;
    button.textContent = button.dataset.busy;
    button.disabled = true;
    // Whoever goes back to this page as it was left can press it again.
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

/** A long list of things to choose from shows only those with the words that are typed, and what is chosen. */
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

/** While "Live" is on, new entries of the log appear by themselves, and are announced. */
const live = document.querySelector('button[data-live]');
const news = document.getElementById('live-news');
const log = document.getElementById('log');
if (live !== null && news !== null && log !== null) {
  let timer;
  const look = async () => {
    clearTimeout(timer);
    if (live.getAttribute('aria-pressed') !== 'true') return;
    const body = log.querySelector('tbody');
    const url = new URL(live.dataset.live, location.href);
    // An empty log has no newest entry: whatever comes is news.
    url.searchParams.set('after', body.rows[0]?.dataset.at ?? `${live.dataset.since}_-`);
    try {
      const response = document.hidden ? null : await fetch(url);
      if (response?.ok && !response.redirected) show(body, await response.text());
      else if (response !== null) throw new Error(`answered with ${response.status}`);
    } catch {
      live.setAttribute('aria-pressed', 'false');
      news.textContent =
        'The connection was lost, so that nothing new appears by itself. Reload to see the newest.';
    }
    timer = setTimeout(look, 2000);
  };
  const show = (body, html) => {
    const template = document.createElement('template');
    template.innerHTML = html;
    const rows = [...template.content.children].filter((row) => document.getElementById(row.id) === null);
    if (rows.length === 0) return;
    body.prepend(...rows);
    log.hidden = false;
    document.getElementById('log-empty')?.remove();
    for (const row of rows) row.classList.add('new');
    news.textContent = rows.length === 1 ? '1 new delivery' : `${rows.length} new deliveries`;
  };
  live.addEventListener('click', () => {
    const isOn = live.getAttribute('aria-pressed') !== 'true';
    live.setAttribute('aria-pressed', String(isOn));
    news.textContent = isOn ? 'New deliveries appear by themselves.' : '';
    if (isOn) void look();
  });
}

/** Buttons that need a script are shown by it; those that copy, only where the browser lets a page copy. */
for (const element of document.querySelectorAll('[data-script]')) {
  element.hidden = element.dataset.copy !== undefined && navigator.clipboard === undefined;
}
