/** @jsxRuntime automatic @jsxImportSource preact */
import { tidings } from '../../../lib/how-to-run.ts';
import { contentTypes, postStatuses } from '../../../posts/model.ts';
import type { Found } from '../../../posts/search.ts';
import { type Filter, isFiltered, listAddress, selectionOf } from './filter.ts';
import { counted, statusNames, typeNames } from './words.tsx';

/** How many there are, whatever the filter. */
export function Summary({ counts: { all, drafts } }: { counts: { all: number; drafts: number } }) {
  const published = all - drafts;
  return (
    <p class="lede">
      {drafts === 0 ? 'No draft waits for you' : `${counted(drafts, 'draft waits', 'drafts wait')} for you`}
      {`; ${published === 0 ? 'nothing is published yet.' : `${counted(published, 'post is', 'posts are')} published.`}`}
    </p>
  );
}

export function FilterBar({ base, filter }: { base: string; filter: Filter }) {
  return (
    <search>
      <form class="bar filter" method="get" action={`${base}/posts`}>
        <input
          class="grow"
          type="search"
          name="q"
          value={filter.q}
          maxLength={200}
          placeholder="Words in the title or the text"
          aria-label="Search"
        />
        <select name="status" aria-label="Status">
          <option value="">Any status</option>
          {postStatuses.map((status) => (
            <option value={status} selected={filter.status === status}>
              {statusNames[status]}
            </option>
          ))}
        </select>
        <select name="contentType" aria-label="Type">
          <option value="">Any type</option>
          {contentTypes.map((type) => (
            <option value={type} selected={filter.contentType === type}>
              {typeNames[type]}
            </option>
          ))}
        </select>
        <button class="button" type="submit">
          Show
        </button>
        {isFiltered(filter) ? <a href={`${base}/posts`}>Show all</a> : null}
      </form>
    </search>
  );
}

export function NothingFits({ base, filter }: { base: string; filter: Filter }) {
  const { q, status, contentType } = filter;
  const words = q.length > 100 ? `${q.slice(0, 100).toWellFormed()}…` : q;
  const chose = status === null && contentType === null ? '' : ' among those that you chose';
  return (
    <div class="card empty">
      <p>{q === '' ? `There is no post${chose}.` : `No post holds “${words}”${chose}.`}</p>
      <a class="button" href={`${base}/posts`}>
        Show all posts
      </a>
    </div>
  );
}

/** How posts come to be, for who has none. */
export function NoPosts({ base, organizationId }: { base: string; organizationId: string }) {
  return (
    <>
      <p class="lede">What your team ships becomes a draft here, for you to edit and publish.</p>
      <div class="card empty">
        <p>
          No posts yet. Connect a repository or an issue tracker, choose what it should write about, and the
          next release is your first draft.
        </p>
        <p>
          <a class="button go" href={`${base}/integrations`}>
            Connect an integration
          </a>
        </p>
        <p>
          Or <a href={`${base}/posts/~/new`}>write one yourself</a>, or bring along what you have, on the
          command line:
        </p>
        <p>
          <code>{`${tidings} post import --organization ${organizationId} CHANGELOG.md`}</code>
        </p>
      </div>
    </>
  );
}

/** How many the filter leaves, and the way to the others. */
export function PageLinks({ base, filter, found }: { base: string; filter: Filter; found: Found }) {
  const { limit } = selectionOf(filter);
  const pages = Math.max(1, Math.ceil(found.totalItems / limit));
  const { page } = filter;
  const to = (target: number) => listAddress(base, { ...filter, page: target });
  return (
    <nav class="pages" aria-label="Pages">
      <span>{page > 1 ? <a href={to(Math.min(page - 1, pages))}>← Newer</a> : null}</span>
      <span class="dim">
        {found.isCut
          ? `More than ${counted(found.totalItems, 'post')} hold these words: these were added last.`
          : `${counted(found.totalItems, 'post')}${pages > 1 ? `, page ${page.toLocaleString('en')} of ${pages.toLocaleString('en')}` : ''}`}
      </span>
      <span>{page < pages ? <a href={to(page + 1)}>Older →</a> : null}</span>
    </nav>
  );
}
