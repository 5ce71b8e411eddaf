import { type Static, Type } from '@sinclair/typebox';
import type { ReadTx } from '../../../../db/engine.ts';
import { makeNow } from '../../../drafting/roundups/make.ts';
import {
  CADENCES,
  changeRoundup,
  createRoundup,
  deleteRoundup,
  describeSchedule,
  EMPTY,
  GROUPINGS,
  hasTeams,
  nameSources,
  type RoundupRule,
  RULE_DEFAULTS,
  switchRoundup,
  WEEKDAYS,
} from '../../../drafting/roundups/service.ts';
import {
  findRoundup,
  listLastPosts,
  listRoundups,
  type Roundup,
  type Source,
} from '../../../drafting/roundups/store.ts';
import { listHooks } from '../../../integrations/hook-store.ts';
import { type Integration, listIntegrations } from '../../../integrations/store.ts';
import { integrationName } from '../../../integrations/words.ts';
import { AppError } from '../../../lib/app-error.ts';
import { capitalized, cutLine } from '../../../lib/text.ts';
import { type ContentType, contentTypes } from '../../../posts/model.ts';
import { ALL_PUBLIC_TEAMS } from '../../../providers/api.ts';
import { providerOf } from '../../../providers/index.ts';
import { openedWith } from '../../edit.ts';
import { choiceOf, type FieldState, NoFields } from '../../fields.ts';
import { get, type MemberVisit, type Page, post, redirect, view } from '../../page.ts';
import { editForm, postForm } from '../../submission.ts';
import { Clock, Facts, Link, LinkButton, Section, Status, useVisit, When } from '../../view/elements.tsx';
import { Action, Danger, Field, FormOf, type Option, Select } from '../../view/form.tsx';
import { typeOptions } from '../posts/words.tsx';

// Roundups: their section on the page of triggers, and a page for each with its form.

const PATH = '/dashboard/:organizationId/triggers/roundups';

/** Completes "An entry in a … draft". */
export type NounOf = (type: ContentType) => string;

/** As the form has them. */
const defaults = { ...RULE_DEFAULTS, weekday: `${RULE_DEFAULTS.weekday}` } as const;

const RoundupForm = Type.Object({
  name: Type.String({ label: 'Name', hint: 'The title of each draft starts with it.' }),
  cadence: choiceOf(CADENCES, { label: 'How often', default: defaults.cadence }),
  weekday: choiceOf(['1', '2', '3', '4', '5', '6', '7'], { label: 'Weekday', default: defaults.weekday }),
  time: Type.String({ label: 'Time' }),
  timeZone: Type.String({
    label: 'Time zone',
    problem: 'No time zone has this name. Enter a name such as Europe/Berlin or America/New_York.',
  }),
  sources: Type.Array(Type.String({ maxLength: 500 }), {
    label: 'Repositories and teams',
    subject: 'The selection',
  }),
  groupBy: choiceOf(GROUPINGS, { label: 'Sections', default: defaults.groupBy }),
  whenEmpty: choiceOf(EMPTY, { label: 'Without changes', default: defaults.whenEmpty }),
  contentType: choiceOf<ContentType>(contentTypes, { label: 'Type', default: defaults.contentType }),
});

const cadenceNames = { weekly: 'Every week', biweekly: 'Every two weeks', monthly: 'Monthly, the first' };
const groupNames = {
  repository: 'One per repository or team',
  kind: 'One per kind of change',
};
const emptyNames = { skip: 'No draft', line: 'A draft that says so' };

const optionsOf = (names: Readonly<Record<string, string>>): Option[] =>
  Object.entries(names).map(([value, label]) => ({ value, label }));
const weekdayOptions = WEEKDAYS.map((label, index) => ({ value: String(index + 1), label }));

/** A source as the value of a checkbox. No id has a space. */
const optionOf = ({ integrationId, repositoryId, team }: Source) =>
  [integrationId, repositoryId, team].join(' ').trimEnd();

function sourceOf(value: string): Source {
  const [integrationId = '', repositoryId = '', ...team] = value.split(' ');
  return { integrationId, repositoryId: repositoryId || null, team: team.join(' ') || null };
}

const editable = (rule: Roundup) => ({
  ...pickRule(rule),
  weekday: String(rule.weekday),
  sources: rule.sources.map(optionOf).sort(),
});

const pickRule = ({ name, cadence, time, timeZone, groupBy, whenEmpty, contentType }: Roundup) => ({
  ...{ name, cadence, time, timeZone, groupBy, whenEmpty, contentType },
});

type Typed = Partial<ReturnType<typeof editable>>;

