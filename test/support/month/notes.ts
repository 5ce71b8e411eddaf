import { PAGE, type PullRow } from './payloads.ts';

type Words = { name: string; notes: string; isPrerelease?: boolean };

const BY_HAND = `Quieter nights for everybody who lives near a pad.

### Added

- **Quiet mode**: engines start 40 % softer between 22:00 and 06:00 ([#401](${PAGE}/pull/401))
- Voice announcements during the countdown
- A dark theme, [with pictures](https://acme.test/blog/dark)

### Changed

- **Breaking:** \`GET /windows\` answers with intervals; see [the guide](https://acme.test/docs/intervals)

### Fixed

- The fuel gauge showed yesterday's value after midnight, thanks to @dmitri
- Pads whose name looks like \`<script>\` no longer break the console

<details><summary>Checksums</summary>

\`\`\`
8d3e5b1f  rocket-linux-arm64
\`\`\`

</details>
`;

/** Release notes at publication and after each edit. Releases without an entry have none. */
export function notesOf(tag: string, merged: readonly PullRow[]): [Words, ...Words[]] {
  const hand = { name: 'Rocket 2.4: quieter nights', notes: BY_HAND };
  const generated = { name: 'v2.5.0', notes: generatedNotes(tag, merged) };
  const known: Record<string, [Words, ...Words[]]> = {
    'v2.4.0': [hand, { ...hand, notes: BY_HAND.replace('Voice', 'Arabic and English voice') }],
    'v2.5.0': [generated, { ...generated, name: 'Rocket 2.5: to the moon' }],
    // Somebody forgot the tick at first.
    'v2.5.0-rc.1': [
      { name: tag, notes: '' },
      { name: tag, notes: '', isPrerelease: true },
    ],
    'charts-1.3.0': [{ name: 'Helm charts 1.3.0', notes: 'Pads can have node selectors.' }],
  };
  return known[tag] ?? [{ name: tag, notes: '' }];
}

/** As GitHub's button "Generate release notes" writes them. */
function generatedNotes(tag: string, merged: readonly PullRow[]): string {
  const own = merged.filter(({ number, base }) => base === 'main' && number >= 410);
  const items = own.map(({ title, author, number }) => `* ${title} by @${author} in ${PAGE}/pull/${number}`);
  return `## What's Changed
${items.join('\n')}

## New Contributors
* @mei made their first contribution in ${PAGE}/pull/413

**Full Changelog**: ${PAGE}/compare/v2.4.1...${tag}`;
}
