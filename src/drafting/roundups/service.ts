import { type Static, Type } from '@sinclair/typebox';
import {
  integration as integrationKey,
  organization,
  type WriteOptions,
  type WriteTx,
} from '../../../db/engine.ts';
import { listIntegrations } from '../../integrations/store.ts';
import { type Integration, sourceName } from '../../integrations/words.ts';
import { AppError, type ChangeOf, changeFor, invalidField } from '../../lib/app-error.ts';
import { cutLine } from '../../lib/text.ts';
import { knownZone, localTime } from '../../lib/time.ts';
import { requireValid } from '../../lib/validation.ts';
import { type AuditAction, type AuditDeps, quote, recordAudit } from '../../people/audit.ts';
import type { Deps } from '../../people/deps.ts';
import { getOrganization } from '../../people/organization-store.ts';
import { type ContentType, contentTypes, DEFAULT_CONTENT_TYPE } from '../../posts/model.ts';
import { ROUNDUP_EVENTS } from '../../providers/events.ts';
import { kindsFor } from '../triggers/model.ts';
import {
  countRoundups,
  findRoundup,
  getRoundup,
  type Roundup,
  removeRoundup,
  type Source,
  saveRoundup,
} from './store.ts';

// Roundups as people manage them.

/** Of an organization. */
const MAX_ROUNDUPS = 50;

/** Of one roundup. */
const MAX_SOURCES = 100;

export const CADENCES = ['weekly', 'biweekly', 'monthly'] as const;
export const GROUPINGS = ['repository', 'kind'] as const;
export const EMPTY = ['skip', 'line'] as const;

/** In the order of `weekday`, which counts from 1. */
export const WEEKDAYS = [
  'Monday',
  'Tuesday',
  'Wednesday',
  'Thursday',
  'Friday',
  'Saturday',
  'Sunday',
] as const;

/** On a clock of 24 hours. */
export const TIME_OF_DAY = /^([01]\d|2[0-3]):[0-5]\d$/;

const choice = <const Name extends string>(names: readonly Name[]) =>
  Type.Union(names.map((name) => Type.Literal(name)));

const Rule = Type.Object({
  name: Type.String({ maxLength: 100, pattern: '\\S', errorMessage: 'must have 1 to 100 characters' }),
  cadence: choice(CADENCES),
  weekday: Type.Integer({ minimum: 1, maximum: 7, errorMessage: 'must be a day from Monday to Sunday' }),
  time: Type.String({
    pattern: TIME_OF_DAY.source,
    errorMessage: 'must be a time from 00:00 to 23:59, such as 09:00',
  }),
  timeZone: Type.String(),
  groupBy: choice(GROUPINGS),
  whenEmpty: choice(EMPTY),
  contentType: choice<ContentType>(contentTypes),
  sources: Type.Array(Type.Any(), {
    minItems: 1,
    maxItems: MAX_SOURCES,
    errorMessage: `must be 1 to ${MAX_SOURCES} repositories and teams`,
  }),
});

/** The fields that a person chooses. */
export type RoundupRule = Omit<Static<typeof Rule>, 'sources'> & { sources: readonly Source[] };

/** The values that a new roundup has unless a person chooses others. */
export const RULE_DEFAULTS = {
  cadence: 'weekly',
  weekday: 1,
  time: '09:00',
  timeZone: 'UTC',
  groupBy: 'repository',
  whenEmpty: 'skip',
  contentType: DEFAULT_CONTENT_TYPE,
} as const satisfies Partial<RoundupRule>;

type Needs = AuditDeps & Pick<Deps, 'ids'>;

/** Throws `AppError` 400 for invalid fields, 404 for an unknown organization, and 409 when it has too many. */
export async function createRoundup(
  deps: Needs,
  organizationId: string,
  given: RoundupRule,
): Promise<Roundup> {
  const { db, clock, ids } = deps;
  const rule = requireRule(given);
  const now = clock.now();
  const startsOn = startOf(rule.timeZone, now);
  const createdAt = now.toISOString();
  const roundup: Roundup = {
    ...rule,
    id: ids.newId('rnd'),
    organizationId,
    startsOn,
    enabled: true,
    nextAt: nextRoundup({ ...rule, startsOn }, now).toISOString(),
    createdAt,
    updatedAt: createdAt,
  };
  return db.write(async (tx) => {
    await getOrganization(tx, organizationId);
    if ((await countRoundups(tx, organizationId)) >= MAX_ROUNDUPS)
      throw new AppError(409, `An organization has at most ${MAX_ROUNDUPS} roundups. Delete one first.`, {
        code: 'too_many_roundups',
      });
    await requireSources(tx, roundup);
    await saveRoundup(tx, roundup);
    await record(tx, deps, 'roundup.created', roundup);
    return roundup;
  }, orderOf(roundup));
}

