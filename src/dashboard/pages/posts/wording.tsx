import { findRoundupOfPost } from '../../../drafting/roundups/store.ts';
import { findDraftOfPost } from '../../../drafting/store.ts';
import { findWording } from '../../../drafting/wording/store.ts';
import { AppError } from '../../../lib/app-error.ts';
import { get, type MemberVisit, type Page, post as postPage, redirect, view } from '../../page.ts';
import { counted, LinkButton, More, Section, When } from '../../view/elements.tsx';
import { Action } from '../../view/form.tsx';
import { crumbsOf, requirePost, type Shown } from './suggestion.tsx';

// Another wording of a draft's entries, by the assistant. The page shows all that a request holds before it leaves.

const PATH = '/dashboard/:organizationId/posts/:postId/wording';

/** Entries that keep their words, and why. */
const Kept = ({ lines }: { lines: readonly { line: string; why: string | null }[] }) => (
  <ul>
    {lines.map(({ line, why }) => (
      <li>
        <bdi>{line.replace(/^[-*+] /, '')}</bdi> <span class="dim">({why})</span>
      </li>
    ))}
  </ul>
);

/** Beside a draft that came from events, where there is an assistant; null for another post. */
export async function wordingPanel({ deps }: MemberVisit, { post: { id, status }, path }: Shown) {
  if (deps.assistant === undefined || status !== 'draft') return null;
  const [isOfEvents, wording] = await deps.db.read(async (tx) => [
    ((await findDraftOfPost(tx, id)) ?? (await findRoundupOfPost(tx, id))) !== null,
    await findWording(tx, id),
  ]);
  if (!isOfEvents) return null;
  const kept = wording?.lines.filter(({ why }) => why !== null) ?? [];
  const passed = counted((wording?.lines.length ?? 0) - kept.length, 'entry', 'entries');
  const isQueued = wording?.status === 'queued';
  return (
    <section class="card pad" aria-labelledby="wording">
      <p class="label" id="wording">
        Wording
      </p>
      <Action to={`${path}/wording`} label="Suggest wording" />
      <p class="hint">
        <a href={`${path}/wording`}>What leaves this server</a>
      </p>
      {wording !== null && (
        <p class="hint">
          {isQueued ? 'The assistant was asked' : 'Last asked'} <When at={wording.askedAt} />.{' '}
          {wording.error ?? (isQueued ? 'Reload the page for its answer.' : `${passed} passed the checks.`)}
        </p>
      )}
      {kept.length > 0 && (
        <More label={`${counted(kept.length, 'entry', 'entries')} kept as they are`}>
          <Kept lines={kept} />
        </More>
      )}
    </section>
  );
}

async function requireAssistant(visit: MemberVisit) {
  const { assistant } = visit.deps;
  if (assistant === undefined) throw new AppError(404, 'This server has no assistant.');
  return {
    assistant,
    ...(await requirePost(visit)),
    work: await import('../../../drafting/wording/work.ts'),
  };
}

export const routes: readonly Page[] = [
  get(PATH, 'member', async (visit) => {
    const { assistant, post, path, work } = await requireAssistant(visit);
    const { addressOf, bodyOf, readPlan } = work;
    const { settings, entries } = await visit.deps.db.read((tx) => readPlan(tx, post));
    const [sent, kept] = [
      entries.filter(({ why }) => why === null),
      entries.filter(({ why }) => why !== null),
    ];
    return view(
      {
        title: `Wording of ${post.title}`,
        heading: 'What leaves this server',
        crumbs: crumbsOf({ post, path }),
      },
      <p class="lede">
        “Suggest wording” sends {counted(sent.length, 'request')} to <code>{addressOf(assistant)}</code>, one
        for each entry. Nothing else is sent
        {assistant.key === undefined ? '' : ', but for the key in the header Authorization'}.
      </p>,
      settings.includesPrivate ? null : (
        <p class="note">
          If a repository of this draft is private, or it has issues of a tracker, Tidings sends nothing.
          Owners can change that in the settings.
        </p>
      ),
      post.status === 'draft' && sent.length > 0 && (
        <Action to={`${path}/wording`} label="Suggest wording" kind="go" />
      ),
      sent.map((entry, index) => (
        <Section id={`entry-${index + 1}`} title={`Entry ${index + 1}`}>
          <p>
            <bdi>{entry.words}</bdi>
          </p>
          <pre class="stored">{JSON.stringify(JSON.parse(bodyOf(assistant, settings, entry)), null, 2)}</pre>
        </Section>
      )),
      kept.length > 0 && (
        <Section id="kept" title="Not sent">
          <Kept lines={kept} />
        </Section>
      ),
      <p>
        <LinkButton to={path} label="Back to the post" />
      </p>,
    );
  }),

  postPage(PATH, 'member', async (visit) => {
    const { post, path, work } = await requireAssistant(visit);
    try {
      await work.requestWording(visit.deps, post);
    } catch (error) {
      if (!(error instanceof AppError) || error.status !== 409) throw error;
      return redirect(path, `${error.message}.`);
    }
    return redirect(path, 'The assistant was asked. Its suggestion appears here. The draft does not change.');
  }),
];
