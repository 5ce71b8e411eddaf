import { listIntegrations } from '../../integrations/store.ts';
import { integrationName } from '../../integrations/words.ts';
import { searchPosts } from '../../posts/list-store.ts';
import { contentTypes, postStatuses } from '../../posts/model.ts';
import { fragment, get, type MemberVisit, type Page, view } from '../page.ts';
import { Icon, type IconName } from '../view/elements.tsx';
import { Form } from '../view/form.tsx';
import { Empty, SearchField } from '../view/list.tsx';

export const routes: readonly Page[] = [
  get('/dashboard/:organizationId/jump', 'member', async (visit) => {
    const query = visit.url.searchParams.get('q')?.trim().slice(0, MAX_QUERY_LENGTH) ?? '';
    const found = await findJumps(visit, query);
    if (visit.url.searchParams.has('list')) return fragment(found.map((jump) => <JumpItem {...jump} />));
    return view(
      { title: 'Search' },
      <search>
        <Form isGet to="jump" button="Search" kind="" layout="bar">
          <SearchField label="Search posts, pages and actions" value={query} clearTo="jump" />
        </Form>
      </search>,
      found.length === 0 ? (
        <Empty drawing="search">
          <p>Nothing matches “{query}”.</p>
        </Empty>
      ) : (
        <ul class="card jumps">
          {found.map((jump) => (
            <JumpItem {...jump} />
          ))}
        </ul>
      ),
    );
  }),
];

const MAX_QUERY_LENGTH = 200;
const MAX_POSTS = 8;
const MAX_INTEGRATIONS = 5;

interface Jump {
  to: string;
  label: string;
  kind: string;
  icon: IconName;
}

function JumpItem({ to, label, kind, icon }: Jump) {
  return (
    <li>
      <a href={to}>
        <Icon name={icon} />
        <span>{label}</span>
        <small>{kind}</small>
      </a>
    </li>
  );
}

interface Place {
  path: string;
  label: string;
  icon: IconName;
  /** Other words for it. */
  words?: string;
  isForOwners?: boolean;
}

const actions: readonly Place[] = [
  { path: 'posts/~/new', label: 'New post', icon: 'plus', words: 'write create draft' },
  { path: 'integrations', label: 'Connect an integration', icon: 'plus', words: 'add', isForOwners: true },
  { path: 'settings/keys', label: 'Create New API Key', icon: 'plus', words: 'token', isForOwners: true },
];

const pages: readonly Place[] = [
  { path: 'posts', label: 'Posts', icon: 'file-text', words: 'drafts' },
  { path: 'triggers', label: 'Triggers', icon: 'zap', words: 'rules templates' },
  { path: 'deliveries', label: 'Deliveries', icon: 'inbox', words: 'log webhooks' },
  { path: 'integrations', label: 'Integrations', icon: 'plug', words: 'connect' },
  { path: 'publishing', label: 'Publishing', icon: 'globe', words: 'public page feeds widget logo' },
  { path: 'publishing/hooks', label: 'Hooks', icon: 'globe', words: 'rebuild deploy slack discord' },
  { path: 'publishing/agents', label: 'Agents', icon: 'globe', words: 'mcp' },
  { path: 'attention', label: 'Attention', icon: 'triangle-alert', words: 'problems errors failing' },
  { path: 'start', label: 'First steps', icon: 'list-checks', words: 'setup' },
  { path: 'explorer', label: 'API explorer', icon: 'terminal' },
  { path: '/docs', label: 'API reference', icon: 'book-open', words: 'docs' },
  { path: 'settings', label: 'Settings', icon: 'settings', words: 'organization plan' },
  { path: 'settings/keys', label: 'API Keys', icon: 'settings', words: 'tokens' },
  { path: 'settings/members', label: 'Members', icon: 'settings', words: 'people invite' },
  { path: 'settings/audit', label: 'Audit log', icon: 'settings', words: 'history', isForOwners: true },
  { path: '/dashboard/~/account', label: 'Your account', icon: 'circle-user', words: 'password theme zone' },
];

async function findJumps({ deps, organization, base, role }: MemberVisit, query: string): Promise<Jump[]> {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  /** Every word of the query begins a word of the text. */
  const matches = (text: string) => {
    const own = text.toLowerCase().split(/[^\p{L}\p{N}]+/u);
    return words.every((word) => own.some((each) => each.startsWith(word)));
  };
  const toJump = (path: string, label: string, kind: string, icon: IconName): Jump => {
    return { to: path.startsWith('/') ? path : `${base}/${path}`, label, kind, icon };
  };
  const toJumps = (places: readonly Place[], kind: string) =>
    places
      .filter((place) => role === 'owner' || !place.isForOwners)
      .filter(({ label, words: others = '' }) => matches(`${label} ${others}`))
      .map(({ path, label, icon }) => toJump(path, label, kind, icon));
  const all = { statuses: [...postStatuses], contentTypes: [...contentTypes], limit: MAX_POSTS, page: 1 };
  const { posts, integrations } = await deps.db.read(
    async (tx) => ({
      posts: (await searchPosts(tx, organization.id, query, all)).posts,
      integrations: await listIntegrations(tx, organization.id),
    }),
    { isLong: true },
  );
  const named = integrations.map((each) => ({ id: each.id, name: integrationName(each) }));
  return [
    ...posts.map(({ id, title, status }) =>
      toJump(`posts/${id}`, title, status === 'draft' ? 'Draft' : 'Post', 'file-text'),
    ),
    ...toJumps(actions, 'Action'),
    ...toJumps(pages, 'Page'),
    ...named
      .filter(({ name }) => matches(name))
      .slice(0, MAX_INTEGRATIONS)
      .map(({ id, name }) => toJump(`integrations/${id}`, name, 'Integration', 'plug')),
  ];
}
