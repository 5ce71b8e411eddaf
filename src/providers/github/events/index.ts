import type { EventHandler } from '../../provider.ts';
import { create } from './create.ts';
import { issues } from './issues.ts';
import { milestone } from './milestone.ts';
import { ping } from './ping.ts';
import { pullRequest } from './pull-request.ts';
import { push } from './push.ts';
import { release } from './release.ts';
import { star } from './star.ts';

/** GitHub's events that Tidings knows, by `X-GitHub-Event`. Another one is a file beside these and a line here. */
export const events: Readonly<Record<string, EventHandler>> = {
  ping,
  push,
  release,
  pull_request: pullRequest,
  create,
  issues,
  milestone,
  star,
};
