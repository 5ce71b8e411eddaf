import { joinChanges } from './groups.ts';
import type { Entry } from './reached.ts';

// A change and its revert vanish when both are in the range. Each entry does something to a change: it makes it, makes it again
// as a copy, takes it back, or takes that back. In the end a change is there when it was made last.

/** A change, and what the entries of the range did to it, in their order. */
interface Made {
  /** Entries that made it, oldest first; none when that was before the range. */
  makers: Entry[];
  /** The last entry that took it back, or took that back. */
  last: Entry | null;
  isThere: boolean;
  /** Before the range. */
  wasThere: boolean;
}

/** The deed of one entry. */
type Deed = { made: Made; makes: boolean };

/** How many changes one entry may take back. A history that takes back itself would grow without an end. */
const MAX_DEEDS = 200;

/** The last deed on each change. */
const unique = (deeds: readonly Deed[]): Deed[] =>
  [...new Map(deeds.map((deed) => [deed.made, deed])).values()].slice(0, MAX_DEEDS);

/** A title without the numbers that merges add to it. */
const plain = (title: string) => title.replace(/(?: \(#\d{1,9}\))+$/, '').trim();

/** True if an entry with this title makes a change, or makes it again by taking back a revert. */
function makesIn(title: string): boolean {
  let makes = true;
  for (let quoted = quotedIn(title); quoted !== null && !quoted.again; quoted = quotedIn(quoted.quoted))
    makes = !makes;
  return makes;
}

const titleName = (title: string) => `title ${plain(title)}`;

/** The quoted title of `Revert "…"` and `Reapply "…"`; null for another. `Revert button` is none. */
function quotedIn(title: string): { quoted: string; again: boolean } | null {
  const [, verb, quoted] = /^(Revert|Reapply) "(.+)"$/.exec(plain(title)) ?? [];
  return quoted === undefined ? null : { quoted, again: verb === 'Reapply' };
}

/** The entries in effect, oldest first as they are given, and those that vanish, each with the entry that took it back. */
export function inEffect(entries: readonly Entry[]): {
  kept: Entry[];
  vanished: { entry: Entry; by: Entry }[];
} {
  if (!entries.some((entry) => entry.reverts.length > 0 || entry.picked.length > 0 || quotedIn(entry.title)))
    return { kept: [...entries], vanished: [] };
  const byName = new Map<string, Deed[]>();
  const byStart = new Map<string, Set<string>>();
  const byTitle = Map.groupBy(entries, ({ title }) => plain(title));
  const deeds = new Map<Entry, Deed[]>();
  const all: Made[] = [];
  const add = (wasThere: boolean): Made => {
    const made = { makers: [], last: null, isThere: wasThere, wasThere };
    all.push(made);
    return made;
  };
  const find = (name: string): Deed[] | undefined => {
    if (name.startsWith('#') || name.length >= 40) return byName.get(name);
    const known = [...(byStart.get(name.slice(0, 7)) ?? [])].filter((each) => each.startsWith(name));
    return known.length === 1 ? byName.get(known[0] ?? '') : undefined;
  };
  const remember = (name: string, own: Deed[]) => {
    byName.set(name, own);
    if (name.startsWith('#')) return;
    const start = byStart.get(name.slice(0, 7));
    if (start === undefined) byStart.set(name.slice(0, 7), new Set([name]));
    else start.add(name);
  };
  /** The deeds from before the range, by title. */
  const before = (title: string | undefined): Deed[] | undefined => {
    const known = title === undefined ? undefined : byName.get(titleName(title));
    return known?.every(({ made }) => made.makers.length === 0) ? known : undefined;
  };
  /** The change that was copied to the range under this title: a hash may be that of another copy, elsewhere. */
  const copyOf = (title: string | undefined): Deed[] | undefined => {
    const all = title === undefined ? [] : (byTitle.get(plain(title)) ?? []);
    const named = all.length > MAX_DEEDS ? [] : all;
    const known = named.flatMap((entry) => deeds.get(entry) ?? []);
    const isOne = new Set(known.map(({ made }) => made)).size === 1;
    return isOne && named.some(({ picked }) => picked.length > 0) ? known.slice(-1) : undefined;
  };
  /** The deeds that a title stands for, itself or by the title that it takes back. */
  const byTitleOf = (title: string | undefined): Deed[] | undefined => {
    for (let inner = title; title !== undefined && inner !== undefined; inner = quotedIn(inner)?.quoted) {
      const known = copyOf(inner) ?? before(inner);
      if (known !== undefined) return known.map(({ made }) => ({ made, makes: makesIn(title) }));
    }
    return undefined;
  };
  /** Takes back what is named, or what was before the range: then nobody knows but by its name. */
  const taken = (name: string, makesUnknown: boolean, title: string | undefined): Deed[] => {
    const known = find(name);
    if (known !== undefined) return known.map(({ made, makes }) => ({ made, makes: !makes }));
    // Another one took the same back by another name.
    const meant = byTitleOf(title) ?? [{ made: add(!makesUnknown), makes: !makesUnknown }];
    remember(name, meant);
    return meant.map(({ made, makes }) => ({ made, makes: !makes }));
  };
  const deedsOf = (entry: Entry): Deed[] => {
    const quoted = quotedIn(entry.title);
    const makesUnknown = quoted !== null && makesIn(entry.title);
    if (entry.reverts.length > 0)
      return entry.reverts.flatMap((name) => taken(name, makesUnknown, quoted?.quoted));
    if (quoted !== null) {
      const all = byTitle.get(plain(quoted.quoted)) ?? [];
      const own = all.length === 1 && all[0] !== undefined ? deeds.get(all[0]) : undefined;
      const known = own ?? byName.get(titleName(quoted.quoted));
      if (known !== undefined)
        return known.map(({ made, makes }) => ({ made, makes: quoted.again || !makes }));
      return [{ made: add(!makesUnknown), makes: makesUnknown }];
    }
    if (entry.partOf !== null) {
      // It goes and comes with the change whose message names it.
      const part = { made: add(false), makes: true };
      find(entry.partOf)?.push(part);
      return [part];
    }
    const named = entry.picked.flatMap((sha) => find(sha) ?? []);
    const others = entry.picked.length === 0 ? undefined : before(entry.title);
    const copied = [...named, ...(others ?? [])].find(({ makes }) => makes);
    return [{ made: copied?.made ?? add(false), makes: true }];
  };
  for (const entry of entries) {
    const own = unique(deedsOf(entry));
    deeds.set(entry, own);
    for (const name of [...entry.names, ...entry.picked]) if (find(name) === undefined) remember(name, own);
    const quoted = quotedIn(entry.title);
    if (quoted !== null) {
      // A later one may name only the title of this one, or of what it took back.
      let [about, inner]: [Deed[], ReturnType<typeof quotedIn>] = [own, quoted];
      byName.set(titleName(entry.title), own);
      for (; inner !== null; inner = quotedIn(inner.quoted)) {
        const { again, quoted: title } = inner;
        about = about.map(({ made, makes }) => ({ made, makes: again || !makes }));
        if (!byName.has(titleName(title))) byName.set(titleName(title), about);
      }
    }
    const isMaker = entry.reverts.length === 0 && quoted === null;
    for (const { made, makes } of own) {
      made.isThere = makes;
      if (isMaker) made.makers.push(entry);
      else made.last = entry;
    }
  }
  const shown = new Map<Entry, Entry>();
  const vanished: { entry: Entry; by: Entry }[] = [];
  for (const {
    makers: [first, ...copies],
    last,
    isThere,
    wasThere,
  } of all) {
    if (isThere === wasThere) {
      const by = last;
      if (by !== null && first !== undefined)
        vanished.push(...[first, ...copies].map((entry) => ({ entry, by })));
    } else if (isThere && first !== undefined) {
      const change = joinChanges(
        first.change,
        copies.map((each) => each.change),
      );
      shown.set(first, { ...first, change });
    } else if (last !== null) shown.set(last, last);
  }
  return { kept: entries.flatMap((entry) => shown.get(entry) ?? []), vanished };
}
