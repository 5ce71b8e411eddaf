import type { LeftOut } from '../../../drafting/changes/rules.ts';
import type { ListedStatus, PostNumbers } from '../../../posts/list-store.ts';
import {
  type ContentType,
  contentTypeRules,
  contentTypes,
  type Post,
  type PostStatus,
} from '../../../posts/model.ts';
import { providers } from '../../../providers/index.ts';
import { counted, More, Segments } from '../../view/elements.tsx';

// How pages describe a post: its type, and where it came from.

const MAX_LENGTH = 200;
const MAX_URL_LENGTH = 2_000;

/** Metadata is free-form and may come from an import, so only short plain text and http URLs are shown. */
export function originOf({ sourceMetadata }: Pick<Post, 'sourceMetadata'>) {
  const { platform, repository, version, author, url, deliveryId } = sourceMetadata ?? {};
  return {
    platform: providers.find(({ id }) => id === platform)?.name ?? textOf(platform),
    repository: textOf(repository),
    version: textOf(version),
    author: textOf(author),
    url: webAddress(url),
    deliveryId: textOf(deliveryId),
  };
}

function textOf(value: unknown): string | null {
  const text = typeof value === 'string' || typeof value === 'number' ? String(value).trim() : '';
  return text.length > MAX_LENGTH ? `${text.slice(0, MAX_LENGTH).toWellFormed()}…` : text || null;
}

function webAddress(value: unknown): string | null {
  if (typeof value !== 'string' || value.length > MAX_URL_LENGTH || !URL.canParse(value)) return null;
  return /^https?:$/.test(new URL(value).protocol) ? value : null;
}

type Texts = Pick<Post, 'title' | 'markdown' | 'contentType'>;

export const editable = ({ title, markdown, contentType }: Texts) => ({ title, markdown, contentType });

/** The values that the page of a post shows: the version that its buttons act on. */
export const shown = (post: Texts & Pick<Post, 'status'>) => ({ ...editable(post), status: post.status });

const statusNames: Readonly<Record<PostStatus, string>> = { published: 'Published', draft: 'Draft' };

export const statusOptions = Object.entries(statusNames).map(([value, label]) => ({ value, label }));

export const editWords = {
  noun: 'post',
  labels: {
    title: 'Title',
    markdown: 'Text',
    contentType: 'Type',
    status: 'Status',
    publishAt: 'Publish at',
    createdAt: 'Date',
  },
  show: (field: string, value: unknown) => {
    if (field === 'status') return statusNames[value as PostStatus];
    return field === 'contentType' ? contentTypeRules[value as ContentType].name : null;
  },
};

export const typeOptions = contentTypes.map((value) => ({ value, label: contentTypeRules[value].name }));

/** The origin of a post for a narrow cell, such as `2.4.0 of acme/rocket`, or the platform alone; null: unknown. */
export function nameOrigin(post: Pick<Post, 'sourceMetadata'>): string | null {
  const { platform, repository, version } = originOf(post);
  return [version, repository].filter((each) => each !== null).join(' of ') || platform;
}

/** The same with its platform, such as `2.4.0 of acme/rocket on …`. */
export function describeOrigin(post: Pick<Post, 'sourceMetadata'>): string | null {
  const { platform } = originOf(post);
  const name = nameOrigin(post);
  return platform === null || name === platform ? name : `${name} on ${platform}`;
}

type View = 'all' | ListedStatus | 'suggestion' | 'approval' | 'trash';

const segments: readonly [view: View, label: string, query: string][] = [
  ['all', 'All', ''],
  ['draft', 'Drafts', 'status=draft'],
  ['scheduled', 'Scheduled', 'status=scheduled'],
  ['published', 'Published', 'status=published'],
  ['suggestion', 'Suggestions', 'suggestion=1'],
  ['approval', 'Waiting for approval', 'approval=1'],
];

/** The lists of posts with their lengths. `more`: what stays of the query, such as the words of a search. */
export function PostSegments(props: { numbers: PostNumbers; current: View; more?: string }) {
  const { numbers, current, more = '' } = props;
  const { suggestions: suggestion, reviews: approval } = numbers;
  const counts = { ...numbers, suggestion, approval };
  const segment = (view: View, label: string, to: string) => ({
    to,
    isCurrent: view === current,
    label: (
      <>
        {label} <small>{counts[view].toLocaleString('en')}</small>
      </>
    ),
  });
  const isRare = (view: View) => view === 'suggestion' || view === 'approval';
  const items = segments
    // Few posts are there, and few people wait for them.
    .filter(([view]) => !isRare(view) || counts[view] > 0 || current === view)
    .map(([view, label, query]) => {
      const search = [query, more].filter(Boolean).join('&');
      return segment(view, label, `posts${search === '' ? '' : `?${search}`}`);
    });
  return <Segments label="Posts by status" items={[...items, segment('trash', 'Trash', 'posts/~/trash')]} />;
}

/** The changes that a draft does not list, and why, or those that it has. */
export function ChangeList(props: {
  changes: readonly (Omit<LeftOut, 'reason'> & { reason?: string })[];
  says?: string;
}) {
  const { changes, says = ' left out' } = props;
  if (changes.length === 0) return null;
  return (
    <More label={`${counted(changes.length, 'change')}${says}`}>
      <ul>
        {changes.map(({ title, reference: { label, url }, reason }) => (
          <li>
            {url === null ? (
              label
            ) : (
              <a href={url} rel="noopener nofollow">
                {label}
              </a>
            )}{' '}
            <bdi>{title}</bdi>
            {reason !== undefined && <span class="dim"> ({reason})</span>}
          </li>
        ))}
      </ul>
    </More>
  );
}
