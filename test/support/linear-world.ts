import { linearApi } from '../../src/providers/linear/api/index.ts';
import { startLinearApi } from './linear-api/server.ts';

/** The stand-in for Linear with its three teams, and the API with an admin's key. */
export function startLinear() {
  const server = startLinearApi();
  const [engineering = never(), design = never(), vault = never()] = server.workspace.teams;
  const linear = linearApi(server.url, server.adminKey);
  return { server, linear, engineering, design, vault, [Symbol.dispose]: server[Symbol.dispose] };
}

function never(): never {
  throw new Error('The workspace lacks a team');
}
