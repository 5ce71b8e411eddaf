import { fileURLToPath } from 'node:url';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { Payload } from './payloads.ts';

export interface GithubExample {
  event: string;
  payload: Payload;
}

/** Payloads that GitHub, or an old GitHub Enterprise Server (`ghes-31` to `ghes-35`), really sent. */
export async function githubExamples(server = 'api.github.com'): Promise<GithubExample[]> {
  const main = fileURLToPath(import.meta.resolve('@octokit/webhooks-examples'));
  const path = main.replace('api.github.com', server);
  const definitions = (await Bun.file(path).json()) as { name: string; examples: Payload[] }[];
  return definitions.flatMap(({ name: event, examples }) => examples.map((payload) => ({ event, payload })));
}

interface Document {
  webhooks: Record<
    string,
    { post: { requestBody: { content: Record<string, { schema: { $ref: string } }> } } }
  >;
  components: object;
}

/** GitHub's own schemas of what it sends, as a function: what is wrong with an event's payload. */
export async function githubSchemas(): Promise<(event: string, payload: Payload) => string[]> {
  const main = fileURLToPath(import.meta.resolve('@octokit/openapi-webhooks'));
  const path = main.replace(/index\.js$/, 'generated/api.github.com.json');
  const { webhooks, components } = (await Bun.file(path).json()) as Document;
  const ajv = new Ajv2020({ strict: false, allErrors: true, logger: false });
  addFormats.default(ajv);
  ajv.addSchema({ components }, 'github');
  const compiled = new Map<string, ValidateFunction>();
  return (event, payload) => {
    const name = event.replaceAll('_', '-');
    const webhook = webhooks[`${name}-${payload.action}`] ?? webhooks[name];
    const $ref = webhook?.post.requestBody.content['application/json']?.schema.$ref;
    if ($ref === undefined) throw new Error(`GitHub has no schema for ${event} ${payload.action}`);
    const validate = compiled.get($ref) ?? ajv.compile({ $ref: `github${$ref}` });
    compiled.set($ref, validate);
    validate(payload);
    return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);
  };
}
