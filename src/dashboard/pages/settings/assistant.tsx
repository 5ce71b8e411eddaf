import { Type } from '@sinclair/typebox';
import { asOfToday, changeAssistant, type Editable, readAssistant } from '../../../drafting/wording/store.ts';
import { AppError } from '../../../lib/app-error.ts';
import { get, type MemberVisit, type Page, redirect, view } from '../../page.ts';
import { editForm } from '../../submission.ts';
import { Facts } from '../../view/elements.tsx';
import { FormOf, TextArea } from '../../view/form.tsx';

const PATH = '/dashboard/:organizationId/settings/assistant';

const number = (label: string, hint: string) =>
  Type.String({ label, subject: 'It', inputType: 'number', hint });

const AssistantForm = Type.Object({
  voice: Type.String({
    label: 'Voice',
    subject: 'The text',
    hint: 'How your team writes: to whom, in which tense, which words to avoid. At most 2,000 characters.',
  }),
  examples: Type.String({
    label: 'Examples',
    subject: 'The examples',
    hint: 'Up to three entries that you like, one a line.',
  }),
  includesPrivate: Type.Boolean({
    label: 'Send drafts of private repositories and of issue trackers',
    hint: 'Off: Tidings asks the provider before each run, and sends only drafts of public repositories.',
  }),
  dailyRequests: number('Requests a day', 'One for each entry. With 0, nothing is sent.'),
  dailyBytes: number('Bytes a day', 'Sent and received together.'),
});

const editable = ({ voice, examples, includesPrivate, dailyRequests, dailyBytes }: Editable) => ({
  ...{ voice, examples, includesPrivate },
  ...{ dailyRequests: `${dailyRequests}`, dailyBytes: `${dailyBytes}` },
});

const numberOf = (typed: string) => (typed === '' ? Number.NaN : Number(typed));

export const routes: readonly Page[] = [
  get(PATH, 'member', (visit) => showAssistant(visit)),

  editForm(PATH, 'owner', AssistantForm, showAssistant, async ({ deps, organization }, values, merge) => {
    const typed = { ...values, voice: values.voice.trim(), examples: values.examples.trim() };
    await changeAssistant(deps, organization.id, (stored) => {
      const { dailyRequests, dailyBytes, ...changes } = merge.changes(typed, editable(stored));
      return {
        ...changes,
        ...(dailyRequests !== undefined && { dailyRequests: numberOf(dailyRequests) }),
        ...(dailyBytes !== undefined && { dailyBytes: numberOf(dailyBytes) }),
      };
    });
    return redirect('settings/assistant', 'Saved.');
  }),
];

async function showAssistant({ deps, organization, isOwner }: MemberVisit, error?: AppError) {
  const { assistant } = deps;
  if (assistant === undefined) throw new AppError(404, 'This server has no assistant.');
  const row = await deps.db.read((tx) => readAssistant(tx, organization.id));
  const stored = asOfToday(row, deps.clock.now());
  const used = `${stored.requests.toLocaleString('en')} requests, ${stored.bytes.toLocaleString('en')} bytes`;
  const area = (rows: number) => (field: Parameters<typeof TextArea>[0]) => (
    <TextArea {...field} more={{ rows }} />
  );
  return view(
    { title: 'Assistant', heading: 'Assistant', tab: 'settings/assistant', error },
    <p class="lede">
      Suggests other words for the entries of drafts. Each suggestion is checked against the sources of its
      entry, and a person accepts it or not. A draft shows all that is sent before it leaves.
    </p>,
    <Facts
      facts={[
        ['Server', <code>{assistant.url}</code>],
        ['Model', <code>{assistant.model}</code>],
        ['Used today', used],
        ...(isOwner ? [] : [['Changes', 'Only owners can change these settings.'] as const]),
      ]}
    />,
    isOwner && (
      <FormOf
        schema={AssistantForm}
        edits={{ noun: 'assistant', stored: editable(stored) }}
        {...{ error, to: 'settings/assistant', button: 'Save settings' }}
        controls={{ voice: area(6), examples: area(4) }}
      />
    ),
  );
}
