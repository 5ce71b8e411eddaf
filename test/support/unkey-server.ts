import type { Clock } from '../../src/lib/time.ts';
import { checkedBody, isOperation, type Operation } from './unkey/bodies.ts';
import { type Fault, faults } from './unkey/faults.ts';
import { type Action, type Answer, keyOperations, type Verification } from './unkey/keys.ts';
import { refusals, UnkeyRefusal } from './unkey/refusal.ts';

export const ROOT_KEY = 'unkey_test_root_key';
export const API_ID = 'api_tidings_test';
/** Another API of the same workspace. */
export const OTHER_API_ID = 'api_of_somebody_else';

/** The permission as a root key has it. */
export function permissionOn(action: Action, apiId = API_ID): string {
  return `api.${apiId}.${action}`;
}

/** Exactly the permissions that Tidings needs. */
const NEEDED: readonly Action[] = [
  'verify_key',
  'create_key',
  'read_key',
  'update_key',
  'delete_key',
  'read_api',
];

export interface UnkeyServer extends Disposable {
  readonly url: string;
  /** Each request that came in, by the name of its operation. */
  readonly requests: string[];
  /** While set, every request is answered so. */
  fault: Fault | null;
  /** Sets the fault once the operation was answered well. */
  failAfter(operation: Operation, fault: Fault): void;
  /** The permissions of the root key. At first those on the one API. */
  readonly permissions: Set<string>;
  /** True: verifications are answered by a node that caches keys, and did not handle the changes. */
  isOtherNode: boolean;
  /** Changes what the next verification answers; `undefined` leaves a field out. One call, one answer. */
  answerNext(change: Partial<Verification>): void;
}

/** Stands in for Unkey's API v2 over real HTTP: one workspace, its keys in memory, its time from `clock`. */
export function startUnkeyServer({
  clock,
  rootKey = ROOT_KEY,
}: {
  clock: Clock;
  rootKey?: string;
}): UnkeyServer {
  const permissions = new Set(NEEDED.map((action) => permissionOn(action)));
  let isOtherNode = false;
  const operations = keyOperations({
    apiIds: [API_ID, OTHER_API_ID],
    clock,
    may: (action, apiId) =>
      permissions.has(permissionOn(action, apiId)) || permissions.has(permissionOn(action, '*')),
    isOtherNode: () => isOtherNode,
  });
  const forced: Partial<Verification>[] = [];
  const requests: string[] = [];
  const faultsAfter = new Map<string, Fault>();
  let fault: Fault | null = null;

  async function answer(request: Request, name: string): Promise<Answer> {
    requireRootKey(request.headers.get('authorization'), rootKey);
    if (request.method !== 'POST' || !isOperation(name)) throw refusals.unknownPath();
    const operation = operations[name] as (body: unknown) => Answer;
    const answered = operation(checkedBody(name, await request.text()));
    if (name !== 'keys.verifyKey') return answered;
    return { data: { ...answered.data, ...forced.shift() } };
  }

  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      const name = new URL(request.url).pathname.replace('/v2/', '');
      requests.push(name);
      if (fault !== null) return faults[fault]();
      const requestId = `req_${requests.length}`;
      try {
        const answered = await answer(request, name);
        fault = faultsAfter.get(name) ?? fault;
        return Response.json({ meta: { requestId }, ...answered });
      } catch (error) {
        if (error instanceof UnkeyRefusal) return error.toResponse(requestId);
        throw error;
      }
    },
  });

  return {
    url: `http://127.0.0.1:${server.port}`,
    requests,
    get fault() {
      return fault;
    },
    set fault(next) {
      fault = next;
    },
    failAfter: (operation, next) => void faultsAfter.set(operation, next),
    permissions,
    get isOtherNode() {
      return isOtherNode;
    },
    set isOtherNode(next) {
      isOtherNode = next;
    },
    answerNext: (change) => void forced.push(change),
    [Symbol.dispose]: () => void server.stop(true),
  };
}

function requireRootKey(authorization: string | null, rootKey: string): void {
  if (!authorization?.startsWith('Bearer ')) throw refusals.malformedAuthorization();
  if (authorization !== `Bearer ${rootKey}`) throw refusals.unknownRootKey();
}
