// The preview beside the text of a post. Without this script, saving shows it.

/** Updates the preview while a person types. */
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
    // Ignore a response that a later one overtook, and a redirect to the sign-in.
    if (mine === newest && response.ok && !response.redirected) preview.innerHTML = html;
  };
  // On the document: a field of the form may stand outside of it.
  document.addEventListener('input', (event) => {
    if (event.target.form !== source.form) return;
    clearTimeout(waiting);
    waiting = setTimeout(refresh, 200);
  });
  // Somebody typed before this script came, or the browser kept a text.
  if (source.value !== source.defaultValue) void refresh();
}
