/** @jsxRuntime automatic @jsxImportSource preact */

import { type Delivery, type Language, languages, type ReadRequest, writeSample } from './write.ts';

/** Code for a request in each language, in tabs that need no script. `id`: unique on the page. */
export function Samples({ id, request }: { id: string; request: ReadRequest | Delivery }) {
  const all = Object.entries(languages) as [Language, string][];
  return (
    <div class="samples">
      <fieldset class="languages">
        <legend class="hidden">Language of the sample</legend>
        {all.map(([language, name]) => (
          <label>
            <input type="radio" name={`${id}-language`} value={language} checked={language === 'curl'} />
            <span>{name}</span>
          </label>
        ))}
      </fieldset>
      {all.map(([language, name]) => (
        <div class="sample" data-language={language}>
          <CopyButton of={`${id}-${language}`} what={`the ${name} sample`} />
          <pre>
            <code id={`${id}-${language}`}>{writeSample(language, request)}</code>
          </pre>
        </div>
      ))}
    </div>
  );
}

/** Copies the text of an element. The script shows it. */
export function CopyButton({ of, what }: { of: string; what: string }) {
  return (
    <button type="button" class="button copy" data-copy={of} data-script hidden aria-label={`Copy ${what}`}>
      Copy
    </button>
  );
}
