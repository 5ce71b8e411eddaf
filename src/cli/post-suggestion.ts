import { Option } from 'commander';
import type { SuggestedLine } from '../drafting/store.ts';
import { compareTexts, dismissSuggestion, getSuggestion, takeSuggestion } from '../drafting/suggestions.ts';
import { getPost } from '../posts/store.ts';
import {
  acceptChange,
  dismissChange,
  getSuggestedChange,
  listOpenChanges,
  type SuggestedHead,
  suggestedText,
} from '../posts/suggestions.ts';
import type { Services } from '../server/services.ts';
import { clockTime, done, ofOrganization, type TidingsCommand } from './command.ts';
import { fields, lines, oneLine, painted, type Text, table } from './output.ts';
import { type ApprovalFlag, approvalOption, withFlag } from './post-publish.ts';

const HELP = `An ID that begins with sug_ is of a suggestion of an API key; "list" shows these. The ID of a post stands for the newer text that its source has.`;

/**
 * About the newer text that an event has for a post which a person has edited or published, named by the post, and about
 * the changes that API keys propose, named by their own ids.
 */
export function addSuggestionCommands(posts: TidingsCommand): void {
  const group = posts.sub(
    'suggestion',
    'Review suggestions: newer text of edited posts, and changes from API keys',
  );
  const command = (name: string, description: string) =>
    group
      .command(name)
      .description(description)
      .argument('<id>', 'ID of the suggestion, or of the post with newer text');
  group.note(HELP).examples('post suggestion list --organization acme', 'post suggestion accept sug_…');

  group
    .sub('list', 'List the changes that API keys suggest, newest first')
    .addOption(ofOrganization)
    .addOption(new Option('--post <id>', 'Only this post'))
    .answers(
      ({ db }, { organization, post }: { organization?: string; post?: string }) =>
        db.read((tx) => listOpenChanges(tx, { organizationId: organization, postId: post })),
      describeList,
    )
    .examples('post suggestion list --organization acme', 'post suggestion list --post post_…');
  command('show', 'Compare the suggested text with the post')
    .answers(
      (services, id: string) => (isChange(id) ? compareChange(services, id) : getSuggestion(services, id)),
      (found) => ('suggestedAt' in found ? describe(found.suggestedAt, found) : describeChange(found)),
    )
    .examples('post suggestion show sug_…', 'post suggestion show post_…');
  command('accept', 'Replace the text of the post with the suggested text')
    .option(...approvalOption)
    .answers(
      async (given, id: string, flags: ApprovalFlag) => {
        const services = withFlag(given, flags);
        return isChange(id) ? (await acceptChange(services, id)).post : takeSuggestion(services, id);
      },
      ({ id, title }) => `Accepted: ${oneLine(title)} (${id})`,
    )
    .examples('post suggestion accept sug_…', 'post suggestion accept post_…');
  command('dismiss', 'Dismiss the suggested text')
    .answers(
      done('dismissed', async (services, id) =>
        isChange(id) ? dismissChange(services, id) : dismissSuggestion(services, id),
      ),
      ({ id }) => `Dismissed: ${id}`,
    )
    .examples('post suggestion dismiss sug_…', 'post suggestion dismiss post_…');
}

/** Posts with a newer text come from triggers, which never make such an id. */
const isChange = (id: string) => id.startsWith('sug_');

/** The suggestion of an API key, with its difference from the post. */
function compareChange({ db }: Services, id: string) {
  return db.read(async (tx) => {
    const found = await getSuggestedChange(tx, id);
    const post = await getPost(tx, found.postId);
    const text = suggestedText(post, found);
    return { ...found, ...text, changes: compareTexts(post, text) };
  });
}

function describeList(changes: readonly SuggestedHead[]): Text {
  if (changes.length === 0) return 'No open suggestions.';
  const rows = changes.map(({ id, postId, keyName, createdAt, title, note }) => [
    ...[id, postId, keyName, clockTime(createdAt), oneLine(note === '' ? title : note)],
  ]);
  return table(['ID', 'POST', 'KEY', 'SUGGESTED', 'NOTE OR TITLE'], rows, ['NOTE OR TITLE', 'KEY']);
}

function describeChange(found: Awaited<ReturnType<typeof compareChange>>): Text {
  const { postId, keyName, note, createdAt } = found;
  return [
    fields({ Post: postId, 'API key': keyName, Note: note === '' ? null : note }),
    ...describe(createdAt, found),
  ];
}

const MARKS = { same: ' ', removed: '-', added: '+' } as const;
const STYLES = { same: null, removed: 'bad', added: 'good' } as const;

function describe(
  suggestedAt: string,
  { changes, title, markdown }: { changes: readonly SuggestedLine[] | null; title: string; markdown: string },
) {
  const head = `Suggested ${suggestedAt}`;
  if (changes === null) {
    const why = 'The texts are too different to compare them line by line. Suggested text:';
    return [head, why, lines([title, '', ...markdown.split('\n')])];
  }
  const diff = changes.map(({ kind, line }) => painted(`${MARKS[kind]} ${line}`, STYLES[kind]));
  return [head, lines(diff)];
}
