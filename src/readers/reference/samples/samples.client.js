/** Chooses the language of all samples at once, and remembers it. */
{
  const KEY = 'tidings-language';
  const choose = (language) => {
    for (const each of document.querySelectorAll('.languages input')) {
      if (each.value === language) each.checked = true;
    }
  };
  try {
    choose(localStorage.getItem(KEY));
  } catch {
    // The browser blocks storage.
  }
  document.addEventListener('change', ({ target }) => {
    if (!target.matches('.languages input')) return;
    const { top } = target.getBoundingClientRect();
    choose(target.value);
    // Other samples may have become longer or shorter.
    scrollBy({ top: target.getBoundingClientRect().top - top, behavior: 'instant' });
    try {
      localStorage.setItem(KEY, target.value);
    } catch {
      // Nothing is remembered.
    }
  });
}
