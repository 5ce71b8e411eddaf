// Conveniences of the API reference, which can be read without them.

/** `data-copy` of a button is the id of the element with the text to copy. */
document.addEventListener('click', async ({ target }) => {
  const button = target.closest('[data-copy]');
  if (button === null) return;
  await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
  const status = document.querySelector('[role="status"]');
  button.textContent = status.textContent = 'Copied';
  setTimeout(() => {
    button.textContent = 'Copy';
    status.textContent = '';
  }, 1500);
});

/** Searches titles, names and descriptions. The best matches come first. */
{
  const MAX_RESULTS = 12;
  const input = document.getElementById('search');
  const [menu] = document.getElementsByClassName('menu');
  const [list] = document.getElementsByClassName('results');
  const status = input.parentElement.querySelector('[role="status"]');
  const entries = Array.from(document.querySelectorAll('[data-find]'), (element) => {
    const { title, find } = element.dataset;
    const isField = element.parentElement.matches('.fields');
    const text = isField
      ? `${title} ${element.textContent}`
      : (element.querySelector('p:not(.route)')?.textContent ?? '');
    return {
      id: element.id,
      title,
      find,
      name: title.toLowerCase(),
      text: `${title} ${find} ${text}`.toLowerCase(),
    };
  });
  const rankOf = ({ name, text }, words) => {
    if (!words.every((word) => text.includes(word))) return 0;
    if (name === words.join(' ')) return 4;
    if (name.startsWith(words[0])) return 3;
    return words.every((word) => name.includes(word)) ? 2 : 1;
  };
  const linkTo = ({ id, title, find }) => {
    const item = document.createElement('li');
    const link = item.appendChild(document.createElement('a'));
    link.href = `#${id}`;
    link.append(`${title} `, Object.assign(document.createElement('small'), { textContent: find }));
    return item;
  };
  const search = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = entries
      .map((entry) => ({ entry, rank: words.length === 0 ? 0 : rankOf(entry, words) }))
      .filter(({ rank }) => rank > 0)
      .sort((a, b) => b.rank - a.rank);
    list.replaceChildren(...found.slice(0, MAX_RESULTS).map(({ entry }) => linkTo(entry)));
    list.hidden = found.length === 0;
    menu.hidden = words.length > 0;
    status.classList.toggle('hidden', words.length === 0 || found.length > 0);
    status.textContent =
      words.length === 0
        ? ''
        : found.length === 0
          ? 'No results. Try another word.'
          : `${found.length} results`;
  };
  const clear = () => {
    input.value = '';
    search();
  };
  const move = (event) => {
    const links = [...list.querySelectorAll('a')];
    const index = links.indexOf(document.activeElement) + (event.key === 'ArrowDown' ? 1 : -1);
    event.preventDefault();
    (links[index] ?? (index < 0 ? input : links.at(-1)))?.focus();
  };
  input.addEventListener('input', search);
  input.parentElement.addEventListener('keydown', (event) => {
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') move(event);
    else if (event.key === 'Enter' && event.target === input) list.querySelector('a')?.click();
    else if (event.key === 'Escape') {
      clear();
      input.focus();
    }
  });
  list.addEventListener('click', ({ target }) => {
    if (target.closest('a') !== null) setTimeout(clear);
  });
  addEventListener('keydown', (event) => {
    const isTyping = event.target.matches('input[type="search"]');
    if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey || isTyping) return;
    event.preventDefault();
    input.focus();
  });
}

/** Closes the menu of a phone when somebody follows one of its links. */
{
  const [menu] = document.getElementsByClassName('menu');
  menu.addEventListener('click', ({ target }) => {
    if (target.closest('nav a') !== null) menu.open = false;
  });
}

/** Marks the part of the page that is being read in the contents. */
{
  const links = new Map(
    Array.from(document.querySelectorAll('.menu nav a'), (link) => [link.hash.slice(1), link]),
  );
  const observer = new IntersectionObserver(
    (changes) => {
      for (const { isIntersecting, target } of changes) {
        if (!isIntersecting) continue;
        for (const link of links.values()) link.removeAttribute('aria-current');
        links.get(target.id).setAttribute('aria-current', 'true');
      }
    },
    // A line a fifth of the way down.
    { rootMargin: '-20% 0px -80% 0px' },
  );
  for (const id of links.keys()) observer.observe(document.getElementById(id));
}

/** Shows what needs this script; buttons that copy only where the browser has a clipboard. */
for (const element of document.querySelectorAll('[data-script]')) {
  element.hidden = element.dataset.copy !== undefined && navigator.clipboard === undefined;
}
