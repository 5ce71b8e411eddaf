import { findRoundupOfPost } from '../../../drafting/roundups/store.ts';
import { findDraftOfPost } from '../../../drafting/store.ts';
import { findWording } from '../../../drafting/wording/store.ts';
import { AppError } from '../../../lib/app-error.ts';
import { get, type MemberVisit, type Page, post as postPage, redirect, view } from '../../page.ts';
import { counted, LinkButton, More, Section, When } from '../../view/elements.tsx';
import { Action } from '../../view/form.tsx';
import { requirePost, type Shown } from './suggestion.tsx';

// Another wording of a draft's entries, by the assistant. The page shows all that a request holds before it leaves.

const PATH = '/dashboard/:organizationId/posts/:postId/wording';

const button = (path: string, kind?: 'go') => (
  <Action to={`${path}/wording`} label="Suggest wording" {...(kind && { kind })} />
);

/** Beside a draft that came from events, where there is an assistant; null for another post. */
export async function wordingPanel({ deps }: MemberVisit, { post, path }: Shown) {
  if (deps.assistant === undefined || post.status !== 'draft') return null;
  const read = await deps.db.read(async (tx) => ({
    isOfEvents:
      (await findDraftOfPost(tx, post.id)) !== null || (await findRoundupOfPost(tx, post.id)) !== null,
    wording: await findWording(tx, post.id),
  }));
  const { isOfEvents, wording } = read;
  if (!isOfEvents) return null;
  const kept = wording?.lines.filter(({ why }) => why !== null) ?? [];
  return (
    <section class="card pad" aria-labelledby="wording">
      <p class="label" id="wording">
        Wording
      </p>
      {button(path)}
      <p class="hint">
        <a href={`${path}/wording`}>What leaves this server</a>
      </p>
      {wording !== null && (
        <p class="hint">
          {wording.status === 'queued' ? 'The assistant was asked' : 'Last asked'}{' '}
          <When at={wording.askedAt} />.{' '}
          {wording.error ??
            (wording.status === 'queued'
              ? 'Reload the page for its answer.'
              : `${counted(wording.lines.length - kept.length, 'entry', 'entries')} passed the checks.`)}
        </p>
      )}
      {kept.length > 0 && (
        <More label={`${counted(kept.length, 'entry', 'entries')} kept as they are`}>
          <ul>
            {kept.map(({ line, why }) => (
              <li>
                <bdi>{line.replace(/^[-*+] /, '')}</bdi> <span class="dim">({why})</span>
              </li>
            ))}
          </ul>
        </More>
      )}
    </section>
  );
}

export const routes: readonly Page[] = [
  get(PATH, 'member', async (visit) => {
    const { assistant, db } = visit.deps;
    if (assistant === undefined) throw new AppError(404, 'This server has no assistant.');
    const { post, path } = await requirePost(visit);
    const [{ readPlan }, { addressOf, bodyOf }] = await Promise.all([
      import('../../../drafting/wording/work.ts'),
      import('../../../drafting/wording/ask.ts'),
    ]);
    const { settings, entries } = await db.read((tx) => readPlan(tx, post));
    const crumbs = [
      { to: 'posts', label: 'Posts' },
      { to: path, label: post.title },
    ];
    return view(
      { title: `Wording of ${post.title}`, heading: 'What leaves this server', crumbs },
      <p class="lede">
        “Suggest wording” sends {counted(entries.length, 'request')} to <code>{addressOf(assistant)}</code>,
        one for each entry. Nothing else is sent
        {assistant.key === undefined ? '' : ', but for the key in the header Authorization'}.
      </p>,
      settings.includesPrivate ? null : (
        <p class="note">
          If a repository of this draft is private, or it has issues of a tracker, Tidings sends nothing.
          Owners can change that in the settings.
        </p>
      ),
      post.status === 'draft' && entries.length > 0 && button(path, 'go'),
      entries.map((entry, index) => (
        <Section id={`entry-${index + 1}`} title={`Entry ${index + 1}`}>
          <p>
            <bdi>{entry.words}</bdi>
          </p>
          <pre class="stored">{JSON.stringify(JSON.parse(bodyOf(assistant, settings, entry)), null, 2)}</pre>
        </Section>
      )),
      <p>
        <LinkButton to={path} label="Back to the post" />
      </p>,
    );
  }),

  postPage(PATH, 'member', async (visit) => {
    const { post, path } = await requirePost(visit);
    if (visit.deps.assistant === undefined) throw new AppError(404, 'This server has no assistant.');
    const { requestWording } = await import('../../../drafting/wording/work.ts');
    try {
      await requestWording(visit.deps, post);
    } catch (error) {
      if (!(error instanceof AppError) || error.status !== 409) throw error;
      return redirect(path, `${error.message}.`);
    }
    return redirect(path, 'The assistant was asked. Its suggestion appears here. The draft does not change.');
  }),
];
