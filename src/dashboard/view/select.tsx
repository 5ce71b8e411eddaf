/** @jsxRuntime automatic @jsxImportSource preact */

export interface Option {
  value: string;
  label: string;
}

/** A choice of one, with its label. An `id` of its own where the page has another field of that name. */
export function Select({
  label,
  name,
  options,
  value,
  isLabelHidden = false,
  id = `field-${name}`,
}: {
  label: string;
  name: string;
  options: readonly Option[];
  value?: string | undefined;
  isLabelHidden?: boolean;
  id?: string;
}) {
  return (
    <div class="field">
      <label for={id} class={isLabelHidden ? 'hidden' : undefined}>
        {label}
      </label>
      <select id={id} name={name}>
        {options.map((option) => (
          <option value={option.value} selected={option.value === value}>
            {option.label}
          </option>
        ))}
      </select>
    </div>
  );
}
