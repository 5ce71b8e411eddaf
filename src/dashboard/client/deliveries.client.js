// The delivery log and the page of a delivery. Both work without this script.

const POLL_MS = 1000;
const SLOWEST_MS = 15_000;

/** The children of a response, as elements. */
function elementsOf(html) {
  const template = document.createElement('template');
  template.innerHTML = html;
  return [...template.content.children];
}

/** Null while the page is hidden. Throws when the session or the connection is lost. */
async function load(url) {
  if (document.hidden) return null;
  const response = await fetch(url);
  if (!response.ok || response.redirected) throw new Error(`status ${response.status}`);
  return elementsOf(await response.text());
}

/** Updates the result of a delivery until its drafts are written. */
const result = document.querySelector('[data-result][data-pending]');
if (result !== null) {
  const region = result.querySelector('[role=status]');
  let waitMs = POLL_MS;
  const refresh = async () => {
    try {
      const [section] = (await load(result.dataset.result)) ?? [];
      const html = section?.querySelector('[role=status]')?.innerHTML ?? null;
      if (html !== null && html !== region.innerHTML) region.innerHTML = html;
      if (section !== undefined && section.dataset.pending === undefined) return;
    } catch {
      // Try again: the page still says that the draft is being written.
    }
    waitMs = Math.min(waitMs * 1.5, SLOWEST_MS);
    setTimeout(refresh, waitMs);
  };
  setTimeout(refresh, waitMs);
}

/** While "Live" is on, new log entries appear and are announced. Results that are being written always follow. */
const log = document.querySelector('#log[data-log]');
if (log !== null) {
  const live = document.querySelector('button[data-live]');
  const news = document.getElementById('live-news');
  const body = log.querySelector('tbody');
  let timer;
  let waitMs = POLL_MS;
  const isLive = () => live?.getAttribute('aria-pressed') === 'true';
  const pending = () =>
    [...body.querySelectorAll('[data-pending]')].slice(0, 50).map((each) => each.closest('tr').id);

  const refresh = async () => {
    clearTimeout(timer);
    const ids = pending();
    if (!isLive() && ids.length === 0) return;
    const url = new URL(log.dataset.log, location.href);
    if (ids.length > 0) url.searchParams.set('pending', ids.join(','));
    // In an empty log, every entry is new.
    const [newest] = body.rows;
    const at = newest?.querySelector('time').dateTime ?? live.dataset.since;
    if (isLive()) url.searchParams.set('after', `${at}_${newest?.id ?? '-'}`);
    try {
      show((await load(url)) ?? []);
    } catch {
      live?.setAttribute('aria-pressed', 'false');
      news.textContent =
        'The connection was lost, so new deliveries no longer appear. Reload the page to see the newest.';
      return;
    }
    waitMs = isLive() ? 2 * POLL_MS : Math.min(waitMs * 1.5, SLOWEST_MS);
    timer = setTimeout(refresh, waitMs);
  };

  const show = (rows) => {
    const added = [];
    for (const row of rows) {
      const present = document.getElementById(row.id);
      if (present === null) added.push(row);
      // Keep other rows: the person may be using them.
      else if (present.querySelector('[data-pending]') !== null) {
        const isSelected = present.querySelector('input[name=selected]')?.checked === true;
        present.replaceWith(row);
        const box = row.querySelector('input[name=selected]');
        if (box !== null) box.checked = isSelected;
      }
    }
    if (added.length === 0) return;
    body.prepend(...added);
    log.hidden = false;
    document.getElementById('log-empty')?.remove();
    for (const row of added) row.classList.add('new');
    news.textContent = added.length === 1 ? '1 new delivery' : `${added.length} new deliveries`;
  };

  live?.addEventListener('click', () => {
    live.setAttribute('aria-pressed', String(!isLive()));
    news.textContent = isLive() ? 'New deliveries appear as they arrive.' : '';
    void refresh();
  });
  timer = setTimeout(refresh, waitMs);
}

