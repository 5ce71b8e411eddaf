/** The fields of the form with this action, as a browser would send them, and those beside it that belong to it. */
export function formOf(html: string, action: string): URLSearchParams {
  const fields = new URLSearchParams();
  const id = new RegExp(`<form[^>]*action="${RegExp.escape(action)}"[^>]*>`).exec(html);
  if (id === null) throw new Error(`no form goes to ${action}`);
  const [, name] = / id="([^"]*)"/.exec(id[0]) ?? [];
  const inside = (control: string) =>
    [
      `form[action="${action}"] ${control}`,
      ...(name === undefined ? [] : [`${control}[form="${name}"]`]),
    ].join(', ');
  let selected = '';
  let area = '';
  new HTMLRewriter()
    .on(inside('input'), {
      element(input) {
        const type = input.getAttribute('type') ?? 'text';
        if ((type === 'checkbox' || type === 'radio') && !input.hasAttribute('checked')) return;
        fields.append(input.getAttribute('name') ?? '', decoded(input.getAttribute('value') ?? ''));
      },
    })
    .on(inside('select'), {
      element(select) {
        selected = select.getAttribute('name') ?? '';
        fields.set(selected, '');
      },
    })
    .on(`${inside('select').replaceAll(/(?=,|$)/g, ' option')}`, {
      element(option) {
        if (option.hasAttribute('selected'))
          fields.set(selected, decoded(option.getAttribute('value') ?? ''));
      },
    })
    .on(inside('textarea'), {
      element(textarea) {
        area = textarea.getAttribute('name') ?? '';
        fields.set(area, '');
      },
      text({ text }) {
        fields.set(area, fields.get(area) + decoded(text));
      },
    })
    .transform(html);
  for (const [field, value] of fields) if (value.startsWith('\n')) fields.set(field, value.slice(1));
  return fields;
}

const decoded = (text: string) =>
  text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&quot;', '"').replaceAll('&amp;', '&');
