import { Option } from 'commander';
import { tidings } from '../lib/build.ts';
import { count } from '../lib/text.ts';
import { listAttempts, listMessages } from '../readers/hooks/message-store.ts';
import {
  describeOutcome,
  getHook,
  type Hook,
  type HookKind,
  type HookMessage,
  type HookSubject,
  hookKinds,
  hookSubjects,
  kindWords,
  listHooks,
  messageStatus,
  subjectWords,
} from '../readers/hooks/model.ts';
import {
  createHook,
  deleteHook,
  resendFailed,
  resendMessage,
  rotateSecret,
  sendTest,
  switchHook,
} from '../readers/hooks/service.ts';
import type { Services } from '../server/services.ts';
import {
  clockTime,
  done,
  limitTo,
  type OfOrganization,
  ofOrganization,
  readOf,
  readToken,
  type TidingsCommand,
} from './command.ts';
import { fields, status, switchStatus, table } from './output.ts';

interface CreateFlags {
  organization: string;
  name: string;
  kind: HookKind;
  about: HookSubject;
  url: string;
}

const PRIVATE =
  "For a host in a private network, set HOOK_PRIVATE_HOSTS for this command too. It does not read the server's environment.";

const COPY = 'Copy the secret now. Tidings shows it only once.';

export function add(program: TidingsCommand): void {
  const group = program.sub('hook', 'Tell other services when public posts change, or what needs attention');
  const command = group.about('hook');
  group.examples(
    'hook create --organization acme --name Website --kind netlify --url -',
    'hook messages hook_…',
  );

  group
    .sub('list', 'List the hooks, oldest first')
    .addOption(ofOrganization)
    .answers(
      (services, { organization }: OfOrganization) =>
        readOf(services, organization, (tx) => listHooks(tx, organization)),
      (all) =>
        all.length === 0
          ? `No hooks yet. Create one: ${tidings} hook create --organization ID --name NAME --kind KIND --url URL`
          : table(['ID', 'NAME', 'KIND', 'HOST', 'STATUS', 'ORGANIZATION'], all.map(row), ['NAME', 'HOST']),
    )
    .examples('hook list', 'hook list --organization acme');

  group
    .sub('create', 'Create a hook. For a signed one, show its secret once')
    .requiredOption('--organization <id>', 'Organization that it follows')
    .requiredOption('--name <name>', 'Purpose of the hook, such as "Website"')
    .addOption(new Option('--kind <kind>', 'Receiver of the requests').choices(hookKinds).default('signed'))
    .addOption(new Option('--about <what>', 'Subject of the messages').choices(hookSubjects).default('posts'))
    .requiredOption('--url <url>', 'URL to call; - reads it from standard input')
    .answers(
      async (services, { organization: organizationId, name, kind, about, url }: CreateFlags) =>
        createHook(services, { organizationId, name, kind, about, url: await readToken(url) }),
      ({ secret, ...hook }) => [describe(hook, secret), secret === null ? '' : COPY],
    )
    .note(`A signed hook gets JSON for each change. netlify, vercel and cloudflare start a build 30 seconds after the last change. slack and discord announce new posts.

With --about attention, a signed, slack or discord hook tells when something begins to need a person, and when it ends: in its organization, or with attention-and-server also on the server.

The URL may hold a secret. Tidings stores it encrypted and shows only its host.

${PRIVATE}`)
    .examples(
      'hook create --organization acme --name Website --url https://example.com/hook',
      'hook create --organization acme --name Alerts --kind slack --about attention --url -',
    );

  const switches = { enable: 'Enable a hook', disable: 'Disable a hook. Its queued messages are not sent.' };
  group.addSwitch('hook', 'hook_…', switches, switchHook);

  command('rotate-secret', 'Create a new secret. The old one signs too for 24 hours.')
    .answers(
      (services: Services, id: string) => rotateSecret(services, id),
      ({ hook, secret }) => [describe(hook, secret), COPY],
      ({ hook, secret }) => ({ ...hook, secret }),
    )
    .examples('hook rotate-secret hook_…');

  command('delete', 'Delete a hook with its messages')
    .answers(done('deleted', deleteHook), ({ id }) => `Deleted: ${id}`)
    .examples('hook delete hook_…');

  command('test', 'Send a test message now and show the response')
    .answers(
      (services, id: string) => sendTest(services, id),
      (outcome) => [describeOutcome(outcome), outcome.response ?? ''],
      (outcome) => outcome,
      ({ problem }) => problem !== null,
    )
    .note(
      `A deploy hook starts a build.

${PRIVATE}`,
    )
    .examples('hook test hook_…');

  command('messages', 'List the messages of a hook, newest first, with their last response')
    .addOption(limitTo('Messages'))
    .answers(
      ({ db }, id: string, { limit }: { limit: number }) =>
        db.read(async (tx) => {
          await getHook(tx, id);
          const found = await listMessages(tx, id, { limit });
          return Promise.all(found.map(async (each) => toEntry(each, await listAttempts(tx, each.id))));
        }),
      (all) =>
        all.length === 0
          ? 'No messages yet.'
          : table(['ID', 'DATE', 'TYPE', 'TITLE', 'STATUS', 'ATTEMPTS', 'RESPONSE'], all.map(messageRow), [
              'TITLE',
              'RESPONSE',
            ]),
    )
    .examples('hook messages hook_…', 'hook messages hook_… --limit 10 --json');

  command('resend', 'Send failed messages again, or one message')
    .option('--message <id>', 'Only this message, also if it was sent')
    .answers(
      async (services, id: string, { message }: { message?: string }) => ({
        hookId: id,
        queued:
          message === undefined
            ? await resendFailed(services, id)
            : await resendMessage(services, id, message),
      }),
      ({ queued }) => (queued === 0 ? 'No failed messages.' : `Queued: ${count(queued, 'message')}`),
    )
    .examples('hook resend hook_…', 'hook resend hook_… --message msg_…');
}

function row({ id, name, kind, host, isEnabled, organizationId }: Hook) {
  return [id, name, kind, host, switchStatus(isEnabled), organizationId];
}

function describe({ id, name, kind, about, host, isEnabled, organizationId }: Hook, secret: string | null) {
  return fields({
    ...(secret !== null && { Secret: secret }),
    Hook: id,
    Name: name,
    Kind: kindWords[kind].name,
    Sends: subjectWords[about].name,
    Host: host,
    Organization: organizationId,
    Status: switchStatus(isEnabled),
  });
}

/** A message as `--json` prints it. */
function toEntry(message: HookMessage, attempts: Awaited<ReturnType<typeof listAttempts>>) {
  const { id, hookId, organizationId, postId, type, title, url, notice, state, createdAt, dueAt } = message;
  return {
    ...{ id, hookId, organizationId, type, title, url, state, createdAt },
    postId: notice === null ? postId : null,
    itemId: notice?.itemId ?? null,
    attempts: attempts.map(({ messageId: _, id: __, ...attempt }) => attempt),
    nextAttemptAt: state === 'queued' ? new Date(dueAt).toISOString() : null,
  };
}

function messageRow({ id, createdAt, type, title, state, attempts }: ReturnType<typeof toEntry>) {
  const last = attempts.at(-1);
  const word = messageStatus({ state, attempts: attempts.length });
  const response = last === undefined ? '–' : describeOutcome(last);
  const date = createdAt === null ? '–' : clockTime(createdAt);
  return [id, date, type, title, status(word), String(attempts.length), response];
}
