import { STATUS_CODES } from 'node:http';
import { scriptAsset } from '../../http/look/assets.ts';
import { AppError } from '../../lib/app-error.ts';
import { allowReading } from '../../people/keys/check.ts';
import { contentTypes, postStatuses } from '../../posts/model.ts';
import { listPostPage } from '../../posts/store.ts';
import { Json } from '../../readers/reference/endpoint.tsx';
import samplesScript from '../../readers/reference/samples/samples.client.js' with { type: 'text' };
import { CopyButton, Samples } from '../../readers/reference/samples/tabs.tsx';
import { type DashboardDeps, get, type MemberVisit, type Page, view } from '../page.ts';
import { Link, More, Section, Segments, useVisit } from '../view/elements.tsx';
import { Field, FormError, Hidden, Select } from '../view/form.tsx';
import { Empty } from '../view/list.tsx';

const script = scriptAsset('samples.js', samplesScript);

const RECENT_POSTS = 5;

const operations = {
  listPosts: { name: 'List posts', parameters: ['limit', 'page', 'sort', 'status', 'contentType'] },
  getPost: { name: 'Get one post', parameters: ['status', 'contentType'] },
} as const;

interface Choices {
  operation: keyof typeof operations;
  postId: string;
  query: URLSearchParams;
  etag: string;
  isSent: boolean;
}

export const routes: readonly Page[] = [get('/dashboard/:organizationId/explorer', 'member', showExplorer)];

async function showExplorer({ deps, organization, url }: MemberVisit) {
  const choices = readChoices(url.searchParams);
  let exchange: Exchange | null = null;
  let error: AppError | null = null;
  try {
    if (choices.isSent) {
      requireSendable(choices);
      exchange = await send(deps, organization.id, choices);
    }
  } catch (caught) {
    if (!(caught instanceof AppError)) throw caught;
    error = caught;
  }
  const recent = choices.operation === 'getPost' ? await recentPosts(deps, organization.id) : [];
  const fields = error?.fields ?? {};
  const wrong = Object.entries(fields).map(([name, text]) => ({ id: `field-${name}`, error: text }));
  return view(
    {
      title: 'API explorer',
      facts: (
        <>
          Send a request to the content API and see its response. Your session authorizes it, so you need no
          API key here. The <a href="/docs">API reference</a> describes every field.
        </>
      ),
      scripts: [script],
      error,
    },
    <Segments
      label="Operation"
      items={(['listPosts', 'getPost'] as const).map((operation) => ({
        to: addressOf({ ...choices, operation, isSent: false }),
        label: operations[operation].name,
        isCurrent: operation === choices.operation,
      }))}
    />,
    <div class="explorer">
      <RequestForm {...{ choices, recent, fields }} />
      <div>
        <Section id="request" title="Request">
          <Request choices={choices} />
        </Section>
        <Section id="response" title="Response">
          {wrong.length > 0 ? (
            <FormError error={wrong} />
          ) : exchange === null ? (
            <Empty>
              <p>Press “Send request”. The response appears here.</p>
            </Empty>
          ) : (
            <Response exchange={exchange} choices={choices} />
          )}
        </Section>
      </div>
    </div>,
  );
}

async function recentPosts({ db }: DashboardDeps, organizationId: string) {
  const selection = { statuses: [...postStatuses], contentTypes: [...contentTypes] };
  const window = { limit: RECENT_POSTS, page: 1, sort: 'desc' as const };
  const { posts } = await db.read((tx) => listPostPage(tx, organizationId, { ...selection, ...window }));
  return posts;
}

function readChoices(given: URLSearchParams): Choices {
  const operation = given.get('operation') === 'getPost' ? 'getPost' : 'listPosts';
  const names: readonly string[] = operations[operation].parameters;
  // A form sends its empty fields too.
  const query = [...given].filter(([name, value]) => names.includes(name) && value !== '');
  return {
    operation,
    postId: (given.get('postId') ?? '').trim(),
    query: new URLSearchParams(query),
    etag: (given.get('etag') ?? '').trim(),
    isSent: given.has('send'),
  };
}

function addressOf({ operation, postId, query, etag, isSent }: Choices): string {
  const fields = new URLSearchParams([['operation', operation], ...query]);
  if (postId !== '') fields.set('postId', postId);
  if (etag !== '') fields.set('etag', etag);
  if (isSent) fields.set('send', '1');
  return `explorer?${fields}${isSent ? '#response' : ''}`;
}

