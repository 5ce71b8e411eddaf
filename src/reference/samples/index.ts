import { deliver } from './deliver.ts';
import { read } from './read.ts';
import type { Delivery, Language, ReadRequest } from './request.ts';

/** Code that sends the request. It runs as it stands: no language needs a package for it. */
export function writeSample(language: Language, request: ReadRequest | Delivery): string {
  return 'body' in request ? deliver[language](request) : read[language](request);
}
