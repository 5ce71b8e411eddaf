import { type ExecutionResult, execute, GraphQLError, getOperationAST, parse, validate } from 'graphql';
import { type Clock, systemClock } from '../../../src/lib/time.ts';
import { remember } from './changes.ts';
import { type Delivered, deliver, type LinearEvent } from './deliver.ts';
import { type Fault, faults } from './faults.ts';
import { complexityOf, LinearLimits, MAX_COMPLEXITY } from './limits.ts';
import { refusals } from './refusal.ts';
import { type Caller, rootFor } from './resolvers.ts';
import { readSchema } from './schema.ts';
import { LinearWorkspace } from './workspace.ts';

const schema = await readSchema();

/** A valid request. */
interface LinearOperation {
  /** The fields at the root: `webhookCreate`, or `viewer` and `teams`. */
  fields: string[];
  /** Its cost, out of the budget. */
  complexity: number;
  variables: Record<string, unknown>;
  query: string;
}

export interface LinearApi extends Disposable {
  /** For LINEAR_API_URL. */
  readonly url: string;
  /** The workspace that is there from the start: Design (DES), Engineering (ENG), and Vault (VLT), which is private. */
  readonly workspace: LinearWorkspace;
  /** A personal API key of an admin of that workspace, who is in the private team too. */
  readonly adminKey: string;
  /** The valid operations of known tokens, oldest first. */
  readonly operations: LinearOperation[];
  /** While set, every request fails with it. */
  fault: Fault | null;
  addWorkspace(): LinearWorkspace;
  /** Lists what changed, and delivers it to the workspace's webhooks, over HTTP. */
  emit(event: LinearEvent, workspace?: LinearWorkspace): Promise<Delivered[]>;
  /** Lists what changed. Its delivery is lost. */
  lose(event: LinearEvent): void;
  /** The rest of the budgets. */
  readonly limits: LinearLimits;
}

interface Options {
  /** The time of deliveries. */
  clock?: Clock;
  /** Linear refuses URLs of this machine; tests need them. True by default. */
  takesLocalUrls?: boolean;
}

/**
 * Stands in for Linear's GraphQL API over HTTP. Checks requests and responses against an extract of Linear's schema,
 * and refuses others as Linear does.
 */
export function startLinearApi({ clock = systemClock, takesLocalUrls = true }: Options = {}): LinearApi {
  const workspaces: LinearWorkspace[] = [];
  const operations: LinearOperation[] = [];
  const limits = new LinearLimits(clock);
  let fault: Fault | null = null;

  function addWorkspace(): LinearWorkspace {
    const added = new LinearWorkspace();
    workspaces.push(added);
    return added;
  }

  function callerOf(authorization: string): Caller {
    const isBearer = authorization.startsWith('Bearer ');
    const token = isBearer ? authorization.slice('Bearer '.length) : authorization;
    for (const one of workspaces) {
      const known = one.tokenOf(token);
      if (known === undefined) continue;
      if (isBearer && known.scopes === null) throw refusals.keyAsBearer();
      if (isBearer || known.scopes === null) return { workspace: one, ...known };
    }
    throw refusals.notAuthenticated();
  }

  async function respond(request: Request, body: string): Promise<Response> {
    if (request.method !== 'POST' || new URL(request.url).pathname !== '/graphql') {
      return new Response('Not found', { status: 404 });
    }
    let caller: Caller;
    try {
      caller = callerOf(request.headers.get('authorization') ?? '');
    } catch (error) {
      return Response.json({ errors: [error] }, { status: 401 });
    }
    const { query, variables } = JSON.parse(body) as { query: string; variables?: Record<string, unknown> };
    const known = operations.length;
    const root = rootFor(caller, takesLocalUrls);
    const result = await run(query, variables ?? {}, root, operations, limits);
    const headers = limits.headers(operations[known]?.complexity ?? 0);
    return Response.json(result, { status: result.data === undefined ? 400 : 200, headers });
  }

  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      const body = await request.text();
      if (fault === null) return respond(request, body);
      if (fault !== 'does it and answers 502') {
        return faults[fault](body, request.headers.get('authorization') ?? '');
      }
      await respond(request, body);
      return new Response('Bad gateway', { status: 502 });
    },
  });

  const workspace = addWorkspace();
  const adminKey = workspace.addKey({ admin: true });
  const memberIds = [workspace.tokenOf(adminKey)?.user.id ?? ''];
  workspace.addTeam('ENG', 'Engineering');
  workspace.addTeam('DES', 'Design');
  workspace.addTeam('VLT', 'Vault', { isPrivate: true, memberIds });

  return {
    url: `http://127.0.0.1:${server.port}/graphql`,
    workspace,
    adminKey,
    operations,
    get fault() {
      return fault;
    },
    set fault(next) {
      fault = next;
    },
    addWorkspace,
    limits,
    emit(event, where = workspace) {
      remember(where, event);
      return deliver(where, event, clock);
    },
    lose: (event) => remember(workspace, event),
    [Symbol.dispose]: () => void server.stop(true),
  };
}

/** Without `data` when the request itself is invalid. */
async function run(
  query: string,
  variables: Record<string, unknown>,
  rootValue: unknown,
  operations: LinearOperation[],
  limits: LinearLimits,
): Promise<ExecutionResult> {
  try {
    const document = parse(query);
    const errors = validate(schema, document);
    if (errors.length > 0) return { errors: errors.map(asLinearError) };
    const operation = getOperationAST(document);
    const selections = operation?.selectionSet.selections ?? [];
    const fields = selections.flatMap((one) => (one.kind === 'Field' ? [one.name.value] : []));
    const complexity = operation == null ? 0 : complexityOf(schema, operation, variables);
    operations.push({ fields, variables, query, complexity });
    if (complexity > MAX_COMPLEXITY) throw new GraphQLError('Query too complex');
    if (!limits.take(complexity)) return { errors: [refusals.rateLimited()] };
    const result = await execute({ schema, document, rootValue, variableValues: variables });
    return result.data === undefined ? { errors: (result.errors ?? []).map(asLinearError) } : result;
  } catch (error) {
    if (error instanceof GraphQLError) return { errors: [asLinearError(error)] };
    throw error;
  }
}

function asLinearError({ message }: GraphQLError): GraphQLError {
  const extensions = { type: 'graphql error', code: 'GRAPHQL_VALIDATION_FAILED', userError: true };
  return new GraphQLError(message, { extensions });
}