function pathOf(organizationId: string, { operation, postId, query }: Choices): string {
  const list = `/v1/${organizationId}/posts`;
  const path = operation === 'getPost' ? `${list}/${encodeURIComponent(postId || 'POST_ID')}` : list;
  return query.size === 0 ? path : `${path}?${query}`;
}

function headersOf({ etag }: Choices): [name: string, value: string][] {
  return etag === '' ? [] : [['If-None-Match', etag]];
}

/** The request as another client sends it. Other clients send a key. */
function Request({ choices }: { choices: Choices }) {
  const { deps, organization } = useVisit();
  const request = {
    url: deps.publicUrl() + pathOf(organization.id, choices),
    headers: headersOf(choices),
    tokenVariable: 'TIDINGS_KEY',
    isJson: choices.etag === '',
  };
  return (
    <>
      <p class="route">
        <strong class="mono">GET</strong> <code>{request.url}</code>
      </p>
      <Samples id="request" request={request} />
      <p class="hint">
        Other clients need an API key with the permission <code>api.read</code>, here in{' '}
        <code>TIDINGS_KEY</code>.
      </p>
    </>
  );
}

/** A GET form, so the address holds every choice. Fields are text, so that invalid values can be sent too. */
function RequestForm(props: {
  choices: Choices;
  recent: Awaited<ReturnType<typeof recentPosts>>;
  fields: Readonly<Record<string, string>>;
}) {
  const { choices, recent, fields } = props;
  const { operation, postId, query, etag } = choices;
  const { base } = useVisit();
  const text = (name: string) => ({ name, value: query.get(name) ?? '', required: false });
  const checks = (name: string, values: readonly string[], hint: string) => {
    const given = query.getAll(name);
    return (
      <fieldset>
        <legend class="label">{name}</legend>
        {withUnknown(values, given).map((value) => (
          <label class="check">
            <input type="checkbox" name={name} value={value} checked={given.includes(value)} />
            <code>{value}</code>
          </label>
        ))}
        <p class="hint">{hint}</p>
      </fieldset>
    );
  };
  return (
    <form method="get" action={`${base}/explorer#response`} class="stack">
      <Hidden values={{ operation }} />
      {operation === 'getPost' ? (
        <>
          <Field label="Post ID" name="postId" value={postId} required={false} error={fields.postId} />
          {recent.length === 0 ? (
            <p class="hint">The organization has no posts yet.</p>
          ) : (
            <More label="Choose a recent post">
              <ul class="plain">
                {recent.map(({ id, title, status }) => {
                  const query = new URLSearchParams(choices.query);
                  // Without it, the API does not find a draft.
                  if (!query.getAll('status').includes(status) && status === 'draft')
                    query.append('status', status);
                  return (
                    <li>
                      <Link to={addressOf({ ...choices, postId: id, query, isSent: true })}>
                        {title || id}
                      </Link>
                    </li>
                  );
                })}
              </ul>
            </More>
          )}
        </>
      ) : (
        <>
          <div class="pair-fields">
            <Field label="limit" {...text('limit')} placeholder="10" hint="1 to 100" />
            <Field label="page" {...text('page')} placeholder="1" hint="At least 1" />
          </div>
          <Select
            label="sort"
            name="sort"
            all="Default: desc"
            value={query.get('sort') ?? ''}
            options={withUnknown(['desc', 'asc'], query.getAll('sort')).map((value) => ({
              value,
              label: value,
            }))}
          />
        </>
      )}
      {checks('status', postStatuses, 'Default: published')}
      {checks('contentType', contentTypes, 'Default: all types')}
      <Field
        label="If-None-Match"
        name="etag"
        value={etag}
        required={false}
        error={fields.etag}
        hint="The ETag of an earlier response"
      />
      <button type="submit" name="send" value="1" class="button go">
        Send request
      </button>
    </form>
  );
}

/** Values of the address that the form does not offer stay in it, so that the service can refuse them. */
function withUnknown(offered: readonly string[], given: readonly string[]): string[] {
  return [...new Set([...offered, ...given])];
}