/** The rule as the fields have it. */
function ruleOf({ weekday, sources, ...rest }: Typed): Partial<RoundupRule> {
  return {
    ...rest,
    ...(weekday !== undefined && { weekday: Number(weekday) }),
    ...(sources !== undefined && { sources: sources.map(sourceOf) }),
  };
}

/** Without undefined: each choice has a default. */
function typedOf(values: Static<typeof RoundupForm>): ReturnType<typeof editable> {
  return { ...values, sources: values.sources.toSorted() } as ReturnType<typeof editable>;
}

export const routes: readonly Page[] = [
  get(`${PATH}/new`, 'owner', (visit) => showNew(visit)),

  postForm(PATH, 'owner', RoundupForm, showNew, async ({ deps, organization }, values) => {
    const { id } = await createRoundup(deps, organization.id, ruleOf(typedOf(values)) as RoundupRule);
    return redirect(pathOf({ id }), 'Roundup created. It collects changes from now on.');
  }),

  get(`${PATH}/:roundupId`, 'member', (visit) => showRoundup(visit)),

  editForm(`${PATH}/:roundupId`, 'owner', RoundupForm, showRoundup, async (visit, values, merge) => {
    const { id } = await requireRoundup(visit);
    const typed = typedOf(values);
    await changeRoundup(visit.deps, id, (stored) => ruleOf(merge.changes(typed, editable(stored))));
    return redirect(pathOf({ id }), 'Roundup saved.');
  }),

  post(`${PATH}/:roundupId/now`, 'owner', async (visit) => {
    const { deps } = visit;
    const { id } = await requireRoundup(visit);
    const made = await makeNow(deps, deps.compose, id);
    if (made === null) return redirect(pathOf({ id }), 'Nothing has changed since the last draft.');
    return redirect(`posts/${made.id}`, 'Draft created. The schedule stays.');
  }),

  ...(['enable', 'disable'] as const).map((name) =>
    post(`${PATH}/:roundupId/${name}`, 'owner', async (visit) => {
      const { id } = await requireRoundup(visit);
      await switchRoundup(visit.deps, id, name === 'enable');
      const done =
        name === 'enable'
          ? 'Roundup enabled.'
          : 'Roundup disabled. It goes on collecting changes for the draft after you enable it.';
      return redirect(pathOf({ id }), done);
    }),
  ),

  editForm(`${PATH}/:roundupId/delete`, 'owner', NoFields, showRoundup, async (visit, _, merge) => {
    const { id, name } = await requireRoundup(visit);
    await deleteRoundup(visit.deps, id, (stored) => merge.requireSeen(editable(stored)));
    return redirect('triggers', `“${name}” is deleted.`);
  }),
];

const pathOf = ({ id }: Pick<Roundup, 'id'>) => `triggers/roundups/${id}`;

/** Throws `AppError` 404, also for another organization's. */
async function requireRoundup({ deps, organization, params }: MemberVisit): Promise<Roundup> {
  const roundup = await deps.db.read((tx) => findRoundup(tx, params.roundupId ?? ''));
  if (roundup?.organizationId === organization.id) return roundup;
  throw new AppError(404, 'Roundup not found. It may have been deleted.');
}

export async function readRoundups(tx: ReadTx, organizationId: string) {
  const roundups = await listRoundups(tx, { organizationId });
  const ids = roundups.map(({ id }) => id);
  return { roundups, last: await listLastPosts(tx, ids) };
}

type Listed = Awaited<ReturnType<typeof readRoundups>>;

export function Roundups(props: Listed & { integrations: readonly Integration[]; nounOf: NounOf }) {
  const { roundups, last, integrations, nounOf } = props;
  const { isOwner } = useVisit();
  return (
    <Section id="roundups" title="Roundups">
      {roundups.length === 0 ? (
        <p class="hint">
          A roundup makes one draft every week or every month of what changed in several repositories and
          teams.
        </p>
      ) : (
        <ul class="card triggers">
          {roundups.map((roundup) => (
            <Item {...{ roundup, integrations, nounOf }} last={last.get(roundup.id)} />
          ))}
        </ul>
      )}
      {isOwner && (
        <p>
          <LinkButton to="triggers/roundups/new" label="New roundup" />
        </p>
      )}
    </Section>
  );
}

interface ItemProps {
  roundup: Roundup;
  integrations: readonly Integration[];
  nounOf: NounOf;
  last: ReturnType<Listed['last']['get']>;
}

