import type { Things } from './changes.ts';

// The state of the stand-in for Linear.

export interface LinearUser {
  id: string;
  name: string;
  admin: boolean;
  owner: boolean;
  /** True for the user of an OAuth application, false for a person. */
  app: boolean;
}

export interface LinearTeam {
  id: string;
  key: string;
  name: string;
  isPrivate: boolean;
  /** The users who see a private team. */
  memberIds: string[];
}

export interface LinearHook {
  id: string;
  url: string;
  secret: string | null;
  label: string | null;
  resourceTypes: string[];
  /** Linear sets it to false when deliveries keep failing; a test may too. */
  enabled: boolean;
  allPublicTeams: boolean;
  teamId: string | null;
}

/** A scope of an OAuth token. A personal API key has the rights of its user. */
export type Scope = 'read' | 'write' | 'admin';

interface LinearToken {
  user: LinearUser;
  scopes: Scope[] | null;
}

export class LinearWorkspace {
  readonly id = crypto.randomUUID();
  readonly teams: LinearTeam[] = [];
  /** The webhooks that exist now. */
  readonly hooks: LinearHook[] = [];
  /** The objects that the API lists, by type and id. */
  readonly things: Things = new Map();
  /** Lists that the plan does not include, such as `releases`. */
  readonly lacks = new Set<string>();
  readonly #tokens = new Map<string, LinearToken>();

  addTeam(key: string, name: string, { isPrivate = false, memberIds = [] as string[] } = {}): LinearTeam {
    const team = { id: crypto.randomUUID(), key, name, isPrivate, memberIds };
    this.teams.push(team);
    return team;
  }

  /** A personal API key of a new user. */
  addKey(roles: Partial<LinearUser> = {}): string {
    return this.#add(`lin_api_${randomText()}`, roles, null);
  }

  /** An OAuth token of a new user, who is a person unless `app` is set. */
  addOAuthToken(scopes: Scope[], roles: Partial<LinearUser> = {}): string {
    return this.#add(`lin_oauth_${randomText()}`, roles, scopes);
  }

  revoke(token: string): void {
    this.#tokens.delete(token);
  }

  tokenOf(token: string): LinearToken | undefined {
    return this.#tokens.get(token);
  }

  #add(token: string, roles: Partial<LinearUser>, scopes: Scope[] | null): string {
    const user = {
      id: crypto.randomUUID(),
      name: 'Ada',
      admin: false,
      owner: false,
      app: false,
      ...roles,
    };
    this.#tokens.set(token, { user, scopes });
    return token;
  }
}

const randomText = () => crypto.randomUUID().replaceAll('-', '');
