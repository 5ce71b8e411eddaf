import { Type } from '@sinclair/typebox';
import { lineOf, MaybeNumber, MaybeText, maybe, textOf } from '../../fields.ts';
import { defineEvent } from '../../provider.ts';
import { ignored, processed } from '../../results.ts';

/** A star that somebody gave the repository. */
export interface StarData {
  /** The login of whoever gave it. */
  stargazer: string;
  /** ISO 8601. */
  starredAt: string | null;
  /** How many the repository has now. */
  starCount: number | null;
}

const Star = Type.Object({
  action: Type.String({ minLength: 1 }),
  starred_at: MaybeText,
  sender: Type.Object({ login: Type.String({ minLength: 1 }) }),
  repository: maybe(Type.Object({ stargazers_count: MaybeNumber }), 'a repository'),
});

/** docs.github.com/webhooks/webhook-events-and-payloads#star. */
export const star = defineEvent(Star, ({ action, starred_at: starredAt, sender, repository }) => {
  if (action !== 'created') {
    return ignored(
      `Star ${action} by ${sender.login}`,
      `Only new stars are processed, not the action ${action}`,
    );
  }
  const data: StarData = {
    stargazer: textOf(sender.login),
    starredAt: lineOf(starredAt),
    starCount: repository?.stargazers_count ?? null,
  };
  return processed(`Star from ${sender.login}`, { type: 'star', action: 'created', data });
});
