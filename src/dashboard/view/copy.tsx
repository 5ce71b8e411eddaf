/** @jsxRuntime automatic @jsxImportSource preact */

/** Copies a text. Needs the script, which shows it. */
export function Copy({ text, label = 'Copy' }: { text: string; label?: string }) {
  return (
    <button type="button" class="button" data-copy={text} data-script hidden>
      {label}
    </button>
  );
}

/** A text to be copied, with the button beside it. */
export function ToCopy({ text, label = 'Copy' }: { text: string; label?: string }) {
  return (
    <div class="once">
      <code>{text}</code>
      <Copy text={text} label={label} />
    </div>
  );
}
