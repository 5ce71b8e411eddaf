// The color's two fields show one color, and the address below the slug follows it. The form works without this script.

const text = document.getElementById('field-accentColor');
const picker = document.getElementById('field-accentPicker');
picker?.addEventListener('input', () => {
  text.value = picker.value;
});
text?.addEventListener('input', () => {
  if (/^#[0-9a-f]{6}$/i.test(text.value)) picker.value = text.value.toLowerCase();
});

const slug = document.getElementById('field-slug');
const shown = document.querySelector('[data-slug]');
slug?.addEventListener('input', () => {
  shown.textContent = slug.value;
});