/** Searches, folds and copies the payload. */
const payload = document.querySelector('[data-payload]');
if (payload !== null) {
  const search = payload.querySelector('[data-payload-search]');
  const count = payload.querySelector('[data-payload-count]');
  const fold = payload.querySelector('[data-payload-fold]');
  const tree = payload.querySelector('.tree');
  const lines = [...tree.querySelectorAll('.line')];
  let hits = [];
  let at = -1;

  const mark = () => {
    const text = search.value.trim().toLowerCase();
    hits = text === '' ? [] : lines.filter((line) => line.textContent.toLowerCase().includes(text));
    at = -1;
    for (const line of lines) line.classList.toggle('hit', hits.includes(line));
    for (const line of hits) {
      for (let each = line.parentElement; each !== tree; each = each.parentElement) {
        // A summary shows without its own list.
        if (each.tagName === 'DETAILS' && line.parentElement !== each) each.open = true;
      }
    }
    count.textContent = text === '' ? '' : hits.length === 1 ? '1 match' : `${hits.length} matches`;
  };
  let waiting;
  search.addEventListener('input', () => {
    clearTimeout(waiting);
    waiting = setTimeout(mark, 150);
  });
  search.addEventListener('keydown', (event) => {
    if (event.key !== 'Enter') return;
    event.preventDefault();
    if (hits.length === 0) return;
    hits[at]?.classList.remove('current');
    at = (at + (event.shiftKey ? hits.length - 1 : 1)) % hits.length;
    hits[at].classList.add('current');
    hits[at].scrollIntoView({ block: 'nearest' });
    count.textContent = `${at + 1} of ${hits.length}`;
  });

  fold.addEventListener('click', () => {
    const isOpening = fold.dataset.open === undefined;
    for (const each of tree.querySelectorAll('details')) each.open = isOpening;
    if (isOpening) fold.dataset.open = '';
    else delete fold.dataset.open;
    fold.textContent = isOpening ? 'Collapse all' : 'Expand all';
  });

  /** The keys from the root to a line. */
  const keysOf = (line) => {
    const keys = [];
    for (let item = line.closest('li'); item !== null; item = item.parentElement.closest('li')) {
      if (tree.contains(item)) keys.unshift(item.dataset.key);
    }
    return keys;
  };
  const pathOf = (keys) =>
    keys.reduce((path, key) => {
      if (/^\d+$/.test(key)) return `${path}[${key}]`;
      if (!/^[A-Za-z_$][\w$]*$/.test(key)) return `${path}[${JSON.stringify(key)}]`;
      return path === '' ? key : `${path}.${key}`;
    }, '');
  const textAt = (line) => {
    const json = document.getElementById('payload-json');
    if (json === null) return line.querySelector('.value')?.textContent ?? '';
    const value = keysOf(line).reduce((data, key) => data[key], JSON.parse(json.textContent));
    return typeof value === 'string' ? value : JSON.stringify(value, null, 2);
  };

  /** One pair of buttons follows the pointer and the focus. */
  let current = null;
  const tools = document.createElement('span');
  tools.className = 'line-tools';
  for (const [label, textOf] of [
    ['Copy value', textAt],
    ['Copy path', (line) => pathOf(keysOf(line))],
  ]) {
    const button = document.createElement('button');
    button.type = 'button';
    button.className = 'link';
    button.textContent = label;
    button.addEventListener('click', async () => {
      await navigator.clipboard.writeText(textOf(current));
      const spoken = document.querySelector('[data-spoken]');
      button.textContent = spoken.textContent = 'Copied';
      setTimeout(() => {
        button.textContent = label;
        spoken.textContent = '';
      }, 1500);
    });
    tools.append(button);
  }
  if (navigator.clipboard !== undefined) {
    const attach = ({ target }) => {
      const line = target instanceof Element ? target.closest('.line') : null;
      if (line === null || line === current) return;
      current = line;
      // A summary holds no buttons, and a closed list hides what follows its summary.
      if (line.tagName === 'SUMMARY') line.parentElement.before(tools);
      else line.after(tools);
    };
    for (const line of lines) if (line.tagName !== 'SUMMARY') line.tabIndex = 0;
    // Not "pointerover": scrolling to the focused line moves others below a pointer that rests.
    tree.addEventListener('pointermove', attach);
    tree.addEventListener('focusin', attach);
  }
}
