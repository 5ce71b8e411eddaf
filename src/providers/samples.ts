import type { Payload } from './provider.ts';

// The payloads of test deliveries: JSON of the provider's own form, of any repository and of the present time.

/** `repository` is `owner/name`. */
export type SampleContext = { repository: string; now: Date };
export type Samples = Readonly<Record<string, (context: SampleContext) => Payload>>;

/** Such as `<owner>`, and `<now-25m>` for a time 25 minutes ago. */
const PLACEHOLDER = /<(?:(repository|owner|name|today)|now(?:([+-]\d+)m)?)>/g;

/** As code hosts write times: without milliseconds. */
const toSeconds = (time: Date) => `${time.toISOString().slice(0, 19)}Z`;

/**
 * Reads a file of samples, by event, or by event and action as in `release edited`. In place of an object it may have
 * `{"$": "name"}`, one of its parts or samples, whose fields those beside the name replace.
 */
export function samplesIn(
  { parts = {}, samples }: { parts?: object; samples: object },
  { timeOf = toSeconds, more }: { timeOf?: (time: Date) => string; more?: (now: Date) => Payload } = {},
): Samples {
  const known: Payload = { ...samples, ...parts };

  function fill(value: unknown, context: SampleContext): unknown {
    if (typeof value === 'string') return fillText(value, context);
    if (Array.isArray(value)) return value.map((each) => fill(each, context));
    if (typeof value !== 'object' || value === null) return value;
    const { $: name, ...own } = value as Payload;
    const fields = Object.entries(own).map(([field, each]) => [field, fill(each, context)]);
    const part = typeof name === 'string' ? (fill(known[name], context) as Payload) : {};
    return { ...part, ...Object.fromEntries(fields) };
  }

  function fillText(text: string, { repository, now }: SampleContext): string {
    const slash = repository.lastIndexOf('/');
    const values: Record<string, string> = {
      repository,
      owner: repository.slice(0, slash),
      name: repository.slice(slash + 1),
      today: now.toISOString().slice(0, 10),
    };
    return text.replaceAll(PLACEHOLDER, (_, name = '', minutes = '0') => {
      return values[name] ?? timeOf(new Date(now.getTime() + Number(minutes) * 60_000));
    });
  }

  const entries = Object.entries(samples).map(([name, sample]) => [
    name,
    (context: SampleContext) => ({ ...(fill(sample, context) as Payload), ...more?.(context.now) }),
  ]);
  return Object.fromEntries(entries);
}
