import { scriptAsset } from '../../../http/look/assets.ts';
import { AppError } from '../../../lib/app-error.ts';
import { contentTypes, postStatuses } from '../../../posts/model.ts';
import { listPostPage } from '../../../posts/store.ts';
import samplesScript from '../../../readers/reference/samples/samples.client.js' with { type: 'text' };
import { Samples } from '../../../readers/reference/samples/tabs.tsx';
import { get, type MemberVisit, type Page, type View, view } from '../../page.ts';
import { More, Section, Segments, useVisit } from '../../view/elements.tsx';
import { Field, FormError, Hidden, Select } from '../../view/form.tsx';
import { Empty } from '../../view/list.tsx';
import {
  addressOf,
  type Choices,
  type Exchange,
  headersOf,
  operations,
  pathOf,
  Response,
  readChoices,
  requireSendable,
  send,
} from './response.tsx';

const script = scriptAsset('samples.js', samplesScript);

const RECENT_POSTS = 5;

export const routes: readonly Page[] = [get('/dashboard/:organizationId/explorer', 'member', showExplorer)];

async function showExplorer({ deps, organization, base, url }: MemberVisit): Promise<View> {
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
  const wrong = Object.entries(error?.fields ?? {}).map(([name, text]) => ({
    id: `field-${name}`,
    error: text,
  }));
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
        to: addressOf(base, { ...choices, operation, isSent: false }),
        label: operations[operation].name,
        isCurrent: operation === choices.operation,
      }))}
    />,
    <div class="explorer">
      <RequestForm choices={choices} recent={recent} fields={error?.fields ?? {}} />
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

async function recentPosts({ db }: MemberVisit['deps'], organizationId: string) {
  const selection = { statuses: [...postStatuses], contentTypes: [...contentTypes] };
  const window = { limit: RECENT_POSTS, page: 1, sort: 'desc' as const };
  const { posts } = await db.read((tx) => listPostPage(tx, organizationId, { ...selection, ...window }));
  return posts;
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

interface Recent {
  choices: Choices;
  /** Posts to choose from. */
  recent: readonly { id: string; title: string; status: string }[];
}

/** A GET form, so the address holds every choice. Fields are text, so that invalid values can be sent too. */
function RequestForm({ choices, recent, fields }: Recent & { fields: Readonly<Record<string, string>> }) {
  const { operation, postId, query, etag } = choices;
  const { base } = useVisit();
  const text = (name: string) => ({ name, value: query.get(name) ?? '', required: false });
  return (
    <form method="get" action={`${base}/explorer#response`} class="stack">
      <Hidden values={[['operation', operation]]} />
      {operation === 'getPost' ? (
        <>
          <Field label="Post id" name="postId" value={postId} required={false} error={fields.postId} />
          <RecentPosts choices={choices} recent={recent} />
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
      <Checks name="status" values={postStatuses} given={query.getAll('status')} hint="Default: published" />
      <Checks
        name="contentType"
        values={contentTypes}
        given={query.getAll('contentType')}
        hint="Default: all types"
      />
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

function Checks(props: { name: string; values: readonly string[]; given: readonly string[]; hint: string }) {
  const { name, values, given, hint } = props;
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
}

function RecentPosts({ choices, recent }: Recent) {
  const { base } = useVisit();
  if (recent.length === 0) return <p class="hint">The organization has no posts yet.</p>;
  return (
    <More label="Choose a recent post">
      <ul class="plain">
        {recent.map(({ id, title, status }) => {
          const query = new URLSearchParams(choices.query);
          // Without it, the API does not find a draft.
          if (!query.getAll('status').includes(status) && status === 'draft') query.append('status', status);
          return (
            <li>
              <a href={addressOf(base, { ...choices, postId: id, query, isSent: true })}>{title || id}</a>
            </li>
          );
        })}
      </ul>
    </More>
  );
}