/** Throws `AppError` 400 with `fields` when no client could send the request. */
function requireSendable({ operation, postId, etag }: Choices): void {
  const fields: Record<string, string> = {};
  if (operation === 'getPost' && postId === '') fields.postId = 'Enter the ID of a post.';
  // A path segment of dots leads to another path.
  if (/^\.{1,2}$/.test(postId)) fields.postId = 'A URL cannot contain this ID. Enter another one.';
  if (!/^[ -~]*$/.test(etag)) {
    fields.etag = 'A header cannot contain one of these characters. Copy the ETag of a response.';
  }
  if (Object.keys(fields).length > 0) throw new AppError(400, 'The request cannot be sent.', { fields });
}

const MAX_SHOWN_BYTES = 256 * 1024;

type Exchange = Awaited<ReturnType<typeof send>>;

/** Sends the request to the service in this process, as a member of the organization: no key is needed or used. */
async function send({ self }: DashboardDeps, organizationId: string, choices: Choices) {
  const url = `http://localhost${pathOf(organizationId, choices)}`;
  const request = allowReading(new globalThis.Request(url, { headers: headersOf(choices) }), organizationId);
  const startedAt = performance.now();
  const response = await self(request);
  const body = await response.bytes();
  const durationMs = performance.now() - startedAt;
  return {
    status: response.status,
    headers: [...response.headers],
    bytes: body.byteLength,
    // `stream` leaves out a character that was cut.
    text: new TextDecoder().decode(body.subarray(0, MAX_SHOWN_BYTES), { stream: true }),
    isCut: body.byteLength > MAX_SHOWN_BYTES,
    durationMs,
  };
}

function Response({ exchange, choices }: { exchange: Exchange; choices: Choices }) {
  const { status, headers, bytes, text, isCut, durationMs } = exchange;
  const etag = headers.find(([name]) => name === 'etag')?.[1];
  const { previousPage, nextPage } = pagesOf(exchange);
  const linkTo = (changes: Partial<Choices>) => addressOf({ ...choices, ...changes });
  const onPage = (page: number) => {
    const others = [...choices.query].filter(([name]) => name !== 'page');
    return linkTo({ query: new URLSearchParams([...others, ['page', String(page)]]) });
  };
  return (
    <>
      <p class="bar">
        <span class={`tag ${colorOf(status)}`}>
          {status} {STATUS_CODES[status]}
        </span>
        <span class="dim" title="Time inside Tidings, without the network">
          {durationMs.toFixed(1)} ms
        </span>
        <span class="dim">{sizeOf(bytes)}</span>
      </p>
      <p class="bar follow">
        {previousPage && <Link to={onPage(previousPage)}>Previous page</Link>}
        {nextPage && <Link to={onPage(nextPage)}>Next page</Link>}
        {etag !== undefined && status === 200 && (
          <Link to={linkTo({ etag })}>Send again with If-None-Match</Link>
        )}
        {choices.etag !== '' && <Link to={linkTo({ etag: '' })}>Send again without If-None-Match</Link>}
      </p>
      <h3 class="label">Headers</h3>
      <div class="card body-text">
        <pre>
          {headers.map(([name, value]) => (
            <>
              <span class="key">{name}:</span> {value}
              {'\n'}
            </>
          ))}
        </pre>
      </div>
      <h3 class="label">Body</h3>
      {bytes === 0 ? (
        <p class="dim">No body.</p>
      ) : (
        <>
          {isCut && (
            <p class="hint">This page shows the first 256 KiB. Run a sample to get the whole body.</p>
          )}
          <div class="card body-text">
            <CopyButton of="formatted" what="the formatted body" />
            <pre>
              <code id="formatted">{isCut ? text : <Json text={text} />}</code>
            </pre>
          </div>
          <More label="Raw body">
            <CopyButton of="raw" what="the raw body" />
            {/* A text area keeps every character. An HTML parser drops one line break at its beginning. */}
            <textarea id="raw" class="mono" readOnly rows={8} aria-label="Raw body">
              {`\n${text}`}
            </textarea>
          </More>
        </>
      )}
    </>
  );
}

function colorOf(status: number): string {
  if (status < 300) return 'processed';
  if (status < 400) return 'duplicate';
  return status < 500 ? 'rejected' : 'failed';
}

function sizeOf(bytes: number): string {
  return bytes < 10_000
    ? `${bytes.toLocaleString('en')} bytes`
    : `${Math.round(bytes / 1_000).toLocaleString('en')} kB`;
}

function pagesOf({ status, text, isCut }: Exchange): {
  previousPage?: number | null;
  nextPage?: number | null;
} {
  if (status !== 200 || isCut) return {};
  return JSON.parse(text).pagination ?? {};
}
