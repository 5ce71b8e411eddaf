import { sampleAccount } from './account.ts';
import { sampleRepository } from './repository.ts';

/** What samples are made of. */
export interface SampleContext {
  /** `owner/name`. */
  fullName: string;
  /** The repository's page and its address in GitHub's API, without a slash at the end. */
  pageUrl: string;
  apiUrl: string;
  /** So many minutes before now, as GitHub writes times: without milliseconds. */
  minutesAgo(minutes: number): string;
  /** What every payload ends with. */
  common: { repository: Record<string, unknown>; sender: Record<string, unknown> };
}

export function sampleContext(fullName: string, now: Date): SampleContext {
  const minutesAgo = (minutes: number) =>
    `${new Date(now.getTime() - minutes * 60_000).toISOString().slice(0, 19)}Z`;
  return {
    fullName,
    pageUrl: `https://github.com/${fullName}`,
    apiUrl: `https://api.github.com/repos/${fullName}`,
    minutesAgo,
    common: {
      repository: sampleRepository(fullName, minutesAgo),
      sender: sampleAccount('ann', 583_231),
    },
  };
}
