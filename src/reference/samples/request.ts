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

export const languages = {
  curl: 'curl',
  javascript: 'JavaScript',
  python: 'Python',
  go: 'Go',
  php: 'PHP',
} as const;
export type Language = keyof typeof languages;
