import { githubExamples } from './github.ts';
import type { Telling } from './histories.ts';
import { deliveryIdOf } from './month/month.ts';
import { changed, type Payload } from './payloads.ts';

export const OCTOKIT_REPOSITORY = 'Codertocat/Hello-World';

const PAGE = `https://github.com/${OCTOKIT_REPOSITORY}`;
const MERGE = 'c4295bd74fb0f4fda03689c3df3f2803b658fd85';
const EVENTS = ['release', 'push', 'pull_request'];

/**
 * Octokit's examples of releases, pushes and pull requests, and cases that they lack: a push of its own to
 * the default branch, and a pull request that was merged, with the push that its merge made.
 */
export async function octokitDeliveries(server = 'api.github.com'): Promise<Telling[]> {
  const examples = (await githubExamples(server)).filter(({ event }) => EVENTS.includes(event));
  const first = (event: string, action?: unknown): Payload => {
    const found = examples.find((each) => each.event === event && each.payload.action === action);
    if (found === undefined) throw new Error(`there is no example of ${event} ${action}`);
    return found.payload;
  };
  const derived = [
    { event: 'push', payload: pushOf(first('push'), 'feat: greet the whole world', 'a1'.repeat(20), 33) },
    {
      event: 'push',
      payload: pushOf(first('push'), 'Update the README with new information (#2)', MERGE, 51),
    },
    { event: 'pull_request', payload: merged(first('pull_request', 'opened')) },
  ];
  return [...examples, ...derived].map((telling, index) => ({
    ...telling,
    deliveryId: deliveryIdOf(`${server} ${index}`),
  }));
}

/** A push of one commit to the default branch at 15:20 and so many seconds. */
function pushOf(example: Payload, message: string, sha: string, second: number): Payload {
  const author = {
    name: 'Codertocat',
    email: '21031067+Codertocat@users.noreply.github.com',
    username: 'Codertocat',
  };
  const timestamp = `2019-05-15T15:20:${second}Z`;
  return changed(example, {
    ref: 'refs/heads/master',
    after: sha,
    deleted: false,
    compare: `${PAGE}/compare/6113728f27ae...${sha.slice(0, 12)}`,
    commits: [{ id: sha, message, author, url: `${PAGE}/commit/${sha}`, timestamp }],
    'repository.pushed_at': Date.parse(timestamp) / 1000,
  });
}

function merged(example: Payload): Payload {
  const at = '2019-05-15T15:20:50Z';
  return changed(example, {
    action: 'closed',
    'pull_request.state': 'closed',
    'pull_request.merged': true,
    'pull_request.merged_at': at,
    'pull_request.updated_at': at,
    'pull_request.merge_commit_sha': MERGE,
  });
}
