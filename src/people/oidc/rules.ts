import type { Role } from '../permission.ts';

// The rules of OIDC_RULES: who may enter which organization with which role. No import at run time: every start reads them.

export interface Rule {
  organization: string;
  role: Role;
  /** The part after the @ of an email address that the provider has verified. */
  domain?: string;
  /** A claim that has this value, or is a list that contains it. */
  claim?: string;
  value?: string;
}

/** The provider's claims about a person. */
export interface Claims {
  /** In lower case; null for none that can be an account's. */
  email: string | null;
  isVerified: boolean;
  all: Readonly<Record<string, unknown>>;
}

const MAX_RULES = 200;
const MAX_LENGTH = 255;
const keys = ['organization', 'role', 'domain', 'claim', 'value'];

/** Null for a text that is not a list of rules. An unknown key is one: a misspelled condition would let others in. */
export function readRules(text: string): Rule[] | null {
  let list: unknown;
  try {
    list = JSON.parse(text);
  } catch {
    return null;
  }
  if (!Array.isArray(list) || list.length > MAX_RULES) return null;
  const rules = list.map(readRule);
  return rules.includes(null) ? null : (rules as Rule[]);
}

function readRule(given: unknown): Rule | null {
  if (typeof given !== 'object' || given === null) return null;
  const isText = (value: unknown) =>
    typeof value === 'string' && value.trim() !== '' && value.length <= MAX_LENGTH;
  if (!Object.entries(given).every(([key, value]) => keys.includes(key) && isText(value))) return null;
  const { organization, role = 'member', domain, claim, value } = given as Partial<Rule>;
  if (organization === undefined || !['writer', 'member', 'owner'].includes(role)) return null;
  if ((claim === undefined) !== (value === undefined) || (domain ?? claim) === undefined) return null;
  if (domain !== undefined && !/^[^\s@*]+$/.test(domain)) return null;
  return {
    organization,
    role,
    ...(domain !== undefined && { domain: domain.toLowerCase() }),
    ...(claim !== undefined && value !== undefined && { claim, value }),
  };
}