function Item({ roundup, integrations, nounOf, last }: ItemProps) {
  const { isOwner } = useVisit();
  const { name, enabled, nextAt, contentType } = roundup;
  return (
    <li>
      <div class="rule-line">
        <h2>
          <Link to={pathOf(roundup)}>
            <strong>{name}</strong>: {describeSchedule(roundup)} → a <strong>{nounOf(contentType)}</strong>{' '}
            draft of <strong>{describePlaces(roundup, integrations)}</strong>
          </Link>
        </h2>
        <Status status={enabled ? 'active' : 'disabled'} />
      </div>
      <p class="dim">
        {enabled ? (
          <>
            Next draft: <Clock at={nextAt} />
          </>
        ) : (
          'No draft until it is enabled'
        )}
        .{' '}
        {last === undefined ? (
          'No draft yet.'
        ) : (
          <>
            Last: <LastPost last={last} />
          </>
        )}
      </p>
      {isOwner && (
        <p>
          <Action to={`${pathOf(roundup)}/now`} label="Create draft now" busy="Creating…" />
        </p>
      )}
    </li>
  );
}

function LastPost({ last: { id, title, createdAt } }: { last: NonNullable<ItemProps['last']> }) {
  return (
    <>
      <Link to={`posts/${id}`}>{title}</Link>, <When at={createdAt} />
    </>
  );
}

const MAX_NAMED = 3;

/** Such as `acme/rocket, acme/site and 2 more`. */
function describePlaces(roundup: Roundup, integrations: readonly Integration[]): string {
  const names = nameSources(roundup, integrations).map((name) => cutLine(name, 100));
  const more = names.length - MAX_NAMED;
  if (more > 1) return `${names.slice(0, MAX_NAMED).join(', ')} and ${more} more`;
  return names.join(', ') || 'no place';
}

const crumbs = [{ to: 'triggers', label: 'Triggers' }];

async function readPlaces({ deps, organization }: MemberVisit) {
  return deps.db.read(async (tx) => {
    const integrations = await listIntegrations(tx, organization.id);
    const teams = new Map<string, { id: string; name: string }[]>();
    for (const { id } of integrations.filter(hasTeams)) {
      const places = (await listHooks(tx, id)).filter(({ placeId }) => placeId !== ALL_PUBLIC_TEAMS);
      teams.set(
        id,
        places.map(({ placeId, placeName }) => ({ id: placeId, name: placeName })),
      );
    }
    return { integrations, teams };
  });
}

type Places = Awaited<ReturnType<typeof readPlaces>>;

/** Of an integration. An App may have a thousand. */
const MAX_OFFERED = 100;

/** All of an integration, then each of its repositories or teams. Those that are chosen are always there. */
function placeOptions({ integrations, teams }: Places, chosen: readonly string[]): Option[] {
  const options = integrations.flatMap((integration) => {
    const { id: integrationId, type, repositories, app } = integration;
    const whole = { integrationId, repositoryId: null, team: null };
    const ofRepositories = repositories.map(({ id, fullName }) => ({
      value: optionOf({ ...whole, repositoryId: id }),
      label: fullName,
    }));
    const ofTeams = (teams.get(integrationId) ?? []).map(({ id, name }) => ({
      value: optionOf({ ...whole, team: id }),
      label: `${integrationName(integration)}: ${name}`,
    }));
    const parts = [...ofRepositories, ...ofTeams].filter(
      ({ value }, index) => index < MAX_OFFERED || chosen.includes(value),
    );
    const { many } = providerOf(type).words.place;
    const name = cutLine(integrationName(integration), 60);
    const all = { value: optionOf(whole), label: `All ${many} of ${name}, including later ones` };
    return parts.length === 1 && app === null && !chosen.includes(all.value) ? parts : [all, ...parts];
  });
  const known = new Set(options.map(({ value }) => value));
  const others = chosen.filter((value) => !known.has(value));
  return [...options, ...others.map((value) => ({ value, label: labelOf(value, integrations) }))];
}

const labelOf = (value: string, integrations: readonly Integration[]) =>
  nameSources({ sources: [sourceOf(value)] }, integrations)[0] ?? value;

function PlaceList(props: { places: Places; chosen: readonly string[]; field: FieldState }) {
  const { places, chosen } = props;
  const { label, error } = props.field;
  return (
    <fieldset id="field-sources" tabIndex={-1} class={error === null ? undefined : 'wrong'}>
      <legend class="label">{label}</legend>
      {error !== null && <p class="error">{error}</p>}
      <ul class="card rows places">
        {placeOptions(places, chosen).map(({ value, label }) => (
          <li>
            <label class="check">
              <input type="checkbox" name="sources" value={value} checked={chosen.includes(value)} />
              <span>{label}</span>
            </label>
          </li>
        ))}
      </ul>
    </fieldset>
  );
}

