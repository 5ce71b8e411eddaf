// Shows times of forms on the clock of the browser. Without this script they are in the zone that a field names.

const { timeZone } = new Intl.DateTimeFormat().resolvedOptions();

/** The value of a `datetime-local` field. */
function localTime(iso) {
  const time = new Date(iso);
  const minutes = time.getTime() - time.getTimezoneOffset() * 60_000;
  return new Date(minutes).toISOString().slice(0, 16);
}

for (const form of document.querySelectorAll('form[data-zoned]')) {
  const zone = form.elements.namedItem('timeZone');
  // A zone that was refused stays on the page with its error.
  if (timeZone === undefined || zone.getAttribute('aria-invalid') !== null) continue;
  const time = form.querySelector('input[type=datetime-local]');
  // What a person typed, and the server refused, was on the clock of that zone.
  if (time.getAttribute('aria-invalid') === null && time.dataset.at) time.value = localTime(time.dataset.at);
  if (time.getAttribute('aria-invalid') !== null && zone.value !== timeZone) continue;
  zone.value = timeZone;
  const field = zone.closest('.field');
  const note = document.createElement('p');
  note.className = 'hint';
  note.textContent = `Time zone: ${timeZone.replaceAll('_', ' ')}`;
  field.before(note);
  field.hidden = true;
}
