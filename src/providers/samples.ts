import { isRecord } from '../lib/validation.ts';
import type { Payload } from './provider.ts';

/** `repository` is `owner/name`. */
export type SampleContext = { repository: string; now: Date };

/**
 * The samples of a provider: payloads by event, or by event and action as in `release edited`. A text `@ann` stands for
 * the part `ann`. The field `...` names a part or an event, whose fields the others change. In texts stand `$repository`,
 * `$owner` and `$name`, and times so many minutes ago: `$ago(25)` without milliseconds, `$iso(25)` with them, and for now
 * `$day` and the number `$ms`.
 */
export interface Samples {
  parts: Readonly<Record<string, object>>;
  events: Readonly<Record<string, object>>;
}

export function fillSample({ parts, events }: Samples, name: string, context: SampleContext): Payload {
  const fill = (value: unknown): unknown => {
    if (value === '$ms') return context.now.getTime();
    if (typeof value === 'string') {
      return value.startsWith('@') ? fill(parts[value.slice(1)]) : fillText(value, context);
    }
    if (Array.isArray(value)) return value.map(fill);
    if (!isRecord(value)) return value;
    const { '...': base, ...fields } = value;
    const own = Object.fromEntries(Object.entries(fields).map(([field, inner]) => [field, fill(inner)]));
    return base === undefined ? own : merge(fill(parts[String(base)] ?? events[String(base)]), own);
  };
  return fill(events[name]) as Payload;
}

/** `base` with the fields of `changes`, at every depth. */
function merge(base: unknown, changes: unknown): unknown {
  if (!isRecord(base) || !isRecord(changes)) return changes;
  const changed = Object.entries(changes).map(([field, value]) => [field, merge(base[field], value)]);
  return { ...base, ...Object.fromEntries(changed) };
}

function fillText(text: string, { repository, now }: SampleContext): string {
  const slash = repository.lastIndexOf('/');
  const names: Record<string, string> = {
    repository,
    owner: repository.slice(0, slash),
    name: repository.slice(slash + 1),
    day: now.toISOString().slice(0, 10),
  };
  return text
    .replaceAll(/\$(repository|owner|name|day)/g, (_, name: string) => names[name] ?? '')
    .replace(/^\$(ago|iso)\((-?\d+)\)$/, (_, form: string, minutes: string) => {
      const time = new Date(now.getTime() - Number(minutes) * 60_000).toISOString();
      return form === 'ago' ? `${time.slice(0, 19)}Z` : time;
    });
}
