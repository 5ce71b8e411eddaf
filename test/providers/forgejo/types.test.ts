import { test } from 'bun:test';
import type {
  CreateHookOption,
  EditHookOption,
  PayloadCommit,
  PullRequest,
  Release,
  Repository,
  User,
} from 'forgejo-js';
import { hookBody, newHookBody } from '../../../src/providers/forgejo/api/index.ts';
import { pullRequest, push, release } from '../../../src/providers/forgejo/samples.ts';

/** The keys of a sample that Forgejo's type does not have. */
type Unknown<Sample, Known> = Exclude<keyof Sample, keyof Known>;

test("the compiler holds the samples against the types of Forgejo's API", () => {
  const context = { repository: 'acme/rocket', now: new Date('2026-11-20T12:00:00.000Z') };
  const published = release(context);
  const pushed = push(context);
  const merged = pullRequest(context);

  published.release satisfies Release;
  published.repository satisfies Repository;
  published.sender satisfies User;
  pushed.commits satisfies PayloadCommit[];
  merged.pull_request satisfies PullRequest;

  const unknown: (
    | Unknown<typeof published.release, Release>
    | Unknown<typeof published.repository, Repository>
    | Unknown<typeof published.sender, User>
    | Unknown<(typeof pushed.commits)[number], PayloadCommit>
    | Unknown<typeof merged.pull_request, PullRequest>
  )[] = [];
  unknown satisfies never[];
});

test('the compiler holds the bodies of requests against them, too', () => {
  const settings = { url: 'https://tidings.example/', secret: 'secret', events: ['push'] };
  const changed = hookBody(settings);
  const created = newHookBody('forgejo', settings);

  changed satisfies EditHookOption;
  created satisfies CreateHookOption;

  const unknown: (Unknown<typeof changed, EditHookOption> | Unknown<typeof created, CreateHookOption>)[] = [];
  unknown satisfies never[];
});
