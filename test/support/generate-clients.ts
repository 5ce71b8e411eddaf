import { join } from 'node:path';
import typescript6 from '@typescript/typescript6';
import { plugin } from 'bun';

// `bun test/support/generate-clients.ts DOCUMENT FOLDER` generates what users of the API generate. A process of its own:
// the generators build their output with TypeScript's JavaScript API, which TypeScript 7 does not have.

plugin({
  name: 'typescript6',
  setup: (build) => {
    build.module('typescript', () => ({
      loader: 'object',
      exports: { ...typescript6, default: typescript6 },
    }));
  },
});

const [documentFile = '', folder = ''] = Bun.argv.slice(2);
const document = await Bun.file(documentFile).json();

const { default: openapiTypescript, astToString } = await import('openapi-typescript');
await Bun.write(join(folder, 'schema.ts'), astToString(await openapiTypescript(document)));

const { createClient } = await import('@hey-api/openapi-ts');
await createClient({ input: document, output: join(folder, 'hey'), logs: { level: 'silent', file: false } });
