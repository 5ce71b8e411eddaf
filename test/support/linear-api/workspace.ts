// The data of the stand-in for Linear.

export interface LinearUser {
  id: string;
  name: string;
  admin: boolean;
  owner: boolean;
  /** True for the user of an OAuth application. */
  app: boolean;
}

export interface LinearTeam {
  id: string;
  key: string;
  name: string;
  isPrivate: boolean;
  /** Members who see it when it is private. */
  memberIds: string[];
}

export interface LinearHook {
  id: string;
  url: string;
  secret: string | null;
  label: string | null;
  resourceTypes: string[];
  /** Linear sets it to false when deliveries keep failing; a test may do so too. */
  enabled: boolean;
  allPublicTeams: boolean;
  teamId: string | null;
}

/** Scopes of an OAuth token; a personal API key has its user's rights. */
export type Scope = 'read' | 'write' | 'admin';

interface LinearToken {
  user: LinearUser;
  scopes: Scope[] | null;
}

export class LinearWorkspace {
  readonly id = crypto.randomUUID();
  readonly teams: LinearTeam[] = [];
  /** All that stand now: empty when nothing is left. */
  readonly hooks: LinearHook[] = [];
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
