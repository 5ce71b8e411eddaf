import type { Clock } from '../../../lib/clock.ts';
import { type ProblemKind, ProviderProblem } from '../../api.ts';
import { NoAnswer, notTheApi } from './fetch.ts';
import { retryAtOf } from './rate-limit.ts';
import { causeOf, type Refusal, refusalOf } from './refusal.ts';

/** What was asked, as far as a refusal needs to be explained. */
export interface Asked {
  /** The repository; null for all of them. */
  place: string | null;
  /** The API's address. */
  shown: string;
  /** Where people find GitHub, such as `https://github.com`. */
  web: string;
  /** What no message may hold: the token, the webhook's secret. */
  secrets: readonly string[];
  clock: Clock;
}

/** The problem behind an error of Octokit's. An error that is not about GitHub comes back as it is. */
export function problemOf(error: unknown, asked: Asked): unknown {
  const silence = error instanceof Error && error.cause instanceof NoAnswer ? error.cause : error;
  if (silence instanceof NoAnswer) return new ProviderProblem('provider-failed', silence.message);
  const refusal = refusalOf(error, asked.secrets);
  return refusal === null ? error : explained(refusal, asked);
}

function explained(refusal: Refusal, asked: Asked): ProviderProblem {
  const cause = causeOf(refusal);
  const retryAt = retryAtOf(refusal, asked.clock);
  if (retryAt !== null) {
    const until = retryAt.toISOString().replace('.000Z', 'Z');
    const message = `GitHub takes no more requests from this token until ${until}. Try again then.`;
    return new ProviderProblem('rate-limited', message, { cause, retryAt });
  }
  const [kind, message] = meaningOf(refusal, asked);
  return new ProviderProblem(kind, message, { cause });
}

function meaningOf({ status, headers, words }: Refusal, asked: Asked): [ProblemKind, string] {
  const refused: [ProblemKind, string] = ['refused', `GitHub refused (status ${status}): ${words}`];
  if (status >= 500) return ['provider-failed', failed(status, asked)];
  if (status === 401) return ['bad-token', badToken(asked)];
  if (status === 403) {
    const wants = String(headers['x-github-sso'] ?? '');
    if (wants.startsWith('required') || /SAML enforcement/i.test(words)) {
      return ['missing-permission', wantsSso(asked)];
    }
    if (/not accessible by/i.test(words)) return ['missing-permission', lacksPermission(asked)];
    return /admin rights/i.test(words) ? ['missing-permission', lacksRight(asked)] : refused;
  }
  if (status === 404 && asked.place === null)
    return ['provider-failed', notTheApi(asked.shown, 'it lists no repositories')];
  if (status === 404) return ['place-not-found', noPlace(asked)];
  return status === 422 ? (hookMeaningOf(words, asked) ?? refused) : refused;
}

function hookMeaningOf(words: string, { place, web }: Asked): [ProblemKind, string] | null {
  const settings = `${web}/${place}/settings/hooks`;
  if (/hook already exists/i.test(words)) {
    const message = `${place} has a webhook with this URL already. Delete it at ${settings}, then try again.`;
    return ['hook-exists', message];
  }
  if (/cannot have more than \d+ hooks/i.test(words)) {
    const advice = `Delete one that is not needed at ${settings}, then try again.`;
    return ['too-many-hooks', `GitHub takes no more webhooks at ${place}: ${words}. ${advice}`];
  }
  if (/reachable over the public internet/i.test(words)) {
    const advice = 'Set PUBLIC_URL to an address that GitHub can reach.';
    return ['unreachable-url', `GitHub does not take the webhook: ${words}. ${advice}`];
  }
  return null;
}

const PERMISSION = '"Webhooks: read and write" (classic: the scope admin:repo_hook)';

function failed(status: number, { web }: Asked): string {
  const advice = web === 'https://github.com' ? ' https://www.githubstatus.com tells how it is.' : '';
  return `GitHub failed with status ${status}. Try again later.${advice}`;
}

function badToken({ web }: Asked): string {
  const advice = `Make a new one at ${web}/settings/personal-access-tokens with the repository permission ${PERMISSION}.`;
  return `GitHub refused the token: it is unknown, revoked or expired. ${advice}`;
}

function lacksPermission({ place, web }: Asked): string {
  const settings = `${web}/settings/personal-access-tokens`;
  if (place === null) return `The token may not list repositories. Choose its repositories at ${settings}.`;
  const needs = `it needs the repository permission ${PERMISSION}`;
  return `The token may not administer webhooks of ${place}: ${needs}. Change it at ${settings}.`;
}

function lacksRight({ place }: Asked): string {
  const advice = 'Ask for the role, or use the token of somebody who has it.';
  return `Whoever the token belongs to may not administer ${place}: webhooks need the role Admin there. ${advice}`;
}

function lacksScopeFor({ place, web }: Asked): string {
  const needs = 'it lacks the scope admin:repo_hook';
  return `The token may not administer webhooks of ${place}: ${needs}. Add it at ${web}/settings/tokens.`;
}

function wantsSso({ place, web }: Asked): string {
  const who = place === null ? 'An organization' : `The organization ${place.split('/')[0]}`;
  const advice = `Authorize the token for it at ${web}/settings/tokens ("Configure SSO"), then try again.`;
  return `${who} wants single sign-on for this token. ${advice}`;
}

function noPlace({ place }: Asked): string {
  const advice = 'Check the name, and that the repository is among those that the token may see.';
  return `GitHub shows this token no repository ${place}. ${advice}`;
}

/** The problems that a bare 404 can stand for, and names that need not be asked for. */
export const missing = {
  permission: (asked: Asked) => new ProviderProblem('missing-permission', lacksPermission(asked)),
  scope: (asked: Asked) => new ProviderProblem('missing-permission', lacksScopeFor(asked)),
  right: (asked: Asked) => new ProviderProblem('missing-permission', lacksRight(asked)),
  name: ({ place }: Asked) =>
    new ProviderProblem(
      'place-not-found',
      `A repository is named OWNER/NAME, such as acme/rocket, not ${String(place).slice(0, 200)}`,
    ),
  hook: ({ place }: Asked, hookId: string) =>
    new ProviderProblem('hook-not-found', `The webhook ${hookId} is not at ${place} any more`),
  attempt: ({ place }: Asked, attemptId: string) =>
    new ProviderProblem(
      'refused',
      `GitHub no longer has the delivery ${attemptId} of ${place}, or its webhook`,
    ),
};
