// "What's new" on another site. Turns links `<a data-tidings>` into buttons that open the newest posts. Without this script
// or without the feed, they stay links. Writes text, never HTML, and styles nothing but its own shadow trees, so that it
// runs under a policy that allows no styles and no inline scripts.
(() => {
  const { src } = document.currentScript;
  const base = src.slice(0, src.lastIndexOf('/widget.js'));
  const sheet = new CSSStyleSheet();
  sheet.replaceSync('WIDGET_CSS');

  const element = (name, properties, ...children) => {
    const made = Object.assign(document.createElement(name), properties);
    made.append(...children);
    return made;
  };

  /** An element whose content the page's styles do not reach, nor the other way round. */
  const island = (kind, ...children) => {
    const host = element('span');
    host.setAttribute('data-tidings-part', kind);
    const root = host.attachShadow({ mode: 'open' });
    root.adoptedStyleSheets = [sheet];
    root.append(...children);
    return host;
  };

  const storageKey = `tidings:${base}`;
  let lastRead = '';
  try {
    lastRead = localStorage.getItem(storageKey) ?? '';
  } catch {
    // Storage is off: everything is new on each page.
  }
  const isUnread = ({ date_published: date }) => date > lastRead;

  /** Hides the dots, which keep their room: nothing in the page moves. */
  const hideDots = [];
  const markRead = (date) => {
    for (const hide of hideDots.splice(0)) hide();
    lastRead = date;
    try {
      localStorage.setItem(storageKey, date);
    } catch {
      // Off or full.
    }
  };

  const dateFormat = () => {
    const style = { dateStyle: 'medium' };
    try {
      return new Intl.DateTimeFormat(document.documentElement.lang || undefined, style);
    } catch {
      return new Intl.DateTimeFormat(undefined, style);
    }
  };

  const entry = (item, dates) => {
    const { url = '', title, summary = '', date_published: date } = item;
    const name = /^https?:\/\//.test(url) ? element('a', { href: url }, title) : element('b', {}, title);
    const time = element('time', { dateTime: date }, dates.format(new Date(date)));
    // The title decides for its row; the summary may be in another script.
    const about = element('p', { dir: 'auto' }, summary);
    return element('li', { className: isUnread(item) ? 'new' : '', dir: 'auto' }, name, time, about);
  };

  const enhance = (link, items, accent) => {
    const {
      tidingsNew = 'New',
      tidingsAll = 'All updates',
      tidingsClose = 'Close',
      tidingsTheme,
    } = link.dataset;
    const title = link.ariaLabel || link.textContent.trim();
    const dates = dateFormat();
    const close = element('button', { type: 'button', ariaLabel: tidingsClose }, '×');
    const panel = element(
      'div',
      { popover: 'auto', role: 'dialog', ariaLabel: title, tabIndex: -1, autofocus: true },
      element('header', {}, element('b', {}, title), close),
      element('ul', { role: 'list' }, ...items.map((item) => entry(item, dates))),
      element('a', { href: link.href, className: 'all' }, tidingsAll),
    );
    close.onclick = () => panel.hidePopover();
    if (tidingsTheme) panel.style.colorScheme = tidingsTheme;
    panel.style.setProperty('--accent', accent);
    link.after(island('panel', panel));
    if (items.some(isUnread)) {
      const mark = element('i');
      const words = element('small', {}, ` (${tidingsNew})`);
      mark.style.background = accent;
      link.append(island('dot', mark, words));
      hideDots.push(() => {
        mark.style.visibility = 'hidden';
        words.remove();
      });
    }

    const place = () => {
      const { left, top, bottom } = link.getBoundingClientRect();
      // The list scrolls before it covers its link, unless there is hardly any room.
      const room = Math.max(200, innerHeight - bottom - 16, top - 16);
      panel.style.maxHeight = `min(480px, 100vh - 16px, ${room}px)`;
      const { offsetWidth, offsetHeight } = panel;
      const right = document.documentElement.clientWidth - offsetWidth - 8;
      const isBelow = bottom + offsetHeight + 16 <= innerHeight || top < innerHeight - bottom;
      const y = isBelow ? Math.min(bottom + 8, innerHeight - offsetHeight - 8) : top - offsetHeight - 8;
      panel.style.left = `${Math.max(8, Math.min(left, right))}px`;
      panel.style.top = `${Math.max(8, y)}px`;
    };
    const isOpen = () => panel.matches(':popover-open');

    // The browser closes an open panel before the click, which must not open it again.
    let wasOpen = false;
    link.onpointerdown = () => {
      wasOpen = isOpen();
    };
    link.onclick = (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
      event.preventDefault();
      if (isOpen()) panel.hidePopover();
      else if (!wasOpen) {
        link.focus();
        panel.showPopover({ source: link });
        place();
      }
      wasOpen = false;
    };
    link.onkeydown = (event) => {
      if (event.key !== ' ') return;
      event.preventDefault();
      link.click();
    };
    // Chromium does not return the focus out of a shadow tree.
    let hasFocus = false;
    panel.onbeforetoggle = () => {
      hasFocus = panel.getRootNode().activeElement !== null;
    };
    panel.ontoggle = ({ newState }) => {
      const isShown = newState === 'open';
      link.ariaExpanded = String(isShown);
      const change = isShown ? addEventListener : removeEventListener;
      change('scroll', place, true);
      change('resize', place);
      if (isShown) markRead(items[0].date_published);
      else if (hasFocus) link.focus();
    };
    Object.assign(link, { role: 'button', ariaHasPopup: 'dialog', ariaExpanded: 'false' });
  };

  /** A page with widgets of two organizations names the one that each link is for. */
  const links = () =>
    [...document.querySelectorAll('a[data-tidings]:not([aria-expanded])')].filter(
      ({ dataset }) => dataset.tidings === '' || dataset.tidings === base,
    );

  const start = async () => {
    if (links().length === 0 || !HTMLElement.prototype.showPopover) return;
    const response = await fetch(`${base}/feed.json?limit=5`, { credentials: 'omit' });
    if (!response.ok) return;
    const { items, _tidings } = await response.json();
    // Looks again: another copy of this script may have been faster.
    if (items.length > 0) for (const link of links()) enhance(link, items, _tidings.accent_color);
  };
  // Offline, the links stay links.
  const run = () => start().catch(() => undefined);
  if (document.readyState === 'loading') document.addEventListener('DOMContentLoaded', run);
  else void run();
})();