/** `change`: the new values, or what makes them of the stored roundup. Throws as `createRoundup` does. */
export function changeRoundup(
  deps: AuditDeps,
  id: string,
  change: ChangeOf<Roundup, Partial<RoundupRule>>,
): Promise<Roundup> {
  return update(deps, id, (stored, now) => {
    const changes = changeFor(stored, change);
    const rule = requireRule({ ...stored, ...changes });
    const isMoved = (['cadence', 'weekday', 'time', 'timeZone'] as const).some(
      (field) => rule[field] !== stored[field],
    );
    const next = { ...stored, ...rule };
    if (!isMoved) return next;
    const startsOn = startOf(rule.timeZone, now);
    return { ...next, startsOn, nextAt: nextRoundup({ ...rule, startsOn }, now).toISOString() };
  });
}

/** A disabled roundup collects changes for the first post after it is enabled. Throws `AppError` 404. */
export function switchRoundup(deps: AuditDeps, id: string, enabled: boolean): Promise<Roundup> {
  return update(deps, id, (stored, now) => {
    if (stored.enabled === enabled) return stored;
    const nextAt = enabled ? nextRoundup(stored, now).toISOString() : stored.nextAt;
    return { ...stored, enabled, nextAt };
  });
}

async function update(
  deps: AuditDeps,
  id: string,
  change: (stored: Roundup, now: Date) => Roundup,
): Promise<Roundup> {
  const { db, clock } = deps;
  for (;;) {
    const stored = await db.read((tx) => getRoundup(tx, id));
    const now = clock.now();
    const next = change(stored, now);
    if (Bun.deepEquals(stored, next)) return stored;
    const changed = { ...next, updatedAt: now.toISOString() };
    const isWritten = await db.write(
      async (tx) => {
        if (!Bun.deepEquals(await findRoundup(tx, id), stored)) return false;
        await requireSources(tx, changed);
        await saveRoundup(tx, changed);
        const isSwitched = stored.enabled !== next.enabled;
        const switched = next.enabled ? 'roundup.enabled' : 'roundup.disabled';
        await record(tx, deps, isSwitched ? switched : 'roundup.changed', changed);
        return true;
      },
      orderOf(stored, changed),
    );
    if (isWritten) return changed;
  }
}

/** With the changes that it has collected; its posts stay. Throws `AppError` 404. */
export async function deleteRoundup(
  deps: AuditDeps,
  id: string,
  check?: (stored: Roundup) => void,
): Promise<void> {
  for (;;) {
    const stored = await deps.db.read((tx) => getRoundup(tx, id));
    const isGone = await deps.db.write(async (tx) => {
      if (!Bun.deepEquals(await findRoundup(tx, id), stored)) return false;
      check?.(stored);
      await removeRoundup(tx, id);
      await record(tx, deps, 'roundup.deleted', stored);
      return true;
    }, orderOf(stored));
    if (isGone) return;
  }
}

/** Deliveries of its integrations claim changes for it. */
function orderOf(...states: Roundup[]): WriteOptions {
  const sources = states.flatMap((each) => each.sources);
  const keys = sources.map(({ integrationId }) => integrationKey(integrationId));
  return {
    key: [...new Set([...states.map(({ id }) => `roundup ${id}`), ...keys])],
    shares: [...new Set(states.map(({ organizationId }) => organization(organizationId)))],
  };
}

function requireRule(given: RoundupRule): RoundupRule & { sources: Source[] } {
  const { name, cadence, weekday, time, timeZone, groupBy, whenEmpty, contentType, sources } = given;
  const rule = {
    name: cutLine(name, 1_000),
    cadence,
    weekday,
    time,
    timeZone,
    groupBy,
    whenEmpty,
    contentType,
  };
  requireValid(Rule, { ...rule, sources });
  const zone = knownZone(timeZone);
  if (zone === null) throw invalidField('timeZone', 'must be an IANA name, such as Europe/Berlin');
  const unique = new Map(
    sources.map(({ integrationId, repositoryId, team }) => [
      JSON.stringify([integrationId, repositoryId, team]),
      { integrationId, repositoryId, team },
    ]),
  );
  return { ...rule, timeZone: zone, sources: [...unique.values()] };
}

