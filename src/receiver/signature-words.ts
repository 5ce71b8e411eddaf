import type { Integration } from '../integrations/model.ts';
import { count } from '../lib/text.ts';
import { providers } from '../providers/index.ts';
import type { Provider } from '../providers/provider.ts';
import { type Found, MAX_EXAMINED_BYTES } from './signature-cause.ts';

/** Whether there was a previous secret, how many other integrations were looked at, and whether there are more. */
interface Tried {
  hasPrevious: boolean;
  others: number;
  hasMore: boolean;
}

/** What the words need beside what was found. */
export interface Known {
  /** The integration whose secret it is, by its name. */
  other?: string;
  /** Absent when the search itself failed. */
  tried?: Tried;
}

/** Why a signature was refused and what to do about it, for people of the integration's organization. */
export function reasonFor(
  { cause, detail }: Found,
  { name, sendsForms }: Provider,
  { other, tried }: Known = {},
): string {
  const wrong = 'The signature was not made with the secret of this integration';
  const again = `Set the secret at ${name} anew, or rotate it and set the new one.`;
  switch (cause) {
    case 'previous-secret':
      return `It was signed with the previous secret of this integration, which no longer works since a rotation. Set the present secret at ${name}; if nobody has it any more, rotate it and set the new one.`;
    case 'other-integration':
      return `It was signed with the secret of another integration of this organization: ${other}. The webhook's URL and its secret belong to different integrations. Set the URL and the secret of the same one at ${name}.`;
    case 'whitespace':
      return `It was signed with the secret of this integration and ${detail}. Set the secret at ${name} again, with nothing before or behind it.`;
    case 'body-altered':
      return `It was signed with the secret of this integration, but the body was changed on its way: ${detail}. ${passThrough(name)}.`;
    case 'form': {
      const choose = sendsForms ? `, and choose the content type application/json at ${name}` : '';
      return `It was signed with the secret of this integration, but the body was changed on its way: ${detail}. ${passThrough(name)}${choose}.`;
    }
    case 'too-large':
      return `${wrong}. The body has more than ${MAX_EXAMINED_BYTES / 1024} KiB, so the cause was not looked for; a smaller delivery will tell. ${again}`;
    case 'not-examined':
      return `${wrong}. The cause was not looked for again: enough refused deliveries were examined in this minute. The other entries of this minute say what was found.`;
    case 'unknown':
      return tried === undefined
        ? `${wrong}. The search for the cause failed; the log of the server says why. ${again}`
        : `${wrong}, and none of the usual causes was found. ${triedWords(tried)} ${again}`;
  }
}

function passThrough(name: string): string {
  return `Whatever stands between ${name} and Tidings, such as a proxy or a function, must pass the bytes through as they are`;
}

function triedWords({ hasPrevious, others, hasMore }: Tried): string {
  const words = [
    ...(hasPrevious ? ['its previous secret'] : []),
    ...(others === 0 ? [] : [`the secrets of ${othersWords(others, hasMore)}`]),
    'white space and quotation marks around its secret',
    'JSON that was written anew',
    'line ends and byte order marks that were changed',
    'a form in place of JSON and JSON in place of a form',
  ];
  return `Tried: ${words.join('; ')}.`;
}

function othersWords(others: number, hasMore: boolean): string {
  if (hasMore) return `the ${others} newest other integrations of this organization`;
  return `${count(others, 'other integration')} of this organization`;
}

/** How many repositories of an integration are named. */
const MAX_NAMED = 3;

/** The provider, the first repositories and the id of an integration. */
export function nameOf({ id, type, repositories }: Integration): string {
  const provider = providers.find((each) => each.id === type)?.name ?? type;
  const named = repositories.slice(0, MAX_NAMED).map(({ fullName }) => fullName);
  const rest = repositories.length - named.length;
  return `${[provider, ...named].join(', ')}${rest > 0 ? ` and ${rest} more` : ''} (${id})`;
}
