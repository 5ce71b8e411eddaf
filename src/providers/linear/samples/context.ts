/** What samples are made of. */
export interface SampleContext {
  /** So many minutes before now, as Linear writes times. */
  minutesAgo(minutes: number): string;
  /** The day, such as `2026-11-20`. */
  today: string;
  nowMs: number;
}

export function sampleContext(now: Date): SampleContext {
  const minutesAgo = (minutes: number) => new Date(now.getTime() - minutes * 60_000).toISOString();
  return { minutesAgo, today: minutesAgo(0).slice(0, 10), nowMs: now.getTime() };
}

/** An id of the form that Linear gives: a UUID, of version 4 by its looks. */
export function sampleId(number: number): string {
  return `${(0x5e1f00 + number).toString(16).padStart(8, '0')}-7a10-4c2e-9b3d-0d6f5a8e41c7`;
}

export const ANN = {
  id: sampleId(1),
  name: 'Ann',
  email: 'ann@acme.test',
  avatarUrl: null,
  url: 'https://linear.app/acme/profiles/ann',
};

export const TEAM = { id: sampleId(2), key: 'ENG', name: 'Engineering' };

export const PROJECT = {
  id: sampleId(3),
  name: 'Quieter engines',
  url: 'https://linear.app/acme/project/quieter-engines-3f9c01aa52d7',
};

export const INITIATIVE = {
  id: sampleId(4),
  name: 'Good neighbours',
  url: 'https://linear.app/acme/initiative/good-neighbours-81b0c7d2e945',
};

/** What every payload holds around its `data`. `webhookId` is the hook's, the same in every delivery. */
export function envelope<const Type extends string, Data extends object>(
  { minutesAgo, nowMs }: SampleContext,
  { type, action, data, url }: { type: Type; action: string; data: Data; url: string },
) {
  return {
    action,
    actor: { ...ANN, type: 'user' },
    createdAt: minutesAgo(0),
    data,
    url,
    type,
    organizationId: sampleId(5),
    webhookTimestamp: nowMs,
    webhookId: sampleId(6),
  };
}