/** The organization has all of them, and only issue trackers have teams. */
async function requireSources(tx: WriteTx, { organizationId, sources }: Roundup): Promise<void> {
  const integrations = await listIntegrations(tx, organizationId);
  const isKnown = ({ integrationId, repositoryId, team }: Source) => {
    const integration = integrations.find(({ id }) => id === integrationId);
    if (integration === undefined || (team !== null && !hasTeams(integration))) return false;
    return repositoryId === null || integration.repositories.some(({ id }) => id === repositoryId);
  };
  if (!sources.every(isKnown)) throw invalidField('sources', 'must belong to this organization');
}

/** The integration is an issue tracker. */
export const hasTeams = ({ type }: Pick<Integration, 'type'>) =>
  kindsFor(type).some(({ event, isOfBranch }) => ROUNDUP_EVENTS.includes(event) && !isOfBranch);

/** The calendar of a roundup: a weekday and a time on the clock of a time zone. */
export interface Schedule {
  /** `monthly` means the first such weekday of each month. */
  cadence: (typeof CADENCES)[number];
  /** 1 is Monday, and 7 is Sunday. */
  weekday: number;
  /** Such as `09:00`. */
  time: string;
  timeZone: string;
  /** The local date from which weeks are counted, such as `2026-11-27`. There is no roundup before it. */
  startsOn: string;
}

/** No zone has moved its clocks by more than a day. */
const MAX_SHIFT_DAYS = 2;

/**
 * The first time after `after`. Clocks that are set back show a time twice: it means the earlier one. A time that is
 * skipped by clocks that are set forward comes as much later.
 */
export function nextRoundup(schedule: Schedule, after: Date): Date {
  const local = Temporal.Instant.fromEpochMilliseconds(after.getTime()).toZonedDateTimeISO(schedule.timeZone);
  let from = local.toPlainDate().subtract({ days: MAX_SHIFT_DAYS });
  for (;;) {
    const day = firstDay(schedule, from);
    const time = new Date(
      day.toPlainDateTime(Temporal.PlainTime.from(schedule.time)).toZonedDateTime(schedule.timeZone)
        .epochMilliseconds,
    );
    if (time > after) return time;
    from = day.add({ days: 1 });
  }
}

/** The local date of a time. */
export const startOf = (timeZone: string, now: Date) => localTime(now, timeZone).slice(0, 10);

/** The first day of the schedule that is not before `from`. */
function firstDay({ cadence, weekday, startsOn }: Schedule, from: Temporal.PlainDate): Temporal.PlainDate {
  const start = Temporal.PlainDate.from(startsOn);
  const earliest = Temporal.PlainDate.compare(from, start) < 0 ? start : from;
  if (cadence === 'monthly') {
    const day = onWeekday(earliest.with({ day: 1 }), weekday);
    if (Temporal.PlainDate.compare(day, earliest) >= 0) return day;
    return onWeekday(earliest.with({ day: 1 }).add({ months: 1 }), weekday);
  }
  const day = onWeekday(earliest, weekday);
  const sinceFirst = onWeekday(start, weekday).until(day, { largestUnit: 'days' }).days;
  return cadence === 'biweekly' && sinceFirst % 14 !== 0 ? day.add({ days: 7 }) : day;
}

function onWeekday(from: Temporal.PlainDate, weekday: number): Temporal.PlainDate {
  return from.add({ days: (weekday - from.dayOfWeek + 7) % 7 });
}

const CADENCE_WORDS = {
  weekly: 'every',
  biweekly: 'every second',
  monthly: 'on the first',
} as const;

/** Such as `every Monday at 09:00 (Europe/Berlin)`. */
export function describeSchedule({ cadence, weekday, time, timeZone }: Roundup): string {
  const end = cadence === 'monthly' ? ' of a month' : '';
  return `${CADENCE_WORDS[cadence]} ${WEEKDAYS[weekday - 1]}${end} at ${time} (${timeZone})`;
}

/** The names of the sources, as far as the integrations are known. */
export function nameSources(
  { sources }: Pick<Roundup, 'sources'>,
  integrations: readonly Integration[],
): string[] {
  return sources.map(({ integrationId, repositoryId, team }) => {
    const integration = integrations.find(({ id }) => id === integrationId);
    const name = integration === undefined ? integrationId : sourceName(integration, repositoryId);
    return team === null ? name : `${name}: ${team}`;
  });
}

async function record(
  tx: WriteTx,
  deps: AuditDeps,
  action: Extract<AuditAction, `roundup.${string}`>,
  { id, organizationId, name }: Roundup,
): Promise<void> {
  const summary = `${action.slice('roundup.'.length)} the roundup ${quote(name)}`;
  await recordAudit(tx, deps, { organizationId, action, target: { type: 'roundup', id }, summary });
}