function RuleForm(props: {
  to: string;
  button: string;
  places: Places;
  chosen: readonly string[];
  error: AppError | undefined;
  values?: URLSearchParams | Record<string, string>;
  stored?: ReturnType<typeof editable>;
}) {
  const { to, button, places, chosen, error, values, stored } = props;
  const show = (field: string, value: unknown): string | null => {
    if (field === 'weekday') return WEEKDAYS[Number(value) - 1] ?? null;
    if (field === 'sources')
      return (value as string[]).map((each) => labelOf(each, places.integrations)).join('\n');
    const names = { cadence: cadenceNames, groupBy: groupNames, whenEmpty: emptyNames }[field];
    return names?.[value as keyof typeof names] ?? null;
  };
  return (
    <FormOf
      schema={RoundupForm}
      {...{ to, button, error, ...(values && { values }) }}
      {...(stored && { edits: { noun: 'roundup', stored, show } })}
      arrange={(fields) => (
        <>
          <Field {...fields.name} maxLength={100} />
          <div class="bar ends">
            <Select {...fields.cadence} options={optionsOf(cadenceNames)} />
            <Select {...fields.weekday} options={weekdayOptions} />
            <Field {...fields.time} type="time" />
            <Field {...fields.timeZone} />
          </div>
          <PlaceList {...{ places, chosen }} field={fields.sources} />
          <div class="bar ends">
            <Select {...fields.contentType} options={typeOptions} />
            <Select {...fields.groupBy} options={optionsOf(groupNames)} />
            <Select {...fields.whenEmpty} options={optionsOf(emptyNames)} />
          </div>
        </>
      )}
    />
  );
}

async function showNew(visit: MemberVisit, error?: AppError) {
  const { form, look } = visit;
  const places = await readPlaces(visit);
  const values = error === undefined ? { ...defaults, timeZone: look.zone } : form;
  return view(
    {
      title: 'New roundup',
      crumbs,
      facts:
        'A draft every week or month, with the changes on default branches and the work that teams completed.',
      error,
    },
    places.integrations.length === 0 ? (
      <LinkButton to="integrations" label="Connect a repository first" kind="go" />
    ) : (
      <RuleForm
        to="triggers/roundups"
        button="Create roundup"
        {...{ places, values, error, chosen: form.getAll('sources') }}
      />
    ),
  );
}

async function showRoundup(visit: MemberVisit, error?: AppError) {
  const { deps, url, form, isOwner } = visit;
  const roundup = await requireRoundup(visit);
  const places = await readPlaces(visit);
  const last = (await deps.db.read((tx) => listLastPosts(tx, [roundup.id]))).get(roundup.id);
  const { name, enabled, nextAt, createdAt, whenEmpty, groupBy, id } = roundup;
  const path = pathOf(roundup);
  const stored = editable(roundup);
  const isTyped = error !== undefined && !url.pathname.endsWith('/delete');
  const [verb, label] = enabled ? ['disable', 'Disable roundup'] : ['enable', 'Enable roundup'];
  return view(
    {
      title: name,
      crumbs,
      tag: <Status status={enabled ? 'active' : 'disabled'} />,
      facts: capitalized(describeSchedule(roundup)),
      actions: isOwner && (
        <>
          <Action to={`${path}/now`} label="Create draft now" busy="Creating…" />
          <Action to={`${path}/${verb}`} label={label} />
        </>
      ),
      error,
    },
    <Facts
      kind="row"
      facts={[
        ['Next draft', enabled ? <Clock at={nextAt} /> : 'None until it is enabled'],
        ['Last draft', last === undefined ? 'None yet' : <LastPost last={last} />],
        ['Created', <When at={createdAt} />],
        ['Roundup ID', <code>{id}</code>],
      ]}
    />,
    isOwner ? (
      <RuleForm
        to={path}
        button="Save roundup"
        chosen={isTyped ? form.getAll('sources') : stored.sources}
        error={isTyped ? error : undefined}
        {...{ places, stored }}
      />
    ) : (
      <Facts
        facts={[
          ['Repositories and teams', describePlaces(roundup, places.integrations)],
          ['Sections', groupNames[groupBy]],
          ['Without changes', emptyNames[whenEmpty]],
        ]}
      />
    ),
    isOwner && (
      <Section id="danger" title="Danger zone">
        <Danger
          label="Delete roundup"
          to={`${path}/delete`}
          button="Delete roundup"
          seen={openedWith(stored).seen}
        >
          This roundup creates no more drafts, and drops the changes that it has collected. Its posts stay.
          You can't undo this.
        </Danger>
      </Section>
    ),
  );
}
