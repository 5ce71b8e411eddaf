/** A GET request, with the value of each header. */
export interface ReadRequest {
  url: string;
  headers: readonly (readonly [name: string, value: string])[];
  /** The environment variable that holds the Bearer token; null: the request needs none. */
  tokenVariable: string | null;
  /** True: the code parses the response and fails for an error. False: it prints the status and the text. */
  isJson: boolean;
}

/** A signed POST request, as a provider sends it. `WEBHOOK_SECRET` in the environment signs it. */
export interface Delivery {
  url: string;
  headers: ReadRequest['headers'];
  /** JSON. Each `NOW` in it becomes the time in milliseconds. */
  body: string;
  signatureHeader: string;
  signaturePrefix: string;
}

export const NOW = '{{now}}';

export const languages = { curl: 'curl', javascript: 'JavaScript' } as const;
export type Language = keyof typeof languages;

/** Code that sends the request. It runs as it stands: neither language needs a package for it. */
export function writeSample(language: Language, request: ReadRequest | Delivery): string {
  if ('body' in request) return language === 'curl' ? deliverByCurl(request) : deliverByJavascript(request);
  return language === 'curl' ? readByCurl(request) : readByJavascript(request);
}

function readByCurl({ url, headers, tokenVariable }: ReadRequest): string {
  return [
    `curl ${literal.shell(url)}`,
    ...(tokenVariable === null ? [] : [`-H "Authorization: Bearer $${tokenVariable}"`]),
    ...headers.map(([name, value]) => `-H ${literal.shell(`${name}: ${value}`)}`),
  ].join(' \\\n  ');
}

function readByJavascript({ url, headers, tokenVariable, isJson }: ReadRequest): string {
  const fields = headers.map(([name, value]) => `${literal.javascript(name)}: ${literal.javascript(value)},`);
  if (tokenVariable !== null) fields.unshift(`Authorization: \`Bearer \${process.env.${tokenVariable}}\`,`);
  const call = `const response = await fetch(${literal.javascript(url)}`;
  return code(
    fields.length === 0
      ? `${call});`
      : [`${call}, {`, '  headers: {', ...fields.map((field) => `    ${field}`), '  },', '});'],
    isJson
      ? ['if (!response.ok) throw new Error(await response.text());', 'console.log(await response.json());']
      : 'console.log(response.status, await response.text());',
  );
}

function deliverByCurl({ url, headers, body, signatureHeader, signaturePrefix }: Delivery): string {
  return code(
    `BODY=${withTime(body, literal.shell, '$(date +%s)000', '')}`,
    'SIGNATURE=$(printf %s "$BODY" | openssl dgst -sha256 -hmac "$WEBHOOK_SECRET" -r | cut -d " " -f 1)',
    '',
    [
      `curl ${literal.shell(url)}`,
      ...headers.map(([name, value]) => `-H ${literal.shell(`${name}: ${value}`)}`),
      `-H "${signatureHeader}: ${signaturePrefix}$SIGNATURE"`,
      '--data-binary "$BODY"',
    ].join(' \\\n  '),
  );
}

function deliverByJavascript({ url, headers, body, signatureHeader, signaturePrefix }: Delivery): string {
  return code(
    "import { createHmac } from 'node:crypto';",
    '',
    `const body = ${withTime(body, literal.javascript, 'Date.now()', ' + ')};`,
    "const signature = createHmac('sha256', process.env.WEBHOOK_SECRET).update(body).digest('hex');",
    '',
    `const response = await fetch(${literal.javascript(url)}, {`,
    "  method: 'POST',",
    '  headers: {',
    headers.map(([name, value]) => `    ${literal.javascript(name)}: ${literal.javascript(value)},`),
    `    ${literal.javascript(signatureHeader)}: \`${signaturePrefix}\${signature}\`,`,
    '  },',
    '  body,',
    '});',
    'console.log(response.status, await response.text());',
  );
}

const literal = {
  shell: (text: string) => `'${text.replaceAll("'", `'\\''`)}'`,
  javascript: (text: string) => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`,
};

const code = (...lines: (string | readonly string[])[]): string => lines.flat().join('\n');

/** An expression for a text in which each `NOW` becomes `now`. */
function withTime(text: string, write: (part: string) => string, now: string, plus: string): string {
  return text
    .split(NOW)
    .map((part) => write(part))
    .join(`${plus}${now}${plus}`);
}

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
