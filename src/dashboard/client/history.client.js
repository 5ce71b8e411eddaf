// Follows an import. Without this script, the page loads itself again.

const POLL_MS = 1000;

async function refresh() {
  const current = document.getElementById('import');
  const url = current?.dataset.state;
  if (url === undefined) return;
  try {
    const response = document.hidden ? null : await fetch(url);
    if (response?.ok && !response.redirected) {
      const template = document.createElement('template');
      template.innerHTML = await response.text();
      show(current, template.content.firstElementChild);
    }
  } catch {
    // Try again: the page still shows the last state.
  }
  setTimeout(refresh, POLL_MS);
}

/** Replaces only the parts that changed, so that screen readers announce only those. */
function show(current, next) {
  const parts = current.querySelectorAll('[data-part]');
  for (const part of parts) {
    const html = next.querySelector(`[data-part=${part.dataset.part}]`).innerHTML;
    if (html === part.innerHTML) continue;
    const hasFocus = part.contains(document.activeElement);
    part.innerHTML = html;
    // The button that had the focus is gone.
    if (hasFocus) (part.querySelector('button, a[href], summary') ?? document.getElementById('main')).focus();
  }
  if (next.dataset.state === undefined) delete current.dataset.state;
}

setTimeout(refresh, POLL_MS);
