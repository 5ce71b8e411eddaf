// How a person wants the dashboard to look and to behave. Each browser keeps it in a cookie.

import { knownZone } from '../lib/time.ts';

export const themes = ['system', 'light', 'dark'] as const;
export const densities = ['comfortable', 'dense'] as const;

export interface Preferences {
  theme: (typeof themes)[number];
  density: (typeof densities)[number];
  /** An IANA name; null: the browser's own. */
  fixedZone: string | null;
  /** Single keys such as `/` and `?` do something (WCAG 2.1.4). */
  hasShortcuts: boolean;
}

/** The part that a page needs. */
export interface Look extends Preferences {
  zone: string;
}

export const defaultLook: Look = {
  theme: 'system',
  density: 'comfortable',
  fixedZone: null,
  hasShortcuts: true,
  zone: 'UTC',
};

const MAX_COOKIE_LENGTH = 300;

/** `browserZone`: the zone that the script found. Ignores invalid values. */
export function readPreferences(cookie: string | null, browserZone: string | null): Look {
  const saved = new URLSearchParams(cookie !== null && cookie.length <= MAX_COOKIE_LENGTH ? cookie : '');
  const fixedZone = knownZone(saved.get('zone'));
  return {
    theme: themes.find((each) => each === saved.get('theme')) ?? defaultLook.theme,
    density: densities.find((each) => each === saved.get('density')) ?? defaultLook.density,
    fixedZone,
    hasShortcuts: saved.get('shortcuts') !== 'off',
    zone: fixedZone ?? knownZone(browserZone) ?? defaultLook.zone,
  };
}

export function writePreferences({ theme, density, fixedZone, hasShortcuts }: Preferences): string {
  const zone = fixedZone === null ? {} : { zone: fixedZone };
  const shortcuts = hasShortcuts ? {} : { shortcuts: 'off' };
  return new URLSearchParams({ theme, density, ...zone, ...shortcuts }).toString();
}
